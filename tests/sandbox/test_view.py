"""What a sandbox sees: Python and a shell's programs, but no staff files, wherever the checkout is.

The tests walk through all visible files. Some run a copy of the sandbox from a checkout in a different place, such as
/usr/src, in a separate mount namespace, which leaves nothing on the machine.
"""

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.sandbox import packages, view
from autograder.sandbox.local import learner_paths
from autograder.sandbox.view import Step, View
from tests.waiting import PATIENCE, finished

KINDS = ["bubblewrap", "zygote"]
MARK = "7f3c-marker-of-what-nobody-may-see"

# Finds every readable file, except the kernel's virtual ones, with the marker in its first bytes or in its path.
WALK = f"""
import os
found, files = [], 0
for folder, folders, names in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(folder, f) not in ("/proc", "/dev")]
    for name in names:
        path = os.path.join(folder, name)
        files += 1
        try:
            with open(path, "rb") as f:
                if {MARK[:8]!r} + {MARK[8:]!r} in f.read(512).decode("latin-1") + path:
                    found.append(path)
        except OSError:
            pass
print(files > 3000, found)
"""


@pytest.fixture
def marked(request):
    """marked(path) makes a file with the marker there, removed after the test."""
    made = []

    def make(path):
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARK)
        made.append(path)
        return path

    yield make
    for path in made:
        path.unlink()


# ---- nothing else is there -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_about_on_the_machine_is_not_there(kind, open_sandbox, marked, tmp_path, monkeypatch):
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")
    for path in (".secret", "gradebook.db", "nbgrader_config.py", "submitted/ada/01/01.ipynb", "solutions/01.py"):
        marked(tmp_path / "course" / path)
    with open_sandbox(kind) as s:
        result = s.execute(WALK, PATIENCE)
    assert result.stdout == "True []\n", (result.error_text, result.stdout)


def test_the_walk_finds_a_marker_that_is_there(open_sandbox, tmp_path):
    (tmp_path / "lesson").mkdir()
    (tmp_path / "lesson" / "file").write_text(MARK)
    with open_sandbox("zygote", readable=[str(tmp_path / "lesson")]) as s:
        assert str(tmp_path / "lesson" / "file") in s.execute(WALK, PATIENCE).stdout


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_python_needs_is_bound(kind, open_sandbox):
    listing = (
        "import os, json\nprint(json.dumps({p: sorted(os.listdir(p)) for p in ('/', '/usr', '/etc', '/usr/share')}))"
    )
    with open_sandbox(kind) as s:
        found = json.loads(s.execute(listing).stdout)
    assert not {"var", "opt", "srv", "mnt", "media", "boot", "sys"} & set(found["/"])
    assert not {"src", "include", "games", "libexec"} & set(found["/usr"])
    assert set(found["/usr/share"]) <= {"zoneinfo", "fonts", "fontconfig", "terminfo", "matplotlib"}
    assert not {"shadow", "hostname", "hosts", "ssh", "ssl", "environment", "profile"} & set(found["/etc"])


@pytest.mark.parametrize("kind", KINDS)
def test_what_notebooks_use_is_there(kind, open_sandbox):
    cell = """
import ctypes.util, curses, datetime, locale, os, shutil, subprocess, sys, zoneinfo
import matplotlib.font_manager, matplotlib.pyplot as plt, sympy, torch
assert ctypes.util.find_library("m"), "libraries"
curses.setupterm("xterm")
locale.setlocale(locale.LC_ALL, "C.UTF-8")
datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin"))
plt.plot([1]); plt.title("$x^2$"); plt.savefig("figure.png")
for program in ("ls", "cat", "grep", "awk", "sed", "find", "tar", "bash", "python", "pip", "jupyter"):
    assert shutil.which(program), program
run = lambda *command: subprocess.run(command, capture_output=True, text=True, check=True).stdout
assert run("python", "-c", "import numpy, sys; print(sys.prefix)").strip() == sys.prefix
assert run("awk", "BEGIN { print 6 * 7 }") == "42\\n"
"""
    with open_sandbox(kind) as s:
        result = s.execute(cell, PATIENCE)
        assert result.ok and not result.stdout, (result.error_text, result.traceback, result.stdout)


def test_empty_files_are_bounded_too(open_sandbox):
    """Empty files take no space in the private home, but they take kernel memory."""
    with open_sandbox("zygote") as s:
        result = s.execute("for n in range(30_000): open(f'/tmp/{n}', 'w').close()", PATIENCE)
        assert "No space left" in result.error_text
        assert s.execute("import os; print(len(os.listdir('/tmp')) > 15_000)").stdout == "True\n"


