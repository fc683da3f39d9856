"""The single setting for the course's public address: what depends on it, with it and without it."""

import html
import json
import re
import tomllib

import nbformat
import pytest
import yaml
from anatomy.system import hosted

from autograder import ROOT, exercises
from autograder.build import __main__ as build
from autograder.build import badges
from autograder.notebooks import address
from autograder.notebooks.cells import SourceError
from autograder.notebooks.first_cell import OPEN_IN
from autograder.site.open_in_links import begin, opening

VERSION = address.read().version
PUBLIC = address.Address("ada", "anatomy", "main", VERSION)
NOWHERE = address.Address("", "", "main", VERSION)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def setting(folder, text):
    """A repository with that setting; returns its address."""
    (folder / "course" / "anatomy").mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)
    (folder / "course" / "anatomy" / "__init__.py").write_text('__version__ = "1.2.3"  # of this release')
    return address.read(folder)


@pytest.mark.parametrize("end", ["", "/", ".git"])
def test_the_setting_is_read(tmp_path, end):
    text = f'[tool.transformer-anatomy]\nrepository = "https://github.com/ada/anatomy{end}"\nbranch = "v2"'
    found = setting(tmp_path, text)
    assert found == address.Address("ada", "anatomy", "v2", "1.2.3")
    assert found.wheel_address.endswith(
        "/ada/anatomy/releases/download/v1.2.3/transformer_anatomy-1.2.3-py3-none-any.whl"
    )


@pytest.mark.parametrize("text", ["", '[tool.transformer-anatomy]\nrepository = ""'])
def test_without_a_setting_there_is_no_address(tmp_path, text):
    found = setting(tmp_path, text)
    assert not found.repository and not found.wheel_address and found.links("06-rope") == []


@pytest.mark.parametrize(
    "line, says",
    [
        ('repository = "https://github.com/OWNER/transformer-anatomy"', "with owner and name"),
        ('repository = "https://example.org/ada/anatomy"', "is no public address"),
        ('repository = "github.com/ada/anatomy"', "is no public address"),
        ("repository = 3", "is no public address"),
        ('repository = ""\nbranch = "feature/x"', "one word without a slash"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(tmp_path, line, says):
    with pytest.raises(SourceError, match=says) as caught:
        setting(tmp_path, f"[tool.transformer-anatomy]\n{line}")
    assert "\n" not in str(caught.value)


def test_the_build_says_so_and_writes_nothing(monkeypatch, capsys):
    def wrong():
        raise SourceError("pyproject.toml: no")

    monkeypatch.setattr(address, "read", wrong)
    assert build.main(["--check"]) == 2 and "build: pyproject.toml: no" in capsys.readouterr().err


@pytest.mark.parametrize("where", [PUBLIC, NOWHERE])
def test_the_build_follows_it_and_is_the_same_every_time(monkeypatch, where):
    monkeypatch.setattr(address, "read", lambda: where)
    monkeypatch.setattr(exercises, "units", lambda: ["00-start-here"])
    made = build.all_outputs()
    assert made == build.all_outputs()
    assert json.loads(made[address.FILE]) == {"branch": "main", "repository": where.repository, "version": VERSION}
    for unit in ("00-start-here", "gallery"):
        book = nbformat.reads(made[ROOT / "course" / unit / f"{unit}.ipynb"].decode(), as_version=4)
        cell = next(c.source for c in book.cells if c.id == "elsewhere")
        assert (where.wheel_address or "--no-index") in cell and ("https:" in cell) == bool(where.repository)
        hosts = [link for link in where.links(unit) if link[0] != "Download"]
        found = [re.findall(r"\[(\w+)\]\((\S+)\)", c.source) for c in book.cells if c.id == OPEN_IN]
        assert found == ([hosts] if hosts else []) and book.cells[0].source.startswith("# ")
    assert made[ROOT / "README.md"].decode() == badges.table(README, where)


def test_the_readmes_table_has_links_with_it_and_none_without():
    plain, linked = badges.table(README, NOWHERE), badges.table(README, PUBLIC)
    assert badges.table(linked, PUBLIC) == linked and badges.table(linked, NOWHERE) == plain
    changed = [line for line in linked.split("\n") if line not in plain.split("\n")]
    assert len(changed) == len(exercises.units()) + 2 and changed[0] == "| unit | you build | see | open in |"
    for unit in exercises.units():
        (row,) = [line for line in changed if line.startswith(f"| [{unit}]")]
        assert re.findall(r"\[([A-Z]\w+)\]\((\S+)\)", row) == PUBLIC.links(unit)
    for line in plain.split("\n"):
        assert "colab.research" not in line and "mybinder" not in line


def test_the_site_says_how_to_begin_with_it_and_without(monkeypatch):
    monkeypatch.setattr(address, "read", lambda: PUBLIC)
    places = dict(PUBLIC.links("06-rope"))
    for said in (begin("06-rope", "../"), opening("06-rope")):
        for label in ("Colab", "Kaggle", "Binder"):
            assert f'<a href="{html.escape(places[label])}">{label}</a>' in said
    monkeypatch.setattr(address, "read", lambda: NOWHERE)
    for said in (begin("06-rope", "../"), opening("06-rope")):
        assert "https:" not in said and 'href="../docs/students.html"' in said and "anatomy lab" in said
    assert begin("06-rope", "").count(". ") == 0, "one sentence"


def test_each_place_has_its_own_form_of_address():
    found = dict(PUBLIC.links("06-rope"))
    book = "course/06-rope/06-rope.ipynb"
    assert (ROOT / book).is_file()
    assert found["Colab"] == f"https://colab.research.google.com/github/ada/anatomy/blob/main/{book}"
    assert found["Kaggle"].endswith(f"?src=https://github.com/ada/anatomy/blob/main/{book}")
    assert found["Binder"] == (
        "https://mybinder.org/v2/gh/ada/anatomy/main?urlpath=lab%2Ftree%2Fwork%2F06-rope%2F06-rope.ipynb"
    )
    assert found["Download"] == f"https://raw.githubusercontent.com/ada/anatomy/main/{book}"


def test_learners_have_the_same_address(monkeypatch):
    assert hosted.read_address() == json.loads(address.read().to_json())
    monkeypatch.setattr(hosted, "_loaded", lambda: json.loads(PUBLIC.to_json()))
    for place, label in (("colab", "Colab"), ("kaggle", "Kaggle")):
        monkeypatch.setattr(hosted, "place", lambda place=place: place)
        assert hosted.unit_address("06-rope") == dict(PUBLIC.links("06-rope"))[label]


def test_pages_and_citation_agree_with_it():
    now = address.read()
    for link in (link for _, link in now.links("06-rope") if "raw." not in link):
        assert html.escape(link) in begin("06-rope", "../")
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    said = yaml.safe_load(text)
    assert said["version"] == now.version and said.get("repository-code", "") == now.repository
    public = badges.cited(text, PUBLIC)
    assert yaml.safe_load(public) == {**said, "repository-code": PUBLIC.repository}
    assert badges.cited(public, PUBLIC) == public and badges.cited(public, NOWHERE) == badges.cited(text, NOWHERE)


def test_it_stands_in_one_place():
    """No other file names the repository: to move it, change one line and build."""
    text = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["transformer-anatomy"]
    assert set(text) == {"repository", "branch"}
