"""`anatomy gallery`: widgets as pages, opened from the disk in a browser."""

import webbrowser

import pytest
from anatomy.app import gallery
from anatomy.widgets import REGISTERED

TWO = ["AnatomyView", "RopeExplorer"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("gallery")
    assert gallery.main([*TWO, "--to", str(made), "--no-browser"]) == 0
    return made


def test_every_widget_is_in_it_and_the_whole_comes_first():
    assert gallery.names()[0] == "AnatomyView" and len(gallery.names()) == len(REGISTERED)


def test_it_holds_a_page_and_a_picture_of_each(folder):
    assert {p.name for p in folder.iterdir()} == {"index.html", *(f"{n}.{e}" for n in TWO for e in ("html", "png"))}


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_work_from_the_disk(folder, browser, theme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=theme, viewport={"width": 390, "height": 800})
    page = context.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "index.html").as_uri())
    assert Axe().run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 100)")
    page.keyboard.press("Tab"), page.keyboard.press("Tab"), page.keyboard.press("Enter")
    page.wait_for_url("**/RopeExplorer.html")
    page.locator("#widget svg").first.wait_for()
    assert page.locator("input[type=range]").count() > 0 and errors == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    context.close()


def test_it_is_opened_where_that_is_possible(folder, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    assert gallery.main([*TWO, "--to", str(folder)]) == 0
    assert opened == [(folder / "index.html").as_uri()]

    def none(url):
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", none)
    capsys.readouterr()
    assert gallery.main([*TWO, "--to", str(folder)]) == 0
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
