"""FLOPs, bytes and least time of one decoding step of a whole model."""

from typing import Any

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
    stored = users * N * tokens  # places in the caches, over all layers
    flops = 2 * model["weights"] * users + 2 * stored * H * D + 2 * stored * H * D
    numbers = model["weights"] + stored * G * D + stored * G * D
    return flops, numbers * itemsize


def seconds_by_difference(model, users, tokens, bandwidth, peak, itemsize=2):
    """The larger of two is their mean and half their difference."""
    flops, moved = cost_by_parts(model, users, tokens, itemsize)
    fetching, computing = moved / bandwidth, flops / peak
    return (fetching + computing + abs(fetching - computing)) / 2


def _cost(
    flops=lambda W, N, H, G, D, B, S: B * (2 * W + 4 * N * H * D * S),
    numbers=lambda W, N, H, G, D, B, S: W + B * S * 2 * N * G * D,
    size=lambda i: i,
):
    def wrong(model, users, tokens, itemsize=2):
        sizes = (*(model[k] for k in ("weights", "n_layers", "n_heads", "n_kv_heads", "head_dim")), users, tokens)
        return flops(*sizes), size(itemsize) * numbers(*sizes)

    return wrong, _follows(wrong)


def _follows(cost, combine=lambda fetching, computing: max(fetching, computing)):
    def seconds(model, users, tokens, bandwidth, peak, itemsize=2):
        flops, moved = cost(model, users, tokens, itemsize)
        return combine(moved / bandwidth, flops / peak)

    return seconds


def exchanged(model, users, tokens, itemsize=2):
    return step_cost(model, users, tokens, itemsize)[::-1]


def rates_exchanged(model, users, tokens, bandwidth, peak, itemsize=2):
    flops, moved = step_cost(model, users, tokens, itemsize)
    return max(moved / peak, flops / bandwidth)


def two_bytes(model, users, tokens, bandwidth, peak, itemsize=2):
    flops, moved = step_cost(model, users, tokens)
    return max(moved / bandwidth, flops / peak)


def part_in_bytes(model, users, tokens, itemsize=2):
    flops, _ = step_cost(model, users, tokens, itemsize)
    cache = users * tokens * 2 * model["n_layers"] * model["n_kv_heads"] * model["head_dim"]
    return flops, model["weights"] + cache * itemsize


def weights_in_bytes(model, users, tokens, itemsize=2):
    flops, _ = step_cost(model, users, tokens, itemsize)
    cache = users * tokens * 2 * model["n_layers"] * model["n_kv_heads"] * model["head_dim"]
    return flops, model["weights"] * itemsize + cache


def _kept():
    """A dictionary of results that forgets to ask which model it was."""
    known = {}

    def seconds(model, *rest, **more):
        key = *rest, *more.items()
        if key not in known:
            known[key] = step_seconds(model, *rest, **more)
        return known[key]

    return seconds


SC, SS = step_cost, step_seconds
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


