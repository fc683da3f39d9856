"""The learner's side on systems that this machine is not: Windows, and Python 3.12 to 3.14.

Windows is imitated: modules and functions of POSIX alone are hidden, once the libraries that hold their own ways for
each system are imported. What only a real Windows shows (its paths, files that are open) is not seen here.
"""

import ast
import subprocess
import sys
import warnings
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from anatomy import evaluate, frames

from autograder import ROOT

FILES = sorted((ROOT / "course" / "anatomy").rglob("*.py"))

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
from anatomy.command import main
from anatomy.store import home
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
from anatomy import installation, workspace
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


@pytest.mark.parametrize("code", ["import fcntl", "from pwd import getpwuid", "os.fork()", "os.geteuid()"])
def test_what_is_hidden_is_missed(code, tmp_path):
    assert as_on_windows(code, tmp_path).returncode == 1


POSIX_ALONE = {"fcntl", "pwd", "grp", "termios", "resource", "tty", "pty", "posix", "syslog", "readline", "curses"}
GONE = {  # from Python's library in 3.12, 3.13 or 3.14
    *("asynchat", "asyncore", "distutils", "imp", "smtpd"),
    *("aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "mailcap", "msilib", "nis", "nntplib"),
    *("ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib", "lib2to3"),
    *("pkg_resources", "setuptools"),  # new environments have none
}
GONE_NAMES = {
    *("ast.Num", "ast.Str", "ast.Bytes", "ast.NameConstant", "ast.Ellipsis", "typing.ByteString"),
    *("pkgutil.find_loader", "pkgutil.get_loader", "pkgutil.ImpImporter", "locale.resetlocale"),
    *("sqlite3.version", "pty.master_open", "importlib.find_loader", "inspect.getargspec", "typing.io"),
    *("asyncio.get_child_watcher", "asyncio.set_child_watcher", "importlib.resources.contents"),
}


def trouble(tree):
    """What of a module is not there, or warns, on Windows or in a newer Python: a list of words."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in GONE | POSIX_ALONE]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            found += [module] if module.split(".")[0] in GONE | POSIX_ALONE else []
            found += [f"{module}.{a.name}" for a in node.names if f"{module}.{a.name}" in GONE_NAMES]
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in GONE_NAMES:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Try):  # Python 3.14 warns of these
            inside = [n for child in node.finalbody for n in ast.walk(child)]
            found += [type(n).__name__ for n in inside if isinstance(n, ast.Return | ast.Break | ast.Continue)]
        elif isinstance(node, ast.Call) and any(k.arg == "shell" for k in node.keywords):
            found.append("shell=")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT / "course").as_posix())
def test_nothing_that_newer_pythons_or_windows_lack(path):
    text = path.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of escapes that are none, say
        tree = ast.parse(text, feature_version=(3, 11))
    assert trouble(tree) == []


@pytest.mark.parametrize(
    "text",
    ["import distutils.core", "from imp import reload", "import ast\nast.Num", "from typing import ByteString"]
    + ["import fcntl", "try:\n  pass\nfinally:\n  return", "subprocess.run('ls', shell=True)"],
)
def test_such_things_are_found(text):
    assert trouble(ast.parse(text))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT / "course").as_posix())
def test_text_is_read_and_written_as_utf_8(path):
    """Windows has another encoding of its own, and would spoil a letter beyond ASCII."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("read_text", "write_text"):
            if "metadata.distribution(" in ast.unparse(node.func):
                continue  # no path's method: it always reads UTF-8
            assert any(k.arg == "encoding" for k in node.keywords), ast.unparse(node)


def test_a_learner_on_windows_is_not_shown_a_line_of_torch():
    folders = [PureWindowsPath(r"C:\Users\Ada\course\.venv\Lib\site-packages"), PureWindowsPath(r"C:\Python311\Lib")]
    for name in (
        r"C:\Users\Ada\course\.venv\Lib\site-packages\torch\nn\functional.py",
        r"c:\users\ada\course\.venv\lib\site-packages\torch\_tensor.py",
        "C:/Python311/Lib/functools.py",
    ):
        assert frames.is_installed(name, folders), name
    for name in (
        r"C:\Users\Ada\AppData\Local\Temp\ipykernel_7\12.py",
        "<ipython-input-3>",
        r"C:\Python311\Library\a.py",
    ):
        assert not frames.is_installed(name, folders), name
    assert not frames.is_installed("/usr/lib/python3.11x/a.py", [PurePosixPath("/usr/lib/python3.11")])


def test_here_the_line_is_the_learners_too(tmp_path):
    """An error that torch raises far inside, from an answer that lies in a file of its own."""
    path = tmp_path / "answer.py"
    path.write_text("import torch\n\ndef average(values, weights):\n    return torch.nn.functional.pad(values, (1,))\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert "torch.nn.functional.pad(values, (1,))" in evaluate("start.weighted_average", space["average"]).text()


def test_notebooks_names_fit_windows_paths():
    """At most 260 letters in all, none that Windows forbids, and no two names that differ in case alone."""
    names = [p.relative_to(ROOT).as_posix() for folder in ("course", "assets") for p in (ROOT / folder).rglob("*")]
    names = [n for n in names if "__pycache__" not in n and ".egg-info" not in n]
    assert not [n for n in names if len(n) > 110 or set(n) & set('<>:"|?*\\')]
    assert len({n.lower() for n in names}) == len(names)
    assert not [n for n in names if Path(n).stem.lower() in ("con", "aux", "nul", "prn", "com1", "lpt1")]
