"""``make validate-sandbox`` writes the complete kernels where nbgrader_config.py looks for them, or nothing."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from autograder import ROOT
from autograder.grading.base import environment
from autograder.sandbox import Availability, kernelspec
from tests.waiting import PATIENCE


def kernels(prefix):
    return {name: prefix / "share" / "jupyter" / "kernels" / name / "kernel.json" for name in kernelspec.KERNELS}


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this system")
def test_the_target_installs_both_kernels(tmp_path):
    fresh = tmp_path / "ready"
    fresh.mkdir()
    for name in (".ready", ".ready-staff"):  # newer than any requirement, so that make uses this test run's environment
        os.utime((fresh / name).touch() or fresh / name, (time.time() + 99, time.time() + 99))
    bin = os.path.join(sys.prefix, "bin")
    command = ["make", "validate-sandbox", f"VENV={fresh}", f"BIN={bin}", f"ARGS=--prefix '{tmp_path / 'my prefix'}'"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, file in kernels(tmp_path / "my prefix").items():
        spec = json.loads(file.read_text())
        assert spec["metadata"]["kernel_provisioner"]["provisioner_name"] == name
        assert str(file) in done.stdout


def test_help_says_what_it_is_for():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    line = next(text for text in done.stdout.splitlines() if "make validate-sandbox" in text)
    assert "Validate" in line and "sandbox" in line


def test_validate_finds_what_was_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(environment.sys, "prefix", str(tmp_path))
    assert environment.sandbox_kernel() == ""
    kernelspec.install(tmp_path)
    assert environment.sandbox_kernel() in kernelspec.KERNELS


def test_a_second_time_changes_nothing_and_leaves_nothing_behind(tmp_path):
    first = {file: file.read_bytes() for file in kernelspec.install(tmp_path)}
    assert {file: file.read_bytes() for file in kernelspec.install(tmp_path)} == first
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["kernel.json", "kernel.json"]


def test_what_cannot_be_written_is_one_sentence(tmp_path, capsys):
    (tmp_path / "share").write_text("in the way")
    assert kernelspec.main(["--prefix", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("The kernels cannot be written to ") and said.count("\n") == 1


def test_nothing_is_installed_where_no_sandbox_can_be_had(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(kernelspec, "sandbox_available", lambda: Availability(False, False, "no such luck"))
    assert kernelspec.main(["--prefix", str(tmp_path)]) == 2
    assert "no such luck" in capsys.readouterr().err and not list(tmp_path.iterdir())
