"""Every kind of session has the students' packages but not the staff's, neither on disk nor in memory."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.sandbox import packages
from tests.waiting import PATIENCE

KINDS = ["bubblewrap", "zygote", "local"]


def top_level(lock):
    """Importable top-level names of the packages that a lock file lists."""
    import importlib.metadata as metadata

    listed = {
        packages.normalized(line.split("==")[0]) for line in (ROOT / lock).read_text().splitlines() if "==" in line
    }
    names = metadata.packages_distributions()
    return {n for n, owners in names.items() if any(packages.normalized(o) in listed for o in owners) and find_spec(n)}


@pytest.mark.parametrize("kind", KINDS)
def test_students_packages_are_there_and_the_staffs_are_not(kind, open_sandbox):
    students = {n for n in top_level("requirements.lock") if re.fullmatch(r"\w+", n)}
    staff = top_level("requirements-staff.lock") - students
    assert len(students) > 90 and {"transformers", "nbgrader", "pytest", "playwright", "distributed"} <= staff
    code = (
        "import json, importlib, importlib.util, sys\n"
        "found = [n for n in json.loads(payload) if n in sys.modules or importlib.util.find_spec(n) is not None]\n"
        "reply = json.dumps(found).encode()"
    )
    with open_sandbox(kind) as s:
        ask = lambda names: set(json.loads(s.ask(code, json.dumps(sorted(names)).encode(), timeout=PATIENCE)))
        assert ask(students) == students
        assert ask(staff) == set()
        result = s.execute("def f():\n    import transformers\nf()")
        assert (result.error_name, result.error_text) == ("ModuleNotFoundError", "No module named 'transformers'")


@pytest.mark.parametrize("kind", KINDS)
def test_what_students_import_works(kind, open_sandbox):
    cell = (
        "import anywidget, ipykernel, IPython, ipywidgets, matplotlib.pyplot, numpy, safetensors.torch, sympy, torch\n"
        "import importlib.metadata as m; assert m.version('torch') == torch.__version__\n"
        "import anatomy; anatomy.check"
    )
    with open_sandbox(kind) as s:
        assert (result := s.execute(cell, PATIENCE)).ok, (result.error_text, result.traceback)


@pytest.mark.parametrize("kind", ["bubblewrap", "zygote"])
def test_the_files_of_the_staffs_packages_are_not_there(kind, open_sandbox):
    code = "import os; reply = '\\n'.join(d for d, _, _ in os.walk(payload.decode())).encode()"
    site = Path(find_spec("torch").origin).parents[1]
    with open_sandbox(kind) as s:
        folders = s.ask(code, str(site).encode(), timeout=PATIENCE).decode().splitlines()
        programs = s.ask("import os; reply = b'\\n'.join(os.listdir(payload))", str(bin_folder()).encode())
    tops = {Path(f).relative_to(site).parts[0] for f in folders if f != str(site)}
    assert "torch" in tops and "numpy" in tops
    assert not {t for t in tops if re.match(r"(transformers|nbgrader|_?pytest|hypothesis|playwright|sqlalchemy)\b", t)}
    assert not {b"pytest", b"nbgrader", b"transformers", b"ruff"} & set(programs.split(b"\n"))
    assert {b"python", b"jupyter"} <= set(programs.split(b"\n"))


def bin_folder():
    import sys

    return Path(sys.prefix) / "bin"


# ---- how packages are found ------------------------------------------------------------------------------------------
@pytest.fixture
def environment(tmp_path, monkeypatch):
    """environment(name, *files, needs=()) installs a package in a site-packages folder; returns the folder."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.setattr(packages.sys, "path", [str(folder)])

    def install(name, *files, needs=(), record=True):
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(
            f"Name: {name}\n" + "".join(f"Requires-Dist: {n}\n" for n in needs) + "\nx"
        )
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text("")
        if record:
            info.joinpath("RECORD").write_text("".join(f"{f},sha256=x,0\n" for f in [*files, f"{info.name}/METADATA"]))
        return folder

    return install


def students(tmp_path, *locked, more=()):
    (tmp_path / packages.LOCK).write_text("# comment\n" + "".join(f"{name}==1.0\n" for name in locked))
    if more:
        (tmp_path / packages.MORE).write_text("# of our computer room\n" + "\n".join(more) + "\n")
    return packages.student_packages(tmp_path)


def test_what_is_locked_is_shown_and_nothing_else(environment, tmp_path):
    environment("wanted", "wanted/__init__.py", "wanted_c.so", "../../bin/wanted")
    environment("Un_Wanted", "unwanted/__init__.py", "loose.py", "../../bin/unwanted")
    folder = environment("pip", "pip/__init__.py")
    shown = packages.select(folder, students(tmp_path, "Wanted"))
    expected = {"wanted", "wanted_c.so", "wanted-1.0.dist-info", "pip", "pip-1.0.dist-info", "__pycache__"}
    assert shown.names == expected and shown.scripts == {"wanted"} and not shown.gone


def test_a_folder_that_both_use_is_shown_without_the_staffs_part(environment, tmp_path):
    environment("zoo-lion", "zoo/lion/a.py", "zoo/lion/deep/b.py", "zoo/shared.py")
    folder = environment("zoo-seal", "zoo/seal/a.py", "zoo/lion/extra.py", "zoo/keeper.py", "zoo/lion/deep2/c.py")
    shown = packages.select(folder, students(tmp_path, "zoo-lion"))
    assert "zoo" in shown.names
    assert shown.gone == {"zoo/seal", "zoo/lion/extra.py", "zoo/keeper.py", "zoo/lion/deep2"}


def test_what_a_locked_package_needs_here_is_shown(environment, tmp_path):
    """Other builds of torch need packages that are not in our lock files."""
    environment("torch", "torch/a.py", needs=["nvidia-stuff (>=1)", "Never; python_version < '3'", "opt; extra == 'x'"])
    environment("nvidia-stuff", "nvidia/a.py", needs=["deeper"])
    environment("deeper", "deeper.py")
    environment("never", "never.py")
    folder = environment("opt", "opt.py")
    shown = packages.select(folder, students(tmp_path, "torch"))
    assert {"torch", "nvidia", "deeper.py"} <= shown.names and not {"never.py", "opt.py"} & shown.names


def test_an_instructor_can_add_packages(environment, tmp_path):
    environment("locked", "locked.py")
    environment("extra-fun", "extra_fun.py", needs=["helper"])
    environment("helper", "helper.py")
    folder = environment("other", "other.py")
    assert "extra_fun.py" not in packages.select(folder, students(tmp_path, "locked")).names
    shown = packages.select(folder, students(tmp_path, "locked", more=["Extra.Fun>=1  # for unit 3"]))
    assert {"locked.py", "extra_fun.py", "helper.py"} <= shown.names and "other.py" not in shown.names


def test_without_a_lock_file_everything_is_shown(tmp_path):
    assert packages.student_packages(tmp_path) is None


def test_an_environment_like_the_students_is_shown_whole(environment, tmp_path):
    folder = environment("wanted", "wanted.py")
    assert packages.select(folder, students(tmp_path, "wanted")) is None


def test_packages_without_a_record_are_known_by_their_names(environment, tmp_path):
    environment("wanted", "wanted/__init__.py", record=False)
    folder = environment("unwanted", "unwanted/__init__.py", record=False)
    shown = packages.select(folder, students(tmp_path, "wanted"))
    assert "wanted" in shown.names and "unwanted" not in shown.names
