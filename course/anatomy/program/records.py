"""The recording of one exercise: inputs, expected outcomes and the outcomes of known mistakes, for public cases.

Written by ``autograder.recording``, read here. The grader builds the same objects live on fresh inputs, so that
one judge (``anatomy.judge.judging``) serves both.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from safetensors import safe_open

from ..system import installation
from ..system.translation import _, listed
from . import units
from .assets import MissingRecording, assets_dir
from .codec import Tensors
from .runner import Outcome, Program


@dataclass
class CaseRecord:
    """One case: a program with its input tensors, the outcome of the reference, and the tolerances for it.

    outcomes: name → (outcome, tensors) with ``expected`` and one entry for each known mistake.
    atol: output tensor name → absolute tolerance. rtol: relative tolerance, None for 64 rounding steps.
    least: tolerances that are known without measuring, none larger than atol: what agrees within them is right.
    is_large: drawn for grading, at a size that known mistakes cannot handle: they are not run on it.
    tolerances: results of ``judge.fingerprint_match`` for the known mistakes' tensors, by the id of their dict.
    """

    name: str
    shows: str
    weight: float
    program: Program
    tensors: Tensors
    outcomes: dict[str, tuple[Outcome, Tensors]]
    atol: Mapping[str, float]
    rtol: float | None = None
    is_large: bool = False
    least: Mapping[str, float] | None = None
    tolerances: dict[int, tuple[Tensors, Any]] = field(default_factory=dict, repr=False, compare=False)


@dataclass
class ExerciseRecord:
    """Everything needed to judge an exercise's public cases.

    extension: its points count extra. edits: the file with what single changes of a right answer give (``edits``).
    idle: arguments whose values change no result of the right answer.
    """

    id: str
    unit: str
    title: str
    points: float
    targets: list[str]
    signature: str
    forbidden: list[str]
    forbidden_message: str
    mistakes: dict[str, str]
    cases: list[CaseRecord] = field(default_factory=list)
    extension: bool = False
    edits: Path | None = None
    idle: list[str] = field(default_factory=list)


@cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Exercise id → its entry in that file."""
    return {e["id"]: e for e in json.loads(path.read_text(encoding="utf-8"))["exercises"]}


@cache
def _index(folder: str) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Exercise id → the file that holds its recording, and the exercise's entry in it."""
    index: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(Path(folder).glob("*.json")):
        if not path.name.startswith(("manifest", "precision")):
            index |= {exercise_id: (path, entry) for exercise_id, entry in _read(path).items()}
    return index


def _entry(exercise_id: str) -> tuple[Path, dict[str, Any]] | None:
    """The same of one exercise, or None. Its unit's file is read first: reading all of them takes half a second."""
    folder = assets_dir() / "recordings"
    try:
        path = folder / f"{units.exercise(exercise_id)[0]}.json"
        return path, _read(path)[exercise_id]
    except (KeyError, OSError):
        return _index(str(folder)).get(exercise_id)


def known_exercises(unit: str | None = None) -> list[str]:
    """Ids of the recorded exercises, in course order; of one unit if given.

    Raises MissingRecording if nothing is recorded at all.
    """
    folder = assets_dir() / "recordings"
    index = _index(str(folder))
    if not index:
        missing = _("No recordings in {folder}. {repair}")
        raise MissingRecording(missing.format(folder=folder, repair=installation.how_to_repair("make record")))
    return [i for i, (__, e) in index.items() if unit in (None, e["unit"])]


@cache
def _asked(folder: str) -> dict[str, str]:
    asked: dict[str, str] = {}
    for exercise_id, (__, entry) in _index(folder).items():
        for target in entry["targets"]:
            asked.setdefault(target, exercise_id)
    return asked


def exercise_of(target: str) -> str | None:
    """Id of the exercise that asks for a function or class of that name, or None.

    Unit 11 asks again for parts of earlier units: such a name belongs to the exercise that asked first.
    """
    return _asked(str(assets_dir() / "recordings")).get(target)


