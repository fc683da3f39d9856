"""FLOPs, bytes and least time of one decoding step of a whole model."""

from typing import Any

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import serving

from .shared import device, draw_model, served


def step_cost(model, users, tokens, itemsize=2):
    """(FLOPs, bytes) of a step."""
    return tuple(serving.step_cost(served(model), users, tokens, itemsize))


def step_seconds(model, users, tokens, bandwidth, peak, itemsize=2):
    """The slower of fetching and computing."""
    return serving.step_seconds(served(model), users, tokens, bandwidth, peak, itemsize)


def cost_by_parts(model, users, tokens, itemsize=2):
    """Matrices, scores and sums; weights, keys and values."""
    N, H, G, D = (model[k] for k in ("n_layers", "n_heads", "n_kv_heads", "head_dim"))
    stored = users * N * tokens  # positions in the caches, over all layers
    flops = 2 * model["weights"] * users + 2 * stored * H * D + 2 * stored * H * D
    numbers = model["weights"] + stored * G * D + stored * G * D
    return flops, numbers * itemsize


def seconds_by_difference(model, users, tokens, bandwidth, peak, itemsize=2):
    """The larger of two is their mean and half their difference."""
    flops, moved = cost_by_parts(model, users, tokens, itemsize)
    fetching, computing = moved / bandwidth, flops / peak
    return (fetching + computing + abs(fetching - computing)) / 2


def _kept():
    """A dictionary of results that forgets to ask which model it was."""
    known = {}

    def seconds(model, *rest, **more):
        key = *rest, *more.items()
        if key not in known:
            known[key] = step_seconds(model, *rest, **more)
        return known[key]

    return seconds


SMALL = {"weights": 100, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "head_dim": 4}


def _costs(g: Source, program: Program, **more: Any) -> None:
    program.call(draw_model(g), g.integer(2, 90), g.integer(100, 9000), **more)


def _seconds(g: Source, program: Program, users: int, tokens: int, **more: Any) -> None:
    program.call(draw_model(g), users, tokens, *device(g), fn="step_seconds", **more)


def _two_models(g: Source) -> Program:
    """All else is the same, so that results cannot be kept by it."""
    program, model, rest = Program(), draw_model(g), (g.integer(2, 9), g.integer(5000, 9000), *device(g))
    for twice in (model, model | {"weights": 2 * model["weights"]}):
        program.call(twice, *rest, fn="step_seconds", itemsize=1)
    return program


