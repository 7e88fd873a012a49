"""Study files: TOML to a kind and a `Study`. What is misspelt is refused, with a suggestion, before anything runs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featlab.study.description import Study
from featlab.study.faults import InvalidStudy, did_you_mean

_TABLES = ("fixed", "axes", "derived")
_KEYS = ("kind", "key", "repeats", "observe", *_TABLES)
SUFFIX = ".sqlite"


@dataclass(frozen=True)
class StudyFile:
    """A study file: where it lies, what runs its points (`kind`), and the study."""

    path: Path
    kind: str
    study: Study

    @property
    def store(self) -> Path:
        """Where its results are kept unless said otherwise: beside it."""
        return self.path.with_suffix(SUFFIX)


def read_study(path: str | Path) -> StudyFile:
    """Read a study file.

    Raises:
        InvalidStudy: if it cannot be read, is no TOML, or has a key that no study has.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise InvalidStudy(f"{path}: cannot be read: {fault.strerror or fault}") from None
    except UnicodeDecodeError as fault:
        raise InvalidStudy(f"{path}: is no text in UTF-8: {fault.reason} at byte {fault.start}") from None
    except tomllib.TOMLDecodeError as fault:
        raise InvalidStudy(f"{path}: is no TOML: {fault}") from None
    try:
        return StudyFile(path, *_understood(content))
    except InvalidStudy as fault:
        raise InvalidStudy(f"{path}: {fault}") from None


def _understood(content: dict[str, Any]) -> tuple[str, Study]:
    for name, value in content.items():
        if name not in _KEYS:
            raise InvalidStudy(_unknown(name))
        if name in _TABLES and not isinstance(value, dict):
            raise InvalidStudy(f"{name}: got {value!r}, expected a table [{name}]")
    kind = content.pop("kind", None)
    if not isinstance(kind, str):
        raise InvalidStudy(f"kind: got {kind!r}, expected what runs a point, such as 'simulate' or 'module:function'")
    return kind, Study(**content)


def _unknown(name: str) -> str:
    hint = did_you_mean(name, _KEYS) or f"; there are {', '.join(_KEYS)}, and parameters belong in [fixed] or [axes]"
    return f"unknown key {name!r}{hint}"
