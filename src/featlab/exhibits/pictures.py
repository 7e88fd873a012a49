"""An exhibit's pictures as files: SVG and PNG on white, and a GIF where there are frames."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from featlab.files import write_bytes

_DPI = 144
_FRAME_DPI = 100
_FRAME_MS, _LAST_MS = 160, 1600


def write_figure(figure: Figure, directory: Path, name: str = "figure") -> dict[str, str]:
    """Write SVG (text stays text, the same bytes each time) and PNG; format -> file name."""
    figure.patch.set_alpha(1.0)
    figure.patch.set_facecolor("white")
    files = {}
    for kind, options in (("svg", {"metadata": {"Date": None, "Creator": None}}), ("png", {"dpi": _DPI})):
        files[kind] = f"{name}.{kind}"
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, **options)
            write_bytes(directory / files[kind], buffer.getvalue())
    return files


def write_animation(frames: Iterator[Figure], directory: Path, name: str = "animation") -> dict[str, str]:
    """Write a GIF that runs forever and rests on its last frame, which is also kept as a still PNG."""
    images = [_image(frame) for frame in frames]
    durations = [_FRAME_MS] * (len(images) - 1) + [_LAST_MS]
    moving, still = f"{name}.gif", f"{name}-still.png"
    buffer = io.BytesIO()
    options = {"append_images": images[1:], "duration": durations, "loop": 0, "optimize": True}
    images[0].save(buffer, format="GIF", save_all=True, **options)
    write_bytes(directory / moving, buffer.getvalue())
    buffer = io.BytesIO()
    images[-1].convert("RGB").save(buffer, format="PNG")
    write_bytes(directory / still, buffer.getvalue())
    return {"gif": moving, "still": still}


def _image(frame: Figure) -> Image.Image:
    frame.patch.set_alpha(1.0)
    frame.patch.set_facecolor("white")
    buffer = io.BytesIO()
    frame.savefig(buffer, format="png", dpi=_FRAME_DPI)
    return Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
