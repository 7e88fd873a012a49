"""Packages that load their modules when a name is first asked for, so that `import featlab` stays instant."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


def public_names(
    package: str, homes: Mapping[str, str], packages: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose public names live in the modules `homes[name]` of it.

    Names among `packages` are those packages themselves, which can be called.
    """

    def find(name: str) -> Any:
        if name in packages:
            return importlib.import_module(f"{package}.{name}")
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted([*homes, *packages])

    return find, listed


def callable_package(package: str, function: str) -> None:
    """Let a package be called like one of its functions, where both would have the same name."""

    class CallablePackage(ModuleType):
        """A package that is called like its main function."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(self, function)(*args, **kwargs)

    sys.modules[package].__class__ = CallablePackage
