"""Draws which numbers of a batch share a mean and a variance in the four well-known norms."""

from collections.abc import Callable

from .sheet import Drawing, Panel
from .sizes import divided, positive

SIDE, GAP = 10.0, 5.0
Shares = Callable[[int, int], bool]


def norm_groups(batch: int = 3, channels: int = 4, groups: int = 2) -> Drawing:
    """Draws a batch of feature maps (N, C, H, W) four times: what batch, layer, instance and group norm average over.

    Each small square is one position (H × W = 2 × 2) of one channel of one example. The blue ones share one mean and
    one variance. batch: N. channels: C. groups: number of groups of group norm.

    Raises:
        ValueError: a size is not a positive integer, or groups does not divide channels.
    """
    N, C, g = positive("batch", batch), positive("channels", channels), positive("groups", groups)
    each = divided("channels", C, "groups", g)
    kinds: dict[str, tuple[Shares, str]] = {
        "BatchNorm": (lambda n, c: c == 0, "one channel of all examples"),
        "LayerNorm": (lambda n, c: n == 0, "all channels of one example"),
        "InstanceNorm": (lambda n, c: n == c == 0, "one channel of one example"),
        f"GroupNorm, {g} groups": (
            lambda n, c: n == 0 and c < each,
            f"{each} channel{'s' * (each > 1)} of one example",
        ),
    }
    panels = tuple(_panel(name, N, C, shares, says) for name, (shares, says) in kinds.items())
    alt = f"{N} examples (rows) of {C} channels (columns) with 2 × 2 positions each. " + " ".join(
        p.says for p in panels
    )
    return Drawing("Which numbers are averaged", alt, panels, len(panels))


def _panel(name: str, N: int, C: int, shares: Shares, says: str) -> Panel:
    block = 2 * SIDE + GAP
    panel = Panel(name, f"{name} averages over {says}.", max(176.0, 30 + C * block))
    for n in range(N):
        for c in range(C):
            for i in range(4):
                x, y = 26 + c * block + (i % 2 + 0.5) * SIDE, 22 + (N - 1 - n) * block + (i // 2 + 0.5) * SIDE
                panel.box(x, y, "", "on" if shares(n, c) else "off", SIDE, SIDE)
        panel.label(20, 22 + (N - 1 - n) * block + SIDE, f"{n}", "note", "end")
    panel.label(4, 6, says, "note", "start")
    return panel
