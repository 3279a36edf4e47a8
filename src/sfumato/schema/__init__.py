"""What one record may be: the public facts, the documents that carry them, and the rules that map every cell into them."""

from __future__ import annotations

from sfumato.schema.columns import Boolean, Category, Column, Number
from sfumato.schema.schema import Schema

__all__ = ["Boolean", "Category", "Column", "Number", "Schema"]
