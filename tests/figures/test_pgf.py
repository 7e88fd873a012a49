"""Pictures as PGF: nobody asks TeX, and what is written is what LaTeX can read."""

import io
import re

import numpy as np
import pytest
from matplotlib.backends import backend_pgf

from featlab.errors import InvalidParameter
from featlab.figures.pgf import latex
from featlab.figures.style import add_legend, dress, new_figure


@pytest.fixture(autouse=True)
def no_tex(monkeypatch):
    def refuse(*_):
        raise AssertionError("TeX was asked")

    monkeypatch.setattr(backend_pgf.LatexManager, "_get_cached_or_new", refuse)


def written(figure, path):
    figure.savefig(path)
    return path.read_text(encoding="utf-8")


def curves():
    figure = new_figure(4.0, 3.0)
    axes = dress(figure.add_subplot(), title="100% of a_1 & #2 {x} \\ ~", x="n/d > 1", y="E[(y - f)^2]")
    axes.semilogx([1, 10, 1000], [-1, 0, 1], "o--", label="|cos| < 1 costs $5")
    add_legend(axes)
    return figure


def test_a_text_is_what_a_document_can_set():
    assert latex(r"n/d $\mathdefault{10^{2}}$ at 5%") == r"n/d $\mathdefault{10^{2}}$ at 5\%"
    assert latex("h1**2 + a_b^2") == r"h1**2 + a\_b\textasciicircum{}2"
    assert latex("one $ alone") == r"one \$ alone"


def test_curves_need_no_tex_and_leave_the_font_to_the_document(tmp_path):
    text = written(curves(), tmp_path / "curves.pgf")
    for shown in (r"100\% of a\_1 \& \#2 \{x\} \textbackslash{} \textasciitilde{}", r"n/d \ensuremath{>} 1"):
        assert shown in text
    assert r"\ensuremath{|}cos\ensuremath{|} \ensuremath{<} 1 costs \$5" in text
    assert r"$\mathdefault{10^{2}}$" in text
    assert r"\providecommand{\mathdefault}" in text
    assert r"\setmainfont" not in text
    for opened, closed in ((r"\begin{pgfscope}", r"\end{pgfscope}"), (r"\begingroup", r"\endgroup")):
        assert text.count(opened) == text.count(closed) > 0
    depth = np.cumsum([1 if brace == "{" else -1 for brace in re.findall(r"(?<!\\)[{}]", text)])
    assert depth[-1] == 0
    assert depth.min() >= 0


def test_texts_lie_where_they_lie_in_a_png(tmp_path):
    figure = curves()
    text = written(figure, tmp_path / "curves.pgf")
    name = figure.axes[0].xaxis.label
    x, y = name.get_transform().transform(name.get_position()) / figure.dpi
    found = re.search(r"\\pgftext\[x=([0-9.]+)in,y=([0-9.]+)in,,top\].*n/d", text)
    assert found is not None
    assert np.allclose([float(found[1]), float(found[2])], [x, y], atol=0.02)


def test_labels_beside_an_axis_are_held_at_its_side(tmp_path):
    figure = new_figure(4.0, 3.0)
    figure.add_subplot().set_yticks([0, 1], ["short", "a label of many letters"])
    text = written(figure, tmp_path / "bars.pgf")
    held = [
        re.search(rf"\\pgftext\[x=([0-9.]+)in,y=[0-9.]+in,right,base\].*{label}", text)
        for label in ("short", "a label of many letters")
    ]
    assert all(held)
    assert np.ptp([float(one[1]) for one in held]) < 0.03


def test_an_image_lies_beside_its_picture(tmp_path):
    figure = new_figure(3.0, 3.0)
    figure.add_subplot().imshow(np.eye(4))
    text = written(figure, tmp_path / "plane.pgf")
    assert (tmp_path / "plane-img0.png").is_file()
    assert r"{plane-img0}" in text
    with pytest.raises(InvalidParameter, match="a file's name"):
        figure.savefig(io.BytesIO(), format="pgf")