MISTAKES = [
    *changes(
        (cost_by_parts, seconds_by_difference),
        """
half_flops: return flops → return flops // 2
    Half of the FLOPs are missing: a multiplication and an addition count 2.
one_user_flops: return flops → return flops // users
    The FLOPs are those of one user. The weights are fetched once, but every user's token is multiplied by them.
matrices_only: + 2 * stored * H * D + 2 * stored * H * D →
    The FLOPs of attention are missing: 4 · n_heads · head_dim per layer and cached token.
attention_only: 2 * model["weights"] * users + →
    The FLOPs of the matrices are missing: 2 per weight and user.
scores_only: 2 * stored * H * D + 2 * stored * H * D → 2 * stored * H * D
    Attention makes two products, scores and weighted sum; one of them is missing from the FLOPs.
grouped_flops: 2 * stored * H * D + 2 * stored * H * D → 4 * stored * G * D
    Attention's FLOPs are counted for n_kv_heads. All n_heads compute: sharing keys saves bytes, not FLOPs.
one_layer_flops: 2 * stored * H * D + 2 * stored * H * D → 4 * users * tokens * H * D
    Attention's FLOPs are those of one layer. Multiply by n_layers.
weights_per_user: numbers = model["weights"] → numbers = users * model["weights"]
    The weights are fetched anew for each user. They are fetched once a step, for all.
one_cache: stored * G * D + stored * G * D → 2 * N * tokens * G * D
    One user's cache is fetched. Each user has one of their own.
no_cache: + stored * G * D + stored * G * D →
    The caches are missing from the bytes. A step reads all keys and values of every user.
no_weights: model["weights"] + stored * G * D + stored * G * D → stored * G * D + stored * G * D
    The weights are missing from the bytes.
all_heads: stored * G * D + stored * G * D → 2 * stored * H * D
    The cache is counted with n_heads. Only n_kv_heads are stored.
keys_only: stored * G * D + stored * G * D → stored * G * D
    Keys or values are missing from the bytes: both are read.
one_layer_cache: stored * G * D + stored * G * D → 2 * users * tokens * G * D
    The cache is that of one layer. Multiply by n_layers.
new_token_only: stored * G * D + stored * G * D → 2 * users * N * G * D
    Only one token's keys and values are fetched. A step reads those of all `tokens`.
numbers: numbers * itemsize → numbers
    Numbers come back, not bytes. Multiply by itemsize.
always_two: numbers * itemsize → numbers * 2
    Every number has 2 bytes here. Use itemsize.
cache_in_bytes: numbers * itemsize → model["weights"] + 2 * stored * G * D * itemsize
    Only the caches are multiplied by itemsize: brackets are missing around the sum.
weights_in_bytes: numbers * itemsize → model["weights"] * itemsize + 2 * stored * G * D
    Only the weights are multiplied by itemsize: brackets are missing around the sum.
exchanged: return flops, numbers * itemsize → return numbers * itemsize, flops ; flops, moved = → moved, flops =
    The two results are exchanged: (FLOPs, bytes).
sum: (fetching + computing + abs(fetching - computing)) / 2 → fetching + computing
    The two times are added. Fetching and computing overlap: the slower one decides.
fastest: (fetching + computing + abs(fetching - computing)) / 2 → min(fetching, computing)
    The faster of the two times comes back. A step is done when both are: max.
fetching_alone: (fetching + computing + abs(fetching - computing)) / 2 → fetching
    Only fetching takes time here. With many users computing takes longer.
computing_alone: (fetching + computing + abs(fetching - computing)) / 2 → computing
    Only computing takes time here. With few users fetching takes longer.
rates_exchanged: moved / bandwidth, flops / peak → moved / peak, flops / bandwidth
    The rates are exchanged: bytes belong to bandwidth, FLOPs to peak.
itemsize_dropped: cost_by_parts(model, users, tokens, itemsize) → cost_by_parts(model, users, tokens)
    step_seconds drops itemsize. Hand it on to step_cost.
""",
    ),
    Mutant(
        "kept_without_model",
        (step_cost, _kept()),
        "A second model gets the seconds of the first: results are kept, and found again without looking at the model.",
    ),
    *changes(
        (cost_by_parts, seconds_by_difference),
        """
milliseconds: return (fetching → return 1e3 * (fetching
    Milliseconds come back. The name says seconds.
""",
    ),
]

EXERCISE = Exercise(
    id="serve.step_seconds",
    title="A decoding step of a whole model",
    points=3,
    difficulty=3,
    minutes=12,
    reference=(step_cost, step_seconds),
    alternatives=[(cost_by_parts, seconds_by_difference)],
    cases=[
        Case(
            "by hand",
            "100 weights, 2 heads of 4 that share keys, 3 users on 5 tokens: 1,080 FLOPs, 220 numbers, 440 bytes",
            lambda g: call(SMALL, 3, 5),
        ),
        Case(
            "four bytes",
            "the same step in float32: 880 bytes",
            lambda g: call(SMALL, 3, 5, itemsize=4),
        ),
        Case("no cache", "one user and no token yet: weights alone", lambda g: call(draw_model(g), 1, 0)),
        Case("costs", "three random models and batches", lambda g: several(3, lambda p: _costs(g, p)), weight=2),
        Case(
            "costs, other sizes",
            "two more, with 4 bytes and with 1 byte per number",
            lambda g: several(2, lambda p: _costs(g, p, itemsize=4 if len(p.steps) else 1)),
        ),
        Case(
            "fetching rules",
            "one user: three random models and chips",
            lambda g: several(3, lambda p: _seconds(g, p, 1, g.integer(1000, 9000))),
            weight=2,
        ),
        Case(
            "computing rules",
            "2,000 users with 2 tokens each: three random models and chips",
            lambda g: several(3, lambda p: _seconds(g, p, 2000 + g.integer(0, 99), 2)),
            weight=2,
        ),
        Case(
            "one byte",
            "weights and caches in one byte per number, long texts: two models on the same chip",
            _two_models,
        ),
    ],
    mutants=MISTAKES,
)
