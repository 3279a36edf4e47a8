"""The public facts about one record, their documents, and the rules that map every cell into the declared bounds."""

from __future__ import annotations

from sfumato.schema.columns import Boolean, Category, Column, Date, Number
from sfumato.schema.persons import Persons
from sfumato.schema.schema import Schema
from sfumato.schema.weight import Weight

__all__ = ["Boolean", "Category", "Column", "Date", "Number", "Persons", "Schema", "Weight"]
