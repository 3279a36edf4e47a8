"""The claims that Sfumato may make: one file per result, each a function from public constants to a guarantee or a bound.

`sf.theorems.sharp.gibbs_draw(...)`: each module is imported when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

__all__ = sorted(each.name for each in iter_modules(__path__) if not each.name.startswith("_"))  # noqa: PLE0605


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'sfumato.theorems' has no attribute {name!r}; it has {', '.join(__all__)}")
    return import_module(f"sfumato.theorems.{name}")


def __dir__() -> list[str]:
    return list(__all__)
