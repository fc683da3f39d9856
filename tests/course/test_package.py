"""The student package: it holds only the learner's wing, and it works."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
import zipfile
from contextlib import contextmanager, suppress

import pytest

from autograder.build import package, wheel
from autograder.notebooks import answers as whole
from tests import learner

pytestmark = pytest.mark.xdist_group("student-package")  # so that it is built once


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


def test_a_class_package_holds_no_answer(unpacked):
    """No answer stands in it whole; of the answers' long lines a few common ones stand in the package's own code."""
    text = {
        line.strip()
        for path in unpacked.rglob("*")
        if path.suffix in (".py", ".md")
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    shown = "\n".join(line for book in unpacked.glob("course/*/*.ipynb") for line in lines_of(book))
    assert not list(unpacked.rglob("answers.json"))
    secret = {e: {line for line in s.splitlines() if len(line.strip()) >= 30} for e, s in whole.read().items()}
    secret = {e: {s for line in lines if (s := line.strip()) not in shown} for e, lines in secret.items()}
    assert not [e for e, lines in secret.items() if len(lines) > 1 and lines <= text]
    every = set().union(*secret.values())
    assert len(every) > 500 and len(every & text) < len(every) / 50, every & text


def lines_of(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [line for cell in cells for line in "".join(cell["source"]).splitlines()]


@pytest.mark.parametrize(
    "setting, there",
    [("", (False, True)), ('"wheel"', (False, True)), ('"all"', (True, True)), ('"none"', (False, False))],
)
def test_one_setting_says_which_packages_hold_the_answers(setting, there, tmp_path, monkeypatch, capsys):
    line = f"c.Release.answers = {setting}\n" if setting else ""
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\n{line}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(package, "unfit", lambda root: [])
    made = {}
    monkeypatch.setattr(package, "archive", lambda contained: made.update(zip=contained) or b"")
    monkeypatch.setattr(wheel.notebooks, "outputs", lambda language, config=None: {})
    monkeypatch.setattr(wheel, "build", lambda contained, out: made.update(wheel=contained) or tmp_path / "x.zip")
    (tmp_path / "x.zip").touch()
    assert package.main(["--out", str(tmp_path)]) == wheel.main(["--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    names = whole.INSIDE, f"{wheel.DATA}/{whole.INSIDE}"
    for kind, name, is_there, line in zip(made, names, there, said, strict=True):
        assert (name in made[kind]) == is_there
        assert ("with the whole answers" in line) == is_there != ("for a class" in line)
        assert not is_there or made[kind][name] == whole.FILE.read_bytes()


def test_a_setting_that_means_nothing_is_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\nc.Release.answers = True\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for make in (package.main, wheel.main):
        assert make(["--out", str(tmp_path / "dist")]) == 1 and not (tmp_path / "dist").exists()
        assert "c.Release.answers is True; it can be 'wheel' or 'all' or 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["setting", "option"])
def test_a_package_in_chinese_has_the_same_files_with_notebooks_in_chinese(said, tmp_path, monkeypatch, capsys):
    setting = 'c.Class.language = "zh_CN"' if said == "setting" else ""
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\n{setting}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(package, "unfit", lambda root: [])
    monkeypatch.setattr(package, "archive", lambda contained: made.update(contained) or b"")
    every = package.notebooks.outputs
    monkeypatch.setattr(
        package.notebooks, "outputs", lambda language, config: every(language, ["00-start-here"], config)
    )
    made = {}
    assert package.main(["--out", "dist", *(["--language", "zh_CN"] if said == "option" else [])]) == 0
    assert "dist/transformer-anatomy-student-zh_CN.zip: " in capsys.readouterr().out
    english, name = package.contents(), "course/00-start-here/00-start-here.ipynb"
    assert english.keys() == made.keys()
    pages = {"README.md", "students.md", "learners.md", "mirrors.md"}
    assert {n for n in made if made[n] != english[n]} == {name, *pages}
    students = made["students.md"].decode()
    assert "笔记本" in students and 'id="a-newer-version"' in students, "links lead to English anchors"
    assert "加权平均" in made[name].decode() and 'speak(\\"zh_CN\\")' in made[name].decode()
    assert made["README.md"].startswith("# 解剖".encode())
    assert english[name] == (package.ROOT / name).read_bytes(), "the English package is as it was"


def test_a_package_in_a_language_without_catalogs_is_refused_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(package, "unfit", lambda root: [])
    assert package.main(["--out", str(tmp_path), "--language", "xx"]) == 1 and not list(tmp_path.iterdir())
    assert "There are no catalogues of 'xx'. Languages: zh_CN" in capsys.readouterr().err


def test_two_packages_have_the_same_bytes(unpacked, tmp_path):
    assert package.main(["--out", str(tmp_path)]) == 0
    a, b = (next(folder.glob("*.zip")).read_bytes() for folder in (unpacked.parent, tmp_path))
    assert a == b


def test_what_is_listed_is_what_git_tracks():
    tracked = package.tracked_by_git(package.ROOT)
    if tracked is None:
        pytest.skip("not a git checkout")
    wing = {n for n in tracked if n in package.LEARNER_FILES or n.startswith(("course/", "assets/"))}
    wing = {n for n in wing if not n.startswith(package.STAYS)}
    listed = set(package.listed())
    assert wing <= listed, f"LEARNER_FOLDERS in autograder/build/package.py leaves out {sorted(wing - listed)}"
    assert set(package.contents()) == wing | {"README.md", "students.md", "learners.md", "mirrors.md"}


@pytest.fixture(scope="module")
def source_archive(tmp_path_factory):
    """The learner's wing without git, in a folder inside an unrelated checkout."""
    above = tmp_path_factory.mktemp("checkout")
    subprocess.run(["git", "init", "-q"], cwd=above, check=True)
    root = above / "archive"
    for name, content in package.contents().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "docs").mkdir()
    for page in ("students.md", "learners.md", "mirrors.md"):
        (root / page).rename(root / "docs" / page)  # their place in a source archive
    return root


