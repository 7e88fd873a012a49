"""Pictures as PGF, without a TeX installation: a document that reads the file sets its texts itself.

matplotlib's own backend asks TeX how large a text is. Here matplotlib's font tells it, which is wider than LaTeX's
fonts, so that what does not overlap there does not overlap in the document either.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any, cast

from matplotlib import cbook
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Affine2D
from PIL import Image

from featlab.errors import InvalidParameter

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
} | {letter: "\\" + letter for letter in "{}#&_%$"}
_MATHEMATICS = re.compile(r"((?<!\\)\$.*?(?<!\\)\$)")
# Where a text is held, as a share of its width.
_SHARES = {"left": 0.0, "center": 0.5, "right": 1.0}
_HEADER = r"""%% A picture by featlab, for \input in a LaTeX document with \usepackage{pgf} in its preamble.
%% Its texts are set in the font of the document; without the second line, in its sans serif one.
\begingroup%%
\renewcommand{\sffamily}{}%%
\providecommand{\mathdefault}[1]{#1}%%
\makeatletter%%
\begin{pgfpicture}%%
\pgfpathrectangle{\pgfpointorigin}{\pgfqpoint{%fin}{%fin}}%%
\pgfusepath{use as bounding box, clip}%%
"""
_END = r"""\end{pgfpicture}%
\makeatother%
\endgroup%
"""


def latex(text: str) -> str:
    r"""Matplotlib's text as LaTeX: what stands between dollars as it is, of the rest every special character escaped.

    Examples:
        >>> latex(r"n/d & $\mathdefault{10^{2}}$")
        'n/d \\& $\\mathdefault{10^{2}}$'
    """
    parts = _MATHEMATICS.split(text)
    parts[::2] = ["".join(_SPECIAL.get(letter, letter) for letter in part.replace(r"\$", "$")) for part in parts[::2]]
    return "".join(parts)


def write(figure: Figure, file: Any, restore: Any = None) -> None:
    """Write the figure as a pgfpicture; images lie beside the file, as with matplotlib's own backend.

    Args:
        file: a path, or an open file, beside which no images can lie.
        restore: what `MixedModeRenderer` is to undo while it draws an image.
    """
    width, height = figure.get_size_inches()
    with cbook.open_file_cm(file, "w", encoding="utf-8") as opened:
        out: Any = opened if cbook.file_requires_unicode(opened) else codecs.getwriter("utf-8")(opened)
        out.write(_HEADER % (width, height))
        inner, dots = _Renderer(figure, out), cast(Any, figure.dpi)
        both: Any = MixedModeRenderer(figure, width, height, dots, inner, bbox_inches_restore=restore)
        figure.draw(both)
        out.write(_END)


class _Renderer(RendererPgf):
    """matplotlib's, but that texts are measured in its own font, and escaped."""

    get_text_width_height_descent = RendererBase.get_text_width_height_descent

    def draw_text(
        self, gc: Any, x: Any, y: Any, s: str, prop: Any, angle: Any, ismath: Any = False, mtext: Any = None
    ) -> None:
        """Leave the letters to the document, whose font is narrower: a label is held at the end that it is aligned by.

        matplotlib's backend does that for all texts but those that are centred on a baseline, as beside an axis.
        """
        if mtext is not None and angle == 0 and mtext.get_verticalalignment() == "center_baseline":
            width, _, _ = self.get_text_width_height_descent(s, prop, ismath)
            alignment = mtext.get_horizontalalignment()
            mtext = Text(x + _SHARES[alignment] * width, y, ha=alignment, va="baseline")
        super().draw_text(gc, x, y, latex(s), prop, angle, ismath, mtext)

    def draw_image(self, gc: Any, x: Any, y: Any, im: Any, transform: Any = None) -> None:
        """A png beside the file; the pgf manual's `pgfimage` shows it."""
        path = Path(str(getattr(self.fh, "name", "")))
        if not path.is_file():
            raise InvalidParameter("a picture with images as pgf", self.fh, "a file's name: its images lie beside it")
        image = path.with_name(f"{path.stem}-img{self.image_counter}.png")
        self.image_counter += 1
        Image.fromarray(im[::-1]).save(image)
        height, width = im.shape[:2]
        scale = transform.frozen() if transform is not None else Affine2D().scale(width, height)
        a, b, c, d, e, f = (number / self.dpi for number in scale.to_values())
        matrix = f"{{{a:f}}}{{{b:f}}}{{{c:f}}}{{{d:f}}}{{{e + x / self.dpi:f}in}}{{{f + y / self.dpi:f}in}}"
        self.fh.write("\\begin{pgfscope}%\n")
        self._print_pgf_clip(gc)
        self.fh.write(rf"\pgfsys@transformcm{matrix}%" + "\n")
        self.fh.write(
            rf"\pgftext[left,bottom]{{\pgfimage[interpolate=true,width=1in,height=1in]{{{image.stem}}}}}%" + "\n"
        )
        self.fh.write("\\end{pgfscope}%\n")
