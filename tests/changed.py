"""Runs the tests of changed files: ``make test-changed``, or ``python -m tests.changed --base COMMIT -- -k rope``.

A file counts as changed if it differs between the base and the working tree; new files count too. The base is the
commit at which this branch left origin/main (or main); if nothing differs from it, the commit before the last.

A changed file selects the tests of its unit, if it belongs to one, the test files that import it, directly or not, and
the tests of each unit whose notebook or specs import it. A file that is never imported (a widget's script, a document,
recorded data) counts as a change of the modules beside it, or of those that name it. A few files select everything.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from autograder import ROOT

from . import selection
from .imports import Imports

EVERYTHING = (
    "pyproject.toml",
    "course/pyproject.toml",
    "*.lock",
    "environment.yml",
    "Makefile",
    "autograder/staff.mk",
    "autograder/__init__.py",
    "tests/__init__.py",
    "tests/conftest.py",
    "tests/selection.py",
    "tests/processes.py",
    "tests/lighter/*",
    ".ci/*",
)
# Tests that look at every file of a folder without importing or naming it.
LOOKING_AT = {
    "autograder/*.py": ("tests/course/test_walls.py", "tests/test_dialect.py"),
    "course/anatomy/*.py": ("tests/course/test_walls.py", "tests/test_dialect.py", "tests/course/test_platforms.py"),
    "autograder/recording/experiments/*.py": ("tests/recording",),
    "course/anatomy/experiments/*.py": ("tests/recording",),
    "benchmarks/*.py": ("tests/test_dialect.py",),
    "assets/experiments/*": ("tests/recording/test_experiments.py", "tests/recording/test_large_figures.py"),
    "assets/figures/*": ("tests/recording/test_experiments.py", "tests/recording/test_large_figures.py"),
    "assets/recordings/*": ("tests/recording/test_manifests.py", "tests/recording/test_precision.py"),
    "solutions/*": ("tests/course/test_build.py", "tests/course/test_walls.py"),
    "course/*.ipynb": ("tests/course/test_build.py", "tests/course/test_walls.py"),
}


# A widget's own files: its folder, its recorder and its tests. Everything imports the widgets' package, so a change of
# one widget selects only these tests and the units that show it.
WIDGET = re.compile(r"(?:course/anatomy|autograder/recording|tests)/widgets/(?!tools\b)([a-z]+)(?:/.*|\.py)")
OF_WIDGETS = ("test_registration.py", "test_bundles.py", "test_recordings.py", "test_promises.py", "test_saved.py")


@dataclass
class Selection:
    """Tests to run: everything, or the tests of some units and all tests in some files (paths from the root)."""

    everything: bool = False
    units: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)

    def __or__(self, other: "Selection") -> "Selection":
        return Selection(self.everything or other.everything, self.units | other.units, self.files | other.files)

    def __bool__(self) -> bool:
        return bool(self.everything or self.units or self.files)

    def __str__(self) -> str:
        if self.everything:
            return "everything"
        units = f"all of {_few(self.units)}" if self.units else ""
        return "; ".join(filter(None, [units, _few(self.files)])) or "no test reads it"

    def arguments(self) -> list[str]:
        """Arguments for pytest."""
        if self.everything:
            return []
        if not self.units:
            return sorted(self.files)
        units, files = sorted(self.units), sorted(self.files)
        return [*(a for u in units for a in ("--unit", u)), *(a for f in files for a in ("--whole", f))]


def _few(names: Iterable[str], shown: int = 4) -> str:
    first, rest = sorted(names)[:shown], len(set(names)) - shown
    return ", ".join(first) + (f" and {rest} more" if rest > 0 else "")


def select(paths: Iterable[str], root: Path = ROOT) -> dict[str, Selection]:
    """dict changed path (from the root, existing or deleted) → the tests that it selects."""
    paths = list(paths)
    imports = Imports(root, extra=[p for p in paths if p.endswith(".py")])
    return {path: _of_one(path, imports) for path in paths}


def _of_one(path, imports):
    if any(fnmatch(path, pattern) for pattern in EVERYTHING):
        return Selection(everything=True)
    widget = WIDGET.fullmatch(path)
    of_widget = _of_widget(widget[1], imports) if widget else None
    if of_widget is not None:
        return of_widget
    files = {t for pattern, tests in LOOKING_AT.items() if fnmatch(path, pattern) for t in tests}
    units = set() if path.startswith("tests/") else {selection.unit_of_path(Path(path))}
    through = _modules(path, imports) if path in imports.files or not units - {None} else set()
    for reached in imports.dependents(through):
        name = Path(reached).name
        if not reached.startswith("tests/"):
            units.add(selection.unit_of_path(Path(reached)))
        elif name.startswith("test_"):
            files.add(reached)
        elif name == "conftest.py":
            files.add(str(Path(reached).parent))
    files = {f for f in files if (imports.root / f).exists()}
    return Selection(units=units - {None}, files={f for f in files if not any(f.startswith(g + "/") for g in files)})


def _of_widget(name, imports):
    """Selection for a change of one widget; None if there is no such widget."""
    source = imports.root / "course" / "anatomy" / "widgets" / name / "__init__.py"
    if not source.exists():
        return None
    shown = re.findall(r"^class (\w+)\(", source.read_text(encoding="utf-8"), re.M)
    units = {selection.unit_of_path(p) for p in (imports.root / "solutions").glob("*.py") if _names(p, shown)}
    files = {f"tests/widgets/{t}" for t in (name, *OF_WIDGETS) if (imports.root / "tests" / "widgets" / t).exists()}
    return Selection(units=units - {None}, files=files)


def _names(path, words):
    return re.search(rf"\b({'|'.join(words)})\b", path.read_text(encoding="utf-8")) is not None


def _modules(path, imports):
    """The Python files that count as changed with this file."""
    stem, folder = Path(path).stem, Path(path).parent
    if path.startswith(("assets/", "autograder/recording/experiments/")):
        # Scripts of the same name measure, draw and explain it; units quote it.
        quoting = {p for p in imports.files if p.startswith("solutions/") and imports.says(p, stem)}
        return quoting | {p for p in imports.files if Path(p).stem == stem}
    if path in imports.files:
        known = imports.dependents({path}) != {path} or Path(path).name.startswith("test_")
        return {path} if known or not path.startswith("tests/") else {path, *imports.naming(path)}
    beside = {p for p in imports.files if Path(p).parent == folder}
    inside = path.startswith(("autograder/", "course/anatomy/", "tests/"))
    return beside if inside and beside else imports.naming(path)


def changed(base: str, root: Path = ROOT) -> list[str]:
    """Paths that differ between a commit and the working tree, including untracked files that git does not ignore."""
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({p for p in (differing + new).split("\0") if p})


def default_base(root: Path = ROOT) -> str:
    """The commit at which this branch left origin/main or main; the one before the last if nothing differs from it."""
    for main in ("origin/main", "main"):
        try:
            base = _git(root, "merge-base", "HEAD", main).strip()
        except subprocess.CalledProcessError:
            continue
        return base if changed(base, root) else "HEAD~1"
    return "HEAD"


def _git(root, *words):
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def main(argv: list[str] | None = None) -> int:
    """Command line; returns pytest's exit status, or 0 if there is nothing to run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", help="a commit; default: where this branch left main")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args(argv)
    try:
        base = options.base or default_base()
        paths = changed(base)
        commit = _git(ROOT, "log", "-1", "--format=%h %s", base, "--").strip()
    except subprocess.CalledProcessError as error:
        print(f"test-changed: git says: {error.stderr.strip()}", file=sys.stderr)
        return 2
    print(f"{len(paths)} files differ from {commit}")
    alike: dict[str, list[str]] = {}
    chosen = Selection()
    for path, asks in select(paths).items():
        chosen |= asks
        alike.setdefault(str(asks), []).append(path)
    for asks, group in alike.items():
        print(f"  {_few(group)}: {asks}")
    if not chosen:
        return 0
    if options.list:
        return subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-qq", *chosen.arguments()]).returncode
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-m", "pytest", *chosen.arguments(), *options.pytest]).returncode


if __name__ == "__main__":
    sys.exit(main())