def test_a_source_archive_without_git_makes_the_same_package(source_archive, monkeypatch):
    assert package.tracked_by_git(source_archive) is None
    for stray in ("course/.ipynb_checkpoints/a.ipynb", "course/anatomy/__pycache__/a.json", "course/progress.json"):
        path = source_archive / stray
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    (source_archive / "course" / "anatomy" / "stray.py").symlink_to("/etc/hostname")
    assert package.contents(source_archive) == package.contents()
    monkeypatch.setenv("PATH", "")  # like a machine without git
    assert package.contents(source_archive) == package.contents()


def test_in_a_checkout_what_git_does_not_track_stays_at_home(source_archive):
    inside = {"cwd": source_archive, "check": True}
    subprocess.run(["git", "init", "-q"], **inside)
    subprocess.run(["git", "add", "course/README.md", "assets/units"], **inside)
    names = set(package.contents(source_archive))
    assert {"course/README.md", "assets/units/06-rope.json"} <= names and "course/06-rope/06-rope.ipynb" not in names


def test_another_folder_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(RuntimeError, match="has no course/README.md"):
        package.contents(tmp_path)


def test_make_help_works_without_the_staffs_targets(unpacked):
    text = subprocess.run(["make", "help"], cwd=unpacked, capture_output=True, text=True, check=True).stdout
    assert "make lab" in text and "make update" in text and "make grade" not in text


@contextmanager
def running(folder, env, *options):
    """Runs `make lab` in a folder; yields (process, port, log). Ends its processes on leaving the block."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    args = " ".join(
        ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=", *options]
    )
    log = folder / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            ["make", "lab", f"ARGS={args}"], cwd=folder, env=env, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield server, port, log
    finally:
        # The server has its own session, so this ends only its processes. An interrupt may not have reached them all.
        for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
            with suppress(ProcessLookupError):
                os.killpg(server.pid, number)
            with suppress(subprocess.TimeoutExpired):
                server.wait(patience)
                break
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)


@pytest.mark.slow
def test_make_lab_serves_the_first_page_from_a_fresh_environment(tmp_path_factory, tmp_path):
    """Runs the README's first command on the zip, with only Python, pip and venv installed."""
    unpacked, env = learner.course_folder(tmp_path_factory), learner.clean_environment()
    env |= {
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
    }
    before = {p: p.read_bytes() for p in (unpacked / "course").glob("*/*.ipynb")}
    with running(unpacked, env) as (server, port, log):
        url, end = f"http://127.0.0.1:{port}", time.time() + 540
        while True:
            try:
                page = urllib.request.urlopen(f"{url}/api/contents/00-start-here/00-start-here.ipynb", timeout=60)
                page = page.read().decode()
                break
            except OSError:
                assert server.poll() is None and time.time() < end, log.read_text()[-3000:]
                time.sleep(0.2)
        assert "weighted_average" in page
        assert urllib.request.urlopen(f"{url}/", timeout=60).url.endswith("/00-start-here/00-start-here.ipynb")
    assert server.poll() is not None
    python = str(unpacked / ".venv/bin/python")
    code = (
        "from anatomy import evaluate; average = lambda values, weights: weights @ values / weights.sum(); "
        "print(evaluate('start.weighted_average', average).passed)"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.strip() == "True", done.stderr
    done = subprocess.run([python, "-c", "import nbgrader"], capture_output=True, text=True, env=env)
    assert "No module named 'nbgrader'" in done.stderr
    work = unpacked / "work"
    assert {p.relative_to(work) for p in work.glob("*/*.ipynb")} == {p.relative_to(unpacked / "course") for p in before}
    assert {p: p.read_bytes() for p in before} == before, "course/ is as it was"
