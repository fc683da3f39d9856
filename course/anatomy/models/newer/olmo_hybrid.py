"""OLMo hybrid: three layers with a gated delta rule, with norms before the sublayers, then one of attention like OLMo
2's, with norms inside. Released models rotate nothing: the states know the order.

Sources: OLMo Team (the configuration and code published with OLMo Hybrid); OLMo 2, arXiv:2501.00656; rates up to 2,
Grazzi et al. 2024, arXiv:2411.12537; gated delta rule, arXiv:2412.06464.
"""

import re
from typing import Any

import torch
from torch import Tensor, nn

from .. import names
from ..config import Config
from ..names import State
from ..released import Theirs, UnknownFamily, decoder_like
from .family import Newer, Own
from .hybrid import FULL, HYBRID_PARTS, STATE, StateLayer, hybrid, state_configuration

PARTS = {**HYBRID_PARTS}
RULES = [
    (rf"{names.LAYER}\.linear_attn\.conv1d\.(.*)", r"blocks.\1.attention.conv.\2"),
    (rf"{names.LAYER}\.linear_attn\.o_norm\.(.*)", r"blocks.\1.attention.out_norm.\2"),
    (rf"{names.LAYER}\.linear_attn\.A_log", r"blocks.\1.attention.decay_log"),
    (rf"{names.LAYER}\.linear_attn\.dt_bias", r"blocks.\1.attention.decay_bias"),
    (rf"{names.LAYER}\.linear_attn\.(.*)", r"blocks.\1.attention.\2"),
    *names.DECODER,
    *names.INSIDE,
    *names.norms(input_layernorm="attention_norm", pre_feedforward_layernorm="ffn_norm"),
]
PLACEMENT = {FULL: "inside", STATE: "pre"}


def _configuration(theirs: Theirs) -> Config:
    """Adds those of ``state_configuration`` to unit 11's keys."""
    if theirs["attention_bias"]:
        raise UnknownFamily("the attention of this hybrid has no biases")
    is_rotated = (theirs.get("rope_parameters") or {}).get("rope_theta") is not None
    c = decoder_like(theirs, qk_norm="whole", position="rope" if is_rotated else "none")
    # A rate above 1 writes more than the difference, so that a memory can turn into its opposite.
    rate = 2.0 if theirs["linear_allow_neg_eigval"] else 1.0
    return c | state_configuration(theirs, rate, eps=1e-5)


class OlmoState(StateLayer):
    """One projection each for queries, keys, values, gate, decay (a) and rate (b)."""

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__(c, own)
        linear = lambda n: nn.Linear(c["d_model"], n, bias=False)
        self.q_proj, self.k_proj, self.v_proj = (linear(n) for n in self.sizes)
        self.g_proj, self.a_proj, self.b_proj = (linear(n) for n in (self.sizes[2], *[c["state_heads"]] * 2))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        mixed = torch.cat([self.q_proj(x), self.k_proj(x), self.v_proj(x)], dim=-1)
        gate = self.g_proj(x).unflatten(-1, (self.c["state_heads"], -1))
        return mixed, gate, self.b_proj(x), self.a_proj(x)


def _attention(own: Own) -> type[nn.Module]:
    class NormedLayer(own.Attention):
        """The learner's attention layer, with one norm over all heads of a token's queries and one for its keys."""

        def __init__(self, c: Config) -> None:
            super().__init__(c)
            self.q_norm = own.RMSNorm(c["n_heads"] * c["head_dim"], c["eps"])
            self.k_norm = own.RMSNorm(c["n_kv_heads"] * c["head_dim"], c["eps"])

        def prepare(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
            return super().prepare(_over_heads(self.q_norm, q), _over_heads(self.k_norm, k), positions)

    return NormedLayer


def _over_heads(norm: nn.Module, x: Tensor) -> Tensor:
    """norm of all heads of a token at once: x (B, H, T, D) → the same shape."""
    return norm(x.transpose(1, 2).flatten(2)).unflatten(2, (x.shape[1], -1)).transpose(1, 2)


def _build(c: Config, own: Own) -> nn.Module:
    layers: dict[str, Any] = {FULL: _attention(own), STATE: lambda c: OlmoState(c, own)}
    return hybrid(c, own, [own.Block(c | {"placement": PLACEMENT[kind]}, layers[kind]) for kind in c["kinds"]])


def _cut(state: State) -> State:
    """Names of norms, and convolutions in one piece.

    Files have a convolution for each of queries, keys and values, and call the norms of a layer with a state
    ``attention_layer_norm`` and ``feedforward_layer_norm``. In memory the library calls these ``input_layernorm`` and
    ``post_attention_layernorm``, which in the other layers is the norm on attention's result.
    """
    with_state = {name.split(".linear_attn.")[0] for name in state if ".linear_attn." in name}
    renamed: State = {}
    for name, tensor in state.items():
        name = name.replace("attention_layer_norm", "input_layernorm")
        name = name.replace("feedforward_layer_norm", "post_attention_layernorm")
        layer = re.match(names.LAYER, name)
        if layer and layer[0] in with_state:
            name = name.replace("post_attention_layernorm", "pre_feedforward_layernorm")
        renamed[name] = tensor
    for name in [name for name in renamed if name.endswith("q_conv1d.weight")]:
        pieces = [renamed.pop(name.replace("q_conv1d", f"{part}_conv1d")) for part in "qkv"]
        renamed[name.replace("q_conv1d", "conv1d")] = torch.cat(pieces)
    return renamed


FAMILY = Newer(
    title="OLMo hybrid",
    configuration=_configuration,
    rules=RULES,
    cut=_cut,
    parts=PARTS,
    build=_build,
)