EXERCISE = Exercise(
    id="serve.step_seconds",
    title="A decoding step of a whole model",
    points=3,
    difficulty=3,
    minutes=12,
    signature="step_cost(model, users, tokens, itemsize=2)",
    targets=("step_cost", "step_seconds"),
    reference=(SC, SS),
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
    mutants=[
        Mutant(
            "half_flops",
            _cost(flops=lambda W, N, H, G, D, B, S: B * (W + 2 * N * H * D * S)),
            "Half of the FLOPs are missing: a multiplication and an addition count 2.",
        ),
        Mutant(
            "one_user_flops",
            _cost(flops=lambda W, N, H, G, D, B, S: 2 * W + 4 * N * H * D * S),
            "The FLOPs are those of one user. The weights are fetched once, but every user's token is multiplied by "
            "them.",
        ),
        Mutant(
            "matrices_only",
            _cost(flops=lambda W, N, H, G, D, B, S: 2 * B * W),
            "The FLOPs of attention are missing: 4 · n_heads · head_dim per layer and cached token.",
        ),
        Mutant(
            "attention_only",
            _cost(flops=lambda W, N, H, G, D, B, S: 4 * B * N * H * D * S),
            "The FLOPs of the matrices are missing: 2 per weight and user.",
        ),
        Mutant(
            "scores_only",
            _cost(flops=lambda W, N, H, G, D, B, S: B * (2 * W + 2 * N * H * D * S)),
            "Attention makes two products, scores and weighted sum; one of them is missing from the FLOPs.",
        ),
        Mutant(
            "grouped_flops",
            _cost(flops=lambda W, N, H, G, D, B, S: B * (2 * W + 4 * N * G * D * S)),
            "Attention's FLOPs are counted for n_kv_heads. All n_heads compute: sharing keys saves bytes, not FLOPs.",
        ),
        Mutant(
            "one_layer_flops",
            _cost(flops=lambda W, N, H, G, D, B, S: B * (2 * W + 4 * H * D * S)),
            "Attention's FLOPs are those of one layer. Multiply by n_layers.",
        ),
        Mutant(
            "weights_per_user",
            _cost(numbers=lambda W, N, H, G, D, B, S: B * (W + S * 2 * N * G * D)),
            "The weights are fetched anew for each user. They are fetched once a step, for all.",
        ),
        Mutant(
            "one_cache",
            _cost(numbers=lambda W, N, H, G, D, B, S: W + S * 2 * N * G * D),
            "One user's cache is fetched. Each user has one of their own.",
        ),
        Mutant(
            "no_cache",
            _cost(numbers=lambda W, N, H, G, D, B, S: W),
            "The caches are missing from the bytes. A step reads all keys and values of every user.",
        ),
        Mutant(
            "no_weights",
            _cost(numbers=lambda W, N, H, G, D, B, S: B * S * 2 * N * G * D),
            "The weights are missing from the bytes.",
        ),
        Mutant(
            "all_heads",
            _cost(numbers=lambda W, N, H, G, D, B, S: W + B * S * 2 * N * H * D),
            "The cache is counted with n_heads. Only n_kv_heads are stored.",
        ),
        Mutant(
            "keys_only",
            _cost(numbers=lambda W, N, H, G, D, B, S: W + B * S * N * G * D),
            "Keys or values are missing from the bytes: both are read.",
        ),
        Mutant(
            "one_layer_cache",
            _cost(numbers=lambda W, N, H, G, D, B, S: W + B * S * 2 * G * D),
            "The cache is that of one layer. Multiply by n_layers.",
        ),
        Mutant(
            "new_token_only",
            _cost(numbers=lambda W, N, H, G, D, B, S: W + B * 2 * N * G * D),
            "Only one token's keys and values are fetched. A step reads those of all `tokens`.",
        ),
        Mutant("numbers", _cost(size=lambda i: 1), "Numbers come back, not bytes. Multiply by itemsize."),
        Mutant("always_two", _cost(size=lambda i: 2), "Every number has 2 bytes here. Use itemsize."),
        Mutant(
            "cache_in_bytes",
            (part_in_bytes, _follows(part_in_bytes)),
            "Only the caches are multiplied by itemsize: brackets are missing around the sum.",
        ),
        Mutant(
            "weights_in_bytes",
            (weights_in_bytes, _follows(weights_in_bytes)),
            "Only the weights are multiplied by itemsize: brackets are missing around the sum.",
        ),
        Mutant("exchanged", (exchanged, SS), "The two results are exchanged: (FLOPs, bytes)."),
        Mutant(
            "sum",
            (SC, _follows(step_cost, lambda a, b: a + b)),
            "The two times are added. Fetching and computing overlap: the slower one decides.",
        ),
        Mutant(
            "fastest",
            (SC, _follows(step_cost, lambda a, b: min(a, b))),
            "The faster of the two times comes back. A step is done when both are: max.",
        ),
        Mutant(
            "fetching_alone",
            (SC, _follows(step_cost, lambda a, b: a)),
            "Only fetching takes time here. With many users computing takes longer.",
        ),
        Mutant(
            "computing_alone",
            (SC, _follows(step_cost, lambda a, b: b)),
            "Only computing takes time here. With few users fetching takes longer.",
        ),
        Mutant(
            "rates_exchanged",
            (SC, rates_exchanged),
            "The rates are exchanged: bytes belong to bandwidth, FLOPs to peak.",
        ),
        Mutant(
            "itemsize_dropped",
            (SC, two_bytes),
            "step_seconds drops itemsize. Hand it on to step_cost.",
        ),
        Mutant(
            "kept_without_model",
            (SC, _kept()),
            "A second model gets the seconds of the first: results are kept, and found again without looking at the "
            "model.",
        ),
        Mutant(
            "milliseconds",
            (SC, _follows(step_cost, lambda a, b: 1e3 * max(a, b))),
            "Milliseconds come back. The name says seconds.",
        ),
    ],
)
