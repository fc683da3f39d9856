"""How a host is recognized by its variables, what is shown there, and where its links lead."""

import html
import re
import sys
import types

import pytest
from anatomy import progress
from anatomy.notebook import after_check
from anatomy.program import units
from anatomy.system import hosted

SETS = {
    "colab": {"COLAB_RELEASE_TAG": "x", "JPY_PARENT_PID": "1"},
    "kaggle": {"KAGGLE_KERNEL_RUN_TYPE": "Batch", "COLAB_RELEASE_TAG": "x"},
    "binder": {"BINDER_REPO_URL": "x", "JUPYTERHUB_USER": "ada", "JUPYTERHUB_SERVICE_PREFIX": "/user/ada/"},
    "codespaces": {"CODESPACES": "true", "VSCODE_CWD": "/"},
    "vscode": {"VSCODE_PID": "1"},
    "jupyterhub": {"JUPYTERHUB_USER": "ada"},
    "home": {"JPY_PARENT_PID": "1"},
}
KNOWN = {name for env in SETS.values() for name in env} | {"BINDER_SERVICE_HOST", "VSCODE_CWD", "ANATOMY_HOME"}
ADDRESS = {"repository": "https://github.com/ada/anatomy", "branch": "main", "version": "1"}


@pytest.fixture
def at(monkeypatch, tmp_path):
    """Lets this process run on another host."""

    def move(place, repository=ADDRESS["repository"]):
        for name in KNOWN:
            monkeypatch.delenv(name, raising=False)
        for name, value in SETS[place].items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        monkeypatch.setattr(hosted, "_loaded", lambda: ADDRESS | {"repository": repository})

    return move


@pytest.mark.parametrize("place", SETS)
def test_each_place_is_known(at, place):
    assert set(SETS) == set(hosted.PLACES)
    at(place)
    assert hosted.place() == place


def test_other_signs_of_the_same_places(at, monkeypatch):
    at("home")
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert hosted.place() == "colab"
    monkeypatch.delitem(sys.modules, "google.colab")
    for name, place in (("VSCODE_CWD", "vscode"), ("BINDER_SERVICE_HOST", "binder")):
        monkeypatch.setenv(name, "x")
        assert hosted.place() == place


@pytest.mark.parametrize("place", SETS)
def test_what_is_lost_and_how_to_hand_in_is_said_where_a_machine_is_lent(at, place):
    at(place)
    said = hosted.where_work_is("06-rope")
    assert bool(said) == (place in (*hosted.LENT, "codespaces"))
    if place in hosted.LENT:
        assert "hand in" in said and "File, Download" in said
    shown = progress("06-rope")
    assert said in repr(shown) and html.escape(said) in shown._repr_html_()


def hrefs(page):
    return re.findall(r'href="([^"]*)"', page)


@pytest.mark.parametrize("place", ["home", "binder", "vscode"])
def test_where_notebooks_lie_side_by_side_links_are_as_ever(at, place):
    at(place)
    assert units.link("06-rope") == "../06-rope/06-rope.ipynb"
    assert units.link("06-rope", "x", here="06-rope") == "06-rope.ipynb#cell-id=x"
    assert units.anchor("a?b&c", "<b>w</b>") == '<a href="a?b&amp;c"><b>w</b></a>'
    assert {"../06-rope/06-rope.ipynb"} < set(hrefs(progress()._repr_html_()))


@pytest.mark.parametrize("place, starts", [("colab", "https://colab."), ("kaggle", "https://www.kaggle.com/kernels/")])
def test_where_a_notebook_stands_alone_links_lead_to_the_public_one(at, place, starts):
    at(place)
    page = progress()._repr_html_()
    assert len(hrefs(page)) >= 14 and all(h.startswith(starts) and h.endswith(".ipynb") for h in hrefs(page))
    assert page.count('target="_blank"') == len(hrefs(page)), "a frame within the page is no place for another"
    assert any("/ada/anatomy/blob/main/course/06-rope/06-rope.ipynb" in h for h in hrefs(page))


@pytest.mark.parametrize("place", ["colab", "kaggle"])
def test_no_dead_link_where_nothing_can_be_reached(at, place):
    """No links to cells of one's own copy, nor to other units where the course has no public address."""
    at(place)
    assert units.link("06-rope", "x", here="06-rope") == units.link("06-rope", here="06-rope") == ""
    assert units.link("06-rope", "x") == "" != units.link("06-rope")
    shown = after_check.Shown()
    after_check._offer_hint(shown, "06-rope", {"id": "rope.rotate_half"}, {"tries": 9})
    assert "Stuck? Hint" in "".join(map(str, vars(shown).values())) and "href" not in str(vars(shown))
    at(place, repository="")
    page = progress()._repr_html_()
    assert not hrefs(page) and "RoPE" in page
