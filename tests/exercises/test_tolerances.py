"""How far an answer may be off, measured against the same run in float64, for functions and modules."""

from dataclasses import replace

import pytest
import torch
from anatomy.judge import judging

from autograder import exercises
from autograder.judge import drawing
from autograder.judge.drawing import draw_record
from autograder.judge.spec import Case, call

MODULES = ("attention.multi_head", "placement.block", "cache.latent", "assembly.cross_block", "assembly.encoder")


@pytest.mark.parametrize("module", map(exercises.get, MODULES), ids=lambda e: e.id)
def test_a_module_has_a_twin_in_float64(module, monkeypatch):
    """A module made in float32 cannot take float64 inputs: its run would give nothing and leave the smallest tolerance,
    which one right answer in forty missed."""
    real, wide = drawing.twin, []
    monkeypatch.setattr(drawing, "twin", lambda *arguments: wide.append(real(*arguments)) or wide[-1])
    cases = drawing.draw_record(module, with_mutants=False).cases
    assert any(case.atol for case in cases)
    for case in cases:
        here = set(case.atol)
        dict(case.atol)  # measured when it is read; where only an error is asked for there is nothing to measure
        there = {n: t.dtype for tensors in wide for n, t in tensors.items() if t.is_floating_point()}
        assert len(wide) == bool(here) and here == there.keys() and set(there.values()) <= {torch.float64}
        wide.clear()
    assert torch.get_default_dtype() is torch.float32


def test_the_run_in_float64_waits_for_a_result_that_needs_it(monkeypatch):
    """It costs as much as the reference, and most results agree within 32 rounding steps."""
    real, twins = drawing.twin, []
    monkeypatch.setattr(drawing, "twin", lambda *arguments: twins.append(arguments) or real(*arguments))
    record = draw_record(exercises.get("norm.backward"), b"k" * 32, with_mutants=False, graded=True)
    right = [case.outcomes["expected"] for case in record.cases]
    assert judging.passes(record, right) and not twins
    number = next(i for i, case in enumerate(record.cases) if case.name == "a scale is lost")
    case = record.cases[number]
    for share, is_right in ((0.5, True), (2.0, False)):
        off = {n: t + share * case.atol[n] for n, t in right[number][1].items()}
        answers = [*right[:number], (right[number][0], off), *right[number + 1 :]]
        assert case.atol["o0"] > 100 * case.least["o0"], "else this case shows nothing"
        assert judging.passes(record, answers) is is_right
    assert len(twins) == 1, "measured once, for the case that needs it"


# Results that depend on the dtype on purpose, with the reason.
CHANGES = {
    ("position.learned", "drawn"): "numbers drawn at random; they are judged by their law",
    ("sparse.gradient_reach", "float64, float32"): "the text says that the answer depends on the dtype",
}


def jumps(exercise, records):
    """{case: largest difference} for cases whose expected answer differs in float64 by more than rounding."""
    found = {}
    for record in records:
        for case in record.cases:
            _, here = case.outcomes["expected"]
            wide = {} if case.is_large else drawing.twin(exercise, case.program, case.tensors)
            # Gradients that are zero except for rounding are compared to the largest result beside them.
            largest = max(map(_largest, here.values()), default=0.0)
            for name, t in here.items():
                if name in wide and wide[name].shape == t.shape and t.dtype.itemsize != 2:
                    gap = t.to(torch.complex128) - wide[name].to(torch.complex128)
                    if _largest(gap) > 1e-3 * max(largest, 1e-30) or not torch.equal(gap.isfinite(), t.isfinite()):
                        found[case.name] = max(found.get(case.name, 0.0), _largest(gap))
    return found


def _largest(t):
    t = t.to(torch.complex128)
    return t[t.isfinite()].abs().max().item() if t.isfinite().any() else 0.0


# Factor by which every entry of a result is wrong; half precision allows 32 steps of the largest entry, 64 of its own.
OFF = {torch.float16: 1.35, torch.bfloat16: 2.0}


def test_what_is_off_by_two_percent_is_wrong(exercise, drawn):
    """No case has such a wide tolerance, whether it was set by hand or measured."""
    passing = []
    for case in drawn.public.cases:
        outcome, right = case.outcomes["expected"]
        off = {n: t * OFF.get(t.dtype, 1.02) if t.is_floating_point() else t for n, t in right.items()}
        is_other = any(not torch.equal(off[n].nan_to_num(), t.nan_to_num()) for n, t in right.items())
        if is_other and not any("law" in step for step in case.program["steps"]):
            found = judging.outcome_difference(case, case.outcomes["expected"], (outcome, off), case.atol, case.rtol)
            passing += [case.name] * (found is None)
    assert not passing


def test_no_right_answer_hangs_on_a_rounding(exercise, drawn):
    """A tie, or a sum that equals its bound, depends on the last digit, so adding in a different order would fail."""
    found = jumps(exercise, [drawn.public, *drawn.students[1:4]])
    assert not {case: gap for case, gap in found.items() if (exercise.id, case) not in CHANGES}


def test_a_bound_that_is_met_by_chance_is_found():
    halves = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
    case = Case("met", "", lambda g: call(halves + g.number(-3, 3), top_p=0.5))
    hanging = replace(exercises.get("generate.distribution"), cases=[case], mutants=[])
    assert jumps(hanging, [draw_record(hanging, bytes([i]) * 32, with_mutants=False) for i in range(24)])


@pytest.mark.parametrize(("of", "case"), CHANGES)
def test_what_changes_with_the_dtype_still_does(of, case):
    exercise = exercises.get(of)
    assert case in jumps(exercise, [draw_record(exercise, with_mutants=False)])
