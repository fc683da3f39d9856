"""Accuracy by position, as plotted by the train-short-test-long experiment."""

from torch import Tensor


def accuracy_by_position(logits: Tensor, targets: Tensor, width: int) -> Tensor:
    """Share of right answers in each stretch of ``width`` positions, over the batch.

    Args: logits (B, T, V); targets (B, T) int64, -1 at positions without a question; width divides T.
    Returns: (T/width,) float32; NaN for a stretch without any question.
    """
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (-1, width)).sum((0, 2)).float()
    return fold(right) / fold(asked)
