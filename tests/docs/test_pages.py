"""The site's pages: every link has a target, and every term and paper agrees with the texts."""

import html
import posixpath
import re
from functools import cache

import pytest

from autograder import ROOT
from autograder.notebooks import facts
from autograder.site import cited, graph, links
from autograder.site.pages import atlas as atlas_page
from autograder.site.pages import checked as checked_page
from autograder.site.pages import claims as claims_page
from autograder.site.pages import compared, glossary, guides, notation, references
from autograder.site.pages import map as map_page
from autograder.site.terms import terms

MODULES = (map_page, notation, glossary, claims_page, references, atlas_page, guides, compared, checked_page)
LINK = re.compile(r"\]\(([^)\s]+)\)|href=\"([^\"]+)\"")
IN_A_NAME = re.compile(r"^(.*?)(?: et al\.?| and .*)?$")


@cache
def pages():
    """{path: text} of all pages."""
    return {path: text for module in MODULES for path, text in module.pages().items()}


def anchors(text):
    """Ids of a page's headings and explicit marks."""
    marked = re.findall(r"^\(([\w-]+)\)=$", text, re.M)
    return {*marked, *(links.anchor(h) for h in re.findall(r"^#+ (.+)$", text, re.M))}


def problem(here, target):
    """Message about a page's link without a target, or None."""
    if target.startswith("https://"):
        return None
    path, _, place = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) if path else f"{here}.md"
    if path.startswith("units/"):
        name = re.sub(r"\.(ipynb|html)$", "", path.removeprefix("units/"))
        if name not in facts.names():
            return f"no unit {name}"
        known = {c.id for c in facts.unit(name).cells}
        return None if not place or place in known else f"no cell {place} in {name}"
    name = path.removesuffix(".md")
    if name.startswith("gallery/"):
        folder = ROOT / "course" / "anatomy" / "widgets" / name.removeprefix("gallery/")
        return None if (folder / "__init__.py").exists() else f"no widget {folder.name}"
    source = pages().get(name)
    if source is None and name.startswith("docs/") and (ROOT / f"{name}.md").exists():
        source = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    if source is None:
        return f"no page {name}"
    return None if not place or place in anchors(source) else f"no place {place} in {name}"


def test_no_link_is_dead():
    found = [(name, a or html.unescape(b)) for name, text in pages().items() for a, b in LINK.findall(text)]
    dead = {place: why for place in found if (why := problem(*place))}
    assert not dead, dead


def test_a_dead_link_would_be_seen():
    for target in (
        "units/99-nothing.ipynb",
        "units/06-rope.ipynb#c-nothing",
        "gallery/nothing.md",
        "nothing.md",
        "docs/students.md#nowhere",
    ):
        assert problem("map", target), target
    assert problem("map", links.exercise("map", "06-rope", "rope.apply_rope")) is None


# ---- the glossary -------------------------------------------------------------------------------------------


def test_the_glossary_is_in_order_and_covers_every_unit():
    names = [t.term for t in terms()]
    assert names == sorted(names, key=str.casefold) and len(set(map(str.casefold, names))) == len(names)
    assert len(names) >= 120 and {t.unit for t in terms()} == set(facts.names())


@pytest.mark.parametrize("term", terms(), ids=lambda t: t.term)
def test_a_term_is_used_where_the_glossary_says(term):
    cell, _ = term.place  # raises NoPlace for an id that does not exist
    unit = facts.unit(term.unit)
    assert cell in {c.id for c in unit.cells}
    assert any(term.used_in(c.source) for c in unit.cells), f"{term.unit} does not say {term.word!r}"
    plain = re.sub(r"[^a-zε]", "", term.term.casefold())
    assert re.sub(r"[^a-zε]", "", term.word.casefold())[:4] in plain, "the word looked for is another one"
    assert not term.paper or term.paper in cited.papers(), term.paper
    assert term.says[0].isupper() and term.says[-1] in ".?" and 4 <= len(term.says.split()) <= 30, term.says


# ---- references ---------------------------------------------------------------------------------------------


def test_every_paper_that_is_cited_is_listed_and_no_other():
    assert set(cited.every_key()) == set(cited.papers())


def test_names_and_years_are_those_of_the_texts():
    """A citation "Shaw et al. 2018" agrees with the list's entry for its link."""
    seen = 0
    for key, found in cited.citations().items():
        for citation in found:
            named = cited.NAMED.fullmatch(citation.words)
            if named:
                seen += 1
                known = cited.papers()[key]
                assert (named[1], int(named[2])) == (known["authors"], known["year"]), (key, citation.words, known)
    assert seen > 60


