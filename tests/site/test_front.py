"""The first page: its promise, a check that names a mistake, a question; and what every page says of itself."""

import dataclasses

import anatomy
import pytest
from anatomy.program import gallery
from anatomy.system.translation import speaking
from bs4 import BeautifulSoup
from docutils import nodes

from autograder.notebooks import address
from autograder.site import about, panel
from autograder.site.pages import index

from .conftest import CHINESE

PUBLIC = dataclasses.replace(address.read(), owner="ada", name="anatomy")


@pytest.fixture(scope="module")
def first(site):
    return BeautifulSoup((site / "index.html").read_text(encoding="utf-8"), "html.parser")


def test_the_first_screen_has_all_parts_and_one_button(first):
    front = first.select_one(".ta-front")
    assert front.select_one(".ta-promise").get_text() == index.PROMISE
    (button,) = front.select(".ta-begin")
    assert button["href"] == "units/00-start-here.html"
    assert front.select_one(".ta-front-how").get_text().count(".") == 1, "one sentence, while the course has no address"
    facts = dict(
        zip((e.get_text() for e in front.select("dt")), (e.get_text() for e in front.select("dd")), strict=True)
    )
    assert set(facts) == {"For whom", "You know", "It takes", "You need"}
    assert "33 hours" in facts["It takes"] and "No GPU" in facts["You need"]


def test_the_question_has_one_right_word_and_a_reason_for_each(first):
    choices = first.select(".ta-first-question details")
    assert [c.summary.get_text() for c in choices] == ["cat", "sat", "mat"]
    assert [c.select_one("[data-right]")["data-right"] for c in choices] == ["false", "false", "true"]
    assert all(len(c.p.get_text()) > 60 for c in choices)


@pytest.mark.parametrize(
    "heaviest, answer", [("cat", 5), ("sat", 7)], ids=["cat counts most", "sat counts as much as mat"]
)
def test_the_reasons_are_true(heaviest, answer):
    """By trying all weights: what the question says of them can't be exceeded."""
    steps = range(101)
    weights = [(a / 100, b / 100, (100 - a - b) / 100) for a in steps for b in steps if a + b <= 100]
    most = {"cat": lambda a, b, c: a >= max(b, c), "sat": lambda a, b, c: b >= c}[heaviest]
    assert max(a + 5 * b + 9 * c for a, b, c in weights if most(a, b, c)) == pytest.approx(answer)
    assert min(c for a, b, c in weights if abs(a + 5 * b + 9 * c - 7.4) < 1e-9) == pytest.approx(0.6)


def test_the_panel_shows_the_very_verdicts(first):
    wrong, mended = (first.select_one(f".ta-named-{name}") for name in ("wrong", "mended"))
    message = anatomy.evaluate(panel.EXERCISE, lambda x, dim=-1: x.exp() / x.exp().sum(dim, True)).mistakes[0].message
    assert message in wrong.get_text() and "nan, nan, nan" in wrong.get_text() and panel.WRONG in wrong.get_text()
    assert "attention.softmax passed" in mended.get_text() and panel.MENDED in mended.get_text()
    assert "Recorded" in first.select_one(".ta-named").get_text()
    radios = first.select(".ta-named input")
    assert [radio.has_attr("checked") for radio in radios] == [True, False]


@pytest.mark.parametrize(
    "line, mistake, says",
    [
        (panel.MENDED, panel.MISTAKE, "passes"),
        (panel.WRONG, "", "refused as .*no_shift"),
        (panel.WRONG, "logarithm", "refused as .*no_shift"),
    ],
)
def test_a_verdict_that_is_another_stops_the_build(line, mistake, says):
    with pytest.raises(panel.NotAsShown, match=says):
        panel.judged(line, mistake)


def test_the_panel_speaks():
    with speaking(CHINESE):
        said = panel.panel()
    assert "写错的一行" in said and "最小的失败用例" in said


VISIBLE = "() => ['wrong', 'mended'].map((n) => document.querySelector(`.ta-named-${n}`).checkVisibility())"


@pytest.mark.browser
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_panel_turns_from_disk_by_mouse_and_key(browser, site, scripts):
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/index.html")
    assert page.evaluate(VISIBLE) == [True, False], "the wrong answer is there first"
    page.get_by_text("the mended line").click()
    assert page.evaluate(VISIBLE) == [False, True]
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(VISIBLE) == [True, False]
    context.close()


# ---- what every page says of itself


def test_every_page_has_a_description_and_what_a_shared_link_shows(pages):
    for page, text in pages.text.items():
        head = BeautifulSoup(text, "html.parser").head
        said = {e.get("name") or e.get("property"): e["content"] for e in head.select("meta[content]")}
        assert said["og:title"] and said["og:site_name"] and "og:image" not in said or address.read().owner
        if page.name != "search.html":
            assert 30 < len(said["description"]) <= about.LONGEST + 2, page
            assert said["description"] == said["og:description"] and "\\" not in said["description"], page


def test_a_public_course_has_pictures_for_shared_links(monkeypatch):
    monkeypatch.setattr(address, "read", lambda: PUBLIC)
    raw = "https://raw.githubusercontent.com/ada/anatomy/main/assets/"
    for page, file in (
        ("index", "figures/rope-explorer-light.webp"),
        ("gallery/rope", "gallery/RopeExplorer-light.webp"),
    ):
        assert f'<meta property="og:image" content="{raw}{file}">' in about.tags(page, "Title", "Words.")
        assert (gallery.folder().parent / file).is_file()


def tree(*parts):
    document = nodes.document(None, None)
    document += nodes.section("", nodes.title("", "Title"), *parts)
    return document


def test_a_description_is_whole_sentences_of_running_text():
    long = nodes.paragraph("", "", nodes.Text("One sentence of this page with some words. " * 6))
    assert about.description(tree(long)) == " ".join(["One sentence of this page with some words."] * 4)
    formula = nodes.paragraph(
        "", "", nodes.Text("A long paragraph that has a formula in it: "), nodes.math("", r"\frac{1}{2}")
    )
    assert about.description(tree(formula)) == ""
    promise = nodes.raw("", '<p class="ta-promise">Build &amp; see.</p>', format="html")
    assert about.description(tree(promise, long)) == "Build & see."
    items = nodes.bullet_list(
        "", *(nodes.list_item("", nodes.paragraph("", "", nodes.Text(t))) for t in ("do one thing;", "do another."))
    )
    begin = nodes.paragraph("", "", nodes.Text("At the end of this page you will be able to"))
    assert about.description(tree(begin, items)).endswith("you will be able to do one thing; do another.")


@pytest.mark.parametrize("public", [False, True])
def test_the_foot_says_license_version_and_the_source_if_it_is_known(monkeypatch, first, public):
    known = PUBLIC if public else dataclasses.replace(PUBLIC, owner="", name="")
    monkeypatch.setattr(address, "read", lambda: known)
    foot = BeautifulSoup(about.foot(), "html.parser")
    assert known.version in foot.get_text() and {"MIT", "CC BY 4.0"} <= {a.get_text() for a in foot.select("a")}
    assert [a["href"] for a in foot.select("a") if a.get_text() == "Source"] == [PUBLIC.repository] * public
    assert first.select_one("footer .left-details").get_text().startswith(f"Transformer Anatomy {known.version}")
