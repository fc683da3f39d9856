"""LayerNorm as geometry, for tokens of three numbers: a projection on a plane, then a step onto a circle in it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

UP = torch.ones(3) / 3**0.5  # the direction that subtracting the mean removes
ACROSS = torch.tensor([1.0, -1.0, 0.0]) / 2**0.5
ALONG = torch.tensor([1.0, 1.0, -2.0]) / 6**0.5


def tokens(count: int = 10, seed: int = 2) -> Tensor:
    """(count, 3) tokens, drawn around (1, 1.5, 2)."""
    drawn = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))
    return torch.tensor([1.0, 1.5, 2.0]) + 1.5 * drawn


def seen(x: Tensor) -> Tensor:
    """Coordinates (..., 3) of x (..., 3): two in the plane whose vectors have mean 0, and the height above it."""
    return torch.stack([x @ ACROSS, x @ ALONG, x @ UP], dim=-1)


def draw(norm: Callable[[Tensor], Tensor]) -> None:
    """Draws tokens before and after ``norm`` ((..., 3) → the same), from the side and from above. Call it in its own
    cell."""
    import matplotlib.pyplot as plt

    x = tokens()
    before, centered, after = (seen(t) for t in (x, x - x.mean(-1, keepdim=True), norm(x).detach()))
    figure, (side, above) = plt.subplots(1, 2, figsize=(8, 3.8))
    thin: dict[str, Any] = {"color": "gray", "ls": "-", "lw": 1, "zorder": 1}
    for a, b, c in zip(before, centered, after, strict=True):
        side.plot([a[0], b[0]], [a[2], b[2]], **thin)
        above.plot([b[0], c[0]], [b[1], c[1]], **thin)
    turn = torch.linspace(0, 2 * torch.pi, 200)
    side.axhline(0, **thin | {"ls": "--"})
    above.plot(3**0.5 * turn.cos(), 3**0.5 * turn.sin(), **thin | {"ls": "--"})
    side.scatter(before[:, 0], before[:, 2], color="C0", marker="o", label="token")
    for panel, height in ((side, 2), (above, 1)):
        panel.scatter(centered[:, 0], centered[:, height], color="C1", marker="s", label="mean subtracted")
    normed = above.scatter(after[:, 0], after[:, 1], color="C2", marker="^")
    side.set(title="from the side: onto the plane of mean 0", xlabel="in the plane", ylabel="height above it")
    above.set(title="from above: onto a circle of radius √3", xlabel="in the plane", aspect="equal")
    (token, middle), words = side.get_legend_handles_labels()
    shown = [token, middle, normed]
    figure.legend(shown, [*words, "after the norm"], loc="lower center", ncols=3, bbox_to_anchor=(0.5, -0.08))
    figure.tight_layout()
