"""The student package: the learner's wing alone, and it works."""

import os
import subprocess
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from autograder.build import package

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    assert package.main(["--out", str(folder)]) == 0
    with zipfile.ZipFile(folder / "transformer-anatomy-student.zip") as archive:
        archive.extractall(folder)
    return folder / "transformer-anatomy"


def test_it_holds_the_learners_wing_alone(unpacked):
    top = {p.name for p in unpacked.iterdir()}
    assert {"course", "assets", "Makefile", "requirements.lock", "environment.yml", "README.md"} <= top
    assert not top & {"solutions", "autograder", "tests", "benchmarks", "nbgrader_config.py", ".ci"}
    text = "\n".join(p.read_text() for p in unpacked.rglob("*") if p.suffix in (".py", ".ipynb", ".md", ".json"))
    assert "BEGIN SOLUTION" not in text and "import autograder" not in text and "from autograder" not in text


def test_two_packages_have_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        package.main(["--out", str(tmp_path / name)])
    a, b = (next((tmp_path / n).glob("*.zip")).read_bytes() for n in ("a", "b"))
    assert a == b


def test_make_help_works_without_the_staffs_targets(unpacked):
    text = subprocess.run(["make", "help"], cwd=unpacked, capture_output=True, text=True, check=True).stdout
    assert "make lab" in text and "make grade" not in text


@pytest.mark.slow
def test_make_lab_serves_the_first_page_from_a_fresh_environment(unpacked):
    """The README's first command, on the zip, from nothing but Python with pip and venv."""
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("VIRTUAL_ENV", "MAKE", "MFLAGS"))}
    env["PATH"] = os.pathsep.join(p for p in env["PATH"].split(os.pathsep) if ".venv" not in p)
    args = f"ARGS=--no-browser --port={port} --ServerApp.port_retries=0 --IdentityProvider.token="
    log = unpacked / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(["make", "lab", args], cwd=unpacked, env=env, stdout=out, stderr=out,
                                  start_new_session=True)
    try:
        url, end = f"http://127.0.0.1:{port}/api/contents/course/00-start-here/00-start-here.ipynb", time.time() + 540
        while True:
            try:
                page = urllib.request.urlopen(url, timeout=5).read().decode()
                break
            except OSError:
                assert server.poll() is None and time.time() < end, log.read_text()[-3000:]
                time.sleep(1)
        assert "weighted_average" in page
        code = ("from anatomy import evaluate; average = lambda values, weights: weights @ values / weights.sum(); "
                "print(evaluate('start.weighted_average', average).passed)")
        done = subprocess.run([str(unpacked / ".venv/bin/python"), "-c", code], capture_output=True, text=True, env=env)
        assert done.stdout.strip() == "True", done.stderr
    finally:
        os.killpg(server.pid, 15)
        server.wait(20)
