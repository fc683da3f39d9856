"""A JupyterLab over a copy of the course, in a learner's environment: one for all tests of the xdist group “lab”."""

import json
import os

import pytest

from autograder import ROOT
from tests import learner
from tests.widgets.lab import start_lab

from . import seconds

EXTENSION = ("tests/yardstick.py", "tests/browser/seconds.py")


@pytest.fixture(scope="session")
def course_copy(tmp_path_factory):
    """course/, lock/ and wheel/ (the solved notebooks, for each of the two environments), so that a test may edit."""
    folder = tmp_path_factory.mktemp("lab")
    for name, source in (("course", "course"), ("lock", "solutions"), ("wheel", "solutions"), ("wheel", "course")):
        for path in (ROOT / source).glob("*/*.ipynb"):
            book = json.loads(path.read_text(encoding="utf-8"))
            if name == "wheel":
                book["metadata"]["kernelspec"]["name"] = "wheel"
            place = folder / name / path.parent.name / path.name
            if not place.exists():
                place.parent.mkdir(parents=True)
                place.write_text(json.dumps(book), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def lab(course_copy, tmp_path_factory):
    """Address of the running JupyterLab. Its kernels treat predictions as made, and keep progress in the copy.

    Its own kernel and the one named "wheel" have only the packages that a learner installs, none of the staff's.

    A learner's kernel has as many threads as cores; trainings pin theirs, and one that doesn't is noticed here.
    Waiting threads sleep: next to other tests, spinning would count for more than the threads' work.
    """
    before = dict(os.environ)
    os.environ |= {"ANATOMY_RUN_ALL": "1", "ANATOMY_HOME": str(course_copy / "home")}
    os.environ |= {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", seconds.FILE: str(course_copy / "seconds")}
    try:
        python = learner.course_folder(tmp_path_factory) / ".venv" / "bin" / "python"
        kernels = {"wheel": learner.wheel_python(tmp_path_factory)}
        with start_lab(course_copy, python=python, kernels=kernels, extension=EXTENSION) as url:
            yield url
    finally:
        os.environ.clear()
        os.environ |= before


@pytest.fixture(scope="module")
def context(browser):
    """One context for all pages of a module: JupyterLab's files are fetched and compiled once."""
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(60_000)
    yield made
    made.close()


@pytest.fixture
def page(context):
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    yield page
    page.close()