def calls_of(exercise_id: str) -> tuple[list[str], list[set[str]]]:
    """(names that the exercise asks for, in order; for each case, in order, the set of those that it calls)."""
    found = _entry(exercise_id)
    if found is None:
        raise KeyError(exercise_id)
    entry = found[1]
    calls = [{step.get("call") or step.get("new") for step in case["program"]["steps"]} for case in entry["cases"]]
    return entry["targets"], [names & set(entry["targets"]) for names in calls]


def load(exercise_id: str, with_mistakes: bool = True) -> ExerciseRecord:
    """ExerciseRecord from ``assets/recordings``.

    with_mistakes: also load the outcomes of the known mistakes, most of the data; a right answer needs none of them.
    Raises MissingRecording for an unknown id (with the nearest known ones), for an exercise that has no recording yet,
    or when the tensor file is missing.
    """
    found = _entry(exercise_id)
    if found is None:
        raise MissingRecording(_not_recorded(exercise_id, known_exercises()))
    path, data = found
    tensor_file = path.with_suffix(".safetensors")
    if not tensor_file.exists():
        missing = _("{file} is missing beside {description}. {repair}")
        raise MissingRecording(
            missing.format(
                file=tensor_file.name, description=path.name, repair=installation.how_to_repair("make record")
            )
        )
    data = dict(data)
    cases = data.pop("cases")
    with safe_open(str(tensor_file), framework="pt") as store:

        def tensors(prefix: str, names: Iterable[str]) -> Tensors:
            return {n: store.get_tensor(f"{prefix}/{n}") for n in names}

        loaded = []
        for c in cases:
            base = f"{exercise_id}/{c['slug']}"
            outcomes = {}
            for name, same in c["outcomes"].items():
                if name != "expected" and not with_mistakes:
                    continue
                first = same if isinstance(same, str) else name  # a known mistake that changes nothing in this case
                outcome = c["outcomes"][first]
                outcomes[name] = (outcome["outcome"], tensors(f"{base}/{first}", outcome["tensors"]))
            loaded.append(
                CaseRecord(
                    c["name"],
                    c["shows"],
                    c["weight"],
                    c["program"],
                    tensors(f"{base}/in", c["inputs"]),
                    outcomes,
                    c["atol"],
                    c["rtol"],
                )
            )
    edits = path.parent / "edits" / tensor_file.name
    return ExerciseRecord(**data, cases=loaded, edits=edits if with_mistakes and edits.exists() else None)


def recent(exercise_id: str, with_mistakes: bool = True) -> ExerciseRecord:
    """As ``load``, for callers that only read: the last records are cached until their files change."""
    found = _entry(exercise_id)
    if found is None:
        return load(exercise_id, with_mistakes)  # raises the error
    tensor_file = found[0].with_suffix(".safetensors")
    changed = tensor_file.stat().st_mtime_ns if tensor_file.exists() else 0
    return _kept(exercise_id, with_mistakes, tensor_file, changed)


@lru_cache(maxsize=4)
def _kept(exercise_id: str, with_mistakes: bool, tensor_file: Path, changed: int) -> ExerciseRecord:
    return load(exercise_id, with_mistakes)


def _not_recorded(exercise_id: str, known: list[str]) -> str:
    try:
        unit = units.exercise(exercise_id)[0]
    except KeyError:
        near = difflib.get_close_matches(str(exercise_id), known, n=3, cutoff=0.4)
        if near:
            mean = _("There is no exercise {name}. Did you mean {names}?")
            return mean.format(name=repr(exercise_id), names=" / ".join(map(repr, near)))
        there = _("There is no exercise {name}. Known: {names}, …")
        return there.format(name=repr(exercise_id), names=listed(known[:8]))
    if installation.kind() == "project":
        return f"{exercise_id} has no recording yet: run `make record UNIT={unit}`"
    none = _("{name} has no recording. {repair}")
    return none.format(name=exercise_id, repair=installation.how_to_repair("make record"))
