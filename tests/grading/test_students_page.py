"""docs/students.md: the commands for students work, in the unpacked student package and without a network.

Parts that can't run here (PowerShell, conda, Colab's own part) are compared with those that do.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest
from anatomy.app import workspace
from anatomy.system.installation import place_in as at

from autograder import ROOT
from autograder.build import package

from ..learner import libraries
from .classroom import ANSWERS, course, grade, grades, notebook, submit

pytestmark = pytest.mark.xdist_group("students")  # the package is set up once

PAGE = (ROOT / "docs" / "students.md").read_text(encoding="utf-8")


def blocks(title):
    """The code blocks of a section."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return re.findall(r"^```\w*\n(.*?)^```", section[1], re.M | re.S)


# The blocks of each: once, daily, for a newer zip.
POSIX, WINDOWS = blocks("Without `make`: macOS, Linux"), blocks("Windows")
(CONDA,) = blocks("conda")
COLAB_TOP, COLAB_START = blocks("Google Colab")
(COLAB_UPDATE,) = blocks("A newer version")
(REPORT,) = blocks("When something fails")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The course folder as a student has it, with the zip next to it."""
    folder = tmp_path_factory.mktemp("student")
    path = folder / "transformer-anatomy-student.zip"
    path.write_bytes(package.archive(package.contents()))
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder / "transformer-anatomy"


def run(command, folder, **more):
    """Runs a line of the page in a shell."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "VIRTUAL_ENV", "JUPYTER", "PIP_"))}
    done = subprocess.run(
        command, shell=True, cwd=folder, env={**clean, **more}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(unpacked, tmp_path_factory):
    """Runs the page's three commands. The packages that they would download are there: those in the learner's lock."""
    make, packages, learner = POSIX[0].splitlines()
    run(make.replace("python3", shlex.quote(sys.executable)), unpacked)
    (found,) = (unpacked / ".venv" / "lib").glob("python*/site-packages")
    for old in found.glob("setuptools*"):  # Python 3.11 includes one, which the second command replaces
        shutil.rmtree(old)
    (found / "here.pth").write_text(f"{libraries(tmp_path_factory)}\n")
    assert "already satisfied" in run(f"{packages} --no-index", unpacked)
    run(learner, unpacked)
    return unpacked


def test_the_environment_is_this_folders_and_the_daily_command_makes_the_copies(installed, tmp_path):
    where = run(".venv/bin/python -c 'import anatomy; print(anatomy.__file__)'", installed).strip()
    assert where == str(installed / "course" / "anatomy" / "__init__.py")
    daily = POSIX[1].strip()
    said = run(f"{daily} -- --version", installed, ANATOMY_HOME=str(tmp_path))
    assert re.search(r"^\d+\.\d+\.\d+$", said, re.M), said
    assert sorted(p.parent.name for p in (installed / "work").glob("*/*.ipynb")) == workspace.units(at(ROOT))


def test_the_newer_zip_is_taken(installed):
    update = POSIX[2].strip()
    assert "path/to/transformer-anatomy-student.zip" in update
    assert "release is here" in run(update.replace("path/to/", "../"), installed)


def test_the_report_runs(installed, tmp_path):
    said = run(f".venv/bin/python -c {shlex.quote(REPORT)}", installed, ANATOMY_HOME=str(tmp_path))
    assert "missing" not in said and str(tmp_path) in said


def test_other_systems_do_the_same(unpacked):
    """On Windows the same modules with the same arguments under other names; with conda the environment of its file."""
    for here, there in zip(POSIX, WINDOWS, strict=True):
        there = there.replace("\\", "/").replace(".venv/Scripts/", ".venv/bin/")
        assert re.sub(r"^py -m venv", "python3 -m venv", there) == here
    recipe = (unpacked / "Makefile").read_text()
    packages, learner = (line.split("pip install ")[1] for line in POSIX[0].splitlines()[1:])
    assert packages in recipe.replace("--quiet ", "")
    assert learner in recipe.replace("--quiet ", "").replace("$(EDITABLE)", "-e course")
    create, activate, daily = CONDA.splitlines()
    name = re.search(r"^name: (\S+)", (unpacked / "environment.yml").read_text(), re.M)[1]
    assert activate.split()[-1] == name and (unpacked / create.split()[-1]).is_file()
    assert daily.split()[1:] == POSIX[1].split()[1:]


GOOGLE = """
import sys, types
colab = types.ModuleType("google.colab")
colab.drive = types.SimpleNamespace(mount=lambda place: None)
colab.output = types.SimpleNamespace(enable_custom_widget_manager=lambda: None)
sys.modules |= {"google": types.ModuleType("google"), "google.colab": colab}
"""


def test_colabs_cells_find_the_course_and_make_the_copies(unpacked, tmp_path):
    """Replaces Google's module and moves the Drive; lines for IPython run in a shell instead."""
    drive = "/content/drive/MyDrive/transformer-anatomy"
    cell = COLAB_TOP
    assert drive in cell
    code = "\n".join(line for line in cell.replace(drive, str(unpacked)).splitlines() if not line.startswith("%"))
    code += (
        "\nimport anatomy; print(anatomy.__file__)\nfrom anatomy import evaluate, environment_report\n"
        f"{ANSWERS['right']}print(evaluate('start.weighted_average', weighted_average).passed)\nenvironment_report()"
    )
    done = subprocess.run(
        [sys.executable, "-c", GOOGLE + code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert f"{unpacked}/course/anatomy/__init__.py" in done.stdout and "True" in done.stdout.split()
    assert f"{unpacked}/progress" in done.stdout
    for line, said in ((COLAB_START, ""), (COLAB_UPDATE, "release is here")):
        command = (
            line.strip()
            .removeprefix("!")
            .replace("{folder}", str(unpacked))
            .replace("python -m", f"{sys.executable} -m")
        )
        assert said in run(command, tmp_path)
    assert (unpacked / "work" / "01-attention" / "01-attention.ipynb").is_file()


def test_a_notebook_that_colab_saved_has_its_points(tmp_path, sandbox):
    """With the page's cell at the top, without marks and ids, and with Colab's own metadata instead."""
    book = json.loads(notebook(ANSWERS["right"]))
    top = {"cell_type": "code", "source": COLAB_TOP, "outputs": [], "execution_count": 1}
    for number, cell in enumerate([top, *book["cells"]]):
        cell.pop("id", None)
        cell["metadata"] = {"id": f"Zx{number}"}
    book |= {"cells": [top, *book["cells"]], "nbformat_minor": 0, "metadata": {"colab": {"provenance": []}}}
    root = course(tmp_path / "class")
    submit(root, "ada", json.dumps(book).encode())
    done = grade(root, "--workers", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(float(r["score"]) for r in grades(root)) == 1


def test_links_lead_somewhere():
    heads = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", PAGE, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= heads, heads
