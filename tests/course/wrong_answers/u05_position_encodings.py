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
]
