"""Gaps in the cases are found, no-op mutants are told from unspecified behavior, and no mutant stops the others."""

import dataclasses
import re

import pytest

from autograder.judge.drawing import draw_record
from autograder.mutation import explained, processes, survivors, trial
from autograder.mutation.__main__ import main
from autograder.mutation.because import BadReason
from autograder.mutation.survivors import KILLED, WITHOUT_EFFECT, Survivor, Tally, Trials
from autograder.mutation.variants import KINDS, variants

from . import toy


def found(asked, source=toy.CLIPPED):
    """Results of all mutants of one answer."""
    trials = Trials(asked, [toy.answer(asked, source)])
    assert not trials.problems
    return list(trials.run())


def alive(results):
    return {r.what.partition(", ")[2]: r for r in results if isinstance(r, Survivor)}


@pytest.fixture(scope="module")
def whole():
    return found(toy.exercise())


def test_with_all_its_cases_the_toy_has_no_hole(whole):
    assert alive(whole) == {}
    assert whole.count(KILLED) > 20 and 0 < whole.count(WITHOUT_EFFECT) < whole.count(KILLED)


@pytest.mark.parametrize(
    "case, survivor, told_by",
    [
        ("default", "default: high=1.0 → 2.0", ()),
        ("equal", "compare: low > high → low >= high", ()),
        ("wrong", "if: no error for low > high", ()),
        ("wide", "result: return x.clamp(low, high): result to_float32", ("float64",)),
        ("gradient", "result: return x.clamp(low, high): result detach", ("requires_grad",)),
    ],
)
def test_a_case_that_is_missing_leaves_a_survivor(case, survivor, told_by):
    results = alive(found(toy.exercise(case)))
    assert results[survivor].passes == ("examples", "drawn")
    assert set(told_by) <= set(results[survivor].told_by)


def test_one_that_fails_fresh_inputs_only_is_a_survivor_of_the_examples():
    """An answer may know the examples by heart, since learners can see the public record."""
    asked = toy.exercise()
    trials = Trials(asked, [toy.answer(asked)])
    shown = {float(t.flatten()[0]) for c in trials.cases["examples"].order for t in c.tensors.values()}
    source = toy.CLIPPED.replace(
        "    return", f"    if x.flatten()[0].item() in {shown}:\n        return x.clamp(low, high)\n    return"
    )
    results = alive(found(asked, source))
    assert results["call: x.clamp(low, high) → x"].passes == ("examples",)


def test_an_answer_that_fails_as_it_is_is_said_and_left_out():
    asked = toy.exercise()
    trials = Trials(asked, [toy.answer(asked, toy.CLIPPED.replace("clamp", "maximum"))])
    assert trials.subjects == [] and "solution fails case" in trials.problems[0]


def test_a_mutant_that_never_ends_is_killed_and_the_next_one_runs():
    source = """
def clipped(x, low=0.0, high=1.0):
    if low > high:
        raise ValueError("low lies above high")
    n = 0
    while n < 1:
        n += 1
    return x.clamp(low, high)
"""
    results = found(toy.exercise(), source)
    assert "statement: left out: n += 1" not in alive(results)
    assert len(results) > 30 and results.count(KILLED) > 20


def test_what_is_swallowed_by_an_except_ends_too():
    with pytest.raises(trial.OutOfTime):
        with trial.limited(0.1):
            while True:
                try:
                    while True:
                        pass
                except Exception:
                    pass


def test_a_process_that_dies_costs_one_mutant(monkeypatch):
    asked = toy.exercise()
    killing = toy.CLIPPED.replace(
        "    return", "    if low == 1.0:\n        import os\n        os.kill(os.getpid(), 9)\n    return"
    )
    monkeypatch.setattr(survivors, "subjects", lambda e: [toy.answer(e, killing)])
    monkeypatch.setattr(processes, "subjects", lambda e: None)
    (tally,) = processes.tallies([asked], workers=1)
    mutants = list(toy.answer(asked, killing).mutants())
    assert tally.mutants == len(mutants) and tally.problems == []
    assert tally.killed + tally.without_effect + len(tally.survivors) == len(mutants)


