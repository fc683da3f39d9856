"""Small token tensors that several exercises use."""

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.judge.spec import Case, Program, Source

LONG = torch.long


def with_noise(g: Source, pattern: str) -> tuple[Tensor, Tensor]:
    """Random ids below 800, all different, with a noise pattern such as '..xx.x'."""
    ids = torch.randperm(800, generator=g.generator)[: len(pattern)]
    return ids, torch.tensor([c == "x" for c in pattern])


HAND = (torch.tensor([11, 12, 13, 14, 15, 16]), torch.tensor([False, True, True, False, True, False]), 99)


def edges_of_spans(ask: Callable[[Program, Tensor, Tensor, int], object]) -> list[Case]:
    """Cases of hidden spans: texts without one or with nothing else, and ids that lie beside the sentinels.

    ask: adds a call to a program, about a text, what is hidden in it, and the first sentinel.
    """

    def all_or_none(g: Source) -> Program:
        program = Program()
        for pattern in ("......", "xxxxx", ".", "x"):
            ask(program, *with_noise(g, pattern), g.integer(900, 990))
        return program

    def beside(g: Source, step: int) -> Program:
        program, (ids, noise) = Program(), with_noise(g, "x..x.x..")  # as many spans as hidden tokens: 3 and the end
        first = 900 + g.integer(10, 90)
        ids[torch.tensor([2, 3])] = first + step
        ask(program, ids, noise, first)
        return program

    told = "in sight and hidden: an ordinary token"
    above = f"the text holds the id above the first sentinel, {told}"
    below = f"the text holds the id below the closing sentinel, {told}"
    return [
        Case("all or none", "texts without a hidden token and with nothing else, also of one token", all_or_none),
        Case("above the sentinels", above, lambda g: beside(g, 1), weight=0.5),
        Case("below the sentinels", below, lambda g: beside(g, -4), weight=0.5),
    ]
