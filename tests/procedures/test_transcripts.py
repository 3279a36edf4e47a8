"""A transcript publishes every noisy gradient of a path; the path can be walked again by whoever reads it."""

from __future__ import annotations

import builtins
import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import storage
from sfumato.draws import Draws
from sfumato.errors import ArgumentError, FormatError
from sfumato.samplers.langevin import gradient_grid

N, D = 60, 3
SCHEMA = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0), name="survey")
PRIORS = {
    "gaussian": sf.priors.Gaussian(2.0, mean=[0.3, 0.0, -1.0]),
    "matrix": sf.priors.Gaussian([[2.0, 0.5, 0.0], [0.5, 2.0, 0.1], [0.0, 0.1, 1.0]]),
    "box": sf.priors.Box(sf.priors.Gaussian(2.0), [-0.1] * D, [0.2] * D),
    "ball": sf.priors.Ball(sf.priors.Gaussian(2.0), radius=0.2),
}


def data(seed: int = 1) -> sf.Dataset:
    rng = np.random.default_rng(seed)
    return sf.Dataset.from_arrays(rng.uniform(-0.6, 0.6, (N, 2)), rng.integers(0, 2, N), schema=SCHEMA)


PLAIN = {"mechanism": "langevin-path", "goal": "estimate"}


def path(prior: str = "gaussian", **options) -> sf.Plan:
    model = sf.Gibbs(sf.losses.Logistic(1.5), PRIORS[prior], D, 1.0)
    return sf.plan(model, N, 1.0, 1e-6, **{**PLAIN, "keep": ("transcript",), "steps": 30, **options})


@pytest.mark.parametrize("prior", list(PRIORS))
def test_a_transcript_is_released_saved_and_retraced(prior, tmp_path):
    plan = path(prior, draws=2)
    release = sf.publish(plan, data(), randomness=sf.seeded(3))
    assert release.transcript.shape == (2, 30, D)
    grid = gradient_grid(plan["noise"])
    assert all(Fraction(value) % grid == 0 for value in release.transcript.ravel().tolist())
    release.save(tmp_path / "x.sfumato")
    again = sf.load(tmp_path / "x.sfumato").verify()
    assert again.transcript.tobytes() == release.transcript.tobytes()
    assert again.to_bytes() == release.to_bytes()
    assert again.guarantee == release.guarantee


def test_the_same_price_buys_the_average_with_or_without_its_transcript():
    kept, bare = path(), path(keep=())
    assert kept.guarantee == bare.guarantee
    assert kept.digest != bare.digest
    one, other = (sf.publish(plan, data(), randomness=sf.seeded(1)) for plan in (kept, bare))
    assert one.draws.values.tobytes() == other.draws.values.tobytes()
    assert other.transcript is None
    assert other.verify()


def changed(release: sf.Release, transcript=None, values=None) -> sf.Release:
    draws = Draws(release.draws.values if values is None else values, release.draws.labels, transcript)
    return dataclasses.replace(release, draws=draws)


def test_a_transcript_that_does_not_lead_to_the_release_is_refused():
    """Checksums are made anew in each of these: only the arithmetic gives the edit away."""
    plan = path()
    release = sf.publish(plan, data(), randomness=sf.seeded(3))
    told, grid = release.transcript, float(gradient_grid(plan["noise"]))
    moved = told.copy()
    moved[0, 4, 1] += grid
    off_grid = told.copy()
    off_grid[0, 29, 0] = np.nextafter(told[0, 29, 0], np.inf)
    edits = {
        "one gradient moved by one step of its grid": changed(release, moved),
        "one low bit": changed(release, off_grid),
        "another average": changed(release, told, release.draws.values * (1 + 1e-15)),
        "a step left out": changed(release, told[:, :-1]),
        "no transcript": changed(release),
    }
    for what, edited in edits.items():
        with pytest.raises(FormatError, match="with what is kept"):
            sf.Release.from_bytes(edited.to_bytes()).verify()
        assert what
    bare = sf.publish(path(keep=()), data(), randomness=sf.seeded(3))
    with pytest.raises(FormatError, match="with what is kept"):
        changed(bare, told).verify()


def test_a_file_holds_draws_a_transcript_and_nothing_else():
    release = sf.publish(path(), data(), randomness=sf.seeded(3))
    documents, arrays = storage.unpack(release.to_bytes())
    assert set(arrays) == {"draws", "transcript"}
    for wrong in ({**arrays, "losses": arrays["draws"]}, {"transcript": arrays["transcript"]}):
        with pytest.raises(FormatError, match="no release"):
            sf.Release.from_bytes(storage.pack(documents, wrong))
    with pytest.raises(ArgumentError, match="chain, step, coordinate"):
        sf.Release.from_bytes(storage.pack(documents, {**arrays, "transcript": arrays["draws"][0]}))


def test_a_transcript_cannot_be_written_to():
    release = sf.publish(path(), data(), randomness=sf.seeded(3))
    with pytest.raises(ValueError, match="read-only"):
        release.transcript[0, 0, 0] = 1.0


# --- progress --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("goal", ["draws", "estimate"])
def test_progress_shows_public_numbers_and_changes_nothing(rich, goal, capfd, monkeypatch):
    plan = path(goal=goal, keep=(), mechanism="langevin" if goal == "draws" else "langevin-path")
    quiet = sf.publish(plan, data(), randomness=sf.seeded(3))
    assert capfd.readouterr() == ("", "")
    found = builtins.__import__

    def without_rich(name, *rest):
        if name.split(".")[0] == "rich":
            raise ImportError(name)
        return found(name, *rest)

    if not rich:
        monkeypatch.setattr(builtins, "__import__", without_rich)
    texts = set()
    for seed in (1, 2):
        release = sf.publish(plan, data(seed), randomness=sf.seeded(3), progress=True)
        out, err = capfd.readouterr()
        assert out == ""
        assert "step 30 of 30" in err
        texts.add(err)
    assert len(texts) == 1 or rich
    assert sf.publish(plan, data(), randomness=sf.seeded(3), progress=True).to_bytes() == quiet.to_bytes()
    assert release.draws.values.tobytes() != quiet.draws.values.tobytes()


def test_a_draw_at_once_has_no_steps_to_show(capfd):
    schema = sf.Schema({"x": sf.Boolean(missing=False)})
    bits = sf.Dataset.from_table({"x": np.arange(20) < 5}, schema=schema)
    plan = sf.plan(sf.families.BetaBernoulli(2, 2), 20, 1.0, 1e-6, mechanism="diffused")
    sf.publish(plan, bits, progress=True)
    assert "step 2" not in capfd.readouterr().err
