"""What changes between neighbouring data sets, in words."""

from __future__ import annotations

# "replace-person": the rows of one person are replaced by any others under the same id; who has an id is public.
REPLACE_ONE, REPLACE_ENTRY, REPLACE_PERSON, METRIC = "replace-one", "replace-entry", "replace-person", "metric"
ADJACENCIES = (REPLACE_ONE, REPLACE_ENTRY, REPLACE_PERSON, METRIC)


def protected(adjacency: str, unit: str, rows: str = "") -> str:
    """What a promise holds for: "patient", "entry of a row", "patient with all of their visits"."""
    if adjacency == REPLACE_PERSON:
        return f"{unit} with all of their {rows or 'rows'}"
    return f"entry of a {unit}" if adjacency == REPLACE_ENTRY else unit


def replaced(adjacency: str, unit: str, rows: str = "") -> str:
    """The change itself: "one patient with all of their visits replaced"; of a metric its name."""
    return adjacency if adjacency == METRIC else f"one {protected(adjacency, unit, rows)} replaced"
