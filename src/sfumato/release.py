"""A release: draws with the plan that made them and their guarantee, the questions it answers, and its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import release_file, signing, storage
from sfumato._shown import Drawn
from sfumato.draws import Draws
from sfumato.privacy.guarantee import Guarantee
from sfumato.queries.network_questions import NetworkQuestions
from sfumato.queries.quantile_questions import QuantileQuestions
from sfumato.queries.regression_questions import RegressionQuestions, said_public


@dataclass(frozen=True, eq=False)
class Release(RegressionQuestions, NetworkQuestions, QuantileQuestions, Drawn):
    """Draws under a guarantee, with the record of how they were made; it holds no reference to the rows.

    `kind` is "draws" or "estimate". `plan` and `schema` are documents; `receipt` is that of the ledger's charge, if any.
    `signature` is that of the file that it was read from. `stored` is true if `publish` returned the sealed release of an
    earlier request. `written_promise` is the sentence in a file of version 1, kept to write the same bytes and never shown.
    """

    draws: Draws
    kind: str
    plan: Mapping[str, Any]
    plan_digest: str
    guarantee: Guarantee
    schema: Mapping[str, Any]
    receipt: Mapping[str, Any] | None = None
    signature: signing.Signature | None = None
    stored: bool = False
    written_promise: str | None = None

    @cached_property
    def promise(self) -> str:
        """The guarantee as a sentence, with epsilon at the plan's delta; computed when first asked for."""
        from sfumato.wording import promise_of

        return promise_of(self.plan, self.guarantee)

    def mean(self, scaled: bool = False) -> NDArray[np.float64]:
        """Mean of the released draws; of a regression in the columns' own units, or `scaled` as they were released."""
        return self.in_units(scaled).mean()

    def quantile(self, q: Any, scaled: bool = False) -> NDArray[np.float64]:
        """Quantiles of the released draws."""
        return self.in_units(scaled).quantile(q)

    def in_units(self, scaled: bool = False) -> Draws:
        """The draws as they are shown: of a regression the coefficients in own units, of other models as they were released."""
        shown: Draws = self.view(scaled).draws(self.draws)
        return shown

    def interval(
        self, level: float = 0.9, include: str = "privacy and sampling", prior: Any = None, scaled: bool = False
    ) -> NDArray[np.float64]:
        """Lower and upper ends, shaped (2, *shape of a draw), of intervals that include the privacy noise.

        `include="privacy"` is for the statistic of the rows themselves, without their sampling; `include="robust"` for a
        regression whose model may be wrong (keep=("scores",)); `prior` is the reader's own, a family of the same kind. One
        draw is enough: the law of a draw given the records' statistic is public (`queries.intervals`). The coefficients of a
        regression are in the columns' own units, in the order of `labels`; `scaled=True` gives them as they were released.
        """
        from sfumato.queries import functionals, intervals

        shown = self.view(scaled)
        if shown.matrix is None:
            return intervals.interval(self.draws, self.plan, level, include, prior, self.schema)
        intervals.no_prior(prior)
        ends = functionals.ends(self.draws, self.plan, self.schema, shown.matrix, level, include)
        return np.asarray(ends + shown.shift)

    def estimate(
        self, include: str = "privacy and sampling", prior: Any = None, scaled: bool = False
    ) -> NDArray[np.float64]:
        """The posterior median given the release: the middle of a very narrow interval.

        `mean` may be biased: a tempered draw towards the prior, the average of a noisy path away from 0.
        """
        from sfumato.queries import functionals, intervals

        shown = self.view(scaled)
        if shown.matrix is None:
            return intervals.estimate(self.draws, self.plan, include, prior, self.schema)
        intervals.no_prior(prior)
        values = functionals.estimate(self.draws, self.plan, self.schema, shown.matrix, include)
        return np.asarray(values + shown.shift)

    def summary(self, level: float = 0.9, prior: Any = None, reference: Mapping[str, Any] | None = None) -> Any:
        """A table of estimates and intervals with the promise; of a regression its coefficients, as statistics packages print them.

        `reference` replaces the reference levels of a regression's categories.
        """
        from sfumato.queries import own_units, regression_summary
        from sfumato.queries.summary import Summary
        from sfumato.wording import clipping_in_words, counting_in_words, date_of_release, first_line, shown_labels

        if own_units.regression_of(self.plan) is not None:
            return regression_summary.summarise(self, level, prior, reference, self.promise, first_line(self))
        numbers = replace(self.numbers(level, prior=prior), labels=shown_labels(self))
        facts = (clipping_in_words(self), date_of_release(self), counting_in_words(self))
        return Summary(numbers, self.kind, self.promise, *facts, first_line(self))

    def numbers(self, level: float = 0.9, include: str = "privacy and sampling", prior: Any = None) -> Any:
        """What is shown first: every estimate with its interval, or what is said where no number can be (`queries.one_number`)."""
        from sfumato.queries import one_number

        return one_number.read(self, level, include, prior)

    def respond(
        self,
        utility: Any,
        candidates: Any,
        prior: Any = None,
        queries: int | None = None,
        failure: float = 0.05,
        *,
        against: Any = None,
        log_ratio: float | None = None,
        lipschitz: float | None = None,
        query_set: int | None = None,
    ) -> Any:
        """The response of largest mean utility over the draws, at no further cost, with a bound on its regret (`queries.respond`).

        utility(draws, candidates) gives (draws, candidates) in [0, 1]; `candidates` is a list, or (lower, upper) for every
        number between. `queries` is how many questions are fixed in advance; `query_set` how many could be asked, where
        later ones depend on earlier answers. `prior` reweights the draws by the reader's own. A single draw says little by itself:
        where only a utility is asked for, what a reader believes given that draw takes its place, as in `ask`.
        """
        from sfumato.queries import regret_bounds, respond

        alone = len(self.draws.pooled()) == 1 and (prior, against, log_ratio) == (None, None, None)
        return respond.respond(
            self._sample(aware=alone),
            utility,
            candidates,
            prior=prior,
            against=against,
            log_ratio=log_ratio,
            lipschitz=lipschitz,
            terms=regret_bounds.Terms(1 if queries is None else queries, failure, query_set),
        )

    def respond_all(
        self,
        utility: Any,
        candidates: Any,
        questions: Any = None,
        prior: Any = None,
        queries: int | None = None,
        failure: float = 0.05,
        *,
        against: Any = None,
        log_ratio: float | None = None,
        query_set: int | None = None,
    ) -> Any:
        """Answers to many questions at once: a utility of (draws, candidates, questions), a list of utilities, or a linear one."""
        from sfumato.queries import batches, regret_bounds

        return batches.respond_all(
            self._sample(),
            utility,
            candidates,
            questions=questions,
            prior=prior,
            against=against,
            log_ratio=log_ratio,
            terms=regret_bounds.Terms(1 if queries is None else queries, failure, query_set),
        )

    @property
    def ask(self) -> Any:
        """Ready-made questions: mean, probability, quantile, best, top and prediction (`queries.questions`).

        They are answered from draws of what a reader believes, the noise included, where their law is worked out (those of
        `to_arviz(noise_aware=True)`), else from the released draws; the answer says from which.
        """
        from sfumato.queries import predict, questions

        regression = lambda: predict.read(self.draws, self.plan, self.schema)  # noqa: E731
        return questions.Questions(self._sample(aware=True), regression, self.numbers)

    def _sample(self, aware: bool = False) -> Any:
        """The draws with their law, which every answer quotes; `aware` of the noise where that law is worked out."""
        from sfumato.queries import _sample, noise_aware

        sample = _sample.read(self.draws, self.plan, self.kind)
        if aware and (drawn := noise_aware.known(self.draws, self.plan, self.schema)) is not None:
            sample = replace(sample, values=drawn.pooled(), law=noise_aware.LAW, independent=True)
        return sample if self.private else replace(sample, law=f"{sample.law} (NOT PRIVATE: from a seeded stream)")

    def log_likelihood(self, *unsaid: Any, public_rows: Any = None, target: Any = None) -> Any:
        """Log-likelihood of PUBLIC held-out records under each draw, with its mean and spread (`queries.held_out`).

        `public_rows` are a table as `Dataset.from_table` reads it, of a regression with its target column; of a regression on
        vectors they are a matrix, and `target` its answers. A loss without a likelihood, such as the hinge, is refused.
        """
        from sfumato.queries import held_out

        rows = said_public("log_likelihood", unsaid, public_rows)
        return held_out.log_likelihood(self.draws, self.plan, self.schema, rows, target)

    def attacker(self, prior: float = 0.5, **options: Any) -> Any:
        """What an attacker who knows every other record can infer, as a sentence and numbers (`queries.attacker`)."""
        from sfumato.queries import attacker as attacking

        return attacking.attacker(self.guarantee, prior=prior, **options)

    def to_pandas(
        self, scaled: bool = False, noise_aware: bool | None = None, draws: int = 2_000, seed: int = 0
    ) -> Any:
        """One row per (chain, draw), one column per label, in own units unless `scaled`; the promise is in `attrs`.

        The released draws' spread leaves the privacy noise out; with `noise_aware` the rows are as many new `draws` of what a
        reader believes about the parameter, noise and sampling included, at no cost (`queries.noise_aware`).
        """
        from sfumato.queries import convert

        return convert.to_pandas(*self._converted("to_pandas", scaled, noise_aware, draws, seed))

    def to_arviz(self, scaled: bool = False, noise_aware: bool | None = None, draws: int = 2_000, seed: int = 0) -> Any:
        """ArviZ's InferenceData (0.x) or DataTree (1.x), whichever is installed; the arguments are those of `to_pandas`."""
        from sfumato.queries import convert

        return convert.to_arviz(*self._converted("to_arviz", scaled, noise_aware, draws, seed))

    def _converted(self, name: str, scaled: bool, noise_aware: bool | None, draws: int, seed: int) -> tuple[Draws, Any]:
        """The draws that are handed on, and what is said of them."""
        from sfumato.queries import convert
        from sfumato.queries import noise_aware as aware

        facts = convert.facts(self.plan, self.promise, self.guarantee.trust, self.kind, self.plan_digest)
        if noise_aware:
            return aware.drawn(self.draws, self.plan, self.schema, draws, seed), {**facts, "noise_aware": 1}
        if noise_aware is None:
            aware.warn(name, self.plan)
        return self.in_units(scaled), {**facts, "noise_aware": int(aware.is_posterior(self.plan))}

    @property
    def transcript(self) -> NDArray[np.float64] | None:
        """Every noisy gradient of the path, shaped (chain, step, coordinate), where the plan kept it."""
        return self.draws.transcript

    @property
    def totals(self) -> NDArray[np.float64] | None:
        """The noisy totals of a release from noisy statistics, which are part of its price: a row for each group of several."""
        totals = self.draws.totals
        return totals.reshape(self.draws.shape[2], -1) if totals is not None and "by" in self.plan["model"] else totals

    @property
    def private(self) -> bool:
        """False for a release made with a seeded stream, which protects nobody."""
        return self.guarantee.trust != "not private"

    def to_bytes(self) -> bytes:
        """Return the sealed bytes: the same release gives the same bytes, signed or not."""
        return release_file.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """Read a release, signed or not; the error for a damaged part, an unknown key or another version names it."""
        return cls(**release_file.from_bytes(data))

    def save(self, path: str | os.PathLike[str], sign_with: str | os.PathLike[str] | None = None) -> None:
        """Write the release to one file, whole or not at all, signed with the private key file `sign_with`.

        A release that was read from a signed file keeps that signature unless it is signed anew.
        """
        sealed = self.to_bytes()
        signature = self.signature if sign_with is None else signing.sign(sealed, sign_with)
        storage.write(path, sealed + (b"" if signature is None else signature.to_bytes()))

    def verify(self, public_key: str | os.PathLike[str] | None = None, ledger: Any = None) -> Release:
        """Check every part of the record against the parts that it follows from; raise FormatError if one differs.

        With `public_key`, the path of a public key file, the release must also be signed with the private key that belongs to
        it. With `ledger`, an open `sf.Ledger`, it must be byte for byte what that ledger sealed. See docs/files.md.
        """
        from sfumato.verifying import verify

        verify(self, public_key, ledger)
        return self

    def __str__(self) -> str:
        from sfumato.wording import describe

        return describe(self)

    def __repr__(self) -> str:
        return f"Release({self.kind}, shape={self.draws.shape}, {self.guarantee.trust})"


def load(path: str | os.PathLike[str]) -> Release:
    """Read a saved release."""
    return Release.from_bytes(Path(path).read_bytes())
