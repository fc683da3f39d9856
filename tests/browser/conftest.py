"""A JupyterLab over a copy of the course, as `make lab` starts it: one for all tests of the xdist group “lab”."""

import os
import shutil

import pytest

from autograder import ROOT
from tests.widgets.lab import start_lab

from . import seconds


@pytest.fixture(scope="session")
def course_copy(tmp_path_factory):
    """course/, solved/ (the source notebooks) and assets/, so that a test may edit and save without harm."""
    folder = tmp_path_factory.mktemp("lab")
    for name, source in (("course", "course"), ("solved", "solutions")):
        for book in (ROOT / source).glob("*/*.ipynb"):
            (folder / name / book.parent.name).mkdir(parents=True)
            shutil.copy(book, folder / name / book.parent.name)
    return folder


@pytest.fixture(scope="session")
def lab(course_copy):
    """Address of the running JupyterLab. Its kernels see predictions as made, and keep progress in the copy.

    A learner's kernel has as many threads as cores; trainings pin theirs, and this is where one that doesn't shows.
    Threads that wait sleep: where other tests run, their spinning would count for more than their work.
    """
    before = dict(os.environ)
    os.environ |= {"ANATOMY_RUN_ALL": "1", "ANATOMY_HOME": str(course_copy / "home")}
    os.environ |= {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", seconds.FILE: str(course_copy / "seconds")}
    try:
        with start_lab(course_copy, extension=seconds.__name__) as url:
            yield url
    finally:
        os.environ.clear()
        os.environ |= before


@pytest.fixture(scope="module")
def context(browser):
    """Of all pages of a module: what JupyterLab loads is fetched and compiled once."""
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
