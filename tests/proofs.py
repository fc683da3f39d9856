"""Skips tests that have passed, as long as none of their inputs has changed.

Some tests take seconds each and depend on few files: those of one exercise (``tests/exercises``), and those in READS.
When such a test passes, a hash of its name, the contents of these files, the lock files, the versions in use and the
processor's kernels is stored in the user's cache folder: its proof. A usual run (without ``--all``, ``--unit`` or named
files) skips tests that have a proof; a new machine runs everything once.

Each test has its own proof; a test that failed, was interrupted, skipped or not run has none. If a file changes during
a run, it is unknown which contents the tests saw, so none of them gets a proof.
"""

import hashlib
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import pytest
from anatomy.system import files

from autograder import ROOT, exercises
from autograder.chromium import PROGRAMS

MOST = 40_000  # number of proofs to keep, the latest ones
HERE = "tests/exercises"
# Files that every test depends on without importing them: settings of the tests, versions of the libraries.
COMMON = ("requirements.lock", "requirements-staff.lock", "pyproject.toml", "tests/conftest.py", "tests/proofs.py")
OF_RUNS = ("build", "dist", "work")  # folders of the working tree that commands write
PACKAGES = ("autograder", "anatomy", "tests", "benchmarks")
BUILT = tuple(f"autograder/{name}" for name in ("build", "languages", "notebooks", "settings.py"))
NOTEBOOKS = ("assets", "course", "locale", "solutions", *BUILT)
SPECS = ("autograder/exercises", "autograder/judge", "autograder/recording", "autograder/reference")
# Everything except the site, the guides and other tests: for tests that start the course as its users do.
PRODUCT = (
    *NOTEBOOKS,
    *SPECS,
    *(f"autograder/{name}" for name in ("authoring", "classes", "grading", "mutation", "sandbox")),
    *("Makefile", "autograder/staff.mk", "benchmarks", "environment.yml", "nbgrader_config.py", "tests/lighter"),
)
# Folder or file of tests → what they read besides their imports and the files beside them.
READS = {
    "tests/course/test_never_lost.py": PRODUCT,
    "tests/course/test_wheel.py": PRODUCT,
    "tests/grading": (*PRODUCT, "docs"),
    "tests/hub": (*PRODUCT, "docs"),
    "tests/mutation": PRODUCT,
    "tests/sandbox": PRODUCT,
    "tests/units": PRODUCT,
    "tests/widgets": (*NOTEBOOKS, *SPECS),
    "tests/browser": (*NOTEBOOKS, *SPECS, "autograder/grading", "tests/widgets", "Makefile"),
    "tests/recording/test_cuda_paths.py": ("assets", "course/anatomy", "solutions", *SPECS),
    "tests/recording/test_large_figures.py": ("assets", "course/anatomy", "solutions", *SPECS),
}
SETTINGS = ("ANATOMY_", "ATEN_", "MKL_", "OMP_", "OPENBLAS_", "TORCH_")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Ledger(config, cache_folder() / "proved.txt"), "proofs")


def cache_folder() -> Path:
    """The folder of proofs: outside the working tree, so that a fresh clone on this machine can use them."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "transformer-anatomy"


def pytest_collection_modifyitems(config, items):
    """Deselects tests that have a proof; gives the others their keys, which their reports return."""
    proved = frozenset(getattr(config, "workerinput", {}).get("proved") or known_of(config))
    kept, left = [], []
    for item in items:
        key = key_of(item)
        if key:
            item.user_properties.append(("proof", key))
        (left if key in proved else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def known_of(config) -> frozenset[str]:
    """Keys of the proofs that this run may use."""
    ledger = config.pluginmanager.get_plugin("proofs")
    return ledger.leaves_out if ledger else frozenset()


class Ledger:
    """The proofs, in the main process; with xdist it sends them to the workers and collects new ones from reports."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self.path, self.outcomes, self.begun = path, dict[str, set[str]](), time.time()
        self.known = path.read_text(encoding="ascii").split() if path.exists() else []
        self.leaves_out = frozenset(self.known) if is_usual(config) else frozenset[str]()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["proved"] = sorted(self.leaves_out)

    def pytest_runtest_logreport(self, report):
        for key in (value for name, value in report.user_properties if name == "proof"):
            self.outcomes.setdefault(key, set()).add(f"{report.when} {report.outcome}")

    def pytest_sessionfinish(self):
        """Stores new proofs, also for tests that passed before the run was interrupted."""
        whole = {f"{when} passed" for when in ("setup", "call", "teardown")}
        new = [key for key, seen in self.outcomes.items() if seen == whole]
        if new and not changed_since(self.begun):
            rest = [key for key in self.known if key not in set(new)]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(self.path, "\n".join([*rest, *new][-MOST:]).encode())

    def pytest_report_header(self):
        return f"proofs: {len(self.leaves_out)} known in {self.path}" if self.leaves_out else None


