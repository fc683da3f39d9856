"""Draws a loader's rule: which name in a checkpoint becomes which name in one's own model."""

from collections.abc import Mapping

from ..system.translation import _
from .sheet import Drawing, Panel, width_of

ROW = 34.0


def renaming(pairs: Mapping[str, str | None]) -> Drawing:
    """Draws names side by side, theirs on the left and ours on the right; a name without a partner is left out.

    pairs: their name → our name, or None for a name that is left out.

    Raises:
        ValueError: there are no names.
    """
    if not pairs:
        raise ValueError("a picture of names takes at least one name")
    theirs = max(map(width_of, pairs)) + 14
    ours = max(width_of(name or "left out") for name in pairs.values()) + 14
    panel = Panel("their name → our name", width=theirs + ours + 78)
    for i, (name, mine) in enumerate(pairs.items()):
        y = -ROW * i
        left = panel.box(6 + theirs / 2, y, name, "part", theirs)
        right = panel.box(6 + theirs + 60 + ours / 2, y, mine or "left out", "norm" if mine else "frame", ours)
        panel.wire(left.right, right.left)
    becomes, left_out = _("{name} becomes {mine}"), _("{name} is left out")
    told = ((becomes if mine else left_out).format(name=name, mine=mine) for name, mine in pairs.items())
    panel.says = _("{sentence}.").format(sentence="; ".join(told))
    return Drawing("Names to names", panel.says, (panel,))
