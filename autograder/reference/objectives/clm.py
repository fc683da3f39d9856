"""Next-token prediction: the shift by one, the autoregressive factorization, perplexity.

log p(x) = Σ_t log p(x_t | x_<t). Sources: Bengio et al. 2003 (JMLR 3); Radford et al. 2019 (GPT-2).
"""

import math

import torch
from torch import Tensor

from autograder.reference.objectives.mlm import IGNORE, masked_loss


def next_token_pairs(ids: Tensor) -> tuple[Tensor, Tensor]:
    """(inputs, targets), each (B, T-1): target t is the token after input t.

    Raises: ValueError when there are fewer than two tokens.
    """
    if ids.shape[-1] < 2:
        raise ValueError(f"predicting a next token needs two tokens, got shape {tuple(ids.shape)}")
    return ids[..., :-1], ids[..., 1:]


def next_token_loss(logits: Tensor, ids: Tensor, real: Tensor | None = None) -> Tensor:
    """Mean negative log-likelihood per predicted token, in nats.

    Args: logits (B, T, V), where logits[:, t] has seen ids[:, :t+1]; ids (B, T) int64; real (B, T)
    boolean, False = padding, which is neither predicted nor (if padding comes first) used for prediction.
    Returns: scalar; the last position's logits have no target and do not count.
    Raises: ValueError when shapes do not match or T < 2.
    """
    if logits.shape[:-1] != ids.shape:
        raise ValueError(f"logits {tuple(logits.shape)} do not fit ids {tuple(ids.shape)}")
    _, targets = next_token_pairs(ids)
    if real is not None:
        targets = targets.masked_fill(~(real[..., 1:] & real[..., :-1]), IGNORE)
    return masked_loss(logits[..., :-1, :], targets)


def sequence_log_probability(logits: Tensor, targets: Tensor) -> Tensor:
    """log p of whole sequences, the sum of the log-probabilities of their tokens.

    Args: logits (B, T, V), where logits[:, t] may depend on targets before t only; targets (B, T).
    Returns: (B,), float32 or float64.
    """
    log_p = torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), dim=-1)
    return log_p.gather(-1, targets[..., None])[..., 0].sum(-1)


def perplexity(total_nll: float, tokens: int) -> float:
    """exp of the mean negative log-likelihood over *all* tokens.

    Args: total_nll, summed in nats over a whole corpus; tokens, the number of predictions. A uniform
    guess over V tokens has perplexity V. The mean of the perplexities of batches is different: it
    weights tokens of short batches more, and for equal sizes it is never smaller (Jensen).
    Raises: ValueError when tokens < 1.
    """
    if tokens < 1:
        raise ValueError(f"perplexity needs at least one predicted token, got {tokens}")
    return math.exp(total_nll / tokens)