def survivor(key="0123456789"):
    return Survivor("toy.clipped", key, "solution, operand: x", "toy.py:1", ("drawn",), (), "-a\n+b")


def explaining(text):
    return dataclasses.replace(toy.exercise(), equivalent=text)


def test_entries_explain_survivors_and_grow_stale():
    lines = explained.template([survivor(), survivor("a" * 10)]).replace("toy.clipped:", "both are the same number")
    both = explaining(f"\n{lines}")
    tally = Tally("toy.clipped", mutants=2, killed=1, survivors=[survivor()])
    review = explained.reviewed(tally, explained.entries(both))
    assert [e.key for e in review.stale] == ["a" * 10] and not review.unexplained and not review.clean
    other = explained.reviewed(Tally("toy.clipped", mutants=1, survivors=[survivor("b" * 10)]), {})
    assert [s.key for s in other.unexplained] == ["b" * 10]
    spec = f'Exercise(\n    equivalent="""{both.equivalent}""",\n)\n'
    left = explained.pruned(spec, both, review.stale)
    assert left == spec.replace(f"    {'a' * 10} solution, operand: x\n", "")
    assert explained.reviewed(tally, explained.entries(explaining(left.split('"""')[1]))).clean
    one = explaining(left.split('"""')[1])
    assert explained.pruned(left, one, explained.entries(one).values()) == 'Exercise(\n    equivalent="""\n""",\n)\n'


def test_a_block_that_the_spec_writes_another_way_is_not_pruned_in_silence():
    with pytest.raises(BadReason, match="toy.clipped: its spec does not have equivalent as plain text"):
        explained.pruned("equivalent=BLOCK", explaining(f"the same number\n    {KEY}"), [])


KEY = "0123456789 solution"


@pytest.mark.parametrize(
    "text, says",
    [
        (f"    {KEY}\nit is the same thing\n    {KEY}", "needs a reason of 15 characters or more above it"),
        (f"the same\n    {KEY}", "needs a reason of 15 characters or more above it"),
        (f"it is the same thing\n    {KEY}\n    {KEY}", "comes twice"),
        (f"it is the same thing\n    {KEY}\nso is that thing\n    {KEY}s", "the key 0123456789 comes twice"),
        (f"it is the same thing\n    {KEY}\nso is that thing\n", "is for nothing"),
        ("it is the same thing\n    solution", "is not a key and a mutant"),
        ("it is the same thing\n    0123456789", "is not a key and a mutant"),
    ],
)
def test_reasons_that_cannot_be_used_are_one_sentence(text, says):
    with pytest.raises(BadReason, match=f"^toy.clipped: .*{re.escape(says)}"):
        explained.entries(explaining(text))


def test_a_hole_is_an_exit_status_and_an_unknown_unit_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(explained, "entries", lambda exercise: {})
    tallies = {True: [survivor()], False: []}
    for hole, survivors_ in tallies.items():
        tally = Tally("start.weighted_average", mutants=9, killed=8, survivors=survivors_)
        monkeypatch.setattr(processes, "tallies", lambda chosen, workers, tally=tally: [tally])
        assert main(["--unit", "00", "--show"]) == hole
        assert ("0123456789" in capsys.readouterr().out) == hole
    assert main(["--unit", "99"]) == 2
    assert "There is no unit" in capsys.readouterr().err


def test_variants_tell_apart_what_writes_into_its_input():
    asked = toy.exercise()
    record = draw_record(asked, with_mutants=False)
    kinds = {v.kind: v for v in variants(asked, record)}
    assert set(kinds) == set(KINDS) and all(v.cases for v in kinds.values())
    assert not any(v.tells_apart(asked, toy.clipped) for v in kinds.values())
    assert all(v.tells_apart(asked, lambda x, low=0.0, high=1.0: x.clamp_(low, high)) for v in kinds.values())
    cut = lambda x, low=0.0, high=1.0: toy.clipped(x.detach(), low, high)
    assert [k for k, v in kinds.items() if v.tells_apart(asked, cut)] == ["requires_grad"]
