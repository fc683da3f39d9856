"""Mistakes in looking for the stop token."""

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


def ends_by_whole_text(model, ids, steps, pick, real=None, stop=None, pad=0):
    """Rows are padded rightly; the loop ends when every row holds the stop token somewhere, prompt included."""
    new, past, T = ids, None, ids.shape[1]
    for _ in range(steps):
        logits, past = model(new, real, past)
        new = pick(logits[:, -1])
        if stop is not None:
            new = torch.where((ids[:, T:] == stop).any(1), pad, new)
        new = new[:, None]
        ids = torch.cat([ids, new], 1)
        if real is not None:
            real = torch.cat([real, torch.ones_like(real[:, :1])], 1)
        if stop is not None and (ids == stop).any(1).all():
            break
    return ids


MISTAKES = [
    Mutant(
        "stop_anywhere",
        stop_anywhere,
        "The whole text is searched for the stop token, so one in the prompt ends the row after its first new "
        "token. Search what is written now.",
    ),
    Mutant(
        "ends_by_whole_text",
        ends_by_whole_text,
        "A row writes on until its own stop token, but the loop ends early where the prompts hold one too. Let what "
        "is written now decide about both.",
    ),
]
