"""A training run that breaks at a high learning rate, and its remedies, all of them the learner's own functions.

A small causal language model must name the token two positions back. There are sixteen tokens, so a model that has
learned nothing has loss ln 16 = 2.77; one that has learned the rule can come arbitrarily close to 0. The learning
rate climbs to its peak over the first steps. The setting follows Wortsman et al. 2023, arXiv:2309.14322.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Recorded, one_thread

VOCABULARY, BACK = 16, 2
EMBEDDINGS = ["tokens.weight", "places.weight"]
LEARNED = 0.1  # a loss below this counts as "the rule is learned"; being above it later counts as a spike
QKNorm = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Cap = Callable[[Tensor], Tensor]
Groups = list[dict[str, Any]]  # as AdamW takes them, with names instead of parameters
CURVES = ("loss", "score", "log_z", "gradient", "gain")


@dataclass(frozen=True)
class Setting:
    """Size of the model and length of its training. ``climb``: steps until the full rate."""

    d_model: int = 32
    heads: int = 2
    layers: int = 2
    length: int = 24
    batch: int = 16
    steps: int = 160
    rate: float = 0.1
    climb: int = 60


LAPTOP = Setting()
LARGE = Setting(d_model=128, heads=4, layers=6, length=64, batch=64, steps=1000, rate=3e-2, climb=200)


def remedies(
    qk_norm: QKNorm,
    soft_cap: Callable[[Tensor, float], Tensor],
    z_loss: Callable[[Tensor, float], Tensor],
    parameter_groups: Callable[[dict[str, list[int]], list[str], float], Groups],
    clip_by_global_norm: Callable[[list[Tensor], float], tuple[list[Tensor], Tensor]],
) -> dict[str, dict[str, Any]]:
    """Remedies to compare: name → keyword arguments of ``train``.

    The arguments are the functions that the learner has written: qk_norm(q, k, q_gain, k_gain) → (q, k); soft_cap(x,
    cap) → x; z_loss(logits, coefficient) → scalar; parameter_groups(shapes, embeddings, weight_decay) → two groups;
    clip_by_global_norm(gradients, limit) → (gradients, length).
    """
    return {
        "nothing": {},
        "a tenth of the rate": {"slower": 10},
        "QK-norm": {"qk_norm": qk_norm},
        "soft cap on scores": {"score_cap": lambda scores: soft_cap(scores, 30.0)},
        "decay on matrices": {"decay": lambda shapes: parameter_groups(shapes, EMBEDDINGS, 0.3)},
        "decay on gains too": {"decay": _matrices_and_gains},
        "clipping": {"clip": lambda gradients: clip_by_global_norm(gradients, 0.05)},
        "z-loss": {"extra_loss": lambda logits: z_loss(logits, 1e-2)},
        "soft cap on logits": {"logit_cap": lambda logits: soft_cap(logits, 15.0)},
    }


def _matrices_and_gains(shapes):
    free = {name for name in shapes if name in EMBEDDINGS or name.endswith("bias")}
    return [
        {"params": [name for name in shapes if name not in free], "weight_decay": 0.3},
        {"params": [name for name in shapes if name in free], "weight_decay": 0.0},
    ]


class Block(nn.Module):
    """Pre-LN block of causal attention and a GELU layer. ``largest``: largest |score| of the last pass, uncapped."""

    def __init__(self, setting: Setting, qk_norm: QKNorm | None, score_cap: Cap | None):
        super().__init__()
        d = setting.d_model
        self.heads, self.qk_norm, self.score_cap = setting.heads, qk_norm, score_cap
        self.largest = torch.zeros(())
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(4))
        self.ffn = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.gains = nn.ParameterList(torch.ones(d // setting.heads) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:  # (B, T, d_model)
        x = x + self.attention(self.norms[0](x))
        return x + self.ffn(self.norms[1](x))

    def attention(self, h: Tensor) -> Tensor:
        """(B, T, d_model) → (B, T, d_model)."""
        q, k, v = (p(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.projections[:3])
        if self.qk_norm:
            q, k = self.qk_norm(q, k, *self.gains)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, H, T, T)
        self.largest = scores.detach().abs().max()
        if self.score_cap:
            scores = self.score_cap(scores)
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=h.device).triu(1)
        weights = scores.masked_fill(future, -math.inf).softmax(-1)
        return self.projections[3]((weights @ v).transpose(1, 2).flatten(2))


class Copier(nn.Module):
    """(B, T) int64 → logits (B, T, 16)."""

    def __init__(self, setting: Setting, qk_norm: QKNorm | None, score_cap: Cap | None):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, setting.d_model)
        self.places = nn.Embedding(setting.length, setting.d_model)
        self.blocks = nn.ModuleList(Block(setting, qk_norm, score_cap) for _ in range(setting.layers))
        self.norm, self.head = nn.LayerNorm(setting.d_model), nn.Linear(setting.d_model, VOCABULARY, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@one_thread
def train(
    seed: int = 0,
    setting: Setting = LAPTOP,
    device: str = "cpu",
    *,
    slower: float = 1,
    qk_norm: QKNorm | None = None,
    score_cap: Cap | None = None,
    decay: Callable[[dict[str, list[int]]], Groups] | None = None,
    clip: Callable[[list[Tensor]], tuple[list[Tensor], Any]] | None = None,
    extra_loss: Callable[[Tensor], Tensor] | None = None,
    logit_cap: Cap | None = None,
) -> dict[str, list[float]]:
    """Trains one model; the same seed gives every remedy the same initial weights and the same batches.

    Args:
        slower: divides the learning rate.
        qk_norm: function (q, k, q_gain, k_gain) → (q, k). score_cap: function of the scores (B, H, T, T).
        decay: function of a dict name → shape → groups of names for AdamW, each with its weight_decay.
        clip: function of a list of gradients → (gradients, length).
        extra_loss: function of the logits (B, T − 2, 16) → scalar, minimized too. logit_cap: function of the logits.

    Returns:
        dict of lists, one number per step: ``loss`` (cross-entropy in nats, without the extra loss), ``score`` (largest
        |attention score| before a cap), ``log_z`` (largest |log Σ exp(logits)|), ``gradient`` (joint length of all
        gradients before clipping), ``gain`` (largest |gain| of the norms before attention).
    """
    torch.manual_seed(seed)
    model = Copier(setting, qk_norm, score_cap).to(device)
    optimizer = torch.optim.AdamW(_groups(model, decay), weight_decay=0.0)
    generator = torch.Generator().manual_seed(seed + 100)
    curves: dict[str, list[float]] = {name: [] for name in CURVES}
    blocks = [b for b in model.blocks if isinstance(b, Block)]
    for step in range(setting.steps):
        for group in optimizer.param_groups:
            group["lr"] = setting.rate / slower * min(1.0, (step + 1) / setting.climb)
        ids = torch.randint(0, VOCABULARY, (setting.batch, setting.length), generator=generator).to(device)
        logits = model(ids)[:, BACK:]
        if logit_cap:
            logits = logit_cap(logits)
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, :-BACK].flatten())
        optimizer.zero_grad()
        (loss + extra_loss(logits) if extra_loss else loss).backward()
        used = [(p, p.grad) for p in model.parameters() if p.grad is not None]
        length = torch.stack([gradient.norm() for _, gradient in used]).norm()
        if clip:
            for (p, _), gradient in zip(used, clip([gradient for _, gradient in used])[0], strict=True):
                p.grad = gradient
        optimizer.step()
        measured = (
            loss,
            max(b.largest for b in blocks),
            logits.detach().logsumexp(-1).abs().max(),
            length,
            max(b.norms[0].get_parameter("weight").abs().max() for b in blocks),
        )
        for name, value in zip(CURVES, measured, strict=True):
            curves[name].append(value.item())
    return curves


def _groups(model, decay):
    """Groups the model's parameters as ``decay`` groups their names."""
    named = dict(model.named_parameters())
    groups = decay({name: list(p.shape) for name, p in named.items()}) if decay else [{"params": list(named)}]
    return [{**group, "params": [named[name] for name in group["params"]]} for group in groups]


