"""The built site passes the checks of its files, and each check fails where something is wrong."""

import filecmp
import shutil

import pytest

from autograder.site import build
from autograder.site.checks import Finding, budgets, files, looking, table
from autograder.site.checks.serving import served


@pytest.mark.parametrize("check", [files.links, files.outside, files.solutions, files.formulas])
def test_files_are_in_order(pages, check):
    assert not check(pages).wrong


def test_each_table_stands_once(site):
    assert not files.tables(site).wrong


def test_no_page_names_this_machine(pages):
    for page, text in pages.text.items():
        assert "/tmp/" not in text.replace("<code>/tmp/", ""), page
        assert str(build.ROOT) not in text, page


def test_two_builds_give_the_same_bytes(site, run, tmp_path):
    build.Site(tmp_path / "html", run=run).build()
    names = sorted(str(p.relative_to(site)) for p in site.rglob("*") if p.is_file())
    _, differ, missing = filecmp.cmpfiles(site, tmp_path / "html", names, shallow=False)
    assert names and not differ and not missing


@pytest.fixture
def copy(site, tmp_path):
    """A copy of the site to break, and a function that appends HTML to a page's article."""
    folder = tmp_path / "spoiled"
    shutil.copytree(site, folder)

    def spoil(html, page="units/00-start-here.html"):
        path = folder / page
        path.write_text(path.read_text(encoding="utf-8").replace("</article>", f"{html}</article>"), encoding="utf-8")
        pages = files.Pages(folder)
        pages.text = {p: text for p, text in pages.text.items() if p.name in (path.name, "01-attention.html")}
        return pages

    return folder, spoil


@pytest.mark.parametrize(
    "check, html, says",
    [
        (files.links, '<a href="../nowhere.html">x</a>', "nowhere.html"),
        (files.links, '<a href="01-attention.html#no-such-place">x</a>', "no place #no-such-place"),
        (files.links, '<img alt="" src="../_static/none.png">', "none.png"),
        (files.outside, '<script src="https://example.org/x.js"></script>', "example.org"),
        (files.solutions, "<pre>return weights @ values / <span>weights.sum()</span></pre>", "weights.sum()"),
        (files.formulas, "<math><mi>\u2646</mi></math>", "U+2646"),
    ],
)
def test_what_is_wrong_in_a_file_is_found(copy, check, html, says):
    _, spoil = copy
    wrong = check(spoil(html)).wrong
    assert len(wrong) == 1 and says in wrong[0]


def test_a_table_in_two_files_is_found(copy):
    folder, _ = copy
    one = next((folder / "_static" / "live").glob("tables-*.js"))
    shutil.copy(one, one.with_name("tables-again.js"))
    assert files.tables(folder).wrong


@pytest.mark.browser
@pytest.mark.parametrize(
    "html, which",
    [
        ('<img src="../_static/site-icon.svg">', 0),  # no alt text
        ('<div style="width: 2000px">wide</div>', 1),
        ('<button tabindex="-1">x</button>', 2),
        ("<script>throw new Error('broken')</script>", 3),
        ('<img alt="x" src="https://example.invalid/x.png">', 4),
    ],
)
def test_what_is_wrong_in_a_page_is_found(browser, copy, html, which):
    folder, spoil = copy
    spoil(html, "docs/students.html")
    found = looking.every_page(browser, f"{folder.as_uri()}/", ["docs/students.html"], ways=["light"])
    assert found[which].wrong


@pytest.mark.browser
@pytest.mark.parametrize(
    "style, width",
    [
        (".main, .content { min-width: auto; } .content { box-sizing: content-box; width: 52em; }", 1366),  # as it was
        (".content { min-width: 800px; }", 1024),
        ("@media (max-width: 50em) { .content { min-width: 780px; } }", 768),
        ("@media (min-width: 83em) and (max-width: 86em) { .toc-drawer { position: relative; left: 90px; } }", 1366),
        (
            ".page { overflow: clip; } .content { min-width: 60em; }",
            1366,
        ),  # hides what is cut off from the scroll width
    ],
)
def test_what_is_cut_off_at_a_width_is_found(browser, copy, style, width):
    folder, _ = copy
    with (folder / "_static" / "site.css").open("a", encoding="utf-8") as sheet:
        sheet.write(style)
    found = looking.every_page(browser, f"{folder.as_uri()}/", ["docs/students.html"], ways=["light"])
    assert any(f", {width} px: " in problem for problem in found[1].wrong)


@pytest.mark.browser
def test_a_heavy_page_is_found(browser, copy):
    folder, spoil = copy
    (folder / "_static" / "heavy.webp").write_bytes(b"x" * 600 * 1024)
    spoil('<script>new Image().src = "../_static/heavy.webp"</script>')
    with served(folder) as host:
        weight, *_ = budgets.unit_pages(browser, host, ["units/00-start-here.html"])
    assert weight.wrong


@pytest.mark.browser
def test_a_site_without_its_script_misses_places(browser, copy):
    """Furo's drawers open with labels, which no key reaches: site.js fixes that."""
    folder, _ = copy
    (folder / "_static" / "site.js").write_text("")
    found = looking.every_page(browser, f"{folder.as_uri()}/", ["units/00-start-here.html"], ways=["phone"])
    assert found[2].wrong


def test_the_report_says_what_is_wrong():
    told = table([Finding("good", "1", "2"), Finding("bad", "3", "2", ["because"])])
    assert told.splitlines()[0].startswith("ok") and "NOT  bad" in told and "because" in told
