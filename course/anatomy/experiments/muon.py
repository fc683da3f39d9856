"""The growing character model, trained by Muon or by AdamW: which one is further after the same number of steps?

With Muon the matrices of attention and feed-forward layers move by the learner's step, while embeddings, positions,
norms and head stay with AdamW, as in every model that was trained so.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from . import one_thread
from .growing import GrowingModel, Parts, _text

STEPS, ROWS, CONTEXT, REST = 150, 16, 32, 3e-3
WARM_UP = 20

# (weight, gradient, momentum, rate) → (next weight, next momentum)
Step = Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor]]


@one_thread
def train(step: Step | None, rate: float, seed: int = 0, steps: int = STEPS, device: str = "cpu") -> float:
    """Loss on text that no training read, in nats per character, after ``steps`` batches.

    step: Muon's, for the matrices of the blocks; None trains all parameters by AdamW at ``rate``. Batches and first
    weights depend on the seed alone. The rate rises for 20 steps and falls to 0 at the end.
    """
    torch.manual_seed(seed)
    alphabet, train_ids, held_out = _text()
    model = GrowingModel(len(alphabet), 64, 2, 4, CONTEXT, Parts()).to(device)
    inner = [w for name, w in model.named_parameters() if w.ndim == 2 and name.split(".")[0] in ("attentions", "ffns")]
    matrices = inner if step else []
    known = {id(w) for w in matrices}
    rest = [w for w in model.parameters() if id(w) not in known]
    usual = REST if step else rate
    optimizer = torch.optim.AdamW(rest, usual, weight_decay=0.0)
    momenta = [torch.zeros_like(w) for w in matrices]
    rows, draws = train_ids.unfold(0, CONTEXT + 1, 1), torch.Generator().manual_seed(seed)
    for i in range(steps):
        part = min(1, (i + 1) / WARM_UP) * (1 - i / steps)
        optimizer.param_groups[0]["lr"] = usual * part
        ids = rows[torch.randint(0, len(rows), (ROWS,), generator=draws)].to(device)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for place, weight in enumerate(matrices):
                assert step is not None and weight.grad is not None
                moved, momenta[place] = step(weight, weight.grad, momenta[place], rate * part)
                weight.copy_(moved)
    with torch.no_grad():
        ids = held_out.unfold(0, CONTEXT + 1, CONTEXT + 1)[:: max(1, len(held_out) // (CONTEXT + 1) // 512)].to(device)
        return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).item()