# ---- the checkout in an unfortunate place ----------------------------------------------------------------------------
SCRIPT = f"""
import sys
from autograder import ROOT
from autograder.sandbox import BubblewrapSession, SandboxedSession, Zygote
assert str(ROOT) == sys.argv[1], ROOT
walk = {WALK!r}
assets = sys.argv[1] + "/assets"
lesson = f"import anatomy, os, torch; print(anatomy.__file__, len(os.listdir({{assets!r}})) > 0)"
with Zygote(("numpy", "torch"), python_path=[sys.argv[1] + "/course"]) as zygote:
    for make in (lambda: SandboxedSession(zygote), lambda: BubblewrapSession(preload=("numpy",))):
        with make() as session:
            for cell in (walk, lesson):
                result = session.execute(cell, 120)
                print(result.stdout.strip() or result.error_text)
"""


def place_of(kind):
    """A folder in which a careless administrator may have put the course."""
    stdlib = os.path.realpath(sysconfig.get_path("stdlib"))
    triplet = next(iter(Path("/usr/lib").glob("*-linux-*")), Path("/usr/lib64"))
    return {
        "sources": "/usr/src/anatomy-course",
        "local": "/usr/local/src/anatomy-course",
        "shared": "/usr/share/anatomy-course",
        "beside the interpreter": os.path.join(os.path.realpath(sys.base_prefix), "anatomy-course"),
        "below bound programs": "/usr/bin/anatomy-course",
        "below bound libraries": f"{triplet}/anatomy-course",
        "below the standard library": f"{stdlib}/anatomy-course",
        "below the fonts": "/usr/share/fonts/anatomy-course",
    }[kind]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the files that sandboxes use, and marked files in place of the staff's."""
    root = tmp_path_factory.mktemp("checkout") / "tree"
    for folder in ("autograder/sandbox", "course/anatomy", "assets/units"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "autograder/__init__.py", root / "autograder")
    shutil.copy(ROOT / "requirements.lock", root)
    for path in (
        "solutions/01.py",
        "autograder/judge/trusted.py",
        ".secret",
        "gradebook.db",
        "submitted/ada/1/1.ipynb",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(MARK)
    return root


def elsewhere(checkout, place):
    """Output lines of SCRIPT, run from the checkout as if it were at ``place``."""
    parent = os.path.dirname(place)
    while not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    # An overlay of the folder above, with its contents and one more folder; only this process tree sees it.
    first = os.path.relpath(place, parent).split(os.sep)[0]
    script = f"""
set -e
mount -t tmpfs -o mode=755 none /mnt
mkdir /mnt/low /mnt/up /mnt/work
mkdir -p '/mnt/up/{os.path.relpath(place, parent)}'
if mount -t overlay -o 'lowerdir={parent},upperdir=/mnt/up,workdir=/mnt/work' none '{parent}' 2>/dev/null; then :; else
  mkdir -p '{parent}/{first}'
  trap 'umount "{place}"; rmdir "{parent}/{first}"' EXIT
fi
mount --bind '{checkout}' '{place}'
cd '{place}'
"$@"
"""
    mapped = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", "--mount", *mapped, "/bin/sh", "-c", script, "sh", sys.executable, "-c", SCRIPT, place]
    environment = {**os.environ, "PYTHONPATH": f"{place}:{place}/course", "PYTHONDONTWRITEBYTECODE": "1"}
    done = finished(command, PATIENCE, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can put a folder there")
@pytest.mark.parametrize("kind", ["sources", "below the standard library"])
def test_no_place_of_the_checkout_shows_it(checkout, kind):
    place = place_of(kind)
    assert not os.path.exists(place)
    found = elsewhere(checkout, place)
    lesson = f"{place}/course/anatomy/__init__.py True"
    assert found == ["True []", lesson, "True []", lesson], found
    assert not os.path.exists(place)


@pytest.mark.parametrize(
    "kind",
    ["local", "shared", "beside the interpreter", "below bound programs", "below bound libraries", "below the fonts"],
)
def test_no_place_of_the_checkout_shows_it_by_its_steps(kind, tmp_path, monkeypatch):
    """The same without being root, by the mount steps: what is bound, and what covers it."""
    place = place_of(kind)
    exists, isdir = os.path.exists, os.path.isdir
    monkeypatch.setattr(view.os.path, "isdir", lambda p: str(p).startswith(place) or isdir(p))
    monkeypatch.setattr(view.os.path, "exists", lambda p: str(p).startswith(place) or exists(p))
    monkeypatch.setattr(view, "ROOT", Path(place))
    found = view.steps(View((f"{place}/assets",), ()))
    last = {path: covering(found, path) for path in (f"{place}/solutions", f"{place}/assets/x", f"{place}/.secret")}
    assert last[f"{place}/assets/x"] == Step("bind", f"{place}/assets", f"{place}/assets")
    for path in (f"{place}/solutions", f"{place}/.secret"):
        assert last[path] is None or last[path].kind == "cover", last[path]


def covering(steps, path):
    """The last step whose place contains the path, which decides what is visible there."""
    return next((s for s in reversed(steps) if path == s.place or path.startswith(s.place + "/")), None)


# ---- the order of steps ----------------------------------------------------------------------------------------------
def test_a_hidden_folder_is_covered_and_what_is_readable_in_it_is_not(tmp_path):
    for folder in ("all/course/lessons", "all/course/solutions", "all/other"):
        (tmp_path / folder).mkdir(parents=True)
    everything, course = str(tmp_path / "all"), str(tmp_path / "all" / "course")
    found = view.steps(View((everything, course + "/lessons"), (course,)))
    assert [(s.kind, s.place) for s in found if s.place.startswith(everything)] == [
        ("bind", everything),
        ("cover", course),
        ("bind", course + "/lessons"),
    ]


def test_a_hidden_folder_that_is_asked_for_stays_hidden(tmp_path):
    found = view.steps(View((str(tmp_path),), (str(tmp_path),)))
    assert [s.kind for s in found if s.place == str(tmp_path)] == ["cover"]
    found = view.steps(View((str(ROOT),), ()))
    assert covering(found, str(ROOT / "solutions")).kind == "cover"
    assert covering(found, str(ROOT / "autograder" / "exercises")).kind == "cover"


def test_an_environment_in_a_covered_checkout_is_bound_on_top():
    found = view.steps(View((str(ROOT.parent), *learner_paths()), ()))
    assert covering(found, str(ROOT / "solutions")) == Step("cover", str(ROOT))
    assert covering(found, str(ROOT / "course" / "anatomy" / "check.py")).kind == "bind"
    for path in (sys.prefix, sys.base_prefix):  # wherever they are
        assert covering(found, os.path.join(path, "bin", "python")).kind in ("pick", "bind")
    assert covering(found, os.path.join(sysconfig.get_path("purelib"), "torch")).kind == "pick"


def test_a_link_to_a_hidden_folder_shows_nothing_of_it(tmp_path, open_sandbox):
    (tmp_path / "real" / "course").mkdir(parents=True)
    (tmp_path / "real" / "course" / "file").write_text(MARK)
    (tmp_path / "link").symlink_to("real")
    hidden = View((str(tmp_path / "link"), str(tmp_path / "real")), (str(tmp_path / "link" / "course"),))
    covers = {s.place for s in view.steps(hidden) if s.kind == "cover"}
    assert covers >= {str(tmp_path / "real" / "course"), str(tmp_path / "link" / "course")}


def test_the_working_directory_is_hidden_where_it_is_a_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path) not in view.hidden_folders()
    (tmp_path / ".secret").write_text("x")
    assert str(tmp_path) in view.hidden_folders() and str(ROOT) in view.hidden_folders()


def test_places_come_after_those_that_hold_them():
    found = view.steps(View(tuple(learner_paths()), view.hidden_folders()))
    places = [s.place for s in found]
    assert len(set(places)) == len(places)
    for n, place in enumerate(places):
        assert not [p for p in places[n:] if place.startswith(p.rstrip("/") + "/")]


def test_a_library_from_elsewhere_is_shown_alone(monkeypatch, tmp_path):
    """Python or torch may be linked to a library in an unusual folder of the system."""
    library = tmp_path / "libodd.so.1"
    library.write_text("")
    maps = f"7f00-7f01 r-xp 00000000 00:1f 12345    {library}\n7f02-7f03 r-xp 00000000 00:1f 1    /usr/bin/x.so\n"
    monkeypatch.setattr("builtins.open", lambda *_, **__: __import__("io").StringIO(maps))
    found = view._loaded([Step("bind", "/usr/bin", "/usr/bin")])
    assert found == [Step("bind", str(library), str(library))]


def test_an_interpreter_of_conda_brings_its_libraries(tmp_path):
    for folder in ("conda-meta", "lib/python3.11", "share/zoneinfo", "pkgs", "bin", "home"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bin" / "python").write_text("")
    (tmp_path / "bin" / "mysecret").write_text("")
    found = view._prefix(str(tmp_path), set())
    assert {s.place for s in found if s.kind == "bind"} == {str(tmp_path / "lib"), str(tmp_path / "share" / "zoneinfo")}
    assert [s.names for s in found if s.kind == "pick"] == [("python",)]


def test_packages_are_picked_where_the_environment_is():
    picked = {s.place: s for s in view.system() if s.kind == "pick"}
    shown = picked[os.path.abspath(sysconfig.get_path("purelib"))]
    assert "torch/" in shown.names and not {"transformers/", "nbgrader/", "_pytest/"} & set(shown.names)
    assert packages.staff_modules() >= {"transformers", "nbgrader", "pytest"}
