"""Wrong answers to unit 03."""

WRONG_ANSWERS = [
    (
        "first residual missing",
        "placement.post_and_pre",
        """
def post_ln(x, sublayer, norm):
    return norm(sublayer(x))

def pre_ln(x, sublayer, norm):
    return x + sublayer(norm(x))
""",
        ["residual"],
    ),
    (
        "beta turned over",
        "placement.deepnorm",
        """
def deepnorm(x, sublayer, norm, alpha):
    return norm(alpha * x + sublayer(x))

def deepnorm_scale(n_layers):
    if n_layers < 1:
        raise ValueError("no layers")
    return (2 * n_layers) ** 0.25, (2 * n_layers) ** -0.25

def deepnorm_scale_encoder_decoder(n_encoder, n_decoder):
    if n_encoder < 1 or n_decoder < 1:
        raise ValueError("no layers")
    root = (n_encoder**4 * n_decoder) ** (1 / 16)
    return (0.81 * root, 0.87 / root), ((3 * n_decoder) ** 0.25, (12 * n_decoder) ** -0.25)
""",
        ["1/α"],
    ),
    (
        "Post-LN twice",
        "placement.post_and_pre",
        """
def post_ln(x, sublayer, norm):
    return norm(torch.add(x, sublayer(x)))

pre_ln = post_ln
""",
        ["pre_ln is Post-LN as well"],
    ),
    (
        "a block that writes into its input",
        "placement.block",
        """
class PreLNBlock(nn.Module):
    def __init__(self, d_model, attention, ffn):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x += self.attention(self.attention_norm(x))
        return x.add_(self.ffn(self.ffn_norm(x)))
""",
        ["x = x +"],
    ),
    (
        "a stack with a residual of its own",
        "placement.final_norm",
        """
class PreLNStack(nn.Module):
    def __init__(self, d_model, sublayers):
        super().__init__()
        self.blocks = nn.ModuleList([PreLNBlock(d_model, *pair) for pair in sublayers])
        self.final_norm = nn.LayerNorm(d_model)

    def forward(self, x):
        out = x
        for block in self.blocks:
            out = block(out)
        return self.final_norm(out + x)
""",
        ["added once more before the final norm"],
    ),
    (
        "absolute values for the norm",
        "placement.hooks",
        """
def watch(layers, x):
    norms = [None] * len(layers)
    for i, layer in enumerate(layers):
        x = layer(x)
        x.register_hook(lambda g, i=i: norms.__setitem__(i, torch.linalg.vector_norm(g, ord=1).item()))
    return x, norms
""",
        ["L1 norm"],
    ),
    (
        "correlation for the slope",
        "placement.trend",
        """
def exponent(depths, norms):
    x = torch.tensor(depths, dtype=torch.float64).log()
    y = torch.tensor(norms, dtype=torch.float64).log()
    x, y = x - x.mean(), y - y.mean()
    return (x @ y / (x.norm() * y.norm())).item()

def trend(depths, norms):
    x = torch.tensor(depths, dtype=torch.float64).log()
    y = torch.tensor(norms, dtype=torch.float64).log()
    p = ((x - x.mean()) @ y / ((x - x.mean()) @ x)).item()
    return "falls" if p < -0.25 else "rises" if p > 0.25 else "flat"
""",
        ["correlation"],
    ),
    (
        "a sum through which no gradient comes back",
        "placement.variants",
        """
def sandwich(x, sublayer, norm_in, norm_out):
    return x + norm_out(sublayer(norm_in(x)))

def norm_inside(x, sublayer, norm):
    return x + norm(sublayer(x)).detach()
""",
        ["norm_inside"],
    ),
    (
        "2 and 8 outside the roots",
        "placement.deepnorm",
        """
def deepnorm(x, sublayer, norm, alpha):
    return norm(alpha * x + sublayer(x))

def deepnorm_scale(n_layers):
    if n_layers < 1:
        raise ValueError("no layers")
    return 2 * n_layers**0.25, 8 * n_layers**-0.25

def deepnorm_scale_encoder_decoder(n_encoder, n_decoder):
    if min(n_encoder, n_decoder) < 1:
        raise ValueError("no layers")
    root = (n_encoder**4 * n_decoder) ** (1 / 16)
    return (0.81 * root, 0.87 / root), ((3 * n_decoder) ** 0.25, (12 * n_decoder) ** -0.25)
""",
        ["The root covers the factor"],
    ),
    (
        "the feed-forward branch reads attention",
        "placement.parallel",
        """
def parallel(x, attention, ffn, norm):
    a = attention(norm(x))
    return x + a + ffn(a)

def fuse(w_q, w_k, w_v, w_up, w_o, w_down):
    return torch.cat((w_q, w_k, w_v, w_up), 0), torch.cat((w_o, w_down), 1)
""",
        ["reads what attention gives"],
    ),
    (
        "whole-number division on the ramp",
        "placement.warmup",
        """
def warmup_rate(step, peak, warmup):
    if warmup == 0 or step >= warmup:
        return peak
    return peak * ((step + 1) // warmup)
""",
        ["Divide with /"],
    ),
]
