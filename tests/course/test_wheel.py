"""The wheel on a fresh machine: built, installed outside the repository without access to the checkout, and used."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import tomllib
import urllib.request
import zipfile
from contextlib import contextmanager, suppress

import anatomy
import pytest
import yaml
from anatomy.app import doctor
from anatomy.app.build_stamp import parse, sign, to_bytes

from autograder import ROOT
from autograder.build import lock, wheel
from autograder.languages import catalogues
from autograder.notebooks.address import Address

from .. import learner
from .learners_folder import answers, cell_of, own_cell
from .toy import texts

pytestmark = pytest.mark.xdist_group("wheel")  # so that it is built once
FIRST = "00-start-here"
RIGHT = "lambda values, weights: weights @ values / weights.sum()"
WRONG = "lambda values, weights: weights @ values"


class Machine:
    """A home, a working folder, and an environment with the wheel and the libraries of the learner's lock file."""

    def __init__(self, folder, built, libraries):
        self.folder, self.home, self.here = folder, folder / "home", folder / "somewhere"
        for made in (self.home, self.here):
            made.mkdir(parents=True)
        self.python = folder / "env" / "bin" / "python"
        learner.install(built, folder / "env", libraries)
        (self.packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        share = libraries.parents[2] / "share" / "jupyter"
        foreign = ("ANATOMY", "JUPYTER", "VIRTUAL_ENV", "PYTHON", "XDG_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        self.env = kept | {"HOME": str(self.home), "JUPYTER_PATH": str(share), "JUPYTERLAB_DIR": str(share / "lab")}

    def install(self, built):
        learner.put(built, self.folder / "env")

    def line(self, *words):
        return [str(self.folder / "env" / "bin" / "anatomy"), *words]

    def anatomy(self, *words, status=0):
        done = subprocess.run(
            self.line(*words), cwd=self.here, env=self.env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == status, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def run(self, code):
        done = subprocess.run(
            [str(self.python), "-c", code], cwd=self.here, env=self.env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def notebook(self, unit=FIRST):
        return self.here / "transformer-anatomy" / unit / f"{unit}.ipynb"

    def begin(self):
        """Makes the copies that `anatomy lab` makes, for tests that run alone."""
        if not self.notebook().exists():
            shutil.copytree(self.packages / "anatomy/_data/notebooks", self.here / "transformer-anatomy")

    @contextmanager
    def lab(self, *words):
        """Runs `anatomy lab` until the block ends; yields its address once it answers."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        jupyter = [f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=", "--allow-root"]
        log = self.folder / "lab.log"
        with log.open("w") as out:
            server = subprocess.Popen(
                self.line("lab", *words, "--no-browser", "--", *jupyter),
                **{"cwd": self.here, "env": self.env, "stdout": out, "stderr": out, "start_new_session": True},
            )
        try:
            end = time.time() + 120
            while True:
                with suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=60)
                    break
                assert server.poll() is None and time.time() < end, log.read_text()[-3000:]
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait(60)


@pytest.fixture(scope="module")
def contents():
    return wheel.contents()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return learner.built_wheel(tmp_path_factory)


@pytest.fixture(scope="module")
def machine(built, tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("machine"), built, learner.libraries(tmp_path_factory))


def test_it_holds_what_a_learner_needs_and_nothing_else(built):
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    data = {n.removeprefix("anatomy/_data/") for n in names if n.startswith("anatomy/_data/")}
    units = {p.stem for p in (ROOT / "course").glob("*/*.ipynb")}
    folders = ["notebooks", *(f"languages/{name}" for name in catalogues.languages())]
    assert {f"{f}/{u}/{u}.ipynb" for f in folders for u in units} == {n for n in data if n.endswith(".ipynb")}
    for name in ("recordings/06-rope.safetensors", "models/austen/model.safetensors", "units/06-rope.json"):
        assert f"assets/{name}" in data
    assert not [n for n in data if n.startswith("assets/figures/") and "/large/" not in n or "/seeds/" in n]
    top = {n.split("/")[0] for n in names}
    assert top == {"anatomy", next(n for n in top if n.endswith(".dist-info"))}
    assert built.stat().st_size < 4e6 + 0.85e6 * len(units), "text and models, and a unit's recordings"
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: torch")]
    assert needed and not any("+" in line or "==" in line for line in needed), "any build of torch will do"
    page = (ROOT / "course" / "PACKAGE.md").read_text(encoding="utf-8")
    assert metadata.endswith(page) and "make" not in re.findall(r"[a-z]+", page), "an index's reader has no repository"
    notices = {n.rsplit("/", 1)[-1] for n in names if "/licenses/" in n}
    assert notices == {"LICENSE", "LICENSE-TEXT", "NOTICE"} == set(re.findall(r"License-File: (\S+)", metadata))


def test_two_wheels_have_the_same_bytes_whatever_the_umask(built, contents, tmp_path):
    before = os.umask(0o077)
    try:
        assert wheel.build(contents, tmp_path).read_bytes() == built.read_bytes()
    finally:
        os.umask(before)


def test_the_doctor_finds_nothing_wrong(machine):
    said = machine.anatomy("doctor")
    assert "Nothing is wrong" in said and f"wheel, {machine.packages / 'anatomy'}" in said and str(ROOT) not in said
    assert "`make" not in said and "zip" not in said


def test_the_doctor_finds_a_recording_that_is_cut_short_and_one_that_was_changed(machine):
    path = machine.packages / "anatomy/_data/assets/recordings/06-rope.safetensors"
    text = machine.packages / "anatomy/_data/assets/text/austen/emma.txt"
    whole, novel = path.read_bytes(), text.read_bytes()
    try:
        path.write_bytes(whole[:-100])
        text.write_bytes(novel.replace(b"Emma", b"Anna"))
        said = machine.anatomy("doctor", status=1)
        assert "recordings/06-rope.safetensors" in said and "text/austen/emma.txt" in said
        assert "Install the course again" in said and "pip install --force-reinstall --no-deps /" in said
    finally:
        path.write_bytes(whole), text.write_bytes(novel)


def test_update_without_notebooks_makes_none(machine):
    empty = machine.folder / "empty"
    said = machine.anatomy("update", str(empty), status=2)
    assert f"there are no notebooks of yours in {empty}" in said and not empty.exists()


def test_lab_makes_the_copies_and_shows_the_first_page(machine):
    with machine.lab() as url:
        page = urllib.request.urlopen(f"{url}/", timeout=60)
        assert page.status == 200 and page.url.endswith(f"/lab/tree/{FIRST}/{FIRST}.ipynb")
        book = urllib.request.urlopen(f"{url}/api/contents/{FIRST}/{FIRST}.ipynb", timeout=60).read().decode()
        assert "weighted_average" in book
        spec = json.load(urllib.request.urlopen(f"{url}/api/kernelspecs", timeout=60))["kernelspecs"]["python3"]
        assert spec["spec"]["argv"][0] in ("python", "python3", str(machine.python)), "its own Python"
    released = machine.packages / "anatomy/_data/notebooks"
    for path in released.glob("*/*.ipynb"):
        assert machine.notebook(path.stem).read_bytes() == path.read_bytes()


def test_later_it_is_found_from_anywhere(machine):
    with machine.lab("transformer-anatomy"):
        pass
    elsewhere, machine.here = machine.here, machine.home
    try:
        assert f"Your notebooks are in {elsewhere / 'transformer-anatomy'}" in machine.anatomy("doctor")
    finally:
        machine.here = elsewhere
    assert not (machine.home / "transformer-anatomy").exists()


def test_a_check_a_widget_and_progress(machine):
    said = machine.run(
        "import anatomy\nfrom anatomy import check, evaluate\nfrom anatomy.widgets import RopeExplorer\n"
        f"print(anatomy.__file__)\nprint(evaluate('start.weighted_average', {WRONG}).text())\n"
        f"check('start.weighted_average', {RIGHT})\nprint(RopeExplorer().save_html('rope.html'))\n"
        "from anatomy.language import shipped\nprint(shipped.folder())"
    )
    assert said.startswith(str(machine.packages / "anatomy")) and str(ROOT) not in said
    assert "Divide" in said or "divide" in said, said  # the wrong answer's mistake is named
    assert (machine.here / "rope.html").stat().st_size > 50_000
    assert "passed on try" in machine.anatomy("progress", FIRST)
    assert (machine.home / ".local/share/transformer-anatomy/progress.json").is_file()


def test_it_speaks_chinese(machine):
    folder = machine.here / "chinese"
    with machine.lab("--language", "zh_CN", str(folder)):
        pass
    book = (folder / FIRST / f"{FIRST}.ipynb").read_text(encoding="utf-8")
    assert 'speak(\\"zh_CN\\")' in book and "加权平均" in book and "weighted_average" in book
    assert {p.stem for p in folder.glob("*/*.ipynb")} == {p.stem for p in (ROOT / "course").glob("*/*.ipynb")}
    machine.env["ANATOMY_LANGUAGE"] = "zh_CN"
    try:
        said = machine.run(f"from anatomy import check\ncheck('start.weighted_average', {RIGHT})")
        assert re.search("[\u4e00-\u9fff]", said), said
        assert re.search("[\u4e00-\u9fff]", machine.anatomy("doctor"))
    finally:
        del machine.env["ANATOMY_LANGUAGE"]


def test_words_of_the_wheel_are_no_checkouts(machine):
    said = machine.run(
        "from anatomy.system import installation as it\n"
        "print(it.kind(), it.command('lab'), it.how_to_repair(), it.how_to_get_newer())"
    )
    assert said.startswith("wheel `anatomy lab`") and "make " not in said and "zip" not in said
    machine.begin()
    said = machine.anatomy("update", "--from", "newer.zip", status=2)
    assert "installed as a Python package" in said and "pip install path-to-the-newer.whl" in said


def newer(contents):
    """The next release: a different version, and different words in the first notebook."""
    changed, name = dict(contents), f"anatomy/_data/notebooks/{FIRST}/{FIRST}.ipynb"
    book = parse(contents[name])
    book["cells"][0]["source"] = "# A new beginning"
    changed[name] = to_bytes(sign(book, FIRST))
    code = contents["anatomy/__init__.py"]
    changed["anatomy/__init__.py"] = code.replace(b'__version__ = "', b'__version__ = "9.')
    return changed


def test_a_newer_wheel_and_update_bring_the_text_and_keep_every_answer(machine, contents, tmp_path):
    path = machine.notebook()
    machine.begin()
    book = json.loads(path.read_text(encoding="utf-8"))
    answer = answers()["start.weighted_average"]
    cell_of(book, "solve-start-weighted_average")["source"] = answer
    book["cells"].append(own_cell("my own cell"))
    path.write_text(json.dumps(book), encoding="utf-8")
    written = path.read_bytes()
    old = machine.anatomy("--version")
    machine.install(wheel.build(newer(contents), tmp_path))
    assert machine.anatomy("--version") != old and path.read_bytes() == written, "pip touches nothing of a learner's"
    assert f"Of an earlier release: {FIRST}" in machine.anatomy("doctor")
    said = machine.anatomy("update")
    assert f"{FIRST}: new release with 1 answer, 1 cell of yours" in said and "transformer-anatomy/kept/" in said
    now = texts(path)
    assert {"# A new beginning", answer, "my own cell"} <= set(now)
    (kept,) = (machine.here / "transformer-anatomy" / "kept" / FIRST).glob("*.ipynb")
    assert kept.read_bytes() == written
    before = path.read_bytes()
    assert "Your notebooks are those of the release that is here" in machine.anatomy("update")
    assert path.read_bytes() == before


def test_a_package_without_its_notebooks_says_so(machine):
    """As installed by `pip install ./course`; the commands write nothing."""
    released = machine.packages / "anatomy/_data/notebooks"
    released.rename(machine.folder / "aside")
    try:
        for words in (["lab", "--no-browser"], ["update"]):
            assert "holds no notebooks. Install the course again" in machine.anatomy(*words, status=2)
    finally:
        (machine.folder / "aside").rename(released)
    assert not (machine.packages.parent / "work").exists()


def test_what_a_wheel_needs_is_what_is_locked(built):
    """It requires every package of the learner's list, none in a certain build, and no version above the tested one."""
    project = tomllib.loads((ROOT / "course" / "pyproject.toml").read_text())["project"]
    floors = dict(re.fullmatch(r"([a-z]+)>=([\d.]+)", line).groups() for line in project["dependencies"])
    pins = dict(re.findall(r"^([a-z0-9-]+)==([\d.]+)$", (ROOT / "requirements.lock").read_text(), re.M))
    assert set(floors) == set(lock.LEARNER) - {"setuptools", "nbconvert"}, (
        "those two come with JupyterLab or not at all"
    )
    parts = lambda version: [int(n) for n in version.split(".")]
    assert all(parts(floors[name]) <= parts(pins[name]) for name in floors)


def test_with_a_public_address_an_index_gets_links():
    """One setting decides: the lines are made for the wheel alone, and are valid beside the others."""
    text = (ROOT / "course" / "pyproject.toml").read_text(encoding="utf-8")
    assert wheel.urls(Address("", "", "main", "1")) == "" and "urls" not in tomllib.loads(text)["project"]
    links = tomllib.loads(text + wheel.urls(Address("ada", "anatomy", "trunk", "1")))["project"]["urls"]
    assert links["Homepage"] == "https://github.com/ada/anatomy" and len(links) == 3
    assert links["Changelog"] == "https://github.com/ada/anatomy/blob/trunk/CHANGELOG.md"


def test_classifiers_name_the_pythons_that_the_doctor_takes():
    project = tomllib.loads((ROOT / "course" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: 3\.(\d+)", " ".join(project["classifiers"]))
    assert [int(n) for n in named] == [*range(doctor.OLDEST[1], doctor.NEWEST[1] + 1)]
    assert project["requires-python"] == f">=3.{doctor.OLDEST[1]}"


def steps(workflow, job):
    """The shell lines of a job on a public host."""
    known = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8"))
    return [step["run"] for step in known["jobs"][job]["steps"] if "run" in step]


def shell(line, folder, **more):
    subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=folder, env={**os.environ, **more}, check=True)


def test_the_lowest_versions_are_those_of_the_list(tmp_path):
    (tmp_path / "course").mkdir()
    shutil.copy(ROOT / "course" / "pyproject.toml", tmp_path / "course")
    (line,) = (line for line in steps("wheel", "lowest") if "lowest.txt" in line and "pip" not in line)
    shell(line, tmp_path)
    wanted = tomllib.loads((ROOT / "course" / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert (tmp_path / "lowest.txt").read_text().split() == [line.replace(">=", "==") for line in wanted]
    assert any(">=" in line for line in wanted) and "-r lowest.txt" in " ".join(steps("wheel", "lowest"))


def test_a_release_has_the_number_and_the_words_of_the_changes(tmp_path):
    line = next(line for line in steps("release", "publish") if "GITHUB_ENV" in line)
    for name in ("CHANGELOG.md", "course/anatomy/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with pytest.raises(subprocess.CalledProcessError):
        shell(line, tmp_path, GITHUB_ENV=str(tmp_path / "env"))  # there is no wheel of this number
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / f"transformer_anatomy-{anatomy.__version__}-py3-none-any.whl").touch()
    shell(line, tmp_path, GITHUB_ENV=str(tmp_path / "env"))
    assert (tmp_path / "env").read_text() == f"version={anatomy.__version__}\n"
    notes = (tmp_path / "notes.md").read_text(encoding="utf-8")
    assert notes.strip() and notes in (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8") and "\n## " not in notes
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 9.9.9\n\nNew.\n")
    with pytest.raises(subprocess.CalledProcessError):
        shell(line, tmp_path, GITHUB_ENV=str(tmp_path / "env"))


def test_a_stale_file_is_named_and_no_wheel_is_made(tmp_path, monkeypatch, capsys):
    stale = "course/06-rope/06-rope.ipynb is stale: run `make build`"
    monkeypatch.setattr(wheel.package, "unfit", lambda root: [stale])
    assert wheel.main(["--out", str(tmp_path)]) == 1 and list(tmp_path.iterdir()) == []
    said = capsys.readouterr().err
    assert stale in said and "No wheel was made" in said


def test_the_version_is_the_changelogs_first():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1]
    assert first == anatomy.__version__
