"""Words that code puts together, in Chinese: labels of plots, texts of drawings, results, and what stays English."""

import base64
import html
import re

import anatomy
import matplotlib.pyplot as plt
import pytest
from anatomy import drawings, figures
from anatomy.drawings.__main__ import STORED
from anatomy.figures import pictured
from anatomy.notebook import predictions
from anatomy.system.labels import label, pattern
from anatomy.system.translation import speaking

from autograder.languages import catalogues, labels, words

CHINESE = re.compile("[\u4e00-\u9fff]")


def plot():
    figure, axes = plt.subplots()
    axes.plot([0, 1], [1, 2], label="layer 1, a fifth of the rate")
    axes.set(xlabel="training step", ylabel="accuracy", title="My own title")
    axes.legend()
    return figure


def written(svg):
    """Texts of an SVG that are more than numbers."""
    return [html.unescape(t) for t in re.findall(r"<text\b[^>]*>([^<]+)<", svg) if any(c.isalpha() for c in t)]


def svg_in(page):
    return base64.b64decode(re.search(r"svg\+xml;base64,([^\"]+)", page)[1]).decode()


@pytest.mark.parametrize(
    "english, key",
    [
        ("layer 3 of 12", "layer {a} of {b}"),
        ("4,096 tokens, -1.5e-06", "{a} tokens, {b}"),
        ("keys so far (B, 4, T, 16)", "keys so far {a}"),
        ("GPT-2 and float32", "GPT-{a} and float32"),
    ],
)
def test_values_are_no_part_of_what_is_looked_up(english, key):
    found, values = pattern(english)
    assert found == key and found.format(**dict(zip("abcdefg", values, strict=False))) == english


def test_a_label_is_looked_up_whole_then_in_its_parts():
    with speaking("zh_CN"):
        assert label("layer 3") == "第 3 层" and label("width 8: 0.51") == "宽度 8：0.51"
        assert label("layer 1, a fifth of the rate") == "第 1 层，五分之一的学习率"
        assert label("layer 1, nobody's words") == "第 1 层，nobody's words"
        for kept in ("nobody's words", "", " ", "{a: 1}", "12", " ".join(map(str, range(40)))):
            assert label(kept) == kept
    assert label("layer 3") == "layer 3"


def test_a_plot_is_chinese_on_a_page_and_keeps_the_learners_own_words():
    with speaking("zh_CN"):
        data, _ = figures.bundle(plot())
    texts = written(svg_in(data["text/html"]))
    assert {"训练步", "准确率", "第 1 层，五分之一的学习率", "My own title"} == set(texts)
    visible = html.unescape(data["text/html"])
    assert "<caption>My own title：准确率，按训练步。</caption>" in visible
    assert data["text/plain"].startswith("一幅图。") and "训练步、第 1 层" in data["text/plain"]


def test_without_a_chinese_font_a_png_is_english_and_not_boxes(monkeypatch):
    english = figures.bundle(plot())[0]["image/png"]
    monkeypatch.setattr(pictured, "font", lambda: "")
    with speaking("zh_CN"):
        assert figures.bundle(plot())[0]["image/png"] == english


def test_with_a_chinese_font_a_png_is_chinese_and_the_figure_stays_as_it_was(recwarn):
    if not pictured.font():
        pytest.skip("no font with Chinese is installed: make system-packages")
    figure = plot()
    english = figures.bundle(figure)[0]["image/png"]
    with speaking("zh_CN"):
        chinese = figures.bundle(figure)[0]["image/png"]
    assert chinese != english and figures.bundle(figure)[0]["image/png"] == english
    assert not [w for w in recwarn if "missing from" in str(w.message)], "a letter was drawn as a box"


@pytest.mark.parametrize("name", STORED)
def test_drawings_leave_no_english_but_names(name):
    drawing = STORED[name]()
    english = drawing.html()
    with speaking("zh_CN"):
        chinese = drawing.html()
    assert drawing.html() == english and len(written(english)) == len(written(chinese))
    told = re.findall(r"<desc>([^<]+)<", chinese)
    assert told and all(CHINESE.search(t) for t in told)
    left = [t for t in written(chinese) if not CHINESE.search(t) and words.is_words(t)]
    assert set(left) <= {"softmax", "norm", "Post-LN", "Pre-LN", "pre+post", "GELU (tanh)"}, left


def test_a_result_that_code_puts_together_is_chinese(monkeypatch):
    monkeypatch.setattr(predictions, "_asked", {})
    with speaking("zh_CN"):
        anatomy.predict("start.p1")
        anatomy.record_prediction("start.p1", "stays the same")
        shown = anatomy.reveal("start.p1", lambda: "static 10.0%, dynamic 0.00%", answer="stays the same")
        assert "静态 10.0%，动态 0.00%" in repr(shown) and "静态 10.0%，动态 0.00%" in shown._repr_html_()


def test_every_label_of_a_cell_has_an_entry_and_every_entry_chinese():
    cell = 'plt.plot(x, label=f"{n} tokens, in place"), plt.xlabel("step"), panel.set(title="all" if a else "some")'
    assert set(labels.of_cell(cell)) == {"step", "0 tokens, in place", "all", "some"}
    assert list(labels.results('reveal("a", lambda: f"{x:.0%} of {n:,} words")')) == ["0% of 0 words"]
    catalog = catalogues.read(catalogues.path_of("zh_CN", "labels"))
    assert not [m.id for m in catalogues.messages(catalog) if not catalogues.is_translated(m)]


def test_a_drawing_of_my_own_notes_is_chinese_too():
    from anatomy.atlas import configuration

    with speaking("zh_CN"):
        page = drawings.token_path(configuration("gpt-2"), met={"blocks": "units 01 to 04"}).html()
    assert "单元 01 到 04" in page and "一个词元的路径" in page
