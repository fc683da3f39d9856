"""T5's span corruption: sentinels replace runs of tokens in the inputs, and the targets list the runs.

    text      Thank you for inviting me to your party last week
    inputs    Thank you <0> me to your party <1> week
    targets   <0> for inviting <1> last <2>

Sentinel k has the id first_sentinel - k, as in T5's vocabulary, where they count down from the end.
Targets end with one more sentinel, as in the paper's figure. The released code drops it and appends
an end-of-sequence token, which gives the same length.

Source: Raffel et al. 2019, arXiv:1910.10683, section 3.1.4.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class SpanCorruption(NamedTuple):
    """inputs (T_in,) and targets (T_out,), int64."""

    inputs: Tensor
    targets: Tensor


def span_corruption(ids: Tensor, noise: Tensor, first_sentinel: int) -> SpanCorruption:
    """Replace every maximal run of noise with one sentinel and move the run to the targets.

    Args: ids (T,) int64; noise (T,) boolean, True = hidden from the inputs.
    Raises: ValueError for wrong shapes, or when ids already contains one of the sentinels needed.
    """
    if ids.dim() != 1 or ids.shape != noise.shape or noise.dtype != torch.bool:
        raise ValueError(f"ids (T,) and boolean noise (T,) are needed, got {tuple(ids.shape)}, {noise.shape}")
    before = torch.cat([noise.new_zeros(1), noise[:-1]])
    starts = noise & ~before
    spans = int(starts.sum())
    lowest = first_sentinel - spans
    if bool(((ids >= lowest) & (ids <= first_sentinel)).any()):
        raise ValueError(f"ids {lowest}..{first_sentinel} are sentinels here and must not occur in the text")
    sentinel = first_sentinel - (starts.long().cumsum(0) - 1)  # sentinel of the span that a position belongs to
    inputs = torch.where(starts, sentinel, ids)[~noise | starts]
    # At a span's start, the noise token is preceded by its sentinel.
    with_sentinel = torch.stack([sentinel, ids], dim=1)  # (T, 2)
    keep = torch.stack([starts, noise], dim=1)
    closing = torch.tensor([lowest], dtype=ids.dtype, device=ids.device)
    return SpanCorruption(inputs, torch.cat([with_sentinel[keep], closing]))


def restore_spans(inputs: Tensor, targets: Tensor, first_sentinel: int) -> Tensor:
    """The original ids (T,) from inputs and targets: the corruption loses nothing.

    Raises: ValueError when the inputs' sentinels do not match the targets' spans, in the same order.
    """
    pieces: list[list[int]] = []
    for token in targets.tolist():
        if token == first_sentinel - len(pieces):
            pieces.append([])
        elif not pieces:
            raise ValueError(f"targets must start with sentinel {first_sentinel}, got {token}")
        else:
            pieces[-1].append(token)
    if not pieces or pieces[-1]:
        raise ValueError("targets must end with a closing sentinel")
    text, used = [], 0
    for token in inputs.tolist():
        if used < len(pieces) - 1 and token == first_sentinel - used:
            text.extend(pieces[used])
            used += 1
        elif first_sentinel - len(pieces) < token <= first_sentinel and used == len(pieces) - 1:
            raise ValueError(f"inputs hold more sentinels than the {used} spans of the targets")
        elif first_sentinel - len(pieces) < token <= first_sentinel:
            raise ValueError(f"inputs hold {token} where sentinel {first_sentinel - used} is next")
        else:
            text.append(token)
    if used != len(pieces) - 1:
        raise ValueError(f"inputs hold {used} sentinels, targets describe {len(pieces) - 1} spans")
    return torch.tensor(text, dtype=inputs.dtype, device=inputs.device)


def noise_counts(T: int, density: float = 0.15, mean_span: float = 3.0) -> tuple[int, int]:
    """(number of noise tokens, number of spans) for a text of T tokens.

    Inputs then have T - noise + spans tokens and targets noise + spans + 1: 568 tokens become the 511
    (512 with an end-of-sequence token) and 114 of T5's training.
    Raises: ValueError when T < 2, density is outside (0, 1) or mean_span < 1.
    """
    if T < 2 or not 0 < density < 1 or mean_span < 1:
        raise ValueError(f"need T >= 2, 0 < density < 1, mean_span >= 1, got {T}, {density}, {mean_span}")
    noise = min(max(round(T * density), 1), T - 1)
    # Each span is preceded by at least one ordinary token, so spans cannot outnumber ordinary tokens.
    return noise, min(max(round(noise / mean_span), 1), noise, T - noise)


def sample_noise_mask(T: int, generator: torch.Generator, density: float = 0.15, mean_span: float = 3.0) -> Tensor:
    """Draw a noise mask with exactly noise_counts tokens and spans, ordinary first and noise last.

    Spans and the gaps between them are drawn as uniformly random compositions of their totals.
    Returns: (T,) boolean, on the CPU. Raises: ValueError like noise_counts.
    """
    noise, spans = noise_counts(T, density, mean_span)
    gaps, lengths = _composition(T - noise, spans, generator), _composition(noise, spans, generator)
    runs = torch.stack([gaps, lengths], dim=1).flatten()
    return (torch.arange(2 * spans) % 2 == 1).repeat_interleave(runs)


def _composition(total: int, parts: int, generator: torch.Generator) -> Tensor:
    """``parts`` positive integers that sum to total, all ways equally likely."""
    cuts = torch.randperm(total - 1, generator=generator)[: parts - 1].sort().values + 1
    edges = torch.cat([torch.tensor([0]), cuts, torch.tensor([total])])
    return edges.diff()
