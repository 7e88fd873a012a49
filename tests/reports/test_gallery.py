import io
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from PIL import Image

from featlab.exhibits import Size, run_exhibit
from featlab.exhibits.pictures import write_figure
from featlab.exhibits.report import UnreadableReport, read_report, write_report
from featlab.figures.panels import panels
from featlab.reports import gallery
from featlab.reports.gallery import NotAGallery, write_gallery
from featlab.reports.gallery_index import THUMB_HEIGHT, THUMB_WIDTH, thumbnail
from tests.exhibits.toy import exhibit
from tests.reports.gallery_checks import faults


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A site of one exhibit, with an animation."""
    shown = exhibit(moving=True)
    monkeypatch.setattr(gallery, "all_exhibits", lambda: [shown])
    run_exhibit(shown, Size.QUICK, tmp_path / "results")
    return tmp_path


def test_a_site_of_one_exhibit(toy):
    written = write_gallery(toy / "site", toy / "results")
    assert (written.shown, written.total) == (1, 1)
    assert faults(toy / "site") == []
    page = (toy / "site" / "toy.html").read_text()
    assert "A coin &lt;fair&gt;" in page
    assert "&lt;b&gt;marks&lt;/b&gt;" in page
    assert "featlab exhibit run toy --size quick" in page
    assert "@misc{damian2022" in page
    assert "prefers-reduced-motion" in page


def test_everything_is_escaped(toy, monkeypatch):
    """Names that would be elements, or leave their attribute, are shown as they are."""
    hostile = "\"><script src='//x.example'></script>&"
    named = dict.fromkeys(("title", "claim", "caption", "protocol"), hostile)
    monkeypatch.setattr(gallery, "all_exhibits", lambda: [replace(exhibit(moving=True), **named)])
    write_gallery(toy / "site", toy / "results")
    assert faults(toy / "site") == []
    for name in ("index", "document-multi-index", "toy"):
        text = (toy / "site" / f"{name}.html").read_text()
        assert "<script" not in text
        assert hostile in unescape(text)


def test_an_exhibit_that_was_not_run_is_shown_as_such(toy):
    written = write_gallery(toy / "site", toy / "nowhere")
    assert (written.shown, written.total) == (0, 1)
    assert faults(toy / "site") == []
    assert "not run" in (toy / "site" / "index.html").read_text()


def test_the_largest_size_is_shown_unless_asked(toy):
    run_exhibit(exhibit(), Size.PAPER, toy / "results")
    write_gallery(toy / "site", toy / "results")
    assert "--size paper" in (toy / "site" / "toy.html").read_text()
    write_gallery(toy / "site", toy / "results", Size.QUICK)
    assert "--size quick" in (toy / "site" / "toy.html").read_text()


def test_a_gallery_is_replaced_and_nothing_else_is(toy):
    write_gallery(toy / "site", toy / "results")
    (toy / "site" / "old.html").write_text("old")
    write_gallery(toy / "site", toy / "results")
    assert not (toy / "site" / "old.html").exists()
    (toy / "mine").mkdir()
    (toy / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(NotAGallery, match="holds something that is no gallery"):
        write_gallery(toy / "mine", toy / "results")
    assert (toy / "mine" / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(
    ("addition", "words"),
    [
        ('<img src="pictures/toy.png">', "without words"),
        ('<img src="https://example.org/x.png" alt="x">', "fetches"),
        ('<script src="//cdn.example.org/x.js"></script>', "fetches"),
        ('<a href="missing.html">x</a>', "link to nowhere"),
        ("<style>@import 'x.css'</style>", "style sheet"),
    ],
)
def test_the_checks_of_a_site_see(toy, addition, words):
    write_gallery(toy / "site", toy / "results")
    page = toy / "site" / "toy.html"
    page.write_text(page.read_text().replace("</main>", addition + "</main>"))
    assert any(words in fault for fault in faults(toy / "site"))


def test_the_first_page_has_a_thumbnail_and_filters_and_no_script(toy):
    write_gallery(toy / "site", toy / "results")
    index = (toy / "site" / "index.html").read_text()
    with Image.open(toy / "site" / "pictures" / "toy-small.png") as small:
        assert small.size == (THUMB_WIDTH, THUMB_HEIGHT)
    assert 'src="pictures/toy-small.png"' in index
    assert "<script" not in index
    for kind in ("verdict", "document", "topic"):
        assert f'<fieldset class="filter"><legend class="unseen">{kind}</legend>' in index
    assert "remake it with <code>featlab exhibit run toy --size quick</code>" in index


def test_a_verdict_names_its_size_unless_it_is_that_of_the_papers(toy):
    for size, words in ((Size.QUICK, "reproduced, size quick</p>"), (Size.PAPER, "reproduced</p>")):
        run_exhibit(exhibit(), size, toy / "results")
        write_gallery(toy / "site", toy / "results", size)
        for name in ("index", "document-multi-index", "toy"):
            assert words in (toy / "site" / f"{name}.html").read_text()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_a_thumbnail_is_the_first_panel(count, tmp_path):
    """Panels are filled with colours: of the first one's all is seen, of the others' nothing."""
    made, axes = panels([f"panel {place}" for place in range(count)])
    for place, panel in enumerate(axes):
        panel.axvspan(0, 1, color="blue" if place else "red")
        panel.axvspan(0.95, 1, color="black" if place else "lime")
        panel.set_xlim(0, 1)
    picture = tmp_path / write_figure(made, tmp_path)["png"]
    with Image.open(io.BytesIO(thumbnail(picture.read_bytes(), "figure.png"))) as small:
        assert small.size == (THUMB_WIDTH, THUMB_HEIGHT)
        red, green, blue = np.moveaxis(np.asarray(small, dtype=int), -1, 0)
    assert not ((blue > 200) & (red < 100)).any()
    filled, end = ((one > 200) & (other < 100) & (blue < 100) for one, other in ((red, green), (green, red)))
    assert np.ptp(np.nonzero(filled)[1]) > THUMB_WIDTH / 2
    assert np.ptp(np.nonzero(end)[1]) == pytest.approx(np.ptp(np.nonzero(filled | end)[1]) / 20, abs=2)


def test_a_thumbnail_of_what_is_no_picture_is_refused():
    """A file with the first bytes of a PNG and nothing after them, and one that would fill the memory."""
    buffer = io.BytesIO()
    Image.new("1", (8000, 8000)).save(buffer, format="PNG")
    for content in (b"\x89PNG\r\n\x1a\n", buffer.getvalue()):
        with pytest.raises(UnreadableReport, match=r"a\.png: not a picture to show"):
            thumbnail(content, "a.png")


@pytest.mark.parametrize("kept", [("png",), ()])
def test_pictures_that_were_not_kept_are_not_shown(toy, kept):
    report = read_report(toy / "results", "toy", Size.QUICK)
    assert report is not None
    pictures = {kind: report.pictures[kind] for kind in kept}
    write_report(toy / "results", replace(report, pictures=pictures))
    write_gallery(toy / "site", toy / "results")
    assert faults(toy / "site") == []
    assert [("<img" in (toy / "site" / f"{page}.html").read_text()) for page in ("toy", "document-multi-index")] == [
        bool(kept)
    ] * 2
