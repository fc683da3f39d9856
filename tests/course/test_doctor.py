"""What `anatomy doctor` finds, and that its messages say what to do. Each problem is created here, one at a time."""

import errno
import json
import os
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

import filelock
import pytest
from anatomy.app import doctor, doctor_folders, workspace
from anatomy.system import installation
from anatomy.system.installation import place_in
from anatomy.system.store import home

from autograder import ROOT

from .toy import OTHER, SECOND, UNIT, course, write_answers


def wrong(findings):
    return [f.text for f in findings if f.state == "wrong"]


def notes(findings):
    return [f.text for f in findings if f.state == "note"]


def trial(tmp_path, **modules):
    """The doctor's findings on the libraries with some modules replaced. modules: name → source text."""
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(tmp_path), before])
    try:
        return list(doctor.libraries())
    finally:
        os.environ["PYTHONPATH"] = before


def test_here_nothing_is_wrong_with_the_libraries():
    found = list(doctor.libraries())
    assert wrong(found) == [] and found[0].text.startswith("torch 2.")


@pytest.mark.parametrize(
    "text, words",
    [
        ("raise OSError('[WinError 126] fbgemm.dll')", "Visual C++ Redistributable"),
        ("raise ImportError('libcudart.so.12: cannot open shared object file')", "build for the CPU"),
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "run `make lab` in the course folder"),
        ("raise RuntimeError('numpy.dtype size changed')", "pip install --upgrade torch numpy"),
        ("import os; os.kill(os.getpid(), 4)", "broke Python (it ended with status -4)"),
        ("raise ValueError('odd')", "--force-reinstall --no-deps torch"),
    ],
)
def test_a_torch_that_does_not_work(tmp_path, text, words):
    (said,) = wrong(trial(tmp_path, torch=text))
    assert words in said and "torch" in said


def test_a_library_that_is_too_old(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda name: ["sympy>=1.12", "numpy>=1.26"])
    (said,) = wrong(trial(tmp_path, sympy="__version__ = '1.9'"))
    assert said.startswith("sympy 1.9 is older than 1.12") and "pip install --upgrade" in said


def test_a_slow_processor_is_a_note(monkeypatch):
    monkeypatch.setattr(doctor, "SLOW", 0.0)
    found = list(doctor.libraries())
    assert wrong(found) == [] and "computes slowly" in notes(found)[0]


@pytest.mark.parametrize(
    "version, state", [((3, 10), "wrong"), ((3, 11), "good"), ((3, 14), "good"), ((3, 15), "note")]
)
def test_the_version_of_python(monkeypatch, version, state):
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    assert next(doctor.python()).state == state


def test_jupyterlab_and_its_widgets(monkeypatch, tmp_path):
    assert wrong(doctor.jupyterlab()) == []
    import jupyter_core.paths

    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *parts: [str(tmp_path)])
    said = wrong(doctor.jupyterlab())
    assert len(said) == 2 and all("widgets stay empty" in text and "pip install" in text for text in said)


def test_an_extension_that_is_switched_off(monkeypatch):
    monkeypatch.setattr(doctor, "_switched_off", lambda folders: {"anywidget"})
    (said,) = wrong(doctor.jupyterlab())
    assert "labextension enable anywidget" in said


def test_a_kernel_of_another_python(monkeypatch, tmp_path):
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    kernel = {"argv": ["/opt/old/bin/python", "-m", "ipykernel_launcher"], "display_name": "Old", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(kernel))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    (said,) = wrong(doctor.jupyterlab())
    assert "another Python, /opt/old/bin/python" in said and "kernelspec remove python3" in said


def test_no_browser_is_a_note(monkeypatch):
    def none():
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "get", none)
    (found,) = doctor.browser()
    assert found.state == "note" and "anatomy lab --no-browser" in found.text


@pytest.mark.parametrize(
    "number, words", [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "may not write")]
)
def test_folders_that_cannot_be_written(monkeypatch, tmp_path, number, words):
    root = course(tmp_path / "anatomy")
    monkeypatch.chdir(root)
    workspace.start(place_in(root), lambda line: None)
    home().mkdir(parents=True)

    def refuse(path, data):
        raise OSError(number, "no")

    monkeypatch.setattr(doctor_folders.files, "write_new", refuse)
    (progress,), (own,) = wrong(doctor_folders.progress_folder()), wrong(doctor_folders.notebooks())
    assert words in progress and "ANATOMY_HOME" in progress and words in own and str(root / "work") in own


def test_looking_leaves_no_trace(tmp_path, monkeypatch):
    root = course(tmp_path / "anatomy")
    monkeypatch.chdir(root)
    list(doctor_folders.progress_folder()), list(doctor_folders.notebooks()), list(doctor_folders.room())
    assert not home().exists() and not (root / "work").exists()
    workspace.start(place_in(root), lambda line: None)
    before = sorted(root.rglob("*"))
    assert wrong(doctor_folders.notebooks()) == [] and sorted(root.rglob("*")) == before


def test_a_file_in_place_of_a_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "file" / "below"))
    (said,) = wrong(doctor_folders.progress_folder())
    assert "is a file" in said


