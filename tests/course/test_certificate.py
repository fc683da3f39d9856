"""The certificate page: agrees with the stored progress, survives bad data, and can be printed and read."""

import json
import re
import time

import pytest
from anatomy.judge.verdict import Verdict
from anatomy.program import units
from anatomy.progress import certificate
from anatomy.progress.certificate_page import NO_DATE, page
from anatomy.progress.standing import note
from anatomy.progress.standing import views as progress_views
from anatomy.system import store, translation

from autograder import exercises
from tests.course.units_folder import put
from tests.widgets.axe import violations

CORE = ["start.weighted_average", "attention.softmax", "rope.apply_rope"]
EXTENSION = "attention.families"
AT = 1_764_072_000  # 25 November 2025, noon in UTC
HOSTILE = '<script>alert(1)</script>"&\u202e $\\href{x}{y}$'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_unsaved", {})
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr(certificate.webbrowser, "open", lambda address: opened.append(address) or True)
    return opened


def passed(*ids, **more):
    put("progress", json.dumps({i: {"tries": 2, "best": 9, "passed_on_try": 2, "passed_at": AT} | more for i in ids}))


def everything():
    ids = [e["id"] for name in units.names() for e in units.load(name)["exercises"]]
    passed(*ids)
    claims = [c["id"] for name in units.names() for c in units.load(name)["claims"]]
    put("claims", json.dumps(dict.fromkeys(claims, True)))
    return ids


def written(tmp_path):
    return sorted(p for p in tmp_path.iterdir() if p.suffix == ".html")


def text_of(path):
    text = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", path.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


# ---- what it lists -------------------------------------------------------------------------------------------


def test_it_lists_what_was_passed_with_its_day_and_nothing_else(tmp_path, here, capsys):
    passed(*CORE, EXTENSION)
    assert certificate.main(["--name", "Ada Lovelace"]) == 0
    (path,) = written(tmp_path)
    text = text_of(path)
    titles = {e["id"]: e["title"] for name in units.names() for e in units.load(name)["exercises"]}
    for exercise in [*CORE, EXTENSION]:
        assert re.search(rf"{re.escape(titles[exercise])}(?: \(extension\))? [\d.]+ Nov 25, 2025", text), exercise
    for exercise in titles.keys() - {*CORE, EXTENSION}:
        assert f"<td>{titles[exercise]}" not in path.read_text(encoding="utf-8"), exercise
    assert "Ada Lovelace" in text and f"{titles[EXTENSION]} (extension)" in text
    core = sum(not e["extension"] for name in units.names() for e in units.load(name)["exercises"])
    assert f"3 of {core} exercises of the core path" in text and "1 extension beyond it" in text
    assert "on trial" not in text, "no claim was decided"
    assert here == [path.resolve().as_uri()]
    out = capsys.readouterr().out
    assert "Ada Lovelace" in out and str(path.name) in out and "Nov 25, 2025" in out


def test_units_and_exercises_have_the_names_of_the_language_in_use(capsys):
    passed(*CORE)
    with translation.speaking("zh_CN"):
        assert certificate.main(["--no-browser"]) == 0
    said = capsys.readouterr().out
    assert "从这里开始" in said and "加权平均" in said and "A weighted average" not in said


def test_it_says_who_made_it_and_that_nobody_supervised(tmp_path):
    passed(*CORE)
    certificate.main(["--no-browser"])
    text = text_of(written(tmp_path)[0])
    assert "on the learner's own computer" in text.replace("&#x27;", "'") and "Nobody supervised" in text
    assert certificate.date(int(time.time())) in text
    if certificate.version():
        assert f"version {certificate.version()}" in text


def test_a_check_that_passes_is_on_it_with_today(tmp_path):
    """From end to end: the page shows what a notebook noted."""
    note(Verdict("attention.softmax", True, 2.0, 2.0))
    certificate.main(["--no-browser"])
    assert re.search(rf"softmax that survives.*{certificate.date(int(time.time()))}", text_of(written(tmp_path)[0]))


@pytest.mark.parametrize("at", [None, "yesterday", -5, 1e300, 10**30, True, [1]])
def test_a_day_that_was_not_kept_is_not_made_up(tmp_path, at):
    passed("attention.softmax", passed_at=at)
    assert certificate.main(["--no-browser"]) == 0
    text = text_of(written(tmp_path)[0])
    assert NO_DATE in text and not re.search(r"1970|2001", text)


def test_an_entry_of_an_early_version_has_no_day(tmp_path):
    put("progress", json.dumps({"attention.softmax": {"tries": 3, "best": 2, "passed_on_try": 3}}))
    assert certificate.main(["--no-browser"]) == 0 and NO_DATE in text_of(written(tmp_path)[0])


def test_partial_credit_is_not_called_done(tmp_path):
    put(
        "progress",
        json.dumps(
            {
                "attention.softmax": {"tries": 1, "best": 2, "passed_on_try": 1},
                "rope.apply_rope": {"tries": 5, "best": 3.9, "passed_on_try": None},
            }
        ),
    )
    certificate.main(["--no-browser"])
    (path,) = written(tmp_path)
    assert "01 Attention 1 of 6 exercises of the core path, 2 of 14 points" in text_of(path)
    assert "<h2>06" not in path.read_text(encoding="utf-8")


