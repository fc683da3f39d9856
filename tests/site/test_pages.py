"""The pages besides the units, their order, and the links of docs/."""

import pytest
from anatomy.widgets import REGISTERED

from autograder.notebooks import own_course
from autograder.notebooks.own_course import OwnCourse
from autograder.site import pages
from autograder.site.pages import documents, gallery
from autograder.site.pages import map as course_map


def test_every_widget_has_a_page_with_what_to_try_and_where_it_lives():
    made = gallery.pages()
    assert set(made) == {"gallery/index", *(f"gallery/{name}" for name in REGISTERED)}
    for name in REGISTERED:
        assert f"{{{{widget:{name}}}}}" in made[f"gallery/{name}"] and "It lives in" in made[f"gallery/{name}"]
        assert made["gallery/index"].count(f"/{REGISTERED[name].__name__}-") == 2  # a still for each theme


def test_every_page_stands_once_in_the_navigation():
    paths = {*pages.collected(), "units/00-start-here", "units/01-attention", "new/page"}
    listed = [path for _, here in pages.headed(paths) for path in here]
    assert len(listed) == len(set(listed))
    assert set(listed) == {p for p in paths if p != "index" and (p == "gallery/index" or not p.startswith("gallery/"))}


def test_the_map_is_that_of_an_instructors_own_course(monkeypatch):
    whole = course_map.pages()["map"]
    assert "16 units" in whole and "your class" not in whole and "not asked for" not in whole
    units = ("00-start-here", "06-rope", "01-attention")  # in an order in which 06 comes before what it needs
    monkeypatch.setattr(own_course, "_used", [OwnCourse(units, {"attention.softmax": 7.5, "attention.cost": 0.0})])
    own = course_map.pages()["map"]
    assert own.startswith("# Map of the course\n\n3 units with ") and "as your class takes it" in own
    headings = [line.removeprefix("### ")[:2] for line in own.splitlines() if line.startswith("### ")]
    assert headings == [name[:2] for name in units]
    assert "09-sparse-attention" not in own and own.count("<a ") == 3
    assert "#say-attention-softmax) | 2 | 10 | 7.5 |" in own
    assert "#say-attention-cost) (extension) | 2 | 12 | not asked for |" in own


def test_two_modules_that_write_one_page_are_named(monkeypatch):
    monkeypatch.setattr(documents, "pages", lambda: {"index": "# Another"})
    with pytest.raises(pages.TwoPages, match="'index'"):
        pages.collected()


@pytest.mark.parametrize(
    "link, becomes",
    [
        ("[this](students.md)", "[this](students.md)"),
        ("[this](jupyterhub.md#limits)", "[this](jupyterhub.md#limits)"),
        ("[this](../CONTRIBUTING.md#texts)", "[this](../contributors.md#texts)"),
        ("[this](#here)", "[this](#here)"),
        ("[this](https://example.org/x.md)", "[this](https://example.org/x.md)"),
        ("[speed](../benchmarks/README.md#grading-speed)", "speed (`benchmarks/README.md`)"),
    ],
)
def test_links_of_docs_lead_somewhere(monkeypatch, link, becomes):
    monkeypatch.setattr(documents, "repository", lambda: "")
    names = {
        "docs/students.md": "docs/students",
        "docs/jupyterhub.md": "docs/jupyterhub",
        "CONTRIBUTING.md": "contributors",
    }
    assert documents._linked(link, "docs/instructors.md", names) == becomes


def test_a_file_outside_the_site_leads_to_the_repository_where_that_is_known(monkeypatch):
    monkeypatch.setattr(documents, "repository", lambda: "https://example.org/repo")
    linked = documents._linked("[speed](../benchmarks/README.md)", "docs/instructors.md", {})
    assert linked == "[speed](https://example.org/repo/blob/main/benchmarks/README.md)"


def test_what_looks_like_a_link_in_code_stays():
    text = "```\n[a](students.md)\n```"
    assert documents._linked(text, "docs/instructors.md", {"docs/students.md": "docs/students"}) == text


def test_no_document_is_two_pages():
    heads = [text.split("\n", 1)[0] for text in pages.collected().values()]
    assert len(heads) == len(set(heads)), sorted(h for h in set(heads) if heads.count(h) > 1)