def test_a_year_is_that_of_the_number():
    for key, known in cited.papers().items():
        if links.ARXIV.fullmatch(key):
            year = 2000 + int(key[:2])
            # A paper gets its number when it is announced; for the last days of December, that is in the next year.
            assert known["year"] in ((year, year - 1) if key[2:4] == "01" else (year,)), (key, known)


def test_each_paper_stands_once_in_order():
    rows = re.findall(r"^\| (.+? \(\d{4}\)): \[(.+?)\]\((https://[^)]+)\) \|", pages()["references"], re.M)
    assert len(rows) == len(cited.papers()) and len({address for *_, address in rows}) == len(rows)
    firsts = [IN_A_NAME.match(who.rsplit(" (", 1)[0])[1].lower() for who, *_ in rows]
    assert firsts == sorted(firsts)
    assert not re.search(r"\[\d{4}\.\d{4,5}\]", pages()["references"]), "a paper without its title"


# ---- claims, map, atlas, notation ---------------------------------------------------------------------------


def test_every_claim_has_its_verdict_and_evidence():
    page = pages()["claims"]
    assert "computed above" not in page and "argument above" not in page and "(0):" not in page
    count = sum(len(facts.unit(n).text["claims"]) for n in facts.names())
    assert page.count("\n* - [") == page.count("[the trial]") == count > 60
    for name in facts.names():
        for claim in facts.claims(name):
            assert claim.verdict and claim.kinds and claim.evidence.startswith("Evidence: ")
            assert page.count(claim.verdict_cell) >= 1
    for line in (line for line in page.split("\n") if "[the trial]" in line):
        assert line.count("*") % 2 == 0, line


def test_the_map_has_every_unit_with_what_is_built_there():
    page = pages()["map"]
    for name in facts.names():
        unit, built = facts.unit(name), map_page.built()
        assert re.search(rf"^\| \[{unit.number} {re.escape(unit.title)}\]", page, re.M) and built[name] in page
        assert f"| {unit.core_minutes} min |" in page
    for exercise_id, (name, _) in facts.exercises().items():
        assert links.exercise("map", name, exercise_id) in page


def test_the_picture_says_in_words_what_it_shows_and_takes_the_page_s_color():
    picture = re.search(r"<svg.*?</svg>", pages()["map"])[0]
    assert "\n" not in picture and not re.search(r"#[0-9a-fA-F]{3,6}\b|rgb\(", picture)
    said = html.unescape(re.search(r'<svg[^>]* aria-label="(.*?)"', picture)[1])
    for name in facts.names():
        wanted = [*facts.unit(name).needs.core, *facts.unit(name).needs.extensions]
        words = ", ".join(facts.title_of(n) for n in wanted) or "nothing"
        assert f"{facts.title_of(name)} needs {words}." in said
    assert picture.count("<a ") == len(facts.names())


def test_arrows_that_others_imply_are_left_out():
    needs = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a"]}
    assert graph.reduced(needs) == {"a": [], "b": ["a"], "c": ["b"], "d": ["a"]}
    assert graph.rows(needs) == [["a"], ["b", "d"], ["c"]]


def test_the_atlas_names_each_model_once_with_its_sources():
    from anatomy import atlas

    page = pages()["atlas"]
    for row in atlas.models():
        assert page.count(f"### {row.title}\n") == 1 and page.count(f"(#model-{links.anchor(row.name)})") == 1
    assert page.count("Sources: ") == len(atlas.models())


@pytest.mark.parametrize("letter", [*notation.SIZES, *notation.TENSORS], ids=lambda x: x.tex)
def test_a_letter_is_used_where_the_notation_says(letter):
    assert letter.cell()


def test_contributors_page_has_no_link_out_of_the_site():
    page = pages()["contributors"]
    assert "(docs/contributing/widget.md)" in page and not re.search(r"\]\((?!#|https:|docs/)", page)


def test_what_learners_get_links_to_what_they_have():
    """Links of the package's two pages have targets in the package, which contains no docs/."""
    from autograder.build.package import contents

    given = contents()
    for name in ("students.md", "learners.md"):
        text = given[name].decode()
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            path, _, place = target.partition("#")
            assert (path or name) in given, target
            assert not place or place in anchors(given[path or name].decode()), target
