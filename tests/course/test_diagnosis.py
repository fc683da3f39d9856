"""Generic messages claim only what is true in every failed case of the function that failed."""

import dataclasses
import textwrap

import pytest
import torch
from anatomy.judge import common_input, error_advice, places, probing, relations
from anatomy.program import records

from autograder import exercises
from autograder.messages import verdict_on

ID = "start.weighted_average"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Raises the time limit, since a test process now and then spends a tenth of a second on garbage collection."""
    monkeypatch.setattr(probing, "SECONDS", 60)


def right(values, weights):
    return weights @ values / weights.sum()


def messages(*functions, of=ID):
    return [m.message for m in verdict_on(of, functions).mistakes]


def pairs(change, *expected):
    return [(torch.tensor(e), change(torch.tensor(e))) for e in expected]


ROWS = ([[1.0, -2.0, 4.0], [0.5, 3.0, 8.0]], [[2.0, 0.0, 5.0], [1.0, -7.0, 6.0]])


@pytest.mark.parametrize(
    "change, slug",
    [
        (lambda e: 3 * e, "factor"),
        (lambda e: e + 2, "offset"),
        (lambda e: -e, "sign"),
        (lambda e: e * 0, "zeros"),
        (lambda e: e.flip(-1), "order"),
        (lambda e: e**2, "relation"),
        (lambda e: e * 1.001 + 0.002, "nearly"),
        (lambda e: torch.cat([torch.full((2, 1), 9.0), e[:, :-1]], 1), "shifted"),
        (lambda e: e + torch.tensor([[0.0, 1.0, 5.0], [0.0, 0.0, 0.0]]), None),
    ],
)
def test_relations(change, slug):
    found = relations.relation(pairs(change, *ROWS), [[], []])
    assert (found and found[0]) == slug


@pytest.mark.parametrize(
    "change",
    [lambda e, i: (2 + i) * e, lambda e, i: e + i + 1, lambda e, i: e if i else -e, lambda e, i: e**2 if i else 2 * e],
)
def test_a_relation_must_hold_in_every_case(change):
    several = [(torch.tensor(e), change(torch.tensor(e), i)) for i, e in enumerate(ROWS)]
    assert relations.relation(several, [[], []]) is None


def test_no_factor_is_claimed_of_what_is_almost_zero():
    e = torch.tensor([1e-9, 2e-9, -1e-9, 1.0])
    g = torch.tensor([5e-6, 1e-5, -5e-6, 2.0])
    assert (relations.relation([(e, g)], [[]]) or [None])[0] != "factor"
    assert relations.relation([(torch.tensor(0.3), torch.tensor(0.6))], [[]]) is None, "one number proves nothing"


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda w: w.triu_(1), "only above the diagonal"),
        (lambda w: w.tril_(-1), "only below the diagonal"),
        (lambda w: w.fill_diagonal_(0).neg_().add_(1), "only on the diagonal"),
        (lambda w: w[:, :3].zero_(), "only from index 3 on of axis 1"),
        (lambda w: w[:, 1::2].zero_(), "only at even indices of axis 1"),
        (lambda w: w[:-1].zero_(), "only at the last index of axis 0"),
    ],
)
def test_where_entries_are_wrong(wrong, words):
    mask = torch.ones(5, 5)
    wrong(mask)
    expected = torch.randn(5, 5, generator=torch.Generator().manual_seed(1))
    assert places.where(expected, expected + mask) == words
    assert places.where(expected, expected) is None and places.where(expected, expected + 1) is None


def test_where_masks_are_wrong():
    may = torch.ones(4, 4, dtype=torch.bool).tril()
    assert places.where(may, torch.ones_like(may)) == "only above the diagonal, where it is True and should be False"


def test_the_right_functions_are_named():
    exercise = exercises.get("cache.grouped")
    repeat_kv, grouped = exercise.functions(exercise.reference).values()
    said = " ".join(messages(repeat_kv, lambda q, k, v, mask=None: grouped(q, k, v, mask) + q.mean(), of=exercise.id))
    assert "repeat_kv passes everything; the mistake is in grouped_attention." in said


def test_what_failing_cases_share_is_said():
    exercise = exercises.get("attention.scaled_dot_product")

    def blind(q, k, v, mask=None):
        out = exercise.reference(q, k, v, mask)
        return out if mask is None else out + torch.linspace(0.5, 1, out.numel()).view_as(out) ** 2

    assert "those fail in which mask is given" in " ".join(messages(blind, of=exercise.id))


def test_an_ignored_argument_is_named():
    assert "does not depend on weights" in " ".join(messages(lambda values, weights: values.mean(0) + values[0] ** 2))


def test_an_argument_that_the_right_answer_ignores_too_is_not_named():
    """The number of heads changes no count: the spec says so, and the reference shows it."""
    record, exercise = records.load("attention.families"), exercises.get("attention.families")
    functions = exercise.functions(exercise.reference)
    passed = [c.program["steps"][0]["call"] != "encoder_decoder_counts" for c in record.cases]
    assert record.idle == ["H"] == probing.ignored(dataclasses.replace(record, idle=[]), functions, passed)
    assert probing.ignored(record, functions, passed) == []


@pytest.mark.parametrize(
    "code, words",
    [
        (lambda: torch.zeros(3, 4) @ torch.zeros(5, 6), "Matrices of 3x4 and 5x6"),
        (lambda: torch.zeros(2, 3, 4) @ torch.zeros(2, 5, 6), "a @ b"),
        (lambda: torch.zeros(3) + torch.zeros(4), "One tensor has 3 entries along axis 0, the other 4"),
        (lambda: torch.zeros(2, 3) @ torch.zeros(3, 2).half(), "different dtypes"),
        (lambda: torch.nn.LayerNorm(3)(torch.zeros(2, 3).double()), "dtype=x.dtype"),
        (lambda: torch.zeros(2, 3).reshape(4, 2), "6 numbers do not fit into the shape [4, 2]"),
        (lambda: torch.zeros(2, 3).T.view(6), "use reshape instead of view"),
        (lambda: torch.zeros(3)[5], "Index 5 was asked of axis 0, which has 3 entries"),
        (lambda: torch.zeros(3).sum(2), "no axis 2"),
        (lambda: [1][4], "Indices run from 0"),
        (lambda: None.shape, "None here"),
        (lambda: (lambda a: a)(b=1), "called with b="),
        (lambda: torch.zeros(3).sort(-1, descending=True, stable=True), "help(sort)"),
        (lambda: textwrap.dedent("a", "b"), "dedent() takes other arguments than it is given here"),
        (lambda: undefined_name, "undefined_name is not known here"),  # noqa: F821
        (lambda: bool(torch.zeros(3) > 0), "torch.where"),
        (lambda: torch.zeros(3, dtype=torch.int64).mean(), "Integers have no mean"),
        (lambda: torch.zeros(3).item(), "several entries stands where one number"),
        (lambda: 1 / 0, "divided by zero"),
        (lambda: torch.zeros(3).cuda(), "There is no GPU here"),
        (lambda: torch.zeros(3).masked_fill(torch.zeros(3), 0.0), "mask must hold True and False"),
        (lambda: torch.zeros(3)[1.5], "integer"),
        (lambda: torch.exp(2.0), "wants tensors"),
        (lambda: torch.nn.Linear(2, 3).load_state_dict({}), ""),
        (lambda: torch.einsum("ij,jk->ik", torch.zeros(2, 3, 4), torch.zeros(4, 5)), "each letter is an axis"),
        (lambda: torch.einsum("ij,jk->ik", torch.zeros(2, 3), torch.zeros(4, 5)), "each letter is an axis"),
        (lambda: torch.einsum("ij->ik", torch.zeros(2, 3)), "each letter is an axis"),
    ],
)
def test_common_errors_come_with_advice(code, words):
    with pytest.raises(Exception) as caught:
        code()
    assert words in error_advice.advice_for(type(caught.value).__name__, str(caught.value)), caught.value


@pytest.mark.parametrize(
    "name, message, words",
    [
        ("NameError", "name 'einsum' is not defined", "einsum is not known here"),
        ("NameError", "name 'NoneType' is not defined", "NoneType is not known here"),
        ("NameError", "name 'expected_mask' is not defined", "expected_mask is not known here"),
        ("AttributeError", "'Tensor' object has no attribute 'einsum'", "what stands before .einsum"),
        ("AttributeError", "module 'torch' has no attribute 'in-place operation'", ""),
        ("AttributeError", "'NoneType' object has no attribute 'shape'", "None here"),
        ("AttributeError", "cannot assign parameters before Module.__init__() call", "super().__init__()"),
        ("ModuleNotFoundError", "No module named 'einops'", ""),
        ("NotHere", "einops.einsum is not there while a notebook is graded", ""),
        ("KeyError", "'does not require grad'", ""),
        ("UnboundLocalError", "cannot access local variable 'einsum' where …", "before it gets a value"),
    ],
)
def test_a_word_in_a_learner_s_name_is_no_reason_for_advice(name, message, words):
    advice = error_advice.advice_for(name, message)
    assert words in advice and (words or not advice)


def test_of_an_own_function_the_first_line_is_looked_at():
    message = "twice() takes 1 positional argument but 2 were given"
    assert "the first line of twice" in error_advice.advice_for("TypeError", message, ["twice"])
    assert "help(twice)" in error_advice.advice_for("TypeError", message, ["thrice"])
    with pytest.raises(TypeError) as caught:
        torch.nn.Linear.load_state_dict({})
    assert "A class stands where an object" in error_advice.advice_for("TypeError", str(caught.value))


def test_nothing_is_guessed_where_none_is_a_result():
    bound = exercises.get("serve.compute_bound").reference

    def sometimes(*args, **kwargs):
        users = bound(*args, **kwargs)
        return users if users is None or users > 250 else None

    (said,) = messages(sometimes, of="serve.compute_bound")[:1]
    assert "is None, expected" in said and "return" not in said


def test_numbers_that_are_rounded_down_are_told_so():
    count, width = exercises.get("scale.hidden_size").reference
    said = messages(count, lambda *args, **kwargs: 0 * width(*args, **kwargs), of="scale.hidden_size")[0]
    assert "rounded down" in said and "filled" not in said


def test_of_a_list_no_results_are_counted():
    encode = exercises.get("bpe.encode").reference
    said = messages(lambda *args, **kwargs: encode(*args, **kwargs) + [1], of="bpe.encode")
    assert "has 3 items, expected 2" in said[0] and "Count what you return" not in " ".join(said)


def test_an_error_that_tells_too_little_is_told_so():
    names = exercises.get("assembly.names").reference

    def rename(state, rules):
        try:
            return names(state, rules)
        except ValueError as error:
            raise ValueError(str(error).replace("lm_head", "head")) from None

    assert messages(rename, of="assembly.names") == ["The ValueError is raised, but its text lacks lm_head.weight."]


def test_contrast_needs_both_kinds_of_cases():
    record = records.load(ID)
    assert common_input.told(record.cases, [], record) is None and common_input.told([], record.cases, record) is None


@pytest.mark.parametrize(
    "fn, words",
    [
        (lambda values, weights: None, "is a return missing? print only shows"),
        (lambda values, weights: right(values, weights).tolist(), "wrap it at the end: torch.tensor"),
        (lambda values, weights: (right(values, weights), weights), "Item 0 of it is right: return that one alone."),
        (lambda values, weights: right(values, weights).numpy(), "torch.from_numpy"),
        (lambda values, weights: right(values, weights)[None, None], "An axis of length 1 is too many"),
        (lambda values, weights: right(values, weights).prod(), "does a sum or mean run over all axes?"),
        (lambda values, w: right(values, w), "rename w to weights"),
        (torch.zeros(2), "got a tensor: pass its name without parentheses (weighted_average, not weighted_average(…))"),
        (type("A", (), {"__init__": lambda self, values, weights: None}), "should be a function"),
    ],
)
def test_what_comes_back_in_another_form(fn, words):
    assert words in messages(fn)[0]


def test_every_function_must_be_one():
    split_heads = exercises.get("attention.split_heads").reference[0]
    assert (
        "pass its name without parentheses (merge_heads, not merge_heads(…))"
        in messages(split_heads, torch.zeros(2), of="attention.split_heads")[0]
    )


# ── relations that are certain ───────────────────────────────────────────────────────────────────────────────────────

HEADS = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(3))
GRID = torch.randn(4, 5, generator=torch.Generator().manual_seed(4))


def related(expected, got, inputs=()):
    found = relations.relation([(expected, got)], [list(inputs)])
    return found and found[1]


@pytest.mark.parametrize(
    "expected, got, words",
    [
        (GRID, GRID.flip(0), "in reverse order along the second to last axis"),
        (
            HEADS,
            HEADS.transpose(1, 2).reshape(2, 3, 4, 5),
            "third to last axis and the second to last axis are swapped",
        ),
        (HEADS, HEADS.reshape(2, 4, 3, 5).transpose(1, 2), "swapped once too often, or after a reshape"),
        (GRID, GRID[[0, 2, 3, 1]], "place 1 holds slice 2"),
        (
            GRID.exp().log_softmax(-1).exp(),
            GRID.exp(),
            "The expected result is the softmax (over the last axis) of yours",
        ),
        (GRID.abs(), GRID, "The expected result is the absolute value of yours"),
        (GRID.exp(), GRID.exp().rsqrt(), "one over the square root of"),
        (GRID > 0, GRID <= 0, "True stands where False belongs"),
        (GRID, GRID.roll(1, -1), "one place too late along the last axis"),
        (GRID, GRID.roll(-1, -1), "one place too early along the last axis"),
        (GRID.double() / 3, (GRID / 3).double(), "the precision of float32"),
        (GRID[0], GRID[0] * (1 + torch.tensor([2e-4, -2e-4, 1e-4, 0, 0])), None),
    ],
)
def test_more_relations(expected, got, words):
    said = related(expected, got)
    if words is None:
        assert "rounding" not in (said or "")
    else:
        assert words in said


def test_the_logarithm_of_zero_is_lost_and_the_relation_is_not():
    weights = torch.tensor([[0.7, 0.3, 0.0], [0.2, 0.5, 0.3]])
    assert "is the exponential of yours" in related(weights, weights.log())
    assert related(weights, weights.log() + torch.tensor([[0.1, 0.2, 0.4], [0.5, 0.6, 0.7]])) is None


def test_rounding_is_blamed_on_numbers_far_from_zero():
    x = torch.randn(50, generator=torch.Generator().manual_seed(5))
    wrong = GRID * (1 + 2e-4 * torch.randn(4, 5, generator=torch.Generator().manual_seed(6)))
    assert "Differences of large numbers lose digits" in related(GRID, wrong, [x + 1_000])
    assert "rounding" not in related(GRID, wrong, [x])


def test_a_factor_that_changes_with_a_size_is_found():
    sizes = (3, 5, 8)
    inputs = [[torch.ones(2, n)] for n in sizes]
    found = relations.relation([(GRID, GRID / n**0.5) for n in sizes], inputs)
    assert found[0] == "factors" and "1/√n, n the length of the last axis of the first tensor" in found[1]
    other = relations.relation([(GRID, GRID * f) for f in (1.1, 1.7, 0.3)], inputs)
    assert other is None, "no size explains it"


def test_the_first_wrong_entry_is_said_where_there_is_no_pattern():
    got = GRID.clone()
    got[1, 2] = got[3, 0] = got[0, 4] = 9.0
    assert places.first_wrong(GRID, got) == "3 of 20 entries are wrong, the first at [0, 4]."
    assert places.first_wrong(GRID, GRID) == "" == places.first_wrong(GRID, GRID + 1)


def test_a_name_of_the_exercise_begins_a_sentence_as_it_is_written():
    told = messages(type("weighted_average", (), {}))[0]
    assert told.startswith("weighted_average should be a function (def") and told.endswith("yours is a class.")


LOGITS = torch.randn(3, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
POWERS = LOGITS.exp()


@pytest.mark.parametrize("eps", [1e-12, 1e-9, 1e-6])
def test_a_small_number_in_a_divisor_is_not_called_float32(eps):
    right, mine = POWERS / POWERS.sum(-1, keepdim=True), POWERS / (POWERS.sum(-1, keepdim=True) + eps)
    assert "too small by a tiny part" in related(right, mine) and "along the last axis" in related(right, mine)
    assert "too large by a tiny part" in related(mine, right) and "missing" in related(mine, right)
    clipped = LOGITS[0] / LOGITS[0].norm()
    assert "the same everywhere:" in related(clipped, LOGITS[0] / (LOGITS[0].norm() + eps))


def test_numbers_from_float32_are_called_that_and_nothing_else():
    told = related(LOGITS.softmax(-1), LOGITS.float().softmax(-1).double())
    assert "the precision of float32" in told and "tiny part" not in told


def test_a_few_numbers_that_are_all_too_small_are_not_called_float32():
    """Like 1e-8 added to lengths and averaged: the numbers are too small by different shares."""
    right = torch.tensor([0.6, 0.31, 0.82], dtype=torch.float64)
    told = related(right, right - torch.tensor([2e-8, 0.4e-8, 0.9e-8]))
    assert "nearly right" in told and "float32" not in told
    alone = torch.tensor(0.3131234, dtype=torch.float64)
    assert "nearly right" in related(alone, alone + 1e-7) and related(alone, alone + 1e-3) is None


def test_numbers_that_are_right_up_to_rounding_are_in_no_wrong_order():
    near = LOGITS.softmax(-1).float() * (1 + 2e-6 * torch.rand(3, 4, 6, generator=torch.Generator().manual_seed(8)))
    assert "nearly right" in related(LOGITS.softmax(-1).float(), near)


def test_a_factor_near_one_is_one_factor_or_none():
    numbers = torch.tensor([100.0, 231.0, 47.0, 900.0])
    assert "nearly right" in related(numbers, numbers * torch.tensor([0.99972, 0.99980, 0.99985, 0.99967]))
    assert "0.9997 times" in related(numbers, numbers * 0.9997)


def test_the_dtype_of_a_single_failing_case_is_told_only_where_the_case_is_about_it():
    record = records.load("rope.apply_rope_half")
    (half,) = [c for c in record.cases if "bfloat16" in c.shows]
    others = [c for c in record.cases if c is not half]
    assert common_input.told([half], others, record) == "the input is bfloat16"
    assert common_input.told([dataclasses.replace(half, shows="far out")], others, record) is None


def test_a_name_that_was_given_to_a_value_is_told():
    error = "TypeError", "'Tensor' object is not callable"
    told = error_advice.called_value(*error, "w = softmax(x.sum(-1), (2)) if (x) else y.max()")
    assert told.startswith("softmax is called here, and holds a value of type Tensor")
    assert error_advice.called_value(*error, "return f(g(x))").startswith("One of the names f, g")
    for line in ("return x.T(2)", "(a + b)(c)", "return (x)", ""):
        assert error_advice.called_value(*error, line).startswith("A value of type Tensor is called here")
    assert error_advice.called_value("TypeError", "f() takes 1 positional argument but 2 were given", "f(x, y)") == ""
    assert error_advice.called_value("ValueError", error[1], "f(x)") == ""


def test_a_list_that_was_written_into_is_no_tensor():
    def encode(ids, merges, base=256):
        ids.append(0)
        return [7]

    said = " ".join(messages(encode, of="bpe.encode"))
    assert "changes the list that it was given" in said and "tensor" not in said
