"""Steps with a cache as learners write them: right, and wrong in known ways."""

import torch


def right_step(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]) == 0
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ v, (k, v)


def top_left(q, k, v, past=None):
    """Uses the mask of a chunk that starts at position 0."""
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    mask = torch.ones(q.shape[2], k.shape[2]).tril() == 0
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask, -torch.inf).softmax(-1) @ v, (k, v)


def turn(x, at):
    a, b = x[..., 0], x[..., 1]
    return torch.stack([a * at.cos() - b * at.sin(), a * at.sin() + b * at.cos()], -1)


def turning(positions):
    def step(q, k, v, past=None):
        at = positions(0 if past is None else past[0].shape[2], torch.arange(q.shape[2])).float()
        return right_step(turn(q, at), turn(k, at), v, past)

    return step


right_turning = turning(lambda start, t: start + t)


restarting = turning(lambda start, t: t)