def test_all_of_it_is_counted(tmp_path):
    ids = everything()
    certificate.main(["--no-browser", "--name", "Ada"])
    (path,) = written(tmp_path)
    text = path.read_text(encoding="utf-8")
    views = progress_views()
    assert text.count("<tr><td>") == len(ids) and text.count("<h2>") == len(views)
    claims = sum(v.claims[1] for v in views)
    assert f"{claims} claims on trial were run" in text and f"complete in {len(views)} of {len(views)} units" in text
    assert "Nothing passed yet" not in text


# ---- what it refuses ------------------------------------------------------------------------------------------


def test_with_nothing_passed_it_says_so_and_writes_nothing(tmp_path, here, capsys):
    assert certificate.main([]) == 1 and not written(tmp_path) and not here
    put("progress", json.dumps({"attention.softmax": {"tries": 4, "best": 1, "passed_on_try": None}}))
    assert certificate.main([]) == 1 and not written(tmp_path)
    assert "No exercise has passed" in capsys.readouterr().out


@pytest.mark.parametrize("kept", ["{", "[1]", "", "\x00\x01", "[" * 100_000])
def test_a_damaged_store_is_one_sentence_and_is_left_alone(tmp_path, capsys, kept):
    put("progress", kept)
    assert certificate.main([]) == 1 and not written(tmp_path)
    out = capsys.readouterr().out
    assert "is damaged" in out and "Traceback" not in out and out.count("\n") == 1
    assert (store.home() / "progress.json").read_text() == kept


def test_entries_that_mean_nothing_are_left_out_and_that_is_said(tmp_path, capsys):
    entry = {"tries": 1, "best": 2, "passed_on_try": 1, "passed_at": AT}
    put("progress", json.dumps({"attention.softmax": entry, "rope.apply_rope": "yes", HOSTILE: entry}))
    assert certificate.main(["--no-browser"]) == 0
    assert "1 of the entries" in capsys.readouterr().out
    assert "alert" not in written(tmp_path)[0].read_text(encoding="utf-8")


def test_no_file_takes_the_place_of_another(tmp_path, capsys):
    passed(*CORE)
    for _ in range(3):
        assert certificate.main(["--no-browser"]) == 0
    assert len(written(tmp_path)) == 3
    own = tmp_path / "own.html"
    own.write_text("mine")
    assert certificate.main(["--no-browser", "--to", str(own)]) == 1
    assert own.read_text() == "mine" and "was left as it is" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_to_is_one_sentence(tmp_path, capsys):
    passed(*CORE)
    (tmp_path / "file").write_text("")
    assert certificate.main(["--no-browser", "--to", str(tmp_path / "file" / "page.html")]) == 1
    assert "cannot be written" in capsys.readouterr().out


@pytest.mark.parametrize("name", [HOSTILE, "</title><img src=x onerror=alert(1)>", "A" * 5000, "\n\t ", "山田 太郎"])
def test_a_name_is_text_and_nothing_else(tmp_path, name):
    passed(*CORE)
    assert certificate.main(["--no-browser", "--name", name]) == 0
    text = written(tmp_path)[0].read_text(encoding="utf-8")
    assert not re.search(r"<script|<img|onerror=alert\(1\)>|\u202e", text)
    assert len(text) < 20_000 and text.count("<title>") == 1
    if not name.strip():
        assert 'class="line"' in text
    assert "山" not in name or name in text


# ---- how it looks ---------------------------------------------------------------------------------------------


@pytest.fixture
def whole(tmp_path):
    everything()
    sheet, _ = certificate.collect("Ada Lovelace")
    path = tmp_path / "whole.html"
    path.write_text(page(sheet), encoding="utf-8")
    return path


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900])
def test_it_is_readable_without_scripts(browser, whole, scheme, width):
    options = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    context = browser.new_context(**options)
    view = context.new_page()
    asked = []
    view.on("request", lambda r: asked.append(r.url))
    view.goto(whole.as_uri())
    assert not violations(view)
    assert view.evaluate("document.documentElement.scrollWidth") <= width, "it overflows"
    light = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (light == "rgb(255, 255, 255)") == (scheme == "light")
    assert asked == [whole.as_uri()] and view.locator("script").count() == 0
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize(("paper", "width"), [("A4", 794 - 136), ("Letter", 816 - 136)])
def test_it_prints_on_both_papers_with_nothing_cut(browser, whole, paper, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark")
    view = context.new_page()
    view.goto(whole.as_uri())
    view.emulate_media(media="print")
    assert view.evaluate("getComputedStyle(document.body).color") == "rgb(27, 27, 27)", "dark ink on paper"
    over = view.evaluate(
        """() => [...document.querySelectorAll("h1, h2, p, td, th, svg")].filter((e) =>
            e.getBoundingClientRect().right > innerWidth + 1 ||
            (e.tagName !== "svg" && e.scrollWidth > e.clientWidth + 1)
        ).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert not over, over
    assert view.evaluate("getComputedStyle(document.querySelector('tr')).breakInside") == "avoid"
    pages = len(re.findall(rb"/Type\s*/Page\b", view.pdf(format=paper)))
    count = len(list(exercises.all_exercises()))
    assert count / 40 <= pages <= count / 18, f"{pages} pages for {count} exercises"
    context.close()


@pytest.mark.browser
def test_a_short_one_is_one_sheet_of_paper(browser, tmp_path):
    passed(*CORE)
    certificate.main(["--no-browser", "--name", "Ada"])
    context = browser.new_context()
    view = context.new_page()
    view.goto(written(tmp_path)[0].as_uri())
    for paper in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", view.pdf(format=paper))) == 1
    context.close()
