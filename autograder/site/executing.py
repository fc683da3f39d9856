"""Executes notebooks and caches them, with the state of their widgets, in build/, so that a second build is fast."""

import hashlib
import importlib.metadata
import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import nbformat
from anatomy.system import files
from anatomy.system.translation import ENGLISH
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder import ROOT

CACHE = ROOT / "build" / "site" / "executed"
AT_ONCE = 2
TIMEOUT = 600  # seconds per cell, enough for a busy machine
STAYS_OUT = ("__pycache__", ".ipynb_checkpoints", ".egg-info")


class NotExecuted(RuntimeError):
    """A notebook failed; the message names it and contains its traceback."""


def executed(notebooks: Iterable[Path], language: str = ENGLISH) -> dict[str, NotebookNode]:
    """dict name → executed notebook, for solved notebooks. Runs those that changed since their last run, a few at a
    time. language: the package's language during the run. Raises NotExecuted.
    """
    paths = list(notebooks)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # When one fails, result() raises, and the jobs that have not begun are cancelled.
        jobs = [pool.submit(_one, path, language) for path in paths]
        try:
            books = [job.result() for job in jobs]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {path.stem: book for path, book in zip(paths, books, strict=True)}


def _one(path: Path, language: str) -> NotebookNode:
    folder = CACHE if language == ENGLISH else CACHE / language
    kept = folder / f"{path.stem}.{key(path, language)}.ipynb"
    if not kept.exists():
        book = run(path, language)
        files.replace(kept, (nbformat.writes(book) + "\n").encode())
        for old in folder.glob(f"{path.stem}.*.ipynb"):
            if old != kept:
                old.unlink(missing_ok=True)
    return nbformat.read(kept, as_version=4)


def run(path: Path, language: str = ENGLISH) -> NotebookNode:
    """Run a notebook in a new kernel, with its own folder and its own saved progress. Raises NotExecuted."""
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        client = NotebookClient(
            book,
            timeout=TIMEOUT,
            kernel_name="python3",
            store_widget_state=True,
            resources={"metadata": {"path": place}},
        )
        # No learner can enter predictions here, and parts of earlier units come from the solved notebooks.
        own = {"ANATOMY_RUN_ALL": "1", "ANATOMY_HOME": f"{place}/home", "ANATOMY_NOTEBOOKS": str(path.parents[1])}
        own["ANATOMY_LANGUAGE"] = language
        print(f"running {path.stem}" + f" in {language}" * (language != ENGLISH), flush=True)
        try:
            client.execute(env={**os.environ, **own, "OMP_NUM_THREADS": "1"})
        except Exception as error:
            raise NotExecuted(f"{path} does not run:\n{error}") from error
    # Many cells allow a run to continue after an error: see ``notebooks.source``.
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise NotExecuted(f"{path} does not run:\n{cell.source}\n{output.ename}: {output.evalue}")
    return book


def key(path: Path, language: str = ENGLISH) -> str:
    """Short hash of everything on which an executed notebook depends."""
    digest = hashlib.sha256(path.read_bytes())
    # Only the answers of earlier units matter: they are imported as parts.
    for earlier in sorted(path.parents[1].glob("*/*.ipynb")):
        if earlier.stem < path.stem and earlier.stem == earlier.parent.name:
            digest.update("\0".join(_answers(earlier)).encode())
    if language != ENGLISH:
        digest.update(f"\0{language}\0".encode())
    digest.update(_surroundings().encode())
    return digest.hexdigest()[:16]


def _answers(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [c.source for c in cells if c.cell_type == "code" and c.metadata.get("nbgrader", {}).get("solution")]


@cache
def _surroundings() -> str:
    """Hash of the package, its data and the version of torch."""
    digest = hashlib.sha256(importlib.metadata.version("torch").encode())
    for folder in (ROOT / "course" / "anatomy", ROOT / "assets"):
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            name = file.relative_to(ROOT).as_posix()
            if not any(out in name for out in STAYS_OUT):
                digest.update(f"\0{name}\0".encode() + file.read_bytes())
    return digest.hexdigest()
