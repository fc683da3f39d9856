"""The pages besides the units, their order, and the links of docs/."""

import pytest
from anatomy.widgets import REGISTERED

from autograder.site import pages
from autograder.site.pages import documents, gallery


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