def test_who_holds_a_lock_is_told(tmp_path, monkeypatch):
    root = course(tmp_path / "anatomy")
    monkeypatch.chdir(root)
    workspace.start(place_in(root), lambda line: None)
    home().mkdir(parents=True)
    code = (
        "import filelock, sys\nheld = [filelock.FileLock(path) for path in sys.argv[1:]]\n"
        "for lock in held: lock.acquire()\nprint(flush=True)\ninput()"
    )
    locks = [str(root / "work" / ".lock"), str(home() / ".progress.lock")]
    other = subprocess.Popen(
        [sys.executable, "-c", code, *locks], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        other.stdout.readline()
        assert "restart the kernels" in wrong(doctor_folders.progress_folder())[0]
        assert any("at work there just now" in text for text in notes(doctor_folders.notebooks()))
    finally:
        other.communicate("\n")
    assert wrong(doctor_folders.progress_folder()) == [] and filelock.FileLock(locks[0]).acquire(timeout=5)


def test_progress_that_cannot_be_understood(tmp_path):
    home().mkdir(parents=True)
    (home() / "progress.json").write_text("{ half")
    found = list(doctor_folders.progress_folder())
    assert wrong(found) == [] and "progress.json can't be understood" in notes(found)[0]


def test_copies_that_are_behind_damaged_or_missing(tmp_path, monkeypatch):
    root = course(tmp_path / "anatomy")
    monkeypatch.chdir(root)
    workspace.start(place_in(root), lambda line: None)
    assert [f.state for f in doctor_folders.notebooks()] == ["good"]
    write_answers(workspace.working(place_in(root), UNIT))
    assert [f.state for f in doctor_folders.notebooks()] == ["good"], "answers make no copy stale"
    course(root, SECOND)
    assert f"Of an earlier release: {UNIT}, {OTHER}. `make update`" in notes(doctor_folders.notebooks())[0]
    workspace.working(place_in(root), UNIT).write_text("{ half")
    workspace.working(place_in(root), OTHER).unlink()
    found = list(doctor_folders.notebooks())
    assert f"work/{UNIT}/{UNIT}.ipynb or its release can't be read" in wrong(found)[0]
    assert notes(found) == [f"Not there: {OTHER}. `make lab` puts them there."]


def test_a_synchronized_folder_is_a_note(tmp_path, monkeypatch):
    root = course(tmp_path / "OneDrive" / "anatomy")
    monkeypatch.chdir(root)
    workspace.start(place_in(root), lambda line: None)
    assert any("synchronized" in text for text in notes(doctor_folders.notebooks()))


def test_a_full_disk(monkeypatch):
    usage = shutil.disk_usage(Path.cwd())
    monkeypatch.setattr(doctor_folders.shutil, "disk_usage", lambda path: usage._replace(free=1_000_000))
    said = wrong(doctor_folders.room())
    assert said and "0.0 GB are free" in said[0] and "Make room" in said[0]


@pytest.fixture
def assets(tmp_path, monkeypatch):
    """A small copy of the assets, with two units."""
    folder = tmp_path / "assets"
    for name in ("units", "recordings"):
        (folder / name).mkdir(parents=True)
        for path in (ROOT / "assets" / name).glob("0[06]-*"):
            shutil.copy(path, folder / name)
    monkeypatch.setenv("ANATOMY_ASSETS", str(folder))
    return folder


def test_recordings_that_are_whole(assets):
    (found,) = doctor_folders.recordings()
    assert found.state == "good" and "2 units, 2 files" in found.text


def cut(path):
    path.write_bytes(path.read_bytes()[:-10])


@pytest.mark.parametrize(
    "name, harm",
    [
        ("recordings/06-rope.safetensors", cut),
        ("recordings/06-rope.safetensors", Path.unlink),
        ("recordings/06-rope.json", cut),
        ("recordings/06-rope.json", Path.unlink),
        ("units/00-start-here.json", cut),
        ("recordings/00-start-here.safetensors", lambda path: path.write_bytes(b"")),
    ],
)
def test_recordings_that_are_not(assets, name, harm):
    harm(assets / name)
    (said,) = wrong(doctor_folders.recordings())
    assert name in said and "make record" in said


def test_no_recordings_at_all(assets):
    shutil.rmtree(assets)
    assert "units" in wrong(doctor_folders.recordings())[0]


def test_the_exit_status_says_whether_anything_is_wrong(monkeypatch, capsys):
    good, bad = doctor.Finding("good", "fine"), doctor.Finding("wrong", "broken: mend it")

    def breaks():
        raise KeyError("nobody thought of this")
        yield

    for found, status, words in (
        ([lambda: iter([good])], 0, "Nothing is wrong."),
        ([lambda: iter([good, bad])], 1, "One thing is wrong"),
        ([lambda: iter([bad]), breaks, lambda: iter([good])], 1, "2 things are wrong"),
    ):
        monkeypatch.setattr(doctor, "examinations", lambda found=found: found)
        assert doctor.main([]) == status and words in capsys.readouterr().out


def test_how_to_repair_says_what_fits(monkeypatch, tmp_path):
    assert installation.kind() == "project" and "git checkout" in installation.how_to_repair()
    root = course(tmp_path / "anatomy")
    monkeypatch.chdir(root)
    assert installation.kind() == "package" and "unpack the zip again" in installation.how_to_repair()
    monkeypatch.setattr(installation, "course_root", lambda: None)
    monkeypatch.setattr(installation, "given_to_pip", lambda: installation.NAME)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "pip install --force-reinstall --no-deps transformer-anatomy" in installation.how_to_repair()
    (tmp_path / "uv-receipt.toml").write_text("")
    assert "`uv tool install --reinstall transformer-anatomy`" in installation.how_to_repair()
    assert "`uv tool upgrade" in installation.how_to_get_newer()
    monkeypatch.setattr(installation, "given_to_pip", lambda: "/got/it.whl")
    assert "`uv tool install --reinstall /got/it.whl`" in installation.how_to_repair()
    assert "`uv tool install path-to-the-newer.whl`" in installation.how_to_get_newer()
    (tmp_path / "pipx_metadata.json").write_text("{}")
    assert "`pipx reinstall transformer-anatomy`" in installation.how_to_repair()
    assert "`pipx runpip transformer-anatomy install sympy`" in installation.how_to_install("sympy")
