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
]
