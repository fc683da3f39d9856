"""Writes ``assets/recordings/edits``: results of single changes to right answers, as prints (``anatomy.judge.edits``).

``python -m autograder.recording.edits --unit 06-rope``. The changes are the mutants of ``autograder.mutation``; those
that pass, that a listed mistake names, or that end in an error are left out. Pairs of changes to the solution that
listed mistakes name are recorded too, so that a learner who makes both mistakes is told about both. A file is rewritten
if code, cases or operators have changed (with ``--fresh`` always).
"""

import argparse
import ast
import contextlib
import hashlib
import inspect
import itertools
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from anatomy.judge import edits, judging, naming
from anatomy.judge.edits import RIGHT, Print
from anatomy.program import records, runner
from anatomy.program.codec import Memory
from anatomy.system import files
from safetensors import safe_open
from safetensors.torch import save

from autograder import ROOT, exercises
from autograder.judge.drawing import PUBLIC_SEED
from autograder.judge.spec import Exercise
from autograder.mutation.changes import Composer, Mutant
from autograder.mutation.field import OF_FIELD
from autograder.mutation.operators import USUAL
from autograder.mutation.processes import gathered
from autograder.mutation.subjects import Subject, subjects
from autograder.mutation.survivors import KILLED
from autograder.mutation.trial import OutOfTime, limited, quiet
from autograder.recording.references import made

SECONDS = 2.0  # of processor time for a change on all cases; slower changes are left out
MOST = 64  # characters of a piece of code
LEAST = 8
MOST_NAMED = 14  # changes of a solution that are combined in pairs
NAMED, SOLUTION = "named", "solution"
# Mistakes that are obvious by themselves (an error, a dtype, a write into an input) or reported by other means (an
# ignored argument, results in a different order).
LEFT_OUT = {"error", "result", "in_place", "ignored", "results", "default"}
HELPERS = "mutation."  # code that a learner would not write
Change = tuple[str, str]


def described(mutant: Mutant) -> Change | None:
    """(kind, code) of a change, in the terms of ``anatomy.judge.edits``; None if it cannot be described."""
    if mutant.operator in LEFT_OUT or mutant.says.startswith("no error"):
        return None
    if mutant.operator == "precision":
        return "computes", mutant.says.rpartition(" in ")[2]
    if mutant.operator == "loop":
        return ("once" if mutant.says.endswith("runs once") else "not_at_all"), ""
    before, after = (ast.parse(text).body for text in (mutant.before, mutant.after))
    old, new, around = _different(ast.Module(before, []), ast.Module(after, []))
    if mutant.operator == "statement":
        target = old.targets[0] if isinstance(old, ast.Assign) else getattr(old, "target", None)
        return None if target is None else ("left_out", _cut(target))
    if mutant.operator == "condition":
        return "turned", _cut(old.test if isinstance(old, ast.If | ast.IfExp) else old)
    if mutant.operator == "if":
        kind = "always" if mutant.says.endswith(" always") else "never"
        return (kind, _cut(old.test)) if isinstance(old, ast.If) else None
    if mutant.operator == "filter":
        return "unfiltered", mutant.says.rpartition(" without if ")[2][:MOST]
    # The smallest meaningful piece: 2 alone is not, 2 * x is.
    for piece in (new, *around):
        if isinstance(piece, ast.FunctionDef | ast.ClassDef | ast.Module | ast.For | ast.If | ast.While | ast.With):
            return None
        if isinstance(piece, ast.expr | ast.Assign | ast.AugAssign | ast.Return | ast.Assert):
            text = ast.unparse(piece)
            if len(text) >= LEAST and any(isinstance(n, ast.Name) for n in ast.walk(piece)):
                return None if HELPERS in text else ("stands", _cut(piece))
    return None


def is_steady(mutant: Mutant) -> bool:
    """True if every run gives the same result; memory from ``empty`` may stay unfilled after a change."""
    return "empty" not in mutant.after


