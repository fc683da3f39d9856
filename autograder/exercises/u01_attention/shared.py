"""Wrong ways to split and merge heads, which two exercises know."""

from torch import Tensor


# The mistakes leave the ValueError out: a learner who makes one of them may or may not have written the check, and
# only cases that fail are compared with a mistake.
def split_viewed(x: Tensor, n_heads: int) -> Tensor:
    """Heads by a view alone: it cuts the tokens apart."""
    B, T, d = x.shape
    return x.reshape(B, n_heads, T, d // n_heads)


def merge_viewed(x: Tensor) -> Tensor:
    """The way back by a view alone."""
    B, H, T, D = x.shape
    return x.reshape(B, T, H * D)
