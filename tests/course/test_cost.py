"""What a call costs: counts for known operations, for cheap and expensive solutions, and for false counts."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from anatomy import case
from anatomy.judge import judging
from anatomy.program import cost, records, runner
from anatomy.program.cost import Ledger, Meter
from torch import nn

from autograder import exercises
from autograder.judge.drawing import draw_record
from autograder.judge.reply import parse_reply
from autograder.judge.spec import Program, Source, call
from tests.course import local_ways
from tests.course.dear_ways import WAYS, FlatEachTime

A, B = torch.randn(8, 4), torch.randn(4, 6)
Q = torch.randn(1, 2, 16, 4)


def in_their_units(names):
    return [pytest.param(n, marks=pytest.mark.unit(exercises.get(n).unit)) for n in names]


def counts_of(run, watched=()):
    with torch.no_grad(), Meter(watched) as meter:
        run()
    return meter.counts


# Counts of known operations.

PRODUCTS = {
    "mm": lambda: A @ B,
    "einsum": lambda: torch.einsum("ij,jk->ik", A, B),
    "linear": lambda: F.linear(A, B.T),
    "linear with bias": lambda: F.linear(A, B.T, B[0]),
    "addmm": lambda: torch.addmm(A[:, :1], A, B),
    "bmm": lambda: torch.bmm(A[None], B[None]),
    "baddbmm": lambda: torch.baddbmm(A[None, :, :1], A[None], B[None]),
    "inner": lambda: torch.inner(A, B.T),
    "tensordot": lambda: torch.tensordot(A, B, 1),
    "chain": lambda: torch.linalg.multi_dot([A, B]),
    "mv": lambda: [A @ column for column in B.T],
    "addmv": lambda: [torch.addmv(A[:, 0], A, column) for column in B.T],
    "dot": lambda: [row @ column for row in A for column in B.T],
    "conv1d": lambda: F.conv1d(A[None].mT, B.T[..., None]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_of_matrices_costs_the_same_however_it_is_written(name):
    counts = counts_of(PRODUCTS[name])
    assert counts["flops"] == 2 * 8 * 4 * 6
    assert counts["work"] == counts["flops"] + counts["entries"] and 48 <= counts["entries"] < 200


def test_a_product_by_broadcasting_costs_the_entries_that_it_makes():
    counts = counts_of(lambda: (A[:, :, None] * B).sum(1))
    assert counts == {"flops": 0, "entries": 8 * 4 * 6 + 48, "work": 8 * 4 * 6 + 48, "largest": 192, "reads": 0}


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": torch.ones(16, 16).tril().bool()}])
def test_attention_built_in_costs_its_two_products(options):
    counts = counts_of(lambda: F.scaled_dot_product_attention(Q, Q, Q, **options))
    assert counts["flops"] == 2 * (2 * 2 * 16 * 16 * 4)


def test_views_cost_nothing_and_writing_in_place_costs_what_is_written():
    assert counts_of(lambda: A.T[1:].unsqueeze(0).expand(5, -1, -1))["entries"] == 0
    assert counts_of(lambda: A.clone().mul_(2.0))["entries"] == 2 * A.numel()
    assert counts_of(lambda: torch.ones(9, 9).bool())["work"] == 81  # the Boolean copy is not counted as scored pairs
    assert counts_of(lambda: torch.ones(9, 9, dtype=torch.bool))["entries"] == 81


def test_the_largest_tensor_is_the_largest_floating_one():
    assert counts_of(lambda: (torch.arange(1000), A @ B, A + 1))["largest"] == 48


def test_reads_are_operators_on_the_storage_and_views_read_nothing():
    watched = nn.Linear(4, 4).weight
    assert counts_of(lambda: (watched.T, watched.shape, watched.detach()[1:]), [watched])["reads"] == 0
    assert counts_of(lambda: (F.linear(A, watched), A @ watched.T, watched.data.clone()), [watched])["reads"] == 3


def test_a_slice_keeps_all_that_it_was_cut_from():
    ledger = Ledger()
    with ledger:
        whole = torch.zeros(1000)
        part = whole[:2]
    assert ledger.kept() == 4000
    del whole
    assert ledger.kept() == 4000 and part.numel() == 2
    part = part.clone()  # made outside the ledger, so not counted
    assert ledger.kept() == 0 and part.numel() == 2


def test_tensors_without_storage_disturb_nobody():
    sparse = torch.eye(3).to_sparse()
    assert counts_of(lambda: (sparse + sparse).to_dense())["reads"] == 0


def test_counting_does_not_load_the_compiler():
    """Loading it would take a second in each of a student's processes."""
    import subprocess
    import sys

    code = (
        "import sys, torch\nfrom anatomy.cost import Meter\nwith Meter() as m: torch.ones(2, 2) @ torch.ones(2, 2)\n"
        "assert m.counts['flops'] == 16 and 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "course", "OMP_NUM_THREADS": "1"})


# Cheap and expensive solutions, and the limits between them.


def spec_of(name):
    return next(e for e in exercises.all_exercises() if e.id == name)


def outcome_of(spec, case, implementation):
    return runner.run_program(case.program, case.tensors, spec.functions(implementation))


def worst(case, outcome):
    """The largest share of a limit that an outcome uses, over all steps and measures of a case."""
    steps = zip(case.program["steps"], outcome["results"], strict=True)
    found = [(s["cost"]["limits"], r["cost"]) for s, r in steps if "cost" in s]
    return max(
        counts[m] / limit if limit else float(counts[m]) for limits, counts in found for m, limit in limits.items()
    )


# (largest share of a limit that a cheap solution may use, smallest that an expensive one must use). Reading four blocks
# back costs only twice as much as the most careful batched blocks, so here the limit has less room on both sides.
ROOM = {"sparse.local_attention": (0.75, 1.4)}


@pytest.mark.parametrize("name", in_their_units(WAYS))
def test_limits_lie_far_from_right_and_from_dear_ways(name):
    """Limits are twice the cost of any cheap solution and two thirds of any expensive one's; 0 forbids any cost."""
    spec, record = spec_of(name), records.load(name)
    right, dear = WAYS[name]
    most, least = ROOM.get(name, (0.5, 1.5))
    limited = [c for c in record.cases if any("cost" in s for s in c.program["steps"])]
    assert limited

    def difference(c, way):
        return judging.outcome_difference(c, c.outcomes["expected"], outcome_of(spec, c, way), c.atol, c.rtol)

    for way in (spec.reference, *spec.alternatives, *right):
        assert all(difference(c, way) is None and worst(c, outcome_of(spec, c, way)[0]) <= most for c in limited), way
    for way in dear:  # each has to fail in one case: cases limit different measures
        found = [(c, difference(c, way)) for c in limited]
        assert any(
            d is not None
            and d.kind == "cost"
            and (worst(c, outcome_of(spec, c, way)[0]) >= least or d.expected.startswith("at most 0"))
            for c, d in found
        ), (way, found)


def test_every_exercise_with_limits_has_ways_to_try_them():
    limited = {
        e.id
        for e in exercises.all_exercises()
        for c in e.cases
        if any("cost" in s for s in c.build(Source(0)).finish(e.targets[0])["steps"])
    }
    assert limited == set(WAYS)


@pytest.mark.parametrize("name", in_their_units(WAYS))
def test_the_reference_s_own_count_is_recorded(name):
    for c in records.load(name).cases:
        for step, result in zip(c.program["steps"], c.outcomes["expected"][0]["results"], strict=True):
            assert ("cost" in step) == ("cost" in result)
            if "cost" in step:
                assert cost.excess(step["cost"]["limits"], result["cost"]) is None


# Messages of verdicts.


def evaluated(name, implementation):
    spec, record = spec_of(name), records.load(name)
    return judging.judge(record, [outcome_of(spec, c, implementation) for c in record.cases])


@pytest.mark.parametrize(
    "way, name",
    [
        (local_ways.dense, "dense"),
        (local_ways.dense_by_sdpa, "dense"),
        (local_ways.dense_rows, "dense"),
        (local_ways.whole_prefix, "whole_prefix"),
        (local_ways.four_blocks_back, "blocks_in_vain"),
        (local_ways.mask_then_blocks, "generic.cost"),
        (local_ways.dense_scores_gathered_values, "generic.cost"),
    ],
)
def test_a_dear_way_is_named_only_where_it_costs_what_the_mistake_costs(way, name):
    assert evaluated("sparse.local_attention", way).mistakes[0].name == name


def test_the_sentence_shows_the_count_and_the_limit():
    verdict = evaluated("sparse.local_attention", local_ways.mask_then_blocks)
    shown = verdict.first_failure
    assert verdict.mistakes[0].message == (
        "The numbers are right, but your code writes 274,608 entries of tensors in call 2, the limit here is 100,000: "
        "a block of queries needs its own keys and those of the block before it."
    )
    assert (shown.expected, shown.got) == ("at most 100,000 entries of tensors", "274,608 entries of tensors")
    assert shown.call.startswith('case("sparse.local_attention", ') and shown.call.endswith(").cost(local_attention)")


def test_the_call_that_a_verdict_shows_gives_the_count():
    shown = evaluated("cache.cross", FlatEachTime).first_failure
    space = {"case": case, "CrossAttention": FlatEachTime}
    assert eval(shown.call, space) == {"reads": 2}
    assert "in call 2, the limit here is 0: keys and values are kept" in shown.sentence


def test_a_learner_can_count_where_nothing_is_limited():
    counts = case("sparse.local_attention", 2).cost(local_ways.local_attention)
    assert set(counts) == {"work", "flops", "largest"} and all(counts.values())
    with pytest.raises(RuntimeError, match="raised ZeroDivisionError"):
        case("sparse.local_attention", 2).cost(lambda q, k, v, w: 1 / 0)


@pytest.mark.parametrize(
    "measure, count, text",
    [
        ("work", 1, "1 operation"),
        ("work", 950, "950 operations"),
        ("flops", 12_300, "12,300 multiplications and additions"),
        ("work", 2_560_000, "2.56 million operations"),
        ("kept", 3_000_000_000, "3 billion bytes"),
        ("largest", 5 * 10**15, "5,000 trillion numbers"),
        ("reads", 0, "0 needless reads of weights or inputs"),
        ("entries", 1, "1 entry of a tensor"),
    ],
)
def test_counts_read_like_numbers(measure, count, text):
    assert cost.counted(measure, count) == text


# False counts.

LIES = {
    "none": None,
    "nothing": {},
    "a string": {"work": "few"},
    "negative": {"work": -1},
    "a fraction": {"work": 0.5},
    "not a number": {"work": math.nan},
    "infinite": {"work": math.inf},
    "true": {"work": True},
    "a list": {"work": [1]},
    "far too large": {"work": 10**400},
    "another measure": {"flops": 3},
    "a list of all": [("work", 3)],
}


@pytest.mark.parametrize("lie", LIES)
def test_a_count_that_is_none_fails_the_case_with_a_sentence(lie):
    spec, record = spec_of("cache.latent"), records.load("cache.latent")
    outcomes = [copy.deepcopy(outcome_of(spec, c, spec.reference)) for c in record.cases]
    limited = next(i for i, c in enumerate(record.cases) if "cost" in c.program["steps"][-1])
    outcomes[limited][0]["results"][-1]["cost"] = LIES[lie]
    verdict = judging.judge(record, outcomes)
    assert [c.passed for c in verdict.cases].count(False) == 1
    assert verdict.mistakes[0].name == "generic.cost" and "could not be counted" in verdict.mistakes[0].message
    assert verdict.first_failure.expected == "at most 120,000 operations"


@pytest.mark.parametrize("text, passes", [('{"work": 5}', True), ('{"work": NaN}', False), ('{"work": "5"}', False)])
def test_a_reply_brings_counts_through(text, passes):
    import json

    from safetensors.torch import save

    record = records.load("cache.latent")
    c = next(c for c in record.cases if "cost" in c.program["steps"][-1])
    spec = spec_of("cache.latent")
    outcome, tensors = outcome_of(spec, c, spec.reference)
    reply = json.dumps([outcome]).replace(json.dumps(outcome["results"][-1]["cost"]), text)
    data = save({f"0/{n}": t for n, t in tensors.items()}, metadata={"reply": reply})
    ((read, tensors),) = parse_reply(data, [c.program])
    found = judging.outcome_difference(c, c.outcomes["expected"], (read, tensors), c.atol, c.rtol)
    assert (found is None) == passes


# Limits in a spec.


@pytest.mark.parametrize(
    "program, limits",
    [
        (lambda: call(1), {"works": 3}),
        (lambda: call(1), {}),
        (lambda: call(1), {"reads": 0}),
        (lambda: call(1), {"work": 3, "of": ("k",)}),
        (lambda: Program().new("A"), {"work": 3}),
    ],
)
def test_limits_that_mean_nothing_are_refused(program, limits):
    with pytest.raises(ValueError):
        program().within(because="it is enough", **limits)


def test_reads_may_be_of_an_input():
    program = call(A, B).within(reads=1, of=(0,), because="once is enough").finish("f")
    tensors = {"i0": A, "i1": B}
    read = lambda f: runner.run_program(program, tensors, {"f": f})[0]["results"][0]["cost"]["reads"]
    assert read(lambda a, b: a @ b) == 1 and read(lambda a, b: a @ b + (a + 1) @ b) == 2


def test_a_size_is_the_one_shown_until_it_is_graded():
    shown, graded = Source(1), Source(1, graded=True)
    assert (shown.size(5, graded=20), shown.is_large) == (5, False)
    assert (graded.size(5, graded=20), graded.is_large) == (20, True)
    with pytest.raises(ValueError, match="hardly more"):
        shown.size(5, graded=9)


@pytest.mark.parametrize(
    "name",
    in_their_units(["sparse.local_attention", "sparse.gather", "sparse.pairs", "cache.latent", "assembly.experts"]),
)
def test_only_hidden_cases_without_mistakes_are_large(name):
    spec = spec_of(name)
    assert not any(c.is_large for c in draw_record(spec, with_mutants=False).cases)
    assert not any(c.is_large for c in draw_record(spec, b"key", with_mutants=False).cases)
    hidden = draw_record(spec, b"key", graded=True)
    assert sum(c.is_large for c in hidden.cases) == 1
    assert all((set(c.outcomes) == {"expected"}) == c.is_large for c in hidden.cases)
