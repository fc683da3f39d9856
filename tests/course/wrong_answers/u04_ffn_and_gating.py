"""Wrong answers to unit 04."""

WRONG_ANSWERS = [
    (
        "an if on a tensor",
        "activation.family",
        """
def relu(x):
    return x if x > 0 else 0 * x

def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)

def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))

def squared_relu(x):
    return x.clamp(min=0) ** 2
""",
        ["torch.where"],
    ),
    (
        "the spread, as floats",
        "ffn.paired_difference",
        """
def paired_difference(a, b):
    d = (a - b).tolist()
    mean = sum(d) / len(d)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in d) / (len(d) - 1))
""",
        ["spread of single runs"],
    ),
    (
        "everything kept but the check",
        "ffn.matched_width",
        """
def matched_width(d_model, multiple_of=1):
    width = 8 * d_model // 3
    return math.ceil(width / multiple_of) * multiple_of
""",
        ["ValueError"],
    ),
    # What no fingerprint knows.
    (
        "one wrong function of four",
        "activation.family",
        """
def relu(x):
    return x.clamp(min=0)

def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)

def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.exp(x.clamp(max=0)) - 1.5)

def squared_relu(x):
    return relu(x) ** 2
""",
        ["relu, leaky_relu and squared_relu pass everything; the mistake is in elu"],
    ),
    (
        "a function for the class",
        "ffn.gated",
        """
def GatedFeedForward(d_model, d_ff, activation):
    return nn.Linear(d_model, d_model)
""",
        ["should be a class"],
    ),
]
