"""Wrong answers to unit 02."""

WRONG_ANSWERS = [
    (
        "epsilon as a floor",
        "norm.layer_norm",
        """
def layer_norm(x, weight, bias, eps=1e-5):
    c = x - x.mean(-1, keepdim=True)
    return weight * c / torch.sqrt((c**2).mean(-1, keepdim=True).clamp(min=eps)) + bias
""",
        ["under the root"],
    ),
    (
        "torch's unbiased variance",
        "norm.layer_norm",
        """
def layer_norm(x, weight, bias, eps=1e-5):
    return weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) + bias
""",
        ["d − 1"],
    ),
    (
        "in place",
        "norm.rms_norm",
        """
def rms_norm(x, weight, eps=1e-6):
    x /= torch.sqrt((x**2).mean(-1, keepdim=True) + eps)
    return weight * x
""",
        ["changes its input in place"],
    ),
    (
        "two of three gradients",
        "norm.backward",
        """
def layer_norm_backward(grad, x, weight, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt((centered**2).mean(-1, keepdim=True) + eps)
    x_hat = centered * inverse
    dweight = (grad * x_hat).flatten(0, -2).sum(0)
    return dweight, grad.flatten(0, -2).sum(0)
""",
        ["has 2 items, expected 3"],
    ),
    (
        "bfloat16 left as it is",
        "norm.half_precision",
        """
def rms_norm_half(x, weight, eps=1e-6):
    work = x.float() if x.dtype == torch.float16 else x
    normed = work * torch.rsqrt((work**2).mean(-1, keepdim=True) + eps)
    return normed.to(x.dtype) * weight
""",
        ["Cast the weight"],
    ),
    # What no fingerprint knows.
    (
        "half a term in one of three gradients",
        "norm.backward",
        """
def layer_norm_backward(grad, x, weight, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt((centered**2).mean(-1, keepdim=True) + eps)
    x_hat = centered * inverse
    g = grad * weight
    dx = inverse * (g - g.mean(-1, keepdim=True) - 0.5 * x_hat * (g * x_hat).mean(-1, keepdim=True))
    return dx, (grad * x_hat).flatten(0, -2).sum(0), grad.flatten(0, -2).sum(0)
""",
        ["the second and third are always right", "the first is not"],
    ),
]
