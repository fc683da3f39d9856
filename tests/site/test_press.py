"""Pages on which a check is pressed: today's verdicts on the code that they show, and a widget that follows."""

import base64
import gzip
import json
import re
from dataclasses import replace

import anatomy
import pytest
from anatomy.system import translation
from anatomy.widgets.tools import following
from bs4 import BeautifulSoup

from autograder.site import press
from autograder.site.checks import looking
from autograder.site.checks.serving import served
from autograder.site.pages import press as press_pages

from .conftest import CHINESE

KIB = 1024
VERDICTS, SHOWN = 25 * KIB, 50 * KIB  # of one page: all verdicts; all that this adds to the page
ONE_ANSWER = 200 * KIB  # what pressing the button loads, at most
FIRST = press.CHOSEN[0]
PAGE = f"{FIRST.page}.html"
each = pytest.mark.parametrize("chosen", press.CHOSEN, ids=lambda chosen: chosen.id)


def answers(text):
    """[(code, verdict's HTML, state)] of a page, in its order."""
    found = BeautifulSoup(text, "html.parser").select(".ta-press-answer")
    return [(a.pre.get_text(), str(a.select_one("[role=status]")), a.get("data-state")) for a in found]


def stale(chosen, text):
    """Numbers of the answers on a page about which the check says something else today."""
    now = [anatomy.evaluate(chosen.id, press.run(chosen, code)).html() for code, _, _ in answers(text)]
    normal = [str(BeautifulSoup(verdict, "html.parser")) for verdict in now]
    return [at for at, (_, verdict, _) in enumerate(answers(text)) if verdict != normal[at]]


def page_of(site, chosen):
    return (site / f"{chosen.page}.html").read_text(encoding="utf-8")


def told(site, name):
    """The data of one of the widgets' files."""
    text = (site / "_static" / "live" / f"{name}.js").read_text(encoding="utf-8")
    return json.loads(text.partition("=")[2].rstrip(";\n"))


def tables_of(site, state):
    """table → bytes of a state."""
    kept = {}
    for pack in map(lambda name: told(site, name), state["packs"]):
        data, at = gzip.decompress(base64.b64decode(pack["gzip"])), 0
        for name, length in pack["index"]:
            kept[name], at = data[at : at + length], at + length
    return {name: kept[key] for name, key in state["tables"].items()}


@each
def test_each_verdict_is_what_the_package_says_of_the_code_that_is_shown(site, chosen):
    text = page_of(site, chosen)
    assert len(answers(text)) == len(chosen.answers) > 5
    assert not stale(chosen, text)


def test_a_verdict_that_is_not_todays_is_found(site):
    text = page_of(site, FIRST)
    assert stale(FIRST, text.replace("the weights are ignored.", "the weights are left out.")) == [0]
    assert stale(FIRST, re.sub(r'(<span class="n">values</span>.*)0', r"\g<1>1", text, count=1)) == [0]


@each
def test_the_widget_shows_that_answers_tables(site, chosen):
    seen = set()
    for code, _, name in answers(page_of(site, chosen)):
        function = press.run(chosen, code)
        widget = chosen.widget(
            press.run(chosen, f"def {chosen.target}(*given, **options):\n    raise NotImplementedError")
        )
        following.after_check(anatomy.evaluate(chosen.id, function), {chosen.target: function})
        state = told(site, name)
        assert tables_of(site, state) == widget.tables
        assert (state["notice"], state["mistake"]) == (widget.notice, widget.mistake)
        seen.add("broken" if state["notice"] else "right" if not state["mistake"] else "wrong")
    assert {"right", "wrong"} <= seen


@each
def test_pages_are_light(site, chosen):
    text = page_of(site, chosen)
    found = answers(text)
    assert sum(len(verdict.encode()) for _, verdict, _ in found) < VERDICTS
    assert len(str(BeautifulSoup(text, "html.parser").select_one(".ta-press")).encode()) < SHOWN
    at_once = set(told(site, re.search(r'class="ta-live"[^>]*data-state="([^"]+)"', text)[1])["packs"])
    files = site / "_static" / "live"
    for _, _, name in found:
        more = set(told(site, name)["packs"]) - at_once
        assert sum((files / f"{pack}.js").stat().st_size for pack in more) < ONE_ANSWER


@each
def test_the_unit_leads_there(site, chosen):
    unit = (site / "units" / f"{chosen.unit}.html").read_text(encoding="utf-8")
    assert f'href="../{chosen.page}.html"' in BeautifulSoup(unit, "html.parser").article.decode()


def test_an_answer_that_the_check_sees_in_another_way_stops_the_build():
    passes = replace(FIRST, edits=((r"values\.mean\(0\)", "weights @ values / weights.sum()"),))
    with pytest.raises(press.NotAsListed, match="plain_mean.*passes"):
        press.answer(passes, "plain_mean")
    wrong = replace(FIRST, edits=((r" / sum\(weights\)", ""),))
    with pytest.raises(press.NotAsListed, match="by_loop.*not_divided"):
        press.answer(wrong, "by_loop")


