"""Pictures of results that may come from anyone: a page shows one only if it is a picture and does nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.parsers import expat

from featlab.exhibits.report import UnreadableReport
from featlab.exhibits.schema import Refused, read_plain
from featlab.files import fault_words

_MOST_BYTES = 2**26
_BEGINS = {"png": (b"\x89PNG\r\n\x1a\n",), "still": (b"\x89PNG\r\n\x1a\n",), "gif": (b"GIF87a", b"GIF89a")}
# Elements of SVG that run, embed or fetch something.
_ACTIVE = {"script", "foreignobject", "iframe", "embed", "object", "audio", "video", "handler", "set", "animate", "a"}
_ADDRESSES = {"href", "src"}
_INNER = ("#", "data:image/png;base64,")


def picture(path: Path, kind: str) -> bytes:
    """The content of a picture of that kind ("svg", "png", "still", "gif").

    Raises:
        UnreadableReport: if it is missing, another kind of file, or an SVG that runs or fetches something.
    """
    try:
        content = read_plain(path, _MOST_BYTES)
        if kind == "svg":
            _check_svg(content)
        elif not content.startswith(_BEGINS[kind]):
            raise Refused("the file", content[:8], f"a picture of the kind {kind}")
    except OSError as fault:
        raise UnreadableReport(f"{path}: cannot be read: {fault_words(fault)}; run the exhibit again") from fault
    except Refused as fault:
        raise UnreadableReport(f"{path}: not a picture to show: {fault}; run the exhibit again") from fault
    return content


def _check_svg(content: bytes) -> None:
    """Refuse what is no SVG, or more than a drawing. It is parsed, for a text in it may spell anything."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = _check_element
    parser.EntityDeclHandler = _no_entity
    parser.CharacterDataHandler = _check_style
    parser.buffer_text = True
    try:
        parser.Parse(content, True)
    except expat.ExpatError as fault:
        raise Refused("the file", str(fault), "SVG") from None


def _check_element(name: str, attributes: Mapping[str, str]) -> None:
    local = _local(name)
    if local in _ACTIVE:
        raise Refused("the file", f"<{local}>", "a drawing without elements that run or fetch something")
    for given, value in attributes.items():
        attribute = _local(given)
        address = attribute in _ADDRESSES and not value.strip().startswith(_INNER)
        if attribute.startswith("on") or address:
            raise Refused("the file", f"{attribute}={value}", "a drawing that runs and fetches nothing")
        _check_style(value)


def _check_style(value: str) -> None:
    spelled = value.lower().replace(" ", "")
    if "@import" in spelled or "url(" in spelled.replace("url(#", ""):
        raise Refused("the file", value, "a style that fetches nothing")


def _no_entity(*declared: Any) -> None:
    raise Refused("the file", "an entity", "none: they can grow without end")


def _local(name: str) -> str:
    return name.rpartition(" ")[2].lower()