def after_learning(losses: Sequence[float]) -> Sequence[float]:
    """Losses from the first one below 0.1 on; empty if none is below 0.1."""
    first = next((i for i, v in enumerate(losses) if v < LEARNED), len(losses))
    return losses[first:]


def worst(losses: Sequence[float]) -> float:
    """The largest loss after the rule was learned, in nats; nan if it never was."""
    return max(after_learning(losses), default=math.nan)


def end(losses: Sequence[float]) -> float:
    """Mean of the last 20 losses."""
    return sum(losses[-20:]) / len(losses[-20:])


def recorded_alarms(record: Recorded, remedy: str) -> list[dict[str, int | None]]:
    """Step at which each recorded quantity first did something that a healthy run never does.

    The healthy run has the same seed and a tenth of the rate. The alarm goes off above twice its largest value; for the
    loss, at the first value above 0.1 after the rule was learned.

    Args:
        record: the result of ``recorded("loss_spike")``. remedy: name of one of its remedies.

    Returns:
        list with a dict per seed: ``loss``, ``score``, ``gradient``, ``log_z`` → step, or None if it never goes off.
    """
    rows = {(r["remedy"], r["seed"]): r for r in record["rows"]}
    numbers = lambda row, curve: [float(v) for v in row[curve].split()]
    found = []
    for seed in record["made"]["seeds"]:
        row, healthy = rows[remedy, seed], rows["a tenth of the rate", seed]
        losses = numbers(row, "loss")
        learned = next((i for i, v in enumerate(losses) if v < LEARNED), len(losses))
        alarms = {"loss": next((i for i in range(learned, len(losses)) if losses[i] > LEARNED), None)}
        for curve in ("score", "gradient", "log_z"):
            limit = 2 * max(numbers(healthy, curve))
            alarms[curve] = next((i for i, v in enumerate(numbers(row, curve)) if v > limit), None)
        found.append(alarms)
    return found
