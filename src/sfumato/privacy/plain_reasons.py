"""Why a guarantee holds, in words for a reader who knows none of the theorems; the theorem's name follows in brackets.

The phrases are printed only: files and digests hold the theorems' identifiers (`statements`).
"""

from __future__ import annotations

from sfumato.privacy.statements import id_of

_EXACT = "computed exactly for the worst two neighbouring tables"
_OWN_NOISE = "the randomness of the draw hides what one record can change"
_EVERY_STEP = "the price covers every step of the computation, published or not"
_LAST_STEP = "the price is that of the last step of a noisy computation, the only one that is published"
_BOUNDED = "no record changes any probability by more than a fixed factor"
_ALL_ROWS = "all rows of a person count as one record"
_MISSED = "what the sampler may miss is part of the price"
# Module of the theorem, or its whole id where the module holds several kinds -> the phrase.
_PHRASES = {
    "conjugate": _EXACT,
    "networks.table_draws": _EXACT,
    "networks.trajectory_draws": "bounded for the worst two neighbouring tables",
    "networks.truncated_draws": _BOUNDED,
    "gaussian": "normal noise hides what one record can change",
    "tables": "normal noise and random choices hide what one record can change",
    "sharp": _OWN_NOISE,
    "interpolated": _OWN_NOISE,
    "location": _OWN_NOISE,
    "canonical_glm": _OWN_NOISE,
    "path": _EVERY_STEP,
    "weighted.weighted_path": _EVERY_STEP,
    "weighted.shape_first": _EVERY_STEP,
    "weighted.budgeted_chain": _LAST_STEP,
    "finite_step": _LAST_STEP,
    "exponential": _BOUNDED,
    "truncated": _BOUNDED,
    "finite_family": _BOUNDED,
    "quantile": _BOUNDED,
    "persons.one_row": _ALL_ROWS,
    "persons.averages": _ALL_ROWS,
    "persons.weighted_records": "weights count a record for no more than a whole one",
    "persons.spread_draws": "bounded for the worst two neighbouring tables",
    "rejection": _MISSED,
    "inexact": _MISSED,
}


def reason(theorem: str) -> str:
    """The theorem's name with the phrase before it; the name alone where there is no phrase."""
    plain = phrase(theorem)
    return f"{plain} [{theorem}]" if plain else str(theorem)


def phrase(theorem: str) -> str:
    """Why the guarantee holds; "" where there are no words for it."""
    ids = id_of(theorem).split("; ")
    phrases = dict.fromkeys(_PHRASES.get(each, _PHRASES.get(each.partition(".")[0], "")) for each in ids)
    return ", and ".join(each for each in phrases if each)
