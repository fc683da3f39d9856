"""One block: attention and feed-forward layer, with the norms in their places."""

from collections.abc import Callable

from torch import Tensor, nn

from autograder.reference.assembly.attention import Attention, Pair
from autograder.reference.assembly.pieces import Config, make_ffn, make_norm
from autograder.reference.residual import norm_inside, post_ln, pre_ln, sandwich

Make = Callable[[Config], nn.Module]

WIRINGS: dict[str, Callable[..., Tensor]] = {
    "pre": pre_ln,
    "post": post_ln,
    "inside": norm_inside,
    "both": sandwich,
}


class Block(nn.Module):
    """Two sublayers on the residual stream.

    ``attention`` and ``ffn`` make the sublayers from the configuration. Norms are named attention_norm and ffn_norm;
    if the placement is ``both``, attention_norm_in, attention_norm_out, ffn_norm_in and ffn_norm_out.
    """

    def __init__(self, c: Config, attention: Make = Attention, ffn: Make = make_ffn):
        super().__init__()
        self.attention, self.ffn = attention(c), ffn(c)
        self.wiring = WIRINGS[c["placement"]]
        self.ends = ("norm_in", "norm_out") if c["placement"] == "both" else ("norm",)
        for sublayer in ("attention", "ffn"):
            for end in self.ends:
                self.add_module(f"{sublayer}_{end}", make_norm(c))

    def norms(self, sublayer: str) -> list[nn.Module]:
        """The norms around ``attention`` or ``ffn``, in the order of the wiring's arguments."""
        return [self.get_submodule(f"{sublayer}_{end}") for end in self.ends]

    def forward(
        self, x: Tensor, mask: Tensor | None = None, positions: Tensor | None = None, past: Pair | None = None
    ) -> tuple[Tensor, Pair]:
        """Arguments and result as in Attention."""
        stored: list[Pair] = []

        def attention(y: Tensor) -> Tensor:
            out, pair = self.attention(y, mask, positions, past)
            stored.append(pair)
            return out

        x = self.wiring(x, attention, *self.norms("attention"))
        return self.wiring(x, self.ffn, *self.norms("ffn")), stored[0]
