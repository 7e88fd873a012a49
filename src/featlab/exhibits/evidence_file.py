"""Evidence on the disk: one JSON file beside the report, each test on a line. No digit is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from featlab.comparison import FiniteSize
from featlab.errors import FeatlabError
from featlab.exhibits.evidence import Evidence, known_tests
from featlab.exhibits.schema import Refused, read_record
from featlab.exhibits.verdict import CheckResult
from featlab.files import fault_words, write_text

FORMAT = 1
_PARTS = ("data_vars", "coords")


class UnreadableEvidence(FeatlabError):
    """A file of evidence that cannot be read; the message says what to do."""


def evidence_path(report: Path) -> Path:
    """Where the evidence of a report is kept."""
    return report.with_name("evidence.json")


def write_evidence(path: Path, kept: Sequence[Evidence]) -> None:
    """Write it whole or not at all, each test on a line of its own."""
    lines = (json.dumps({name: _plain(value) for name, value in vars(one).items()}, allow_nan=False) for one in kept)
    write_text(path, f'{{"format": {FORMAT}, "tests": [\n' + ",\n".join(lines) + "\n]}\n")


def read_evidence(path: Path) -> list[Evidence] | None:
    """The evidence beside a report, None if none was kept.

    Args:
        path: of the file, `evidence.json`.

    Raises:
        UnreadableEvidence: for anything else; it names the file.

    Examples:
        >>> from pathlib import Path
        >>> from featlab.exhibits import read_evidence
        >>> read_evidence(Path("nowhere") / "evidence.json") is None
        True
    """
    try:
        record = read_record(path)
        if record.get("format") != FORMAT or not isinstance(record.get("tests"), list):
            raise Refused("format", record.get("format"), f"{FORMAT}, with a list of tests")
        return [_read(entry, f"tests[{place}]") for place, entry in enumerate(record["tests"])]
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise UnreadableEvidence(f"{path}: cannot be read: {fault_words(fault)}") from fault
    except (Refused, KeyError, TypeError, ValueError) as fault:
        raise UnreadableEvidence(f"{path}: not evidence: {fault}; run the exhibit again to remake it") from fault


def _read(entry: Any, where: str) -> Evidence:
    found = Evidence(**{name: _value(value) for name, value in entry.items()})
    if found.test not in known_tests():
        raise Refused(f"{where}.test", found.test, "one of " + ", ".join(sorted(known_tests())))
    return replace(found, result=CheckResult(found.result))


def _plain(value: Any) -> Any:
    """As JSON knows it; what it does not know is an object with its kind for a name. No digit is lost."""
    if isinstance(value, FiniteSize):
        return {"finite size": asdict(value)}
    if isinstance(value, xr.Dataset):
        known = {name: entry for name, entry in value.attrs.items() if isinstance(entry, bool | int | float | str)}
        parts = {part: {name: _labelled(held) for name, held in getattr(value, part).items()} for part in _PARTS}
        return {"dataset": {**parts, "attrs": _plain(known)}}
    if isinstance(value, xr.DataArray | np.ndarray | np.generic):
        return _numbers(np.asarray(value))
    if isinstance(value, float) and not np.isfinite(value):
        return _numbers(np.asarray(value))
    if isinstance(value, Mapping):
        return {"mapping": {str(name): _plain(entry) for name, entry in value.items()}}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    raise TypeError(f"evidence holds numbers, texts and datasets, not {type(value).__name__}: {value!r}")


def _labelled(held: xr.DataArray) -> dict[str, Any]:
    return {"dims": list(map(str, held.dims)), "values": _plain(np.asarray(held))}


def _numbers(values: np.ndarray) -> dict[str, Any]:
    """Numbers as the shortest texts that give them back; what is none of JSON's is a text, too."""
    if values.dtype.kind not in "bifUO":
        raise TypeError(f"evidence holds numbers and texts, not {values.dtype}")
    short = [float(str(one)) for one in values.ravel()] if values.dtype.kind == "f" else values.ravel().tolist()
    listed = [one if not isinstance(one, float) or np.isfinite(one) else str(one) for one in short]
    kind = "str" if values.dtype.kind in "UO" else values.dtype.name
    return {"numbers": {"kind": kind, "shape": list(values.shape), "values": listed}}


def _value(record: Any) -> Any:
    if isinstance(record, list):
        return [_value(entry) for entry in record]
    if not isinstance(record, dict):
        return record
    ((kind, held),) = record.items()
    return _READERS[kind](held)


def _dataset(held: Mapping[str, Any]) -> xr.Dataset:
    parts = [{name: (one["dims"], _value(one["values"])) for name, one in held[part].items()} for part in _PARTS]
    return xr.Dataset(data_vars=parts[0], coords=parts[1], attrs=_value(held["attrs"]))


def _array(held: Mapping[str, Any]) -> np.ndarray:
    return np.array(held["values"], dtype=held["kind"]).reshape(held["shape"])


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "finite size": lambda held: FiniteSize(**held),
    "dataset": _dataset,
    "numbers": _array,
    "mapping": lambda held: {name: _value(entry) for name, entry in held.items()},
}
