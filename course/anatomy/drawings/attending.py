"""Draws one query's way through attention with all its numbers."""

from collections.abc import Sequence

from torch import Tensor

from .sheet import Box, Drawing, Panel, Point, width_of

RISE = 30.0


def one_query(
    query: Tensor, keys: Tensor, values: Tensor, tokens: Sequence[str], scores: Tensor, weights: Tensor, output: Tensor
) -> Drawing:
    """Draws one query, its scores with each key, the weights and the mix of values; the numbers are the caller's.

    Args:
        query: (D,). keys: (T, D). values: (T, D_v). tokens: T names. scores, weights: (T,). output: (D_v,).

    Raises:
        ValueError: there is not one token, score and weight for each key.
    """
    T = len(keys)
    if not len(values) == len(tokens) == len(scores) == len(weights) == T:
        raise ValueError(f"{T} keys need {T} values, tokens, scores and weights")
    words = [f"output {_vector(v)}" for v in (query, output, *keys, *values)] + [f"score {s:.2f}" for s in scores]
    column = max(map(width_of, [*words, *tokens])) + 22
    panel = Panel(f"One query and {T} keys", width=30 + column * T)
    xs = [15 + column * (i + 0.5) for i in range(T)]
    middle = sum(xs) / T
    q = panel.box(middle, 0, f"query {_vector(query)}", "norm")
    level = q.top[1] + 16
    rows = []
    for i, x in enumerate(xs):
        key = panel.box(x, level + 18, f"{tokens[i]}\nkey {_vector(keys[i])}", "part", column - 8, up=True)
        panel.wire(*([q.top] if x == middle else [q.top, (middle, level), (x, level)]), key.bottom)
        share = panel.box(x, key.top[1] + RISE, f"{weights[i]:.2f}", "mix", 56, up=True)
        panel.rise(key, share, f"score {scores[i]:.2f}")
        value = panel.box(x, share.top[1] + RISE, f"value {_vector(values[i])}", "part", column - 8, up=True)
        panel.rise(share, value, "times")
        rows.append(value)
    plus = panel.sum(middle, rows[0].top[1] + 36)
    for value in rows:
        ends = [value.top, plus.bottom] if value.x == middle else [value.top, (value.x, plus.y), _side(plus, value.x)]
        panel.wire(*ends)
    out = panel.box(middle, plus.top[1] + 22, f"output {_vector(output)}", "norm", up=True)
    panel.rise(plus, out)
    parts = "; ".join(
        f"{name}: key {_vector(k)}, score {score:.2f}, weight {weight:.2f}, value {_vector(v)}"
        for name, k, v, score, weight in zip(tokens, keys, values, scores, weights, strict=True)
    )
    panel.says = f"From bottom to top: the query {_vector(query)} meets {T} keys. {parts}. Output {_vector(output)}."
    return Drawing("One query, with numbers", panel.says, (panel,))


def _vector(v: Tensor) -> str:
    return f"({', '.join(f'{x:.3g}' for x in v.tolist())})"


def _side(plus: Box, x: float) -> Point:
    return plus.left if x < plus.x else plus.right
