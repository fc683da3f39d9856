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
    (
        "ELU whose gradient is lost far to the right",
        "activation.family",
        """
def relu(x):
    return torch.where(x > 0, x, torch.zeros_like(x))

def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)

def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * (x.exp() - 1))

def squared_relu(x):
    return relu(x).square()
""",
        ["gradient at large x is NaN"],
    ),
    (
        "a half too many in the tanh form",
        "activation.gelu",
        """
def gelu(x):
    return x * 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))

def gelu_tanh(x):
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(3))))
""",
        ["½ in front of the tanh form is missing"],
    ),
    (
        "a gate without gradient",
        "activation.swish",
        """
def swish(x, beta=1.0):
    with torch.no_grad():
        gate = torch.sigmoid(beta * x)
    return gate * x
""",
        ["no gradient passes the gate"],
    ),
    (
        "f again in the second term",
        "activation.derivatives",
        """
def sigmoid_prime(x):
    f = torch.sigmoid(x)
    return f - f * f

def silu_prime(x):
    f = torch.sigmoid(x)
    return f * (1 + x)

def gelu_prime(x):
    phi = torch.exp(-x.square() / 2) / math.sqrt(2 * math.pi)
    return torch.special.ndtr(x) + x * phi
""",
        ["f′ = f·(1 − f)"],
    ),
    (
        "float32 whatever comes in",
        "activation.softmax_jacobian",
        """
def softmax_jacobian(p):
    n = p.shape[-1]
    out = torch.zeros(*p.shape, n)
    for i in range(n):
        for j in range(n):
            out[..., i, j] = p[..., i] * ((1.0 if i == j else 0.0) - p[..., j])
    return out
""",
        ["float32 whatever comes in"],
    ),
    (
        "one matrix for both branches",
        "ffn.gated",
        """
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.gate_proj = self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down_proj(self.up_proj(x) * self.activation(self.gate_proj(x)))
""",
        ["one and the same layer"],
    ),
    (
        "rounded to the nearest int",
        "ffn.matched_width",
        """
def matched_width(d_model, multiple_of=1):
    if d_model < 1 or multiple_of < 1:
        raise ValueError("sizes must be positive")
    width = round(2 / 3 * 4 * d_model)
    return width + -width % multiple_of
""",
        ["rounded to the nearest int"],
    ),
    (
        "negative units called dead",
        "ffn.unit_health",
        """
def dead_units(hidden):
    return ~(hidden > 0).flatten(0, -2).any(0)

def gate_saturation(gate, margin=0.05):
    return torch.logical_or(gate < margin, gate > 1 - margin).float().mean()
""",
        ["negative value passes a gradient"],
    ),
    (
        "n - 1 under the root as well",
        "ffn.paired_difference",
        """
def paired_difference(a, b):
    d = a - b
    n = len(d)
    s = (((d - d.mean()) ** 2).sum() / (n - 1)).sqrt()
    return d.mean().item(), (s / (n - 1) ** 0.5).item()
""",
        ["n − 1 is used twice"],
    ),
]
