"""Right and wrong ``distribution`` functions, written without scatter."""

import torch


def right(logits, temperature=1.0, top_k=None, top_p=None):
    """Cuts in sorted order, and goes back by the place of each token in that order."""
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    place = order.argsort(dim=-1)
    if temperature == 0:
        return (place == 0).to(logits.dtype)
    p = (ordered / temperature).softmax(-1)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        reached = torch.cat([torch.zeros_like(p[..., :1]), p.cumsum(-1)[..., :-1]], -1)
        p = torch.where(reached < top_p, p, 0)
    return (p / p.sum(-1, keepdim=True)).gather(-1, place)


def not_again(logits, temperature=1.0, top_k=None, top_p=None):
    """Cuts, and forgets to divide by what is left."""
    p = (logits / max(temperature, 1e-6)).softmax(-1)
    return torch.where(right(logits, temperature, top_k, top_p) > 0, p, 0)


def without_crossing(logits, temperature=1.0, top_k=None, top_p=None):
    """Drops the token that crosses top_p."""
    p = right(logits, temperature, top_k)
    if top_p is None:
        return p
    ordered, order = p.sort(dim=-1, descending=True, stable=True)
    kept = torch.where(ordered.cumsum(-1) <= top_p, ordered, 0)
    kept[..., 0] = ordered[..., 0]
    return torch.zeros_like(p).scatter(-1, order, kept / kept.sum(-1, keepdim=True))
