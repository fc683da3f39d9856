"""Wrong answers to unit 05."""

WRONG_ANSWERS = [
    (
        "cos before sin",
        "position.sinusoidal",
        """
def sinusoid(positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd")
    f = base ** (-torch.arange(0, d_model, 2) / d_model)
    a = positions[..., None] * f
    return torch.stack([a.cos(), a.sin()], dim=-1).flatten(-2)
""",
        ["even features are sines"],
    ),
    # What no fingerprint knows.
    (
        "wrong only where it should be zero",
        "position.shift_matrix",
        """
def shift_matrix(k, d_model, base=10000.0):
    M = torch.ones(d_model, d_model)
    for i in range(d_model // 2):
        angle = k * base ** (-2 * i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        M[2 * i:2 * i + 2, 2 * i:2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return M
""",
        ["only where 0 is expected"],
    ),
    (
        "wrong with an offset",
        "position.alibi",
        """
def alibi_slopes(n_heads):
    if n_heads < 1:
        raise ValueError("n_heads")
    P = 2 ** int(math.log2(n_heads))
    first = [2 ** (-8 * h / P) for h in range(1, P + 1)]
    return torch.tensor(first + [2 ** (-4 * h / P) for h in range(1, 2 * (n_heads - P), 2)])

def alibi_bias(slopes, T, S, offset=0):
    i, j = torch.arange(T)[:, None] + offset, torch.arange(S)
    return -slopes[:, None, None] * (i - j).abs() + (i - j > 3) * 0.5
""",
        ["alibi_slopes passes everything; the mistake is in alibi_bias"],
    ),
    (
        "the table lies on its side",
        "position.learned",
        """
class LearnedPositions(nn.Module):
    def __init__(self, max_positions, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(d_model, max_positions))

    def forward(self, position_ids):
        return self.weight.T[position_ids]
""",
        ["weight should have shape (3, 2), yours has (2, 3)"],
    ),
    (
        "drawn by nn.init.xavier_normal_",
        "position.learned",
        """
class LearnedPositions(nn.Module):
    def __init__(self, max_positions, d_model):
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_normal_(torch.empty(max_positions, d_model)))

    def forward(self, position_ids):
        if position_ids.min() < 0 or position_ids.max() >= len(self.weight):
            raise ValueError("outside the table")
        return self.weight[position_ids]
""",
        ["drawn from another distribution", "standard deviation 0.02"],
    ),
    (
        "only a row of positions",
        "position.sinusoidal",
        """
def sinusoid(positions, d_model, base=10000.0):
    if d_model % 2 == 1:
        raise ValueError("d_model is odd")
    table = torch.zeros(len(positions), d_model)
    speeds = torch.exp(-math.log(base) * torch.arange(0, d_model, 2) / d_model)
    table[:, 0::2] = torch.sin(positions[:, None] * speeds)
    table[:, 1::2] = torch.cos(positions[:, None] * speeds)
    return table
""",
        ["a row of positions only", "Any shape is allowed"],
    ),
    (
        "mean over all places of the table",
        "position.distance_profile",
        """
def distance_profile(scores):
    T = scores.shape[0]
    mean, spread = (scores.new_zeros(2 * T - 1) for _ in range(2))
    for r in range(-(T - 1), T):
        line = scores.diagonal(r)
        mean[r + T - 1] = line.sum() / T
        spread[r + T - 1] = line.max() - line.min()
    return mean, spread
""",
        ["Every sum is divided by T"],
    ),
    (
        "filled into a float32 table",
        "position.distance_profile",
        """
def distance_profile(scores):
    T = scores.shape[0]
    mean, spread = torch.zeros(2 * T - 1), torch.zeros(2 * T - 1)
    for r in range(-(T - 1), T):
        line = scores.diagonal(r)
        mean[r + T - 1] = line.mean()
        spread[r + T - 1] = line.max() - line.min()
    return mean, spread
""",
        ["dtype float32, expected float64"],
    ),
    (
        "keys reshaped",
        "position.shaw",
        """
def shaw_index(T, S, k, offset=0):
    if k < 0:
        raise ValueError("k")
    return relative_positions(T, S, offset).clamp(-k, k) + k

def shaw_attention(q, k, v, rel_k, rel_v, mask=None, offset=0):
    B, H, S, D = k.shape
    index = shaw_index(q.shape[2], S, len(rel_k) // 2, offset)
    scores = q @ k.reshape(B, H, D, S) + torch.einsum("bhtd,tsd->bhts", q, rel_k[index])
    scores = scores / math.sqrt(D)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v + torch.einsum("bhts,tsd->bhtd", weights, rel_v[index])
""",
        ["The keys are reshaped"],
    ),
    (
        "u and v as data",
        "position.four_terms",
        """
def transformer_xl_scores(q, k, r, u, v):
    content = (q + u.data[:, None]) @ k.transpose(-2, -1)
    position = relative_shift((q + v.data[:, None]) @ r.transpose(-2, -1))
    return (content + position) / math.sqrt(q.shape[-1])
""",
        ["The numbers are right, but no gradient reaches the fourth argument"],
    ),
    (
        "the trick padded on the right",
        "position.relative_shift",
        """
def relative_shift(x):
    *lead, T, R = x.shape
    if R < T:
        raise ValueError("too few columns")
    x = torch.cat([x, torch.zeros(*lead, T, 1, dtype=x.dtype)], dim=-1)
    return x.view(*lead, R + 1, T)[..., 1:, :].reshape(*lead, T, R)[..., :R - T + 1]
""",
        ["the column of zeros stands on the left, not on the right"],
    ),
    (
        "32 buckets built in",
        "position.t5_bias",
        """
def t5_bias(weight, T, S, bidirectional=True):
    bucket = t5_relative_bucket(relative_positions(T, S), bidirectional)
    return weight[bucket % len(weight)].permute(2, 0, 1)[None]

def t5_attention(q, k, v, bias, mask=None):
    scores = q @ k.transpose(-2, -1) + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v
""",
        ["t5_attention passes everything; the mistake is in t5_bias"],
    ),
    (
        "exp written out",
        "position.t5_bias",
        """
def t5_bias(weight, T, S, bidirectional=True):
    bucket = t5_relative_bucket(relative_positions(T, S), bidirectional, weight.shape[0])
    return weight[bucket].permute(2, 0, 1)[None]

def t5_attention(q, k, v, bias, mask=None):
    weights = (q @ k.transpose(-2, -1) + bias).exp()
    if mask is not None:
        weights = weights * mask
    return weights @ v / weights.sum(-1, keepdim=True)
""",
        ["exp of a large score overflows"],
    ),
    (
        "the mean of three terms",
        "position.disentangled",
        """
def deberta_scores(qc, kc, kr, qr):
    delta = deberta_index(qc.shape[-2], kr.shape[-2] // 2)
    c2c = qc @ kc.transpose(-2, -1)
    c2p = torch.einsum("bhid,hijd->bhij", qc, kr[:, delta])
    p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, delta.T])
    return (c2c + c2p + p2c) / 3 / math.sqrt(qc.shape[-1])
""",
        ["divided by 3√D"],
    ),
    (
        "one head refused",
        "position.alibi",
        """
def alibi_slopes(n_heads):
    if n_heads < 2:
        raise ValueError("at least two heads")
    P = 2 ** int(math.log2(n_heads))
    first = [2 ** (-8 * h / P) for h in range(1, P + 1)]
    return torch.tensor(first + [2 ** (-4 * h / P) for h in range(1, 2 * (n_heads - P), 2)])

def alibi_bias(slopes, T, S, offset=0):
    return -slopes[:, None, None] * relative_positions(T, S, offset).abs()
""",
        ["A single head is refused"],
    ),
]