def changed_since(moment: float, root: Path = ROOT) -> list[Path]:
    """Files that tests depend on and that were written after a moment."""
    folders = [p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith(".") and p.name not in OF_RUNS]
    return [p for p in _files([*COMMON, *folders], root) if p.exists() and p.stat().st_mtime > moment]


def is_usual(config: pytest.Config) -> bool:
    """Whether this is a usual run: of the whole suite, without ``--all``, a unit, an exercise, a keyword or files."""
    asked = any(config.getoption(name) for name in ("all", "unit", "exercise", "keyword"))
    return not asked and config.args_source is pytest.Config.ArgsSource.TESTPATHS


def key_of(item: pytest.Item) -> str | None:
    """32 hexadecimal digits for a test and everything that it depends on; None if its dependencies are not known."""
    name = item.nodeid.split("@")[0]
    exercise = item.callspec.params.get("exercise") if hasattr(item, "callspec") else None
    reads = next((place for place in READS if name.startswith((f"{place}/", f"{place}::"))), None)
    if reads:
        module = ".".join(item.path.relative_to(ROOT).with_suffix("").parts)
        content = of_paths((reads, *READS[reads])) + of_imports(module)
    elif exercise is not None and name.startswith(f"{HERE}/"):
        content = of_exercise(exercise.unit)
    else:
        return None
    return hashlib.sha256(f"{name}\n{content}\n{surroundings()}".encode()).hexdigest()[:32]


@cache
def of_exercise(unit: str, root: Path = ROOT) -> str:
    """Hash of all inputs of the tests of a unit's exercises: spec, reference, judge, recording, text, tests."""
    from autograder.grading.base.masters import imported

    module = exercises.unit_module(unit)
    own = [
        f"assets/recordings/{unit}.json",
        f"assets/recordings/{unit}.safetensors",
        f"solutions/{unit}.py",
    ]
    text = (root / f"solutions/{unit}.py").read_text(encoding="utf-8")
    specs = [f"autograder.exercises.{module}.{p.stem}" for p in exercises.spec_files(module)]
    return _hash(
        {*_imported(root), *imported([*specs, *_imported_by_cells(text)], root), *_files([*COMMON, *own, HERE], root)},
        root,
    )


def _imported_by_cells(text: str) -> Iterator[str]:
    """Modules of the package that a unit's cells import, except widgets, which no answer needs."""
    for package, names in re.findall(r"^from (anatomy(?!\.widgets)[\w.]*) import ([\w, ]+)$", text, flags=re.M):
        yield package
        yield from (f"{package}.{name.split()[0]}" for name in names.split(", "))


@cache
def of_paths(paths: tuple[str, ...], root: Path = ROOT) -> str:
    """Hash of files, and of all files in folders except caches and notebook checkpoints."""
    return _hash(_files([*COMMON, *paths], root), root)


@cache
def of_imports(module: str, root: Path = ROOT) -> str:
    """Hash of a module of tests and of everything that it imports."""
    from autograder.grading.base.masters import imported

    return _hash(set(imported([module], root, PACKAGES)), root)


@cache
def _imported(root):
    """The imports of the tests of exercises, and the modules of a student's process, which no test imports."""
    from autograder.grading.base.masters import SCORING, imported

    modules = [f"tests.exercises.{p.stem}" for p in (root / HERE).glob("*.py")]
    return imported([*SCORING, *modules], root, PACKAGES)


def _files(paths: Iterable[str], root: Path) -> set[Path]:
    found: set[Path] = set()
    for path in paths:
        whole = root / path
        found |= {p for p in whole.rglob("*") if p.is_file()} if whole.is_dir() else {whole}
    return {p for p in found if "__pycache__" not in p.parts and ".ipynb_checkpoints" not in p.parts}


def _hash(found: set[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(found):
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"\n{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def forget() -> None:
    """Clears cached hashes: contents are read once per process, so call this if they have changed."""
    for function in (of_exercise, of_paths, of_imports, _imported):
        function.cache_clear()


@cache
def surroundings() -> str:
    """Python, processor, installed versions, and the environment's settings for numerics and the course."""
    import torch

    installed = sorted(f"{d.metadata['Name']} {d.version}" for d in distributions())
    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(SETTINGS) and k != "ANATOMY_HOME")
    about = [sys.version, platform.machine(), platform.release(), torch.backends.cpu.get_cpu_capability()]
    programs = [found for name in (*PROGRAMS, "bwrap") if (found := shutil.which(name))]
    about += [f"{name} of {Path(name).stat().st_mtime_ns}" for name in programs]
    return "\n".join([*about, *settings, *installed])
