"""Ready-made questions to a release: `release.ask.mean()`, `.probability(event)`, `.quantile(q)`, `.best(losses)`, `.top(k)`.

Each returns a `Reply`: a value and a sentence. All statements are about the law of the draws, which the sentence names: what the
release tells of the parameter, or, where that is not worked out, what was released, which may be wider or closer to the prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.queries._sample import Sample
from sfumato.queries.one_number import Numbers
from sfumato.queries.regret_bounds import Terms, digits_up
from sfumato.queries.respond import Answer, respond


@dataclass(frozen=True, eq=False)
class Reply:
    """A value with a sentence that describes it; `error` bounds its distance from what it estimates, where proved."""

    value: Any
    sentence: str
    error: float | None = None
    answer: Answer | None = None

    def __str__(self) -> str:
        return _validate.visible(self.sentence)


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions to one sample of draws; `regression` reads the release as a regression, or refuses.

    `numbers` are the release's estimates with their intervals.
    """

    sample: Sample
    regression: Callable[[], Any]
    numbers: Callable[[], Numbers]

    def mean(self, of: Callable[[Array], Any] | None = None, failure: float = 0.05, bounds: Any = None) -> Reply:
        """Mean over the draws of a function of them (by default the draws themselves).

        With public `bounds` (lower, upper) of the function, Hoeffding's inequality bounds the distance of the mean over the draws
        from the mean of their law, each coordinate at its share of `failure`.
        """
        values = self._values(of)
        mean = values.mean(axis=0)
        error = None
        if bounds is not None:
            low, high = (_validate.finite("an end of bounds", end) for end in bounds)
            if not (low < high and (values >= low).all() and (values <= high).all()):
                raise ArgumentError(f"bounds must be two ends that hold every value, lower first; got {bounds!r}.")
            error = self._hoeffding(failure, max(1, mean.size))
            error = None if error is None else error * (high - low)
        within = "" if error is None else f", within {digits_up(error)} with probability {1 - failure:g}"
        return Reply(mean if mean.ndim else float(mean), f"Mean {_shown(mean)}{within}, {self._of()}.", error)

    def probability(self, event: Callable[[Array], Any], failure: float = 0.05) -> Reply:
        """Share of the draws for which event(draws), an array of yes and no, holds."""
        held = np.asarray(self._applied(event))
        if held.shape != (self.sample.size,) or held.dtype != bool:
            raise ArgumentError(
                f"event must give one yes or no per draw, ({self.sample.size},) of bool; got {held.shape} of {held.dtype}."
            )
        share, error = float(held.mean()), self._hoeffding(failure, 1)
        within = "" if error is None else f", within {digits_up(error)} with probability {1 - failure:g}"
        return Reply(share, f"Probability {share:.4g}{within}, {self._of()}.", error)

    def quantile(self, q: float, of: Callable[[Array], Any] | None = None, failure: float = 0.05) -> Reply:
        """The q-quantile of the draws, or of a function of them; `error` is in probability: its level is q within that.

        The empirical distribution function is within sqrt(ln(2/failure)/(2N)) of the law's everywhere (Dvoretzky, Kiefer,
        Wolfowitz; Massart), so the smallest draw at which it reaches q is a quantile of the law at a level that near to q.
        """
        level = _validate.between("q", q, 0.0, 1.0)
        values = self._values(of)
        cut = np.quantile(values, level, axis=0, method="inverted_cdf")
        error = self._hoeffding(failure, max(1, cut.size))
        near = "" if error is None else f" (a level within {digits_up(error)} of it with probability {1 - failure:g})"
        return Reply(cut if cut.ndim else float(cut), f"{level:g}-quantile {_shown(cut)}{near}, {self._of()}.", error)

    def best(
        self, losses: Any, actions: Sequence[Any], bounds: Any = None, failure: float = 0.05, **more: Any
    ) -> Reply:
        """The action with the smallest expected loss.

        `losses` is a matrix (levels, actions), what each action costs if the next record is of that level, for a release of
        shares or of a rate (levels False, True); or a function of (draws, actions) that gives (draws, actions), with its
        public `bounds` (lower, upper). `more` goes to `respond`: prior, log_ratio.
        """
        if callable(losses):
            if bounds is None:
                raise ArgumentError("bounds=(lower, upper) of the loss must be declared: they scale it to a utility.")
            low, high = (_validate.finite("an end of bounds", end) for end in bounds)
            loss = losses
        else:
            low, high, loss = self._matrix(losses, len(actions))
        if not low < high:
            raise ArgumentError(f"losses must not all be the same: every action is best; got {low:g} to {high:g}.")

        def utility(draws: Array, candidates: Any) -> Array:
            return (high - np.asarray(loss(draws, candidates), dtype=np.float64)) / (high - low)

        answer = respond(self.sample, utility, list(actions), terms=Terms(failure=failure), **more)
        expected = high - answer.utility * (high - low)
        error = None if answer.loss is None else answer.loss * (high - low)
        sentence = f"{answer.response}: expected loss {expected:.4g}"
        if error is not None:
            sentence += f"; no action costs less by more than {digits_up(error)} (probability {1 - failure:g})"
        return Reply(answer.response, f"{sentence}, {self._of()}.", error, answer)

    def top(self, k: int, failure: float = 0.05) -> Reply:
        """The k categories with the largest estimated shares, largest first, each with its interval.

        Where no interval is worked out they are those of largest mean over the draws, and `error` bounds the share that is missed:
        Algorithm 2 for the utility sum of theta over the k named categories, over all sets of k.
        """
        shares = self._shares()
        count = _validate.whole("k", k)
        if count > shares.shape[1]:
            raise ArgumentError(f"k must be at most the number of categories, {shares.shape[1]}; got {count}.")
        names = self.sample.labels if shares.shape[1] == len(self.sample.labels) else ("False", "True")
        numbers, of, error = self.numbers(), "", None
        if numbers.ends is None:
            values, of = shares.mean(axis=0), self._of()
            said = [f"{value:.4g}" for value in values]
            if self.sample.independent:
                error = Terms(failure=failure).response_loss(self.sample.size, math.comb(shares.shape[1], count))
        else:
            rate = len(numbers.labels) < len(names)  # a rate is the share of "yes", the rest that of "no"
            numbers = numbers.with_rest() if rate else numbers
            values, of = numbers.estimates, f"with {100 * numbers.level:g} % intervals"
            said = [f"{text} ({ends})" for text, ends in numbers.texts("{:.4g}".format)]
        order = np.argsort(-values, kind="stable")[:count]
        sentence = ", ".join(f"{names[i]} {said[i]}" for i in order)
        if error is not None and error < 1:  # shares differ by at most 1: a larger bound says nothing
            others = "no other category holds" if count == 1 else f"no other {count} categories hold"
            sentence += f"; {others} more by more than {digits_up(error)} (probability {1 - failure:g})"
        return Reply(tuple(names[i] for i in order), f"{sentence}, {of}.", error)

    def prediction(self, *unsaid: Any, public_rows: Any = None) -> Reply:
        """Predictions of a regression for public rows."""
        from sfumato.queries.predict import predict
        from sfumato.queries.regression_questions import said_public

        values = predict(self.regression(), said_public("ask.prediction", unsaid, public_rows))
        shown = ", ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values[:6].tolist())
        more = f", ... ({len(values):,} in all)" if len(values) > 6 else ""
        return Reply(values, f"Predicted {shown}{more}, averaged {self._of()}.")

    # --- helpers -------------------------------------------------------------------------------------------------------

    def _of(self) -> str:
        return f"over {self.sample.size} draw{'s' * (self.sample.size != 1)} of {self.sample.law}"

    def _applied(self, function: Callable[[Array], Any]) -> Any:
        try:
            return function(self.sample.values)
        except IndexError as error:
            raise ArgumentError(
                f"the draws are shaped {self.sample.values.shape}, one row per draw and no column where there is one parameter: "
                f"{error}."
            ) from error

    def _values(self, of: Callable[[Array], Any] | None) -> Array:
        if of is None:
            return self.sample.values
        values = np.asarray(self._applied(of), dtype=np.float64)
        if values.ndim == 0 or len(values) != self.sample.size or not np.isfinite(values).all():
            raise ArgumentError(
                f"of must give finite numbers for each of the {self.sample.size} draws; got {values.shape}."
            )
        return values

    def _hoeffding(self, failure: float, events: int) -> float | None:
        """sqrt(ln(2 events/failure)/(2N)), at most 1; None where the draws are not independent."""
        risk = _validate.between("failure", failure, 0.0, 1.0)
        if not self.sample.independent:
            return None
        return min(1.0, math.sqrt(math.log(2 * events / risk) / (2 * self.sample.size)) * (1 + 1e-12))

    def _shares(self) -> Array:
        """Shares (draws, levels) of a release whose draws are shares, or a rate with its complement."""
        name, values = self.sample.plan["model"].get("family"), self.sample.values
        if name in ("DirichletCategorical", "Histogram", "CrossTable"):
            return values
        if name in ("BetaBernoulli", "BetaBinomial"):
            return np.stack([1 - values, values], axis=-1)
        if name == LearnedNetwork.name:
            raise ArgumentError(
                "this question is for the shares of one column; a learnt table has many: ask release.marginal(column)."
            )
        raise ArgumentError(
            "this question is for a release of shares (DirichletCategorical) or of a rate (BetaBernoulli); give a loss as a "
            "function of (draws, actions), or use release.respond."
        )

    def _matrix(self, losses: Any, actions: int) -> tuple[float, float, Callable[[Array, Any], Array]]:
        shares = self._shares()
        table = np.asarray(losses, dtype=np.float64)
        if table.shape != (shares.shape[1], actions) or not np.isfinite(table).all():
            raise ArgumentError(
                f"losses must be finite numbers shaped (levels, actions), ({shares.shape[1]}, {actions}); got {table.shape}."
            )
        return float(table.min()), float(table.max()), lambda _draws, _actions: shares @ table


def _shown(values: Any) -> str:
    flat = np.ravel(values)
    rest = f", ... ({flat.size} numbers)" if flat.size > 6 else ""
    return ", ".join(f"{value:.4g}" for value in flat[:6]) + rest
