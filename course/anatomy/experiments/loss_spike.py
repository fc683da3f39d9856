"""A loss that has nearly reached 0 jumps up again: a small model at a high learning rate, and what stops it.

The task is copying: name the token that stood two places back. Sixteen tokens, so a model that has learned nothing
has loss ln 16 = 2.77, and one that has learned the rule can come as near to 0 as it likes. Adam, no decay.
"""

import json
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from ..records import MissingRecording, assets_dir

VOCABULARY, BACK = 16, 2
LEARNED = 0.1  # a loss below this counts as "the rule is learned"; being above it later counts as a spike


@dataclass(frozen=True)
class Setting:
    """Size of the model and length of its training."""

    d_model: int = 32
    heads: int = 2
    layers: int = 3
    length: int = 16
    batch: int = 32
    steps: int = 200
    rate: float = 6e-2


LAPTOP = Setting()
LARGE = Setting(d_model=128, heads=4, layers=6, length=64, batch=64, steps=1000, rate=3e-2)


@dataclass(frozen=True)
class Remedy:
    """What is changed against the plain run; the defaults change nothing.

    slower: divides the learning rate. warmup: steps until the full rate. clip: limit of the gradient's norm.
    qk_norm: normalize queries and keys. score_cap, logit_cap: soft caps of attention scores and of output logits.
    z: coefficient of the z-loss.
    """

    slower: float = 1.0
    warmup: int = 0
    clip: float | None = None
    qk_norm: bool = False
    score_cap: float | None = None
    logit_cap: float | None = None
    z: float = 0.0


REMEDIES = {
    "none": Remedy(),
    "a sixth of the rate": Remedy(slower=6.0),
    "warm-up": Remedy(warmup=60),
    "gradient clipping": Remedy(clip=0.1),
    "QK-norm": Remedy(qk_norm=True),
    "soft cap on scores": Remedy(score_cap=30.0),
    "soft cap on logits": Remedy(logit_cap=15.0),
    "z-loss": Remedy(z=1e-2),
}


class Block(nn.Module):
    """Pre-LN block of causal attention and a GELU layer. ``peak``: largest |score| of the last pass, before a cap."""

    def __init__(self, functions, setting, remedy):
        super().__init__()
        d = setting.d_model
        self.functions, self.heads, self.remedy, self.peak = functions, setting.heads, remedy, 0.0
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(d) for _ in range(2))
        self.gains = nn.ParameterList(torch.ones(d // setting.heads) for _ in range(2))

    def forward(self, x):  # (B, T, d_model)
        x = x + self.out(self.attention(self.norms[0](x)))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))

    def attention(self, x):
        """(B, T, d_model) → (B, T, d_model), heads side by side."""
        B, T, d = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        if self.remedy.qk_norm:
            q, k = self.functions["qk_norm"](q, k, *self.gains)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        self.peak = scores.detach().abs().max()
        if self.remedy.score_cap:
            scores = self.functions["soft_cap"](scores, self.remedy.score_cap)
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -math.inf).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(B, T, d)


class Copier(nn.Module):
    """(B, T) int64 → logits (B, T, 16)."""

    def __init__(self, functions, setting, remedy):
        super().__init__()
        self.functions, self.remedy = functions, remedy
        self.tokens = nn.Embedding(VOCABULARY, setting.d_model)
        self.places = nn.Embedding(setting.length, setting.d_model)
        self.layers = nn.ModuleList(Block(functions, setting, remedy) for _ in range(setting.layers))
        self.norm = nn.RMSNorm(setting.d_model)
        self.head = nn.Linear(setting.d_model, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        logits = self.head(self.norm(x))
        return self.functions["soft_cap"](logits, self.remedy.logit_cap) if self.remedy.logit_cap else logits


def train(functions, remedy=REMEDIES["none"], seed=0, setting=LAPTOP, device="cpu"):
    """Trains one model; the same seed gives every remedy the same first weights and batches.

    functions: dict with ``qk_norm(q, k, q_gain, k_gain)``, ``soft_cap(x, cap)``, ``z_loss(logits, coefficient)`` and
    ``clip_by_global_norm(gradients, limit) → (gradients, norm)``; a run calls only those that its remedy needs.

    Returns:
        dict of three lists, one number per step: ``loss`` (cross-entropy in nats, the z-loss left out), ``score``
        (largest |attention score|) and ``log_z`` (largest |log Σ exp(logits)|).
    """
    torch.manual_seed(seed)
    model = Copier(functions, setting, remedy).to(device)
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1.0)
    generator, curves = torch.Generator().manual_seed(seed), {"loss": [], "score": [], "log_z": []}
    for step in range(setting.steps):
        warm = min(1.0, (step + 1) / (remedy.warmup + 1))
        optimizer.param_groups[0]["lr"] = setting.rate / remedy.slower * warm
        ids = torch.randint(0, VOCABULARY, (setting.batch, setting.length), generator=generator).to(device)
        logits = model(ids)[:, BACK:]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, :-BACK].flatten())
        optimizer.zero_grad()
        (loss + functions["z_loss"](logits, remedy.z) if remedy.z else loss).backward()
        if remedy.clip:
            used = [p for p in parameters if p.grad is not None]
            for p, g in zip(used, functions["clip_by_global_norm"]([p.grad for p in used], remedy.clip)[0],
                            strict=True):
                p.grad = g
        optimizer.step()
        curves["loss"].append(loss.item())
        curves["score"].append(float(max(layer.peak for layer in model.layers)))
        curves["log_z"].append(logits.detach().logsumexp(-1).abs().max().item())
    return curves


def after_learning(losses):
    """The losses from the first one below 0.1 on; none if it never got there."""
    first = next((i for i, v in enumerate(losses) if v < LEARNED), len(losses))
    return losses[first:]


def worst(losses):
    """The largest loss after the rule was learned, in nats; nan if it never was."""
    return max(after_learning(losses), default=math.nan)


def share_spiking(losses):
    """Share of the steps after the rule was learned whose loss is above 0.1 again; nan if it never was."""
    rest = after_learning(losses)
    return sum(v > LEARNED for v in rest) / len(rest) if rest else math.nan


def recorded():
    """Recorded runs.

    Returns:
        dict with ``rows`` (each with remedy, seed and the lists loss (every step), score and log_z (every tenth)),
        ``setting`` and ``made`` (device, torch, date, command).

    Raises:
        MissingRecording: the file is not there.
    """
    path = assets_dir() / "experiments" / "loss_spike.json"
    if not path.exists():
        raise MissingRecording(f"{path.name} is missing in {path.parent}: unpack the course again.")
    data = json.loads(path.read_text(encoding="utf-8"))
    for row in data["rows"]:
        row.update({k: [float(v) for v in row[k].split()] for k in ("loss", "score", "log_z")})
    return data
