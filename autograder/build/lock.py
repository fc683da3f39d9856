"""Writes requirements.lock (learners) and requirements-staff.lock (tests, grading) from the running environment.

``python -m autograder.build.lock`` (make lock). The versions are the installed and tested ones; dependencies of the
packages below are found through their metadata, including extras.
"""

import importlib.metadata
import re
from collections.abc import Iterable

from anatomy.system import files
from packaging.requirements import Requirement

from autograder import ROOT

LEARNER = (
    "torch",
    "numpy",
    "matplotlib",
    "jupyterlab",
    "ipywidgets",
    "anywidget",
    "safetensors",
    "tokenizers",
    "sympy",
    "filelock",
    "fsrs",
    "nbconvert",
    "setuptools",
)
STAFF = (
    "nbgrader",
    "notebook",
    "jupytext",
    "nbclient",
    "dask",
    "distributed",
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "playwright",
    "axe-playwright-python",  # contains axe-core; nothing is downloaded
    "pixelmatch",
    "transformers",
    "ruff",
    "mypy",
    "psycopg2-binary",
    "rapidfuzz",
    "jupyterhub",  # docs/hub/ is run by a test
    "configurable-http-proxy",
    "psutil",
    "cryptography",
    "sphinx",  # the site
    "myst-nb",
    "furo",
    "quickjs",
    "fonttools",
    "brotli",
    "beautifulsoup4",
    "pillow",
)
HEAD = "# Exact versions that the course was tested with (Python 3.11). Written by `make lock`, not by hand.\n"


def closure(roots: Iterable[str]) -> dict[str, str]:
    """dict name → version of ``roots`` and all their dependencies on this platform."""
    found: dict[str, str] = {}
    todo: list[tuple[str, frozenset[str]]] = [(r, frozenset()) for r in roots]
    done: set[tuple[str, frozenset[str]]] = set()
    while todo:
        name, extras = todo.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if (key, extras) in done:
            continue
        done.add((key, extras))
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # needed only on another platform
        # "2.13.0+cpu" also names a build: drop that, because the lock must work on every platform.
        found[key] = distribution.version.split("+")[0]
        for text in distribution.requires or []:
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in (*extras, "")):
                todo.append((need.name, frozenset(need.extras)))
    return found


def main() -> None:
    """Writes both files."""
    learner, everything = closure(LEARNER), closure(LEARNER + STAFF)
    for name, versions in (
        ("requirements.lock", learner),
        ("requirements-staff.lock", {k: v for k, v in everything.items() if k not in learner}),
    ):
        lines = "".join(f"{k}=={v}\n" for k, v in sorted(versions.items()))
        files.replace(ROOT / name, (HEAD + lines).encode())
        print(f"{name}: {len(versions)} packages")


if __name__ == "__main__":
    main()
