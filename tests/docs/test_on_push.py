"""docs/on-push.md: its workflow and its commands run in a repository made as the page says, from the wheel, offline."""

import json
import os
import re
import subprocess
import sys
import sysconfig

import pytest
import yaml
from anatomy.program import units
from anatomy.progress.standing import is_extension

from autograder import ROOT
from tests.course.learners_folder import write_folder
from tests.learner import built_wheel, clean_environment

PAGE = (ROOT / "docs" / "on-push.md").read_text(encoding="utf-8")
JOB = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)[0])["jobs"]["check"]
STEPS = [step["run"] for step in JOB["steps"] if "run" in step]
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S) for line in block.splitlines()]
UNIT, WRONG = "06-rope", "rope.rotate_half"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("guide")]


class Repository:
    """A student's repository on a host: the template's files, and a Python of its own with the libraries of this one.

    What the host would download is what is missing offline: pip installs the wheel without its dependencies.
    """

    def __init__(self, folder, wheel):
        self.folder = folder
        (folder / "course").mkdir()
        (folder / "course" / wheel.name).write_bytes(wheel.read_bytes())
        subprocess.run([sys.executable, "-m", "venv", str(folder / "host")], check=True)
        path = os.pathsep.join([str(folder / "host" / "bin"), "/usr/bin", "/bin"])
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "ANATOMY_HOME": str(folder / "home")}
        self.environment = clean_environment() | {"PATH": path, "PYTHONIOENCODING": "utf-8", **offline}

    def run(self, command):
        """(exit status, output) of a line, as the host's shell runs it."""
        line = ["bash", "-e", "-c", command]
        done = subprocess.run(line, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def use_libraries(self):
        """The libraries that pip would have downloaded; the .pth files in that folder, one to a checkout, count not."""
        (packages,) = (self.folder / "host" / "lib").glob("python*/site-packages")
        (packages / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    made = Repository(tmp_path_factory.mktemp("repository"), built_wheel(tmp_path_factory))
    install, check = STEPS
    status, said = made.run(install)
    assert status == 0, said
    made.use_libraries()
    return made


def test_the_workflow_asks_for_no_more_than_it_needs_and_ends():
    whole = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)[0])
    assert whole["permissions"] == {"contents": "read"} and JOB["timeout-minutes"] <= 30
    assert "secrets." not in PAGE and "feedback, and no grade" in PAGE


def test_each_step_and_command_says_by_its_status_whether_the_answers_pass(repository):
    write_folder(repository.folder, [UNIT], rope_rotate_half=None)
    found = {command: repository.run(command) for command in [STEPS[1], *COMMANDS]}
    about_another = next(c for c in COMMANDS if "--only" in c and WRONG not in c)
    assert {c for c, (status, _) in found.items() if status != 1} == {about_another}, found
    assert found[about_another][0] == 0 and f"· {WRONG}: nothing is written yet" in found[STEPS[1]][1]
    rows = json.loads(next(said for command, (_, said) in found.items() if "--json" in command))
    assert [r["exercise"] for r in rows if r["state"] != "passed"] == [WRONG]
    write_folder(repository.folder, [UNIT])
    assert repository.run(STEPS[1])[0] == 0
    assert not (repository.folder / "home" / "progress.json").exists()


def test_a_repository_without_a_notebook_is_status_2(repository):
    (repository.folder / "none").mkdir(exist_ok=True)
    status, said = repository.run("anatomy check none")
    assert status == 2 and said.startswith("check: there is no notebook of the course in none")


def test_the_counts_in_the_log_that_is_shown_are_the_units():
    total = re.search(r"^06-rope: \d/(\d+) exercises, extensions 0 of (\d+)$", PAGE, re.M)
    exercises = units.load(UNIT)["exercises"]
    extensions = sum(is_extension(e) for e in exercises)
    assert [int(n) for n in total.groups()] == [len(exercises) - extensions, extensions]
