"""An outcome's print survives rounding, changes with any other difference, and identifies a known change."""

import pytest
import torch
from anatomy.judge import edits
from anatomy.program import codec, records
from anatomy.program.codec import Memory

from autograder.messages import verdict_on
from autograder.mutation.changes import Mutant
from autograder.recording.edits import described

T = torch.tensor([[1.0, -2.0, 3.5], [0.25, 8.0, -1e-3]])


def printed(*values):
    tensors = {}
    outcome = {"results": [{"value": codec.encode(v, tensors)} for v in values], "used": [], "mutated": []}
    return edits.printed(outcome, tensors, Memory())


@pytest.mark.parametrize(
    "other",
    [
        -T,
        T.T,
        T.flip(0),
        T.flip(1),
        2 * T,
        1.001 * T,
        T + 0.001,
        T.double(),
        T.flatten(),
        T.clone().fill_(1.0),
        torch.where(T > 7, torch.nan, T),
        torch.where(T > 7, torch.inf, T),
        torch.where(T > 7, -torch.inf, T),
        T.tolist(),
        (T,),
        (T, T),
        {"a": T},
        None,
        "T",
        True,
        3,
        3.0,
    ],
)
def test_another_result_has_another_print(other):
    ours, theirs = printed(T), printed(other)
    assert ours[0] != theirs[0] or max(abs(a - b) for a, b in zip(ours[1:], theirs[1:], strict=True)) > 1e-4


def test_a_small_result_beside_a_large_one_counts_as_much():
    ours, theirs = printed((1e6 * T, T)), printed((1e6 * T, T.flip(0)))
    assert max(abs(a - b) for a, b in zip(ours[1:], theirs[1:], strict=True)) > 1e-2


def test_rounding_changes_little():
    ours, theirs = printed(T), printed(T * (1 + 1e-6 * torch.rand(2, 3)))
    assert ours[0] == theirs[0] and max(abs(a - b) for a, b in zip(ours[1:], theirs[1:], strict=True)) < edits._CLOSE


def test_a_change_is_told_and_its_code_shown():
    def low_rank(x, A, B, alpha):
        return (x @ A.T @ B.T) * (alpha * A.shape[0])

    verdict = verdict_on("lora.forward", [low_rank, *_right("lora.forward")[1:]])
    assert verdict.mistakes[0].name == "generic.edit" and "`alpha * len(A)`" in verdict.mistakes[0].message


def _unweighed(x, weight, bias, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) + bias


def _summed(x, weight, bias, eps=1e-5):
    x = x - x.mean(-1, keepdim=True)
    return weight * x / torch.sqrt(x.square().sum(-1, keepdim=True)) + bias


@pytest.mark.parametrize("wrong, names", [(_unweighed, ["no_weight", "unbiased"]), (_summed, ["sum", "no_eps"])])
def test_two_mistakes_that_both_show_everywhere_are_both_told(wrong, names):
    mistakes = verdict_on("norm.layer_norm", [wrong]).mistakes
    assert [m.name for m in mistakes] == names
    listed = records.load("norm.layer_norm").mistakes
    assert mistakes[0].message == f"Two things are wrong at once. One: {listed[names[0]]}"
    assert mistakes[1].message == f"The other: {listed[names[1]]}"


def test_a_result_that_is_nearly_that_of_a_change_is_not_told_it():
    def nearly(x, A, B, alpha):
        return 1.0002 * (x @ A.T @ B.T) * (alpha * A.shape[0])

    verdict = verdict_on("lora.forward", [nearly, *_right("lora.forward")[1:]])
    assert not verdict.passed and "generic.edit" not in [m.name for m in verdict.mistakes]


def test_one_small_number_shows_no_change():
    record = records.load("start.weighted_average")
    problems = [None for _ in record.cases]
    assert not edits._is_evidence(record, [c.outcomes["expected"] for c in record.cases], problems, Memory())


@pytest.mark.parametrize(
    "outcome", [{}, {"results": None}, {"results": [{"value": {"tensor": "gone"}}]}, {"results": [3]}]
)
def test_a_malformed_outcome_tells_nothing(outcome):
    record = records.load("start.weighted_average")
    from anatomy.judge import judging

    verdict = judging.judge(record, [(outcome, {})] * len(record.cases))
    assert not verdict.passed and "generic.edit" not in [m.name for m in verdict.mistakes]


def _right(exercise_id):
    from autograder import exercises

    exercise = exercises.get(exercise_id)
    return list(exercise.functions(exercise.reference).values())


def change(before, after, operator, says=""):
    return described(Mutant("k", "solution", operator, 1, says, 0, compile("", "", "exec"), before, after, False))


@pytest.mark.parametrize(
    "before, after, operator, told",
    [
        ("def f(x):\n    return x / 2", "def f(x):\n    return x // 2", "arithmetic", ("stands", "return x // 2")),
        (
            "def f(scores):\n    return scores + scores.softmax(-1)",
            "def f(scores):\n    return scores + scores",
            "call",
            ("stands", "scores + scores"),
        ),
        ("def f(x):\n    y = x\n    return y", "def f(x):\n    pass\n    return y", "statement", ("left_out", "y")),
        ("def f(x):\n    return x", "def f(x):\n    return mutation.detach(x)", "result", None),
    ],
)
def test_words_of_a_change(before, after, operator, told):
    assert change(before, after, operator) == told