@each
def test_pages_speak_the_site_s_language(chinese_site, chosen):
    page = BeautifulSoup(page_of(chinese_site, chosen), "html.parser")
    with translation.speaking(CHINESE):
        assert not stale(chosen, str(page))
    assert page.article.get("lang") is None
    assert "还没通过" in "".join(answer.get_text() for answer in page.select(".ta-press-answer"))
    assert "检查" in page.select_one(".ta-press-call button").get_text()


def test_a_page_is_english_as_long_as_its_unit_is(tmp_path, monkeypatch):
    rope = press.of("rope.apply_rope")
    with translation.speaking(CHINESE):
        assert "检查" in press_pages.pages()[rope.page]
        monkeypatch.setattr(press_pages.catalogues, "path_of", lambda language, name: tmp_path / f"{name}.po")
        assert "Here are answers to an exercise" in press_pages.pages()[rope.page]


@pytest.fixture
def view(browser):
    """Function that opens an address; the page knows of its errors."""
    context = browser.new_context(viewport=looking.WIDE, reduced_motion="reduce")

    def opened(address):
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(address)
        return page

    yield opened
    context.close()


def verdict_in(page):
    return page.locator(".ta-press-said").inner_text()


@pytest.mark.browser
def test_a_check_is_pressed_from_disk_with_the_mouse(site, view):
    page = view(f"{site.as_uri()}/{PAGE}")
    assert page.locator(".ta-press-answer:visible").count() == 1 and verdict_in(page).strip() == "Not checked yet."
    page.get_by_role("button", name="Check", exact=True).click()
    assert "This is the plain mean: the weights are ignored." in verdict_in(page)
    picture = page.locator(".ta-press .ta")
    page.wait_for_function("() => document.querySelector('.ta-press .ta').dataset.key === '1,2,7,5.0000'")
    assert "This is the plain mean" in picture.locator(".ta-mistake").inner_text()
    page.locator("label", has_text="B").click()
    assert "Not checked yet. The widget shows answer A, which was checked last." in verdict_in(page)
    assert "values @ weights" in page.locator(".ta-press-answer:visible").inner_text()
    page.get_by_role("button", name="Check", exact=True).click()
    notice = picture.locator(".ta-notice", has_text="Showing the reference for weighted_average, which raised")
    notice.wait_for()
    assert not picture.locator(".ta-mistake").is_visible()
    page.locator("label", has_text="D").click()
    page.get_by_role("button", name="Check", exact=True).click()
    notice.wait_for(state="hidden")
    assert "passed" in verdict_in(page) and "as expected" in picture.inner_text()
    assert page.locator(
        ".ta-press-choice"
    ).inner_text().split() == "Answer A ✗ not yet B ✗ not yet C D ✓ passed".split() + list("EFGHI")
    assert not page.errors


@pytest.mark.browser
def test_a_check_is_pressed_with_keys_alone(site, view):
    page = view(f"{site.as_uri()}/{PAGE}")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.type === 'radio'"):
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "return weights @ values" in page.locator(".ta-press-answer:visible").inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Check"
    page.keyboard.press("Enter")
    assert "This is the weighted sum. Divide it by the sum of the weights." in verdict_in(page)
    page.wait_for_function("() => document.querySelector('.ta-press .ta')?.dataset.key === '1,2,7,74.0000'")
    assert page.locator(".ta-press-said").get_attribute("role") == "status"
    assert page.evaluate("() => document.activeElement.textContent") == "Check" and not page.errors


@pytest.mark.browser
@pytest.mark.parametrize("way", looking.WAYS)
def test_with_a_verdict_it_is_accessible_and_fits(site, browser, way):
    window, scheme = looking.WAYS[way]
    context = browser.new_context(viewport=window, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    for chosen in press.CHOSEN:
        page.goto(f"{site.as_uri()}/{chosen.page}.html")
        for at in range(3):
            page.locator(".ta-press-choice input").nth(at).check()
            page.locator(".ta-press-call button").click()
        page.wait_for_selector(".ta-live[data-ms]")
        page.evaluate("() => document.querySelectorAll('article details').forEach((d) => { d.open = true; })")
        assert not looking.violations(page) and not page.evaluate(looking.WIDER), chosen.id
    context.close()


@pytest.mark.browser
def test_an_answer_is_loaded_when_its_check_is_pressed(site, view):
    with served(site) as host:
        page = view(f"{host.address}{PAGE}")
        page.locator(".ta-live").scroll_into_view_if_needed()
        page.wait_for_selector(".ta-live[data-ms]")
        states = [name for _, _, name in answers(page_of(site, FIRST))]
        loaded = lambda: [s for s in states if f"_static/live/{s}.js" in {path for path, _ in host.sent}]
        assert not loaded()
        page.get_by_role("button", name="Check", exact=True).click()
        page.locator(".ta-mistake:visible").wait_for()
        assert loaded() == states[:1]
