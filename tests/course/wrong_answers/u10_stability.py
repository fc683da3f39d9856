"""Wrong answers to unit 10."""

WRONG_ANSWERS = [
    (
        "clamped for safety",
        "stability.logsumexp",
        """
def logsumexp(x, dim=-1):
    return torch.log(torch.exp(x.clamp(max=80.0)).sum(dim=dim))
""",
        ["an input holds numbers beyond 60"],
    ),
    (
        "calls itself",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if cap <= 0:
        raise ValueError("cap")
    return soft_cap(x / cap, 1.0) * cap

def soft_capped_weights(scores, cap, mask=None):
    return soft_cap(scores, cap).softmax(-1)
""",
        ["calls itself without end"],
    ),
    (
        "mask before the cap",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if cap <= 0:
        raise ValueError("cap")
    return cap * torch.tanh(x / cap)

def soft_capped_weights(scores, cap, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(soft_cap(scores, cap), dim=-1)
""",
        ["mask"],
    ),
    (
        "a list where a number is asked for",
        "stability.spike",
        """
def spike_height(losses):
    return [loss - min(losses[:i + 1]) for i, loss in enumerate(losses)]
""",
        ["Return one number"],
    ),
    # What no fingerprint knows.
    (
        "the loop runs one too far",
        "stability.spike",
        """
def spike_height(losses):
    return max(losses[i + 1] - min(losses[:i + 1]) for i in range(len(losses)))
""",
        ["Indices run from 0 to length − 1"],
    ),
]
