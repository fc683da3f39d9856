"""Draws the path of a token through a decoder: from ids to the next token."""

from collections.abc import Mapping

from ..models.config import Config
from .sheet import Box, Drawing, Panel, width_of
from .sizes import NORMS, complete, positive, shape

MIDDLE, WIDE, GAP = 112.0, 176.0, 30.0
SIDE, RAIL = 216.0, 348.0


def token_path(
    c: Config, batch: int | str = "B", length: int | str = "T", met: Mapping[str, str] | None = None
) -> Drawing:
    """Draws the path from ids to the next token: embedding, blocks, norm, unembedding, softmax; and back to the start.

    Args:
        c: a decoder's configuration. batch, length: numbers, or letters.
        met: notes next to the stations, by name: embedding, positions, blocks, norm, head, softmax, choice.

    Raises:
        ValueError: the model is not a decoder, a size is wrong, or ``met`` has an unknown station.
    """
    c = complete(c)
    if c["kind"] != "decoder":
        raise ValueError(f"the path to a next token leads through a decoder, not an {c['kind']}")
    for name, value in (("batch", batch), ("length", length)):
        if not isinstance(value, str):
            positive(name, value)
    panel = Panel(f"The path of a token, d_model = {c['d_model']}")
    x, last = shape(batch, length, c["d_model"]), shape(batch, c["vocab"])
    stations = _stations(c)
    names = [name for name, _, _ in stations]
    for name in met or {}:
        if name not in names:
            raise ValueError(f"no station is named {name!r}; there are {', '.join(names)}")
    shapes = {name: x for name in names}
    shapes |= {"embedding": shape(batch, length), "softmax": last, "choice": last}
    ids = f"ids {shapes['embedding']}"
    panel.label(MIDDLE, 0, ids)
    below: Box | None = None
    for name, text, kind in stations:
        at = (below.top[1] if below else 8) + (GAP if below else 20)
        box = panel.box(MIDDLE, at, text, kind, width=WIDE, up=True)
        if below is None:
            panel.wire((MIDDLE, 8), box.bottom)
        else:
            panel.rise(below, box, shapes[name])
        if name in (met or {}):
            panel.label(SIDE, box.y, (met or {})[name], "note", "start")
        below = box
    assert below is not None
    top = below.top[1] + 26
    panel.wire(below.top, (MIDDLE, top), (RAIL, top), (RAIL, 0), (MIDDLE + width_of(ids) / 2 + 4, 0))
    panel.label((MIDDLE + RAIL) / 2 + 8, top, f"ids {shape(batch, 1)}, joined to the text")
    panel.says = (
        f"From bottom to top: ids {shapes['embedding']}, "
        + ", ".join(text.replace("\n", " ") for _, text, _ in stations)
        + f". The stream is {x}; the last word’s logits are {last}. The chosen id is joined to the text, and the path "
        "begins again."
    )
    return Drawing("The path of a token", panel.says, (panel,))


def _stations(c: Config) -> list[tuple[str, str, str]]:
    """(name, text, kind) from the bottom up."""
    width = f" of {c['d_embedding']}" if c["d_embedding"] != c["d_model"] else ""
    found = [("embedding", f"embedding: {c['vocab']} rows{width}", "part")]
    if c["position"] in ("learned", "sinusoidal"):
        found.append(("positions", f"+ {c['position']} positions", "part"))
    layers = f"{c['n_layers']} block{'s' * (c['n_layers'] > 1)}"
    found.append(("blocks", f"{layers}:\nattention, feed-forward", "mix"))
    if c["placement"] != "post":
        found.append(("norm", f"final {NORMS[c['norm']]}", "norm"))
    head = "embedding, transposed" if c["tied"] else "a matrix of its own"
    found.append(("head", f"last word, unembedding:\n{head}", "part"))
    return [*found, ("softmax", "softmax: probabilities", "part"), ("choice", "choose one token", "ffn")]
