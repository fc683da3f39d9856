"""GLM's autoregressive blank infilling: part A is the text with blanks, part B writes the blanks.

Each span of the text becomes one [MASK] in part A. Part B holds the spans in a shuffled order; the
input of a span is [S] followed by its tokens, its target is the tokens followed by [E]. Each token has
two positions: the first counts part A, and every token of a blank gets the place of its [MASK]; the
second is 0 in part A and counts 1, 2, … inside a blank, which does not reveal the length of the blank.

Both count as in the paper, except that the first starts at 0.

Source: Du et al. 2021, arXiv:2103.10360, section 2.1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from autograder.reference.masks import glm_mask
from autograder.reference.objectives.mlm import IGNORE, masked_loss


class BlankInfilling(NamedTuple):
    """One training example of length T = part A + part B.

    tokens, positions, blank_positions, labels: (T,) int64, labels IGNORE in part A;
    mask: (T, T) boolean, True = may attend; part_a: length of part A.
    """

    tokens: Tensor
    positions: Tensor
    blank_positions: Tensor
    labels: Tensor
    mask: Tensor
    part_a: int


def blank_infilling(
    ids: Tensor,
    spans: Sequence[tuple[int, int]],
    order: Sequence[int],
    mask_id: int,
    start_id: int,
    end_id: int,
) -> BlankInfilling:
    """Build the example for given spans and a given order of the blanks.

    Args: ids (T,) int64; spans, half-open (start, stop), sorted, not adjacent; order, a permutation of
    the spans: order[0] is the span that part B writes first.
    Raises: ValueError when spans are empty, unsorted, adjacent or out of range, or order is not a permutation.
    """
    _check_spans(spans, len(ids))
    if sorted(order) != list(range(len(spans))):
        raise ValueError(f"order must be a permutation of 0..{len(spans) - 1}, got {list(order)}")
    text = ids.tolist()
    part_a, mask_places, last = [], [], 0
    for start, stop in spans:
        part_a += text[last:start]
        mask_places.append(len(part_a))
        part_a.append(mask_id)
        last = stop
    part_a += text[last:]

    tokens, positions, inner, labels = part_a[:], list(range(len(part_a))), [0] * len(part_a), []
    labels += [IGNORE] * len(part_a)
    for k in order:
        start, stop = spans[k]
        tokens += [start_id, *text[start:stop]]
        labels += [*text[start:stop], end_id]
        positions += [mask_places[k]] * (stop - start + 1)
        inner += range(1, stop - start + 2)

    as_tensor = lambda values: torch.tensor(values, dtype=torch.long, device=ids.device)
    mask = glm_mask(len(part_a), len(tokens) - len(part_a), ids.device)
    return BlankInfilling(
        as_tensor(tokens), as_tensor(positions), as_tensor(inner), as_tensor(labels), mask, len(part_a)
    )


def _check_spans(spans: Sequence[tuple[int, int]], T: int) -> None:
    last = -1
    for start, stop in spans:
        # Adjacent spans would give two adjacent [MASK]s, without a sign where one span ends.
        if not (last < start < stop <= T):
            raise ValueError(f"spans must be non-empty, sorted, within 0..{T} and apart by a token, got {list(spans)}")
        last = stop


def fill_blanks(example: BlankInfilling, mask_id: int) -> Tensor:
    """The original ids (T,), rebuilt from part A and the labels of part B.

    Raises: ValueError when part B has a blank whose place holds no [MASK] in part A.
    """
    A = example.part_a
    blanks: dict[int, list[int]] = {}
    for place, label in zip(example.positions[A:].tolist(), example.labels[A:].tolist(), strict=True):
        blanks.setdefault(place, []).append(label)
    text: list[int] = []
    for place, token in enumerate(example.tokens[:A].tolist()):
        text += blanks.pop(place)[:-1] if token == mask_id and place in blanks else [token]
    if blanks:
        raise ValueError(f"part B fills places {sorted(blanks)} that hold no [MASK] in part A")
    return torch.tensor(text, dtype=torch.long, device=example.tokens.device)


def sample_glm_spans(
    T: int, generator: torch.Generator, ratio: float = 0.15, mean_span: float = 3.0
) -> tuple[list[tuple[int, int]], list[int]]:
    """Draw (spans, order): Poisson lengths until a share ``ratio`` of the T tokens is covered.

    Lengths of 0 count as 1 and the last span is cut, so that exactly max(1, round(ratio · T)) tokens are
    covered unless spans would be adjacent. Raises: ValueError when T < 1 or ratio is outside (0, 0.5].
    """
    if T < 1 or not 0 < ratio <= 0.5:
        raise ValueError(f"need T >= 1 and 0 < ratio <= 0.5, got {T} and {ratio}")
    budget = max(1, round(ratio * T))
    lengths: list[int] = []
    # Every further span takes its length plus one free token that separates it from the previous one.
    while budget > 0 and sum(lengths) + len(lengths) < T:
        drawn = int(torch.poisson(torch.tensor(mean_span), generator=generator))
        length = min(max(1, drawn), budget, T - sum(lengths) - len(lengths))
        lengths.append(length)
        budget -= length
    slack = T - sum(lengths) - (len(lengths) - 1)
    # Stars and bars: places of the spans among the slack tokens, all equally likely.
    places = torch.randperm(slack + len(lengths), generator=generator)[: len(lengths)].sort().values
    spans, used = [], 0
    for place, length in zip(places.tolist(), lengths, strict=True):
        start = place + used  # place counts earlier spans too, as the free tokens that separate them
        spans.append((start, start + length))
        used += length
    return spans, torch.randperm(len(spans), generator=generator).tolist()


def blank_infilling_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over part B. Args: logits (..., T, V), labels (..., T). Returns: scalar."""
    return masked_loss(logits, labels)
