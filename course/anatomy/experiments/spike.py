"""A training run that breaks when its learning rate gets high, and places for remedies.

A small causal language model must name the token that stood two places back. Sixteen tokens, so a model that has
learned nothing has loss ln 16 = 2.77. AdamW without decay; the learning rate climbs to its peak over 60 steps. The
remedies are the learner's own functions. Model of the setting: Wortsman et al. 2023, arXiv:2309.14322.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, BACK, T, BATCH, D_MODEL, HEADS, LAYERS, CLIMB = 16, 2, 24, 16, 32, 2, 2, 60


class _Block(nn.Module):
    def __init__(self, qk_norm, cap):
        super().__init__()
        self.qk_norm, self.cap, self.largest = qk_norm, cap, 0.0
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(D_MODEL, D_MODEL, bias=False) for _ in range(4))
        self.ffn = nn.Sequential(nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU(), nn.Linear(4 * D_MODEL, D_MODEL))
        self.gains = nn.ParameterList(torch.ones(D_MODEL // HEADS) for _ in range(2))

    def forward(self, x):
        h = self.norms[0](x)
        q, k, v = (p(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in self.projections[:3])
        if self.qk_norm:
            q, k = self.qk_norm(q, k, *self.gains)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if self.cap:
            scores = self.cap(scores)
        self.largest = scores.detach().abs().max().item()
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -math.inf).softmax(-1)
        x = x + self.projections[3]((weights @ v).transpose(1, 2).flatten(2))
        return x + self.ffn(self.norms[1](x))


class _Model(nn.Module):
    def __init__(self, qk_norm, cap):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, D_MODEL), nn.Embedding(T, D_MODEL)
        self.blocks = nn.ModuleList(_Block(qk_norm, cap) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(peak, steps=160, seed=0, qk_norm=None, cap=None, extra_loss=None, clip=None):
    """Trains one model; the same seed gives every remedy the same start and the same batches.

    Args:
        peak: highest learning rate, reached after 60 steps and kept.
        qk_norm: function (q, k, q_gain, k_gain) → (q, k). cap: function of the scores (B, H, T, T).
        extra_loss: function of the logits (B, T − 2, 16), added to the loss that is minimized.
        clip: function of a list of gradients → (gradients, length).

    Returns:
        dict of lists with one number per step: ``loss`` (cross-entropy alone, in nats), ``score`` (largest |score|
        of any layer) and ``log_z`` (largest |log Z| of the output).
    """
    torch.manual_seed(seed)
    model = _Model(qk_norm, cap)
    generator = torch.Generator().manual_seed(seed + 100)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    history = {"loss": [], "score": [], "log_z": []}
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = peak * min(1.0, (step + 1) / CLIMB)
        ids = torch.randint(0, VOCABULARY, (BATCH, T), generator=generator)
        logits = model(ids)[:, BACK:]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, :-BACK].flatten())
        optimizer.zero_grad()
        (loss + extra_loss(logits) if extra_loss else loss).backward()
        if clip:
            used = [p for p in model.parameters() if p.grad is not None]
            for p, gradient in zip(used, clip([p.grad for p in used])[0], strict=True):
                p.grad = gradient
        optimizer.step()
        history["loss"].append(loss.item())
        history["score"].append(max(b.largest for b in model.blocks))
        history["log_z"].append(logits.detach().logsumexp(-1).abs().max().item())
    return history
