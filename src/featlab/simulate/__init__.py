"""What happens at a finite dimension: designs, students, learning algorithms, run exactly in law.

The public names are loaded when they are first asked for. The package itself can be called: `featlab.simulate(...)` is
`featlab.simulate.simulate(...)`, since a package and a function cannot both be `featlab.simulate`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_PUBLIC = {"simulate": "door", "DoesNotFit": "designs.choose"}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.simulate.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.simulate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Callable(ModuleType):
    """A module that is called like its main function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return __getattr__("simulate")(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
