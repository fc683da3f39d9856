"""Makes a record from a spec and a seed: runs the reference, and on demand the mutants, on freshly built cases."""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial

import torch
from anatomy.program import runner
from anatomy.program.codec import Tensors
from anatomy.program.records import CaseRecord, ExerciseRecord
from anatomy.program.runner import Outcome, Program

from .spec import Case, Exercise, Implementation, Source

LARGE_SUMS = 2e-3  # relative to the largest entry
PUBLIC_SEED = 20_17  # the year of "Attention Is All You Need"; any fixed number would do


def case_seed(exercise_id: str, case_name: str, key: bytes | None = None) -> int:
    """63-bit seed of one case. ``key`` None gives the public case, bytes one that only the holder of the key knows."""
    text = f"{exercise_id}/{case_name}".encode()
    digest = hmac.new(key if key is not None else str(PUBLIC_SEED).encode(), text, hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def student_key(secret: str, student: str, unit: str) -> bytes:
    """Key of one student's inputs in one unit: a regrade can reproduce it, but only with the course secret."""
    return hmac.new(secret.encode(), f"{student}/{unit}".encode(), hashlib.sha256).digest()


def submission_key(key: bytes, digest: str) -> bytes:
    """Key of one submission's inputs, from the student's key and the hexadecimal SHA-256 of the file.

    A regrade of the same file draws the same inputs; any other file draws different ones. So anything that an earlier
    submission leaked about its hidden inputs (its output appears in the feedback) is useless to the next one.
    """
    return hmac.new(key, digest.encode(), hashlib.sha256).digest()


def draw_record(
    exercise: Exercise,
    key: bytes | None = None,
    device: str = "cpu",
    with_mutants: bool = True,
    graded: bool = False,
    recorded: Mapping[str, CaseRecord] | None = None,
) -> ExerciseRecord:
    """ExerciseRecord of freshly built cases.

    Args:
        key: None for the public cases, or ``submission_key(...)``.
        device: where the reference runs; inputs are always drawn on the CPU, so that every device sees the same
            numbers.
        with_mutants: also run the known mistakes, always on the CPU: they are compared with the results of a learner's
            CPU, and their code ignores devices.
        graded: use the graded sizes (``Source.size``). The known mistakes do not run on these cases, since some would
            run out of time or memory.
        recorded: name → case. One that would be drawn alike is taken, and nothing runs for it.

    Raises RuntimeError if the reference raises on that device but not on the CPU, or the other way round.
    """
    cases = []
    for case in exercise.cases:
        source = Source(case_seed(exercise.id, case.name, key), graded)
        program = case.build(source)
        steps = program.finish(exercise.targets[0])
        inputs = {n: runner.plain(t) for n, t in program.tensors.items()}
        known = (recorded or {}).get(case.name)
        if known and _drawn_alike(case, steps, inputs, known):
            cases.append(known)
            continue
        expected = _run(exercise, exercise.reference, steps, inputs, device)
        if device != "cpu":
            _check_device(
                f"{exercise.id}, {case.name}",
                device,
                expected,
                _run(exercise, exercise.reference, steps, inputs, "cpu"),
            )
        outcomes = {"expected": expected}
        if with_mutants and not source.is_large:
            outcomes |= {m.name: _run(exercise, m.fn, steps, inputs, "cpu") for m in exercise.mutants}
        if case.rounding is None:
            least = _least(expected, source.is_large)
            atol: Mapping[str, float] = _Measured(least, expected, partial(twin, exercise, steps, inputs, device))
            rtol = case.rtol
        else:
            least, atol, rtol = None, _few_roundings(expected, case.rounding), 0.0
        record = CaseRecord(case.name, case.shows, case.weight, steps, inputs, outcomes, atol, rtol)
        cases.append(replace(record, is_large=source.is_large, least=least))
    return ExerciseRecord(
        exercise.id,
        exercise.unit,
        exercise.title,
        exercise.points,
        list(exercise.targets),
        exercise.signature,
        list(exercise.forbidden),
        exercise.forbidden_message,
        {m.name: m.message for m in exercise.mutants},
        cases,
        exercise.extension,
    )


def _drawn_alike(case: Case, steps: Program, inputs: Tensors, known: CaseRecord) -> bool:
    """True for the same draw; the last digits may differ between processors."""
    if (case.name, case.shows, case.weight, steps) != (known.name, known.shows, known.weight, known.program):
        return False
    return inputs.keys() == known.tensors.keys() and all(_nearly(t, known.tensors[n]) for n, t in inputs.items())


def _nearly(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = a.to(torch.complex128), b.to(torch.complex128)
    largest = torch.nan_to_num(b.abs(), posinf=0.0).amax().item() if b.numel() else 0.0
    return torch.allclose(a, b, rtol=0.0, atol=1e-5 * largest, equal_nan=True)


def _run(
    exercise: Exercise, implementation: Implementation, steps: Program, tensors: Tensors, device: str
) -> tuple[Outcome, Tensors]:
    functions = exercise.functions(implementation)
    if device == "cpu":
        return _without_source(runner.run_program(steps, tensors, functions))
    on_device = {n: t.to(device) for n, t in tensors.items()}
    # Modules and caches that a program creates go on the same device.
    with torch.device(device):
        return _without_source(runner.run_program(steps, on_device, functions))


def _without_source(ran: tuple[Outcome, Tensors]) -> tuple[Outcome, Tensors]:
    """The outcome without the line of code that raised: learners get the recordings, which must hold no staff code."""
    outcome, tensors = ran
    results = [r | {"raises": [*r["raises"][:2], ""]} if "raises" in r else r for r in outcome["results"]]
    return outcome | {"results": results}, tensors


def _check_device(what: str, device: str, there: tuple[Outcome, Tensors], on_cpu: tuple[Outcome, Tensors]) -> None:
    """Raises RuntimeError for an error that differs by device: it must not become the answer expected of learners."""
    for ours, theirs in zip(there[0]["results"], on_cpu[0]["results"], strict=True):
        a, b = ours.get("raises"), theirs.get("raises")
        if (a is None) != (b is None) or (a and a[0] != b[0]):
            raise RuntimeError(f"{what}: on {device} {a or 'no error'}, on the CPU {b or 'no error'}")


def twin(exercise: Exercise, steps: Program, inputs: Tensors, device: str = "cpu") -> Tensors:
    """The reference's results for the same inputs in float64; empty if it cannot handle them."""
    wide = {n: t.double() if t.is_floating_point() else t for n, t in inputs.items()}
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)  # so that modules are created in float64 and accept float64 inputs
        return _run(exercise, exercise.reference, steps, wide, device)[1]
    except Exception:
        return {}
    finally:
        torch.set_default_dtype(before)


class _Measured(Mapping[str, float]):
    """Absolute tolerance per output tensor: 16 × the measured distance to the same run in float64, and at least what
    ``_least`` gives. That run costs as much as the first, so it is made when a tolerance is first asked for: most
    results agree within the least one.
    """

    def __init__(
        self, least: Mapping[str, float], expected: tuple[Outcome, Tensors], run_wide: Callable[[], Tensors]
    ) -> None:
        self._least, self._expected, self._run_wide = least, expected, run_wide

    @cached_property
    def _measured(self) -> dict[str, float]:
        wide, tensors = self._run_wide(), self._expected[1]
        result = dict(self._least)
        for name in result:
            t, precise = tensors[name], wide.get(name)
            if precise is None or precise.shape != t.shape or t.dtype == torch.float64:
                continue
            gap = (t.double() - precise.double()).abs()
            gap = gap[gap.isfinite()]
            # Half-precision inputs may overflow in one run but not in the other; that is not rounding.
            if gap.numel():
                result[name] = max(result[name], min(16 * gap.max().item(), 1e-2 * _scale(t)))
        return result

    def __getitem__(self, name: str) -> float:
        return self._measured[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._least)

    def __len__(self) -> int:
        return len(self._least)


def _least(expected: tuple[Outcome, Tensors], is_large: bool) -> dict[str, float]:
    """Smallest absolute tolerance per output tensor: 32 rounding steps of the largest entry, because a different order
    of summation changes the last digits.

    A large case tests an answer's cost, not its digits: a sum of 65,536 terms is off by 1e-4 if the kernel adds
    one by one and by 1e-6 if it adds in blocks, and shape and processor decide which kernel runs.
    """
    outcome, tensors = expected
    result = {
        n: max(32 * torch.finfo(t.dtype).eps, LARGE_SUMS if is_large else 0.0) * _scale(t)
        for n, t in sorted(tensors.items())
        if t.is_floating_point() or t.is_complex()
    }
    for together in _gradients(outcome):
        # A gradient that is zero up to rounding (of a bias that softmax cancels) takes the scale of the others.
        scales = [tensors[n].abs().max().item() for n in together if tensors[n].numel() and tensors[n].isfinite().all()]
        for name in together:
            result[name] = max(result[name], 4 * torch.finfo(tensors[name].dtype).eps * max(scales, default=0.0))
    return result


def _scale(t: torch.Tensor) -> float:
    """The largest finite entry."""
    finite = t.double()[t.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def _few_roundings(expected: tuple[Outcome, Tensors], rounding: float) -> dict[str, float]:
    """Absolute tolerance per output tensor for a case that states how many rounding steps it may be off."""
    return {n: rounding * torch.finfo(t.dtype).eps * _scale(t) for n, t in expected[1].items() if t.is_floating_point()}


def _gradients(outcome: Outcome) -> list[list[str]]:
    """Names of the gradients, one list for each step that has any."""
    trees = [r["grads"]["dict"] for r in outcome["results"] if "grads" in r]
    return [[v["tensor"] for _, v in tree if isinstance(v, dict) and "tensor" in v] for tree in trees]
