"""The learner's package on other systems than this one: Windows, and Python 3.12 to 3.14.

Windows is imitated: modules and functions that only POSIX has are hidden, after the import of libraries that handle
each system themselves. What only a real Windows shows (its paths, open files) is not tested here.
"""

import ast
import subprocess
import sys
import warnings
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from anatomy import evaluate
from anatomy.program import tracebacks

from autograder import ROOT
from tests.linter import found_in

AS_ON_WINDOWS = """
import importlib, os, pkgutil, sys
for name in ("torch", "matplotlib.pyplot", "ipywidgets", "anywidget", "IPython.display", "sympy", "safetensors.torch",
             "tokenizers", "filelock", "subprocess", "tempfile", "webbrowser", "torch.nn.attention.flex_attention"):
    importlib.import_module(name)
for name in ("fcntl", "pwd", "grp", "termios", "resource", "tty", "pty", "posix", "syslog", "readline", "curses"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getpgid", "setsid", "killpg", "chown",
             "lchown", "mkfifo", "mknod", "nice", "uname", "getloadavg", "sched_getaffinity", "O_DIRECTORY",
             "O_NOFOLLOW", "O_CLOEXEC", "wait", "wait3", "statvfs", "sync", "fchmod", "fchown", "pread", "pwrite"):
    if hasattr(os, name):
        delattr(os, name)
sys.platform = "win32"
"""

EVERYTHING = """
import anatomy
for module in pkgutil.walk_packages(anatomy.__path__, "anatomy."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from anatomy import check, evaluate, progress
from anatomy.app.command import main
from anatomy.system.store import home
from anatomy.widgets import MixExplorer

assert str(home()).startswith(os.environ["APPDATA"]), home()
assert evaluate("start.weighted_average", lambda values, weights: weights @ values / weights.sum()).passed
try:
    check("start.weighted_average", lambda values, weights: weights @ values)
except anatomy.CheckFailed:
    pass
else:
    raise SystemExit("a wrong answer passed")
assert "1/" in repr(progress()) or "1 try" in repr(progress("00-start-here"))
assert (home() / "progress.json").is_file()
MixExplorer().save_html(home() / "mix.html")
assert main(["progress"]) == 0
from pathlib import Path
from anatomy.system import installation; from anatomy.app import workspace
place = installation.place_in(Path(sys.argv[1]), home() / "notebooks")
assert workspace.start(place) == 0 and installation.is_learners(place.own)
"""


def as_on_windows(code, tmp_path):
    import os

    env = {k: v for k, v in os.environ.items() if k != "ANATOMY_HOME"} | {"APPDATA": str(tmp_path)}
    line = [sys.executable, "-c", AS_ON_WINDOWS + code, str(ROOT)]
    return subprocess.run(line, capture_output=True, text=True, env=env, timeout=300)


def test_all_of_the_learners_side_works_where_posix_is_hidden(tmp_path):
    done = as_on_windows(EVERYTHING, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


HIDDEN = ["import fcntl", "from pwd import getpwuid", "os.fork()", "os.geteuid()"]
EACH_IS_MISSED = f"""
for code in {HIDDEN}:
    try:
        exec(code)
    except (ImportError, AttributeError):
        continue
    raise SystemExit(code + " works")
"""


def test_what_is_hidden_is_missed(tmp_path):
    done = as_on_windows(EACH_IS_MISSED, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


PLANTED = """
import distutils.core
from imp import reload
import ast
from typing import ByteString
import fcntl
import curses
import setuptools
from asyncio import get_child_watcher
import importlib as i


def ended() -> None:
    try:
        ast.Num(1)
    finally:
        return


def written(path: str) -> None:
    import pwd

    open(path).close()
    i.find_loader(path)
    pattern = "\\d"
    print(distutils, reload, ByteString, fcntl, curses, setuptools, get_child_watcher, pwd, pattern)
"""
FOUND = {
    *((line, "TID251") for line in (2, 3, 5, 6, 7, 8, 9, 15, 21, 24)),  # missing on Windows or in a newer Python
    (17, "B012"),  # Python 3.14 warns about these
    (23, "PLW1514"),  # the system's default encoding
    (25, "W605"),  # an invalid escape
}


def test_the_linter_finds_what_newer_pythons_or_windows_lack():
    found = {(line, rule) for line, rule in found_in(PLANTED, "course/anatomy/x.py") if not rule.startswith("I")}
    assert found == FOUND


def trouble(tree):
    """Yields calls in a module that depend on the system's encoding or shell and that the linter doesn't find."""
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        given = {k.arg for k in call.keywords}
        of_text = getattr(call.func, "attr", "") in ("read_text", "write_text")
        if of_text and "metadata.distribution(" in ast.unparse(call.func):
            of_text = False  # not a method of Path: it always reads UTF-8
        if "shell" in given or of_text and "encoding" not in given:
            yield f"{call.lineno}: {ast.unparse(call)}"


def test_text_is_read_and_written_as_utf_8_and_no_shell_is_asked():
    """Windows has a different default encoding, which would spoil letters outside ASCII."""
    files = sorted((ROOT / "course" / "anatomy").rglob("*.py"))
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in files:
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 11))
            found[path.relative_to(ROOT).as_posix()] = [*trouble(tree)]
    assert len(found) > 100 and not {path: lines for path, lines in found.items() if lines}


@pytest.mark.parametrize("text", ["subprocess.run('ls', shell=True)", "(p / 'x').read_text()", "q.write_text('a')"])
def test_such_things_are_found(text):
    assert [*trouble(ast.parse(text))]


def test_a_learner_on_windows_is_not_shown_a_line_of_torch():
    folders = [PureWindowsPath(r"C:\Users\Ada\course\.venv\Lib\site-packages"), PureWindowsPath(r"C:\Python311\Lib")]
    for name in (
        r"C:\Users\Ada\course\.venv\Lib\site-packages\torch\nn\functional.py",
        r"c:\users\ada\course\.venv\lib\site-packages\torch\_tensor.py",
        "C:/Python311/Lib/functools.py",
    ):
        assert tracebacks.is_installed(name, folders), name
    for name in (
        r"C:\Users\Ada\AppData\Local\Temp\ipykernel_7\12.py",
        "<ipython-input-3>",
        r"C:\Python311\Library\a.py",
    ):
        assert not tracebacks.is_installed(name, folders), name
    assert not tracebacks.is_installed("/usr/lib/python3.11x/a.py", [PurePosixPath("/usr/lib/python3.11")])


def test_here_the_line_is_the_learners_too(tmp_path):
    """An error from deep inside torch, for an answer in its own file."""
    path = tmp_path / "answer.py"
    path.write_text("import torch\n\ndef average(values, weights):\n    return torch.nn.functional.pad(values, (1,))\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert "torch.nn.functional.pad(values, (1,))" in evaluate("start.weighted_average", space["average"]).text()


def test_notebooks_names_fit_windows_paths():
    """Paths leave room below Windows' 260 characters, have none that it forbids, and no two differ only in case."""
    names = [p.relative_to(ROOT).as_posix() for folder in ("course", "assets") for p in (ROOT / folder).rglob("*")]
    names = [n for n in names if "__pycache__" not in n and ".egg-info" not in n]
    assert not [n for n in names if len(n) > 110 or set(n) & set('<>:"|?*\\')]
    assert len({n.lower() for n in names}) == len(names)
    assert not [n for n in names if Path(n).stem.lower() in ("con", "aux", "nul", "prn", "com1", "lpt1")]
