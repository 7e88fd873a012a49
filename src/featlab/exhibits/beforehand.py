"""What was fixed before the first run: a digest of the claim's code, kept beside its results, and each change since.

What is run, how it is judged and how often it may be looked at must not follow the data. So the digest is written
before anything runs; a change after runs were seen does not hide: every report says when, and after how many runs.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import inspect
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from featlab.errors import FeatlabError
from featlab.exhibits.protocol import Exhibit, Size
from featlab.files import write_text

_DIGITS = 16
# Of an exhibit, what is said and shown; to change it decides nothing.
_SHOWN = (
    "title",
    "claim",
    "document",
    "papers",
    "protocol",
    "caption",
    "remarks",
    "settled",
    "figure",
    "animation",
    "shows",
)


class UnreadableProtocol(FeatlabError):
    """The record of what was fixed cannot be read; the message says what to do."""


@dataclass(frozen=True)
class Fixed:
    """A state of a claim's code.

    Attributes:
        digest: of studies, theory, checks and looks, as written; of texts, layout and other sizes, nothing.
        since: when it was first run, in ISO 8601.
        runs: how many runs had been seen by then.
    """

    digest: str
    since: str
    runs: int


def protocol_digest(exhibit: Exhibit, size: Size) -> str | None:
    """The digest of a claim's code at one size; None where its source cannot be read, as of one typed at a prompt.

    What a table by size has for other sizes decides nothing at this one, and is left out.
    """
    try:
        source = Path(inspect.getsourcefile(exhibit.studies) or "").read_text(encoding="utf-8")
    except (OSError, TypeError):
        return None
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [given for given in node.keywords if given.arg not in _SHOWN]
        if isinstance(node, ast.Dict):
            entries = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if _is_of(key, size)]
            node.keys, node.values = [key for key, _ in entries], [value for _, value in entries]
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(_dumped(tree).encode()).hexdigest()[:_DIGITS]


def _is_of(key: ast.expr | None, size: Size) -> bool:
    """Whether an entry of a dictionary is not one of another size: `ex.Size.QUICK: ...`."""
    if not (isinstance(key, ast.Attribute) and isinstance(key.value, ast.Attribute) and key.value.attr == "Size"):
        return True
    return key.attr == size.name


def _dumped(node: object) -> str:
    """A syntax tree as `ast.dump` of Python 3.12 writes it, under every version: a digest that differed between them
    would call each claim changed. 3.11 knows no parameters of types, 3.13 leaves out what is empty, and only 3.12 has
    an empty text after a nested format, which is left out."""
    if isinstance(node, list):
        return f"[{', '.join(map(_dumped, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    given = {name: getattr(node, name, None) for name in node._fields}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        given.setdefault("type_params", [])
    if isinstance(node, ast.JoinedStr):
        given["values"] = [part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")]
    # What is None is what it is by default, and left out; a constant may be None.
    constant = isinstance(node, ast.Constant)
    kept = [name for name, value in given.items() if value is not None or (constant and name == "value")]
    return f"{type(node).__name__}({', '.join(f'{name}={_dumped(given[name])}' for name in kept)})"


def fix_protocol(exhibit: Exhibit, size: Size, directory: Path, runs: int) -> list[Fixed]:
    """Write down what is run from now on, if it is new; return all that was.

    Args:
        directory: of the exhibit's results at this size.
        runs: how many are stored there already.
    """
    path = directory / "protocol.json"
    fixed, digest = _read(path), protocol_digest(exhibit, size)
    if digest is not None and digest != (fixed[-1].digest if fixed else None):
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        fixed = [*fixed, Fixed(digest, now, runs)]
        write_text(path, json.dumps([asdict(one) for one in fixed], indent=1) + "\n")
    return fixed


def fixed_words(fixed: Sequence[Fixed]) -> str:
    """When a protocol was fixed, and what was changed after runs were seen."""
    if not fixed:
        return "When its protocol was fixed was not recorded."
    first, *later = fixed
    begin = f"Protocol fixed {first.since}, "
    begin += "before the first run." if not first.runs else f"when {first.runs:,} runs had been seen."
    changed = [f"Changed {one.since}, when {one.runs:,} runs had been seen." for one in later if one.runs]
    return " ".join([begin, *changed])


def is_outdated(exhibit: Exhibit, size: Size, fixed: Sequence[Fixed]) -> bool:
    """Whether a report of this size is known to be of another state of the claim's code than today's."""
    digest = protocol_digest(exhibit, size)
    return digest is not None and len(fixed) > 0 and fixed[-1].digest != digest


def _read(path: Path) -> list[Fixed]:
    if not path.exists():
        return []
    try:
        return [Fixed(str(one["digest"]), str(one["since"]), int(one["runs"])) for one in json.loads(path.read_text())]
    except (ValueError, TypeError, KeyError) as fault:
        why = f"{path}: not a record of what was fixed before a run ({fault!r})"
        raise UnreadableProtocol(f"{why}; move the exhibit's results aside and run it again") from fault
