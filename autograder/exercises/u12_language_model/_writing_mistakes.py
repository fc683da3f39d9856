"""A mistake in looking for the stop token."""

import torch

from autograder.judge.spec import Mutant


def stop_anywhere(model, ids, steps, pick, real=None, stop=None, pad=0):
    """After each new token the whole row is searched for the stop token, prompt included."""
    new, past, done = ids, None, torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(steps):
        if done.all():
            break
        logits, past = model(new, real, past)
        new = torch.where(done, pad, pick(logits[:, -1]))[:, None]
        ids = torch.cat([ids, new], 1)
        if real is not None:
            real = torch.cat([real, torch.ones_like(real[:, :1])], 1)
        if stop is not None:
            done = (ids == stop).any(1)
    return ids


MISTAKES = [
    Mutant(
        "stop_anywhere",
        stop_anywhere,
        "The whole text is searched for the stop token, so one in the prompt ends the row after its first new "
        "token. Search what is written now.",
    ),
]
