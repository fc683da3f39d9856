"""gpt-oss: a sink in every head, windows in every second layer, YaRN, experts with a clamped gate, and biases.

Source: OpenAI 2025, arXiv:2508.10925.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from .. import names
from ..config import Config
from ..names import State
from ..released import Theirs, UnknownFamily, decoder_like
from .experts import weighted_sum
from .family import Newer, Own

PARTS = {
    "Attention": "assembly.attention",
    "Decoder": "assembly.decoder",
    "repeat_kv": "cache.grouped",
    "rope_frequencies": "rope.rope_frequencies",
    "yarn_temperature": "rope.yarn_frequencies",
    "apply_scaled_rope": "rope.apply_scaled_rope",
    "sink_attention": "gate.sink",
    "route": "experts.route",
}


def _configuration(theirs: Theirs) -> Config:
    """Adds to unit 11's keys: yarn (factor, original length, fast and slow turns), expert_alpha, expert_limit."""
    rope = theirs["rope_parameters"]
    if rope.get("rope_type") != "yarn" or rope.get("truncate", True):
        raise UnknownFamily("gpt-oss stretches its rotary frequencies by YaRN with a ramp that is not rounded")
    length, fast, slow = (rope[key] for key in ("original_max_position_embeddings", "beta_fast", "beta_slow"))
    if length < 2 * math.pi * fast:
        raise UnknownFamily(f"no pair turns {fast} times within {length} positions, so YaRN's ramp begins nowhere")
    kinds = ["sliding_attention" if n % 2 == 0 else "full_attention" for n in range(theirs["num_hidden_layers"])]
    if theirs["layer_types"] != kinds:
        raise UnknownFamily("gpt-oss has windows in every second layer, the first one included")
    c = decoder_like(
        {**theirs, "rope_parameters": {"rope_theta": rope["rope_theta"]}},
        attention_bias=theirs["attention_bias"],
        out_bias=theirs["attention_bias"],
        window=theirs["sliding_window"],
        window_every=2,
        n_experts=theirs["num_local_experts"],
        n_active=theirs["num_experts_per_tok"],
    )
    more: dict[str, Any] = {"yarn": (float(rope["factor"]), length, fast, slow)}
    return c | more | {"expert_alpha": theirs["swiglu_alpha"], "expert_limit": theirs["swiglu_limit"]}


def stretched(frequencies: Tensor, factor: float, length: int, fast: float, slow: float) -> Tensor:
    """YaRN's frequencies (D/2,), for a context ``factor`` times as long as the trained ``length``.

    A pair that turns ``fast`` times or more within the trained length is kept, one that turns ``slow`` times or fewer
    becomes ``factor`` times slower. Between these ends unit 06's ramp is linear in a pair's index, that is, in the
    logarithm of its turns; there it begins and ends at whole pairs, and here where the turns say.
    """
    turns = length * frequencies / (2 * math.pi)
    ramp = (torch.log(fast / turns) / math.log(fast / slow)).clamp(0, 1)
    return frequencies * (1 - ramp) + frequencies / factor * ramp


def _attention(own: Own) -> type[nn.Module]:
    class SinkLayer(own.Attention):
        """The learner's attention layer with one more weight per head; positions and scores are replaced."""

        def __init__(self, c: Config) -> None:
            super().__init__(c)
            self.sinks = nn.Parameter(torch.zeros(c["n_heads"]))
            self.frequencies = stretched(own.rope_frequencies(c["head_dim"], c["base"]), *c["yarn"])
            self.temperature = own.yarn_temperature(c["yarn"][0])

        def prepare(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
            return self.turn(q, positions), self.turn(k, positions)

        def turn(self, x: Tensor, positions: Tensor) -> Tensor:
            """x (B, H, T, D) with pairs (i, i + D/2). They become neighbors and stay so: scores don't mind the order.

            The factor of YaRN is on queries and on keys.
            """
            neighbors = torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)
            return own.apply_scaled_rope(neighbors, positions, self.frequencies, self.temperature)

        def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
            n = q.shape[1] // k.shape[1]
            return own.sink_attention(q, own.repeat_kv(k, n), own.repeat_kv(v, n), self.sinks, mask)

    return SinkLayer


class ClampedExpert(nn.Module):
    """down_proj((up + 1) ⊙ gate ⊙ σ(alpha · gate)), x (..., d_model) → (..., d_model); every matrix has a bias.

    The gate is cut off above ``limit``, the up branch on both sides of ±``limit``.
    """

    def __init__(self, d_model: int, d_ff: int, alpha: float, limit: float) -> None:
        super().__init__()
        self.alpha, self.limit = alpha, limit
        self.gate_proj, self.up_proj = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_proj(x).clamp(max=self.limit), self.up_proj(x).clamp(-self.limit, self.limit)
        return self.down_proj((up + 1) * gate * torch.sigmoid(self.alpha * gate))


class ClampedExperts(nn.Module):
    """The chosen experts of a token by weights that sum to 1. The router has a bias."""

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__()
        self.own, self.n_active = own, c["n_active"]
        sizes = c["d_model"], c["d_ff"], c["expert_alpha"], c["expert_limit"]
        self.router = nn.Linear(c["d_model"], c["n_experts"])
        self.experts = nn.ModuleList(ClampedExpert(*sizes) for _ in range(c["n_experts"]))

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, d_model) → the same shape."""
        tokens = x.flatten(0, 1)
        # Probabilities among all experts, divided by the sum of the chosen ones: a softmax of the chosen logits.
        weights, chosen = self.own.route(self.router(tokens), self.n_active)
        weights = weights / weights.sum(-1, keepdim=True)
        return weighted_sum(tokens, weights, chosen, self.experts).view_as(x)


def _build(c: Config, own: Own) -> nn.Module:
    return own.Decoder(c, _attention(own), lambda c: ClampedExperts(c, own))


def _cut(state: State) -> State:
    """Splits the stacked experts: gate and up are every second column, and matrices lie as (d_in, d_out)."""

    def part(last: str, one: Tensor) -> State:
        kind = "bias" if last.endswith("_bias") else "weight"
        rows = one if kind == "bias" else one.T
        if last.startswith("down_proj"):
            return {f"down_proj.{kind}": rows}
        return {f"gate_proj.{kind}": rows[::2], f"up_proj.{kind}": rows[1::2]}

    return names.unstack_experts(state, part)


FAMILY = Newer(
    title="gpt-oss",
    configuration=_configuration,
    rules=[*names.DECODER, *names.PRE],
    cut=_cut,
    parts=PARTS,
    build=_build,
)
