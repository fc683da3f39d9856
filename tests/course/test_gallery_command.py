"""`anatomy gallery`: widgets as pages, opened from the disk in a browser."""

import re
import subprocess
import sys
import webbrowser

import pytest
from anatomy.app import command, gallery
from anatomy.program import gallery as contents
from anatomy.program import units
from anatomy.system import store
from anatomy.widgets import REGISTERED, AnatomyView
from PIL import Image, ImageDraw

from autograder import ROOT
from autograder.build import stills
from tests.widgets.page import settle

WIDE = {"width": 1440, "height": 900}
# A page without a kernel can take no function, and what it shows is the reference's anyway.
ASKS_FOR_CODE = re.compile(
    r"give the widget|it shows yours|as the reference|from the reference|unlike the reference|reference shown"
    r"|not yours yet|your decoder|of the reference\b.*same",
    re.I,
)
ALL = contents.entries()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All pages, made for somebody who has passed every exercise."""
    made = tmp_path_factory.mktemp("gallery")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANATOMY_HOME", str(tmp_path_factory.mktemp("home")))
        passed = {e["id"]: {"passed_on_try": 1, "tries": 1, "best": 9.0} for u in units.names() for e in _exercises(u)}
        store.update("progress", lambda data: data.update(passed))
        assert "Lit:" in AnatomyView().words
        assert command.main(["gallery", "--to", str(made), "--no-browser"]) == 0
    return made


def _exercises(unit):
    return units.load(unit)["exercises"]


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout


def test_every_widget_is_in_it_and_the_whole_comes_first():
    assert ALL[0].name == "AnatomyView" and {entry.folder for entry in ALL} == set(REGISTERED)
    assert [entry.units[0] for entry in ALL] == sorted(entry.units[0] for entry in ALL)
    for entry in ALL:
        assert entry.why.endswith(".") and entry.why.count(". ") == 0 and 40 < len(entry.why) < 160, entry.why


def test_it_holds_a_page_and_two_stills_of_each(folder):
    pages = {f"{entry.name}.html" for entry in ALL}
    pictures = {f"{entry.name}-{theme}.webp" for entry in ALL for theme in ("light", "dark")}
    assert {p.name for p in folder.iterdir()} == {"index.html", *pages, *pictures}


def test_no_page_tells_what_somebody_has_passed(folder, tmp_path):
    """Byte for byte the page of somebody who has passed nothing; the widget itself goes on showing it."""
    assert gallery.main(["--to", str(tmp_path), "--no-browser", "AnatomyView"]) == 0
    state = re.compile(r'<script type="application/json".*?</script>|<img alt=".*?">', re.S)
    mine, nobodys = (state.findall((at / "AnatomyView.html").read_text("utf-8")) for at in (folder, tmp_path))
    assert mine == nobodys and len(mine) == 2
    store.update("progress", lambda data: data.update({"norm.rms_norm": {"passed_on_try": 1, "tries": 1, "best": 1.0}}))
    widget = AnatomyView()
    page = widget.save_html(tmp_path / "mine.html").read_text("utf-8")
    assert state.findall(page) == nobodys and "Lit: RMSNorm." in widget.words


def test_a_second_call_computes_nothing(folder):
    before = {p.name: p.stat().st_mtime_ns for p in folder.glob("[A-Z]*.html")}
    call = f"import sys\nfrom anatomy.app import gallery\ngallery.main(['--to', {str(folder)!r}, '--no-browser'])\n"
    said = python(call + "print([name for name in ('torch', 'anatomy.widgets') if name in sys.modules])")
    assert said.splitlines()[1:] == ["[]"]
    assert {p.name: p.stat().st_mtime_ns for p in folder.glob("[A-Z]*.html")} == before


def test_help_imports_no_torch():
    call = "try: gallery.main(['--help'])\nfinally: print('torch' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", f"import sys\nfrom anatomy.app import gallery\n{call}"], capture_output=True, text=True
    ).stdout
    assert "RopeExplorer" in said and said.endswith("False\n")


@pytest.mark.parametrize("changed", ["sources", "language", "neighbors"])
def test_a_page_is_made_again_when_something_changed(tmp_path, monkeypatch, changed):
    two = [entry for entry in ALL if entry.name in ("MixExplorer", "RopeExplorer")]
    assert [entry.name for entry in gallery.make(tmp_path, two, gallery.lay_out(tmp_path, two))] == [
        e.name for e in two
    ]
    assert gallery.lay_out(tmp_path, two) == []
    if changed == "sources":
        monkeypatch.setattr(gallery, "_sources", lambda: "other")
    elif changed == "language":
        monkeypatch.setenv("ANATOMY_LANGUAGE", "zh_CN")
    assert gallery.lay_out(tmp_path, two if changed != "neighbors" else two[:1]) == two[: 2 - (changed == "neighbors")]


def test_the_index_is_opened_before_the_pages_are_made(tmp_path, monkeypatch, capsys):
    opened = []

    def look(url):
        opened.append((url, (tmp_path / "MixExplorer.html").read_text("utf-8")))
        return True

    monkeypatch.setattr(webbrowser, "open", look)
    assert gallery.main(["MixExplorer", "--to", str(tmp_path)]) == 0
    ((url, waiting),) = opened
    assert url == (tmp_path / "index.html").as_uri() and "location.reload()" in waiting and "state" not in waiting
    assert "location.reload()" not in (tmp_path / "MixExplorer.html").read_text("utf-8")
    assert capsys.readouterr().out.count("\n") == 2  # where it is, and that pages are being made


def test_it_says_so_if_no_browser_can_be_opened(folder, monkeypatch, capsys):
    def none(url):
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", none)
    assert gallery.main(["--to", str(folder)]) == 0
    said = capsys.readouterr().out
    assert str(folder / "index.html") in said and "open that file yourself" in said


def test_somebodys_own_page_is_left_alone(tmp_path, capsys):
    (tmp_path / "index.html").write_text("<h1>My garden</h1>")
    assert gallery.main(["RopeExplorer", "--to", str(tmp_path), "--no-browser"]) == 1
    assert "left alone" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["index.html"] and "garden" in (tmp_path / "index.html").read_text()


def test_a_name_that_is_nearly_right(tmp_path, capsys):
    assert gallery.main(["RopeExplorr", "--to", str(tmp_path)]) == 2
    assert "Did you mean RopeExplorer?" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


@pytest.fixture
def opened(folder, browser):
    """opened(name, scheme, viewport) → a page of the gallery; the test fails on errors, and on requests elsewhere."""
    contexts, wrong = [], []

    def open_(name, scheme="light", viewport=WIDE):
        contexts.append(browser.new_context(color_scheme=scheme, viewport=viewport))
        page = contexts[-1].new_page()
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else wrong.append(r.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((folder / name).as_uri())
        settle(page)  # a widget whose room has just changed is built anew
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, {"width": 390, "height": 800}], ids=["wide", "phone"])
def test_the_pages_are_accessible_and_fit(opened, theme, viewport):
    from axe_playwright_python.sync_playwright import Axe

    for name in ("index.html", "SoftmaxStabilityExplorer.html"):
        page = opened(name, theme, viewport)
        assert Axe().run(page).violations_count == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page = opened("index.html", theme, viewport)
    page.evaluate("[...document.images].forEach((i) => i.scrollIntoView())")
    assert page.evaluate("[...document.images].every((i) => i.complete && i.naturalWidth === 800)")
    sources = page.evaluate("[...document.images].map((i) => i.currentSrc)")
    assert all(source.endswith(f"-{theme}.webp") for source in sources)


@pytest.mark.browser
def test_the_way_leads_through_all_widgets_and_back(opened):
    """With the keyboard from the index into the first; then next to the last. No page asks for code, in any step."""
    page = opened("index.html")
    headings = page.locator("h2").all_text_contents()
    assert headings[0] == "Unit 00: Start here" and len(headings) == len({entry.units[0] for entry in ALL})
    page.keyboard.press("Tab"), page.keyboard.press("Enter")
    for at, entry in enumerate(ALL):
        page.wait_for_url(f"**/{entry.name}.html")
        page.locator("#widget .ta-svg:visible").first.wait_for()
        head = page.locator("header").inner_text()
        assert entry.why in head and all(
            f"Unit {name[:2]}: {units.load(name)['title']}" in head for name in entry.units
        )
        assert page.locator(".ta").bounding_box()["width"] >= 1190, entry.name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), entry.name
        found = [line for text in _steps(page) for line in text.split("\n") if ASKS_FOR_CODE.search(line)]
        assert found == [], entry.name
        links = page.locator("nav a")
        assert links.count() == 1 + (at > 0) + (at < len(ALL) - 1)
        if at < len(ALL) - 1:
            page.locator("a[rel=next]").press("Enter")
    page.locator("a[rel=prev]").click()
    page.wait_for_url(f"**/{ALL[-2].name}.html")
    page.get_by_role("link", name="Gallery").click()
    page.wait_for_url("**/index.html")


def _steps(page):
    """The words of a widget in each step of its story; at least four are left."""
    next_ = page.get_by_role("button", name="Next step")
    said = [page.locator(".ta").inner_text()]
    while next_.get_attribute("aria-disabled") != "true":
        next_.click()
        page.wait_for_timeout(20)
        said.append(page.locator(".ta").inner_text())
    assert len(said) >= 4
    return said


@pytest.mark.browser
def test_a_lecturer_makes_it_large_with_a_key(opened):
    page = opened("RopeExplorer.html")
    title, button = page.locator(".ta-title"), page.get_by_role("button", name="Large")
    usual = title.bounding_box()["height"]
    while not button.evaluate("(e) => e === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settle(page)
    assert title.bounding_box()["height"] > 1.25 * usual and button.get_attribute("aria-pressed") == "true"
    assert page.locator(".ta").bounding_box()["width"] > 1390
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    area = page.locator(".ta-area").first  # what is pointed at is still what is under the hand
    box = area.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.98, box["y"] + box["height"] / 2)
    assert area.evaluate("(e) => e === document.querySelector('.ta-area:hover')")
    page.locator("a[rel=next]").click()  # the next page is large as well, and so is the one after the index
    page.wait_for_url("**/*.html?large")
    page.get_by_role("link", name="Gallery").click()
    page.get_by_role("link", name="Rotating queries and keys").click()
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    settle(page)
    assert title.bounding_box()["height"] == pytest.approx(usual) and not page.url.endswith("?large")


@pytest.fixture(scope="module")
def camera(browser):
    return stills.Camera(browser)


@pytest.mark.browser
@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
def test_a_still_shows_what_the_widget_looks_like(camera, entry):
    stale = [
        theme for theme, now in camera.taken(entry).items() if not stills.is_current(stills.place_of(entry, theme), now)
    ]
    assert not stale, f"{entry.name}, {stale}: `make stills`, and look at it"


@pytest.mark.browser
def test_the_readme_shows_the_rope_explorer_of_today(camera):
    now = camera.for_readme()
    stale = [theme for theme in now if not stills.is_current(stills.readme_place(theme), now[theme])]
    assert not stale, f"{stale}: `make stills`, and look at it"
    assert all(f"assets/figures/{stills.readme_place(theme).name}" in (ROOT / "README.md").read_text() for theme in now)


def test_a_still_that_shows_something_else_is_found(tmp_path):
    stored = Image.open(stills.place_of(ALL[0], "light")).convert("RGB")
    spoiled = stored.copy()
    ImageDraw.Draw(spoiled).rectangle((300, 200, 460, 300), fill="#0072b2")
    assert stills.is_current(stills.place_of(ALL[0], "light"), stored)
    assert not stills.is_current(stills.place_of(ALL[0], "light"), spoiled)
    assert not stills.is_current(tmp_path / "none.webp", stored)


def test_no_still_is_left_of_a_widget_that_is_gone():
    known = {stills.place_of(entry, theme).name for entry in ALL for theme in contents.THEMES}
    assert {path.name for path in contents.folder().glob("*.webp")} == known
