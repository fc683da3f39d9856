"""Binder's and the dev container's files: they name the versions that the course is locked to, and their steps work."""

import json
import os
import re
import shutil
import subprocess
import sys

import yaml

from autograder import ROOT

LOCK = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.M))
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
PYTHON = next(d for d in ENVIRONMENT["dependencies"] if str(d).startswith("python="))


def test_binder_has_the_locked_python_and_torch():
    binder = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text())
    assert binder["channels"] == ENVIRONMENT["channels"]
    assert binder["dependencies"] == [PYTHON, "pip", f"pytorch-cpu={LOCK['torch']}"]


def test_binders_steps_install_the_lock_and_make_the_copies(tmp_path):
    """Replaces pip with a recorder of its arguments; the rest runs."""
    for name in ("course", "assets", "requirements.lock", ".binder"):
        (tmp_path / name).symlink_to(ROOT / name)
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    log = tmp_path / "pip.log"
    python.write_text(
        f'#!/bin/sh\nif [ "$2" = pip ]; then echo "$@" >> "{log}"; else exec "{sys.executable}" "$@"; fi\n'
    )
    python.chmod(0o755)
    env = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "course")}
    build = tmp_path / ".binder" / "postBuild"
    assert os.access(build, os.X_OK) and os.access(tmp_path / ".binder" / "start", os.X_OK), "Binder executes them"
    subprocess.run([str(build)], cwd=tmp_path, env=env, check=True, capture_output=True)
    asked = [line.split() for line in log.read_text().splitlines()]
    makefile = (ROOT / "Makefile").read_text()
    assert asked[0][-2:] == ["-r", "requirements.lock"]
    assert asked[1][-4:] == ["--no-deps", "--no-build-isolation", "-e", "course"] and "EDITABLE = -e course" in makefile
    books = sorted(p.relative_to(tmp_path / "work") for p in (tmp_path / "work").glob("*/*.ipynb"))
    assert len(books) >= 15 and str(books[-1]) == "gallery/gallery.ipynb", "what a Binder link opens is there"


def test_binders_start_hands_on_with_the_courses_settings():
    shown = subprocess.run(
        [str(ROOT / ".binder" / "start"), "sh", "-c", 'echo "$JUPYTER_CONFIG_PATH $1"', "-", "lab"],
        cwd=ROOT,
        env={**os.environ, "JUPYTER_CONFIG_PATH": "/etc/other"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    settings, _, rest = shown.partition(":")
    assert (ROOT / "course" / "anatomy" / "lab_settings").samefile(settings) and rest == "/etc/other lab\n"


def test_the_dev_container_is_made_as_at_home():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["image"] == f"python:{PYTHON.removeprefix('python=')}-bookworm"
    assert container["image"] in (ROOT / ".github" / "workflows" / "test.yml").read_text(), "the image that tests use"
    first, second = container["postCreateCommand"].split(" && ")
    assert first == "make setup" and second == ".venv/bin/python -m anatomy.app.workspace start"
    assert subprocess.run(["make", "-n", "setup"], cwd=ROOT, capture_output=True).returncode == 0
    settings = container["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"].endswith("/.venv/bin/python")
    assert set(settings["jupyter.widgetScriptSources"]) == {"jsdelivr.com", "unpkg.com"}
    assert container["forwardPorts"] == [8888]


def test_progress_in_a_container_outlives_its_rebuilding():
    """It is in the mounted folder, and git ignores it."""
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    home = container["containerEnv"]["ANATOMY_HOME"]
    assert home.startswith("${containerWorkspaceFolder}/work/") and "\n/work/\n" in (ROOT / ".gitignore").read_text()


def test_no_host_of_packages_is_named():
    """A variable decides where torch comes from, as in the workflow that tests."""
    for name in (".binder/environment.yml", ".binder/postBuild", ".binder/start", ".devcontainer/devcontainer.json"):
        assert not re.search(r"https?://|pypi|index-url +http", (ROOT / name).read_text(), re.I), name
    assert shutil.which("bash"), "both scripts need it"
