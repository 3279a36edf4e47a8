"""What a notebook shows, looked at in Chromium at two widths, light, dark and printed."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from forging import stored
from pages import looking

REGIONS = ["north", "south", "a region with a name that is rather long for a table"]
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@pytest.fixture(scope="module")
def browser():
    with looking.started() as browser:
        yield browser


def page(fragments: list[str], folder, theme: str = ""):
    """A page that holds the fragments as cells of a notebook do."""
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>A notebook</title>'
        "<style>@media screen and (prefers-color-scheme: dark) { html { background:#111; } h1 { color:#eee; } }</style>"
    )
    cells = "".join(f"<section>{each}</section>" for each in fragments)
    path = folder / "notebook.html"
    path.write_text(
        f'<!doctype html><html lang="en"><head>{head}</head><body{theme}><main><h1>Cells</h1>{cells}</main></body></html>'
    )
    return path


def shown(folder) -> list[str]:
    """A fragment of each kind."""
    gibbs = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(precision=1.0), dimension=5)
    schema = sf.Schema(
        {"region": sf.Category(REGIONS, missing=REGIONS[0]), "ill": sf.Boolean(missing=False)},
        name="survey",
        unit="person",
    )
    rng = np.random.default_rng(3)
    data = sf.Dataset.from_table({"region": rng.choice(REGIONS, 900), "ill": rng.random(900) < 0.3}, schema=schema)
    plan = sf.plan(sf.grouped(sf.families.BetaBernoulli(), by="region", levels=REGIONS), 900, 1.0, 1e-6)
    with sf.Ledger.open(folder / "budget.db") as ledger:
        ledger.register("survey", 3.0, 1e-5, unit="person")
        release = sf.publish(plan, data, ledger, "survey", "illness by region 2026")
        prices = sf.price_list(gibbs, 2_000, [0.3, 1.0], 1e-6)
        things = [
            plan,
            prices,
            sf.compare(gibbs, 2_000, 1.0, 1e-6),
            plan.guarantee,
            release,
            ledger,
            ledger.spent("survey"),
        ]
        things += [sf.Release.from_bytes(stored(name)) for name in ("rate seeded", "network", "lattice by trials")]
        return [thing._repr_html_() for thing in things]


def test_fragments_have_no_faults_in_a_browser(browser, tmp_path):
    assert looking.everywhere(page(shown(tmp_path), tmp_path), browser) == []


@pytest.mark.parametrize(("theme", "scheme"), [("true", "dark"), ("false", "light")])
def test_the_theme_of_jupyterlab_wins_over_that_of_the_system(browser, tmp_path, theme, scheme):
    plan = sf.plan(sf.families.BetaBernoulli(), 100, 1.0, 1e-6, mechanism="noisy-statistics")
    path = page([plan._repr_html_()], tmp_path, f' data-jp-theme-light="{theme}"')
    assert looking.faults(path, browser, looking.WIDE, scheme) == []
    tab = browser.contexts[0].pages[0]
    paper = tab.evaluate("getComputedStyle(document.querySelector('.sfumato')).backgroundColor")
    assert paper == ("rgb(251, 250, 247)" if theme == "true" else "rgb(23, 25, 29)")