def _cut(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def _different(old: ast.AST, new: ast.AST) -> tuple[ast.AST, ast.AST, list[ast.AST]]:
    """The smallest piece in which two trees differ, in both, and its ancestors in the new tree, nearest first."""
    around: list[ast.AST] = []
    while type(old) is type(new):
        pairs = list(_children(old, new))
        unlike = [(a, b) for a, b in pairs if a is None or b is None or ast.dump(a) != ast.dump(b)]
        if len(unlike) != 1 or None in unlike[0] or not _same_otherwise(old, new):
            break
        around.insert(0, new)
        old, new = unlike[0]  # type: ignore[assignment]
    return old, new, around


def _children(old: ast.AST, new: ast.AST) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    a, b = ([*ast.iter_child_nodes(n)] for n in (old, new))
    if len(a) == len(b):
        yield from zip(a, b, strict=True)
    else:
        yield None, None


def _same_otherwise(old: ast.AST, new: ast.AST) -> bool:
    plain = lambda n: {f: v for f, v in ast.iter_fields(n) if not isinstance(v, ast.AST | list)}
    return plain(old) == plain(new)


def prints(record: records.ExerciseRecord, subject: Subject, mutant: Mutant) -> list[Print] | None:
    """The prints of a change, one per case; None if it passes, has a name, or fails other than by its numbers."""
    found = tried(record, subject, {mutant.at: mutant.code})
    return found if isinstance(found, list) else None


def tried(record: records.ExerciseRecord, subject: Subject, codes: Mapping[int, CodeType]) -> list[Print] | str | None:
    """The prints of a changed answer, one per case, or the name of the listed mistake that it is; None if it passes or
    fails other than by its numbers."""
    with limited(SECONDS), quiet():
        torch.manual_seed(0)
        functions = subject.exercise.functions(subject.with_codes(codes))
        if runner.calling_problem(functions, record.signature):
            return None
        outcomes = [runner.run_program(c.program, c.tensors, functions, record.forbidden) for c in record.cases]
        memory = Memory()
        problems = judging.problems_of(record, outcomes, memory)
        first = next((p for p in problems if p is not None), None)
        if first is None or first.kind not in edits.KINDS_OF_PROBLEM or any(o["used"] for o, _ in outcomes):
            return None
        if known := naming.named(record, outcomes, problems, memory):
            return known.name
        return [RIGHT if p is None else edits.printed(*o, memory) for o, p in zip(outcomes, problems, strict=True)]


class _Series:
    """Yields (change, prints) for each mutant; None for one that is not kept."""

    def __init__(self, exercise: Exercise) -> None:
        self.problems: list[str] = []
        self._record = records.load(exercise.id)
        self._mutants = [(s, m) for s in subjects(exercise) for m in s.mutants()]

    def run(self, start: int) -> Iterator[tuple[Change, list[Print] | str] | None]:
        for subject, mutant in self._mutants[start:]:
            change, found = described(mutant) if is_steady(mutant) else None, None
            if is_steady(mutant) and (change is not None or subject.name == SOLUTION):
                with contextlib.suppress(OutOfTime, Exception, SystemExit):
                    found = tried(self._record, subject, {mutant.at: mutant.code})
            if isinstance(found, str):
                yield (NAMED, mutant.key), found if subject.name == SOLUTION else ""
            else:
                yield None if change is None or found is None else (change, found)


class _Pairs:
    """Yields (change, prints) or None for each pair of changes to the solution that listed mistakes name."""

    def __init__(self, named: Mapping[str, dict[str, str]], exercise: Exercise) -> None:
        self.problems: list[str] = []
        self._record, self._solution = records.load(exercise.id), subjects(exercise)[0]
        keys = named[exercise.id]
        made = {m.key: m for m in self._solution.mutants() if m.key in keys}
        mine = [(keys[k], made[k]) for k in keys]
        self._pairs = list(itertools.combinations(mine, 2))
        self._composer = Composer([*USUAL, *OF_FIELD])

    def run(self, start: int) -> Iterator[tuple[Change, list[Print]] | None]:
        for (one, a), (other, b) in self._pairs[start:]:
            found = None
            with contextlib.suppress(OutOfTime, Exception, SystemExit):
                codes = self._composer.both(a, b)
                found = tried(self._record, self._solution, codes) if codes else None
            yield (("both", f"{one} {other}"), found) if isinstance(found, list) else None


class _Kept:
    """Keeps each change that has prints of its own, the solution's first."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise, self.mutants, self.seconds = exercise, 0, 0.0
        self.problems: list[str] = []
        self.changes: list[Change] = []
        self.prints: list[list[Print]] = []
        self.named: dict[str, str] = {}  # key of a change to the solution → the listed mistake that names it
        self._seen: dict[Any, Change] = {}

    def add(self, result: Any) -> None:
        self.mutants += 1
        if result is None or result == KILLED:
            return
        change, printed = result
        if change[0] == NAMED:
            if printed and printed not in self.named.values() and len(self.named) < MOST_NAMED:
                self.named[change[1]] = printed
            return
        rounded = tuple((form, *(round(v, 3) for v in rest)) for form, *rest in printed)
        first = self._seen.setdefault(rounded, change)
        if first is change:
            self.changes.append(change)
            self.prints.append(printed)
        elif first[0] == "both" and first in self.changes:  # two pairs with equal prints are indistinguishable
            at = self.changes.index(first)
            del self.changes[at], self.prints[at]

    def for_pairs(self) -> "_Kept":
        """This object, ready for a second series."""
        self.mutants = 0
        return self


def digest(exercise: Exercise) -> str:
    """Hash of everything that the changes of an exercise and their prints depend on."""
    record = records.load(exercise.id, with_mistakes=False)
    cases = [(c.name, c.program, c.atol, c.rtol) for c in record.cases]
    code = [[ast.unparse(s) for s in subject.code.statements] for subject in subjects(exercise)]
    told = json.dumps([cases, code, sorted(record.mistakes), _own_code()], sort_keys=True, default=str).encode()
    return hashlib.sha256(told).hexdigest()[:16]


@cache
def _own_code() -> str:
    """The code that makes changes, descriptions and prints, without comments and docstrings."""
    of_mutation = ROOT / "autograder" / "mutation"
    files_of_changes = [of_mutation / f"{name}.py" for name in ("operators", "field", "helpers")]
    of_words: list[Callable[..., Any]] = [described, _cut, _different, _children, _same_otherwise, tried, Composer]
    of_prints: list[Callable[..., Any]] = [edits.printed, edits._read, edits._weights.__wrapped__]
    sources = [p.read_text(encoding="utf-8") for p in files_of_changes]
    sources += [inspect.getsource(f) for f in (*of_words, *of_prints)]
    return "\n".join(ast.unparse(_undescribed(ast.parse(source))) for source in sources)


def _undescribed(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def write_unit(unit: str, out: Path, workers: int = 2, fresh: bool = False) -> int:
    """Writes the file of one unit; returns its number of changes. Unchanged exercises keep their entries."""
    path = out / f"{unit}.safetensors"
    told, tensors = _read(path) if path.exists() and not fresh else ({}, {})
    wanted = exercises.of_unit(unit)
    todo = [e for e in wanted if told.get(e.id) != digest(e)]
    singles = {kept.exercise.id: kept for kept in gathered(todo, _Series, _Kept, workers)}
    named = {name: kept.named for name, kept in singles.items()}
    for kept in gathered(todo, partial(_Pairs, named), lambda e: singles[e.id].for_pairs(), workers):
        if kept.problems:
            raise RuntimeError("\n".join(kept.problems))
        name = kept.exercise.id
        told[name] = digest(kept.exercise)
        tensors = {k: t for k, t in tensors.items() if not k.startswith(f"{name}/")}
        if kept.changes:
            tensors[f"{name}/changes"] = _packed(kept.changes)
            tensors[f"{name}/forms"] = torch.tensor([[p[0] for p in row] for row in kept.prints], dtype=torch.int32)
            tensors[f"{name}/numbers"] = torch.tensor([[p[1:] for p in row] for row in kept.prints])
    ids = {e.id for e in wanted}
    told = {k: v for k, v in sorted(told.items()) if k in ids}
    tensors = {k: t for k, t in sorted(tensors.items()) if k.partition("/")[0] in ids}
    if todo or not path.exists():
        files.replace(path, save(tensors, {"digests": json.dumps(told)}))  # one entry: several have no fixed order
    return sum(len(t) for k, t in tensors.items() if k.endswith("/forms"))


def _packed(changes: Sequence[Change]) -> torch.Tensor:
    """Compresses changes into bytes, so that nobody reads them by accident: they show pieces of answers."""
    text = json.dumps(changes, ensure_ascii=False, separators=(",", ":")).encode()
    return torch.frombuffer(bytearray(zlib.compress(text, 9)), dtype=torch.uint8)


def digests(metadata: dict[str, str] | None) -> dict[str, str]:
    """Exercise → digest of the data from which its changes were recorded."""
    return dict(json.loads((metadata or {}).get("digests", "{}")))


def _read(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    with safe_open(str(path), framework="pt") as store:
        tensors = {k: store.get_tensor(k) for k in store.keys()}  # noqa: SIM118
        return digests(store.metadata()), tensors


def record(out: Path, units: Sequence[str] | None = None, fresh: bool = False, workers: int = 2) -> None:
    """Writes the files of all units (or of those named) to ``out``/edits, and how they were made to its manifest."""
    for unit in units or exercises.units():
        count = write_unit(unit, out / "edits", workers, fresh)
        print(f"{unit}: {count} changes of right answers", flush=True)
    path = out / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    files_of_units = sorted((out / "edits").glob("*.safetensors"))
    manifest["edits"] = made(manifest.get("edits"), "cpu", "make record", PUBLIC_SEED, files_of_units)
    files.replace(path, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--unit", action="append", help="only this unit (may be repeated)")
    parser.add_argument("--fresh", action="store_true", help="write everything new")
    options = parser.parse_args(argv)
    record(ROOT / "assets" / "recordings", options.unit, options.fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
