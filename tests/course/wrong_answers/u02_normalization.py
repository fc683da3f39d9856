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
        ["In 2 of the 3 cases", "float32 weight turns the result into float32", "something else is wrong as well"],
    ),
    (
        "the shortcut that cancels",
        "norm.layer_norm",
        """
def layer_norm(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + eps) * weight + bias
""",
        ["difference of two large numbers"],
    ),
    (
        "no gradient comes back",
        "norm.layer_norm",
        """
def layer_norm(x, weight, bias, eps=1e-5):
    with torch.no_grad():
        c = x - x.mean(-1, keepdim=True)
        return weight * c / torch.sqrt((c**2).mean(-1, keepdim=True) + eps) + bias
""",
        ["cut off", "gradient"],
    ),
    (
        "float32 whatever comes in",
        "norm.rms_norm",
        """
def rms_norm(x, weight, eps=1e-6):
    x, weight = x.to(torch.float32), weight.to(torch.float32)
    return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
""",
        ["float32", "float64"],
    ),
    (
        "a plus in the gradient",
        "norm.backward",
        """
def layer_norm_backward(grad, x, weight, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt((centered**2).mean(-1, keepdim=True) + eps)
    x_hat = centered * inverse
    g = weight * grad
    dx = inverse * (g - g.mean(-1, keepdim=True) + x_hat * (x_hat * g).mean(-1, keepdim=True))
    return dx, (grad * x_hat).flatten(0, -2).sum(0), grad.flatten(0, -2).sum(0)
""",
        ["is added", "take something away"],
    ),
    (
        "bfloat16 computed in bfloat16",
        "norm.half_precision",
        """
def rms_norm_half(x, weight, eps=1e-6):
    if x.dtype == torch.float16:
        return rms_norm_half(x.float(), weight.float(), eps).half()
    return weight.to(x.dtype) * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()
""",
        ["bfloat16 is not"],
    ),
    (
        "counts as floats",
        "norm.cost",
        """
def layer_norm_cost(tokens, d, itemsize, reads=1):
    return float(tokens * (7 * d + 5)), ((reads + 1) * tokens * d + 2 * d) * itemsize

def rms_norm_cost(tokens, d, itemsize, reads=1):
    return tokens * (4 * d + 4), ((reads + 1) * tokens * d + d) * itemsize
""",
        ["expected the int"],
    ),
    (
        "places forgotten in n",
        "norm.running",
        """
def batch_norm_step(x, mean, variance, training, momentum=0.1, eps=1e-5):
    axes, shape = (0, *range(2, x.ndim)), (-1,) + (1,) * (x.ndim - 2)
    now, spread = mean, variance
    if training:
        spread, now = torch.var_mean(x, axes, correction=0)
        mean = torch.lerp(mean, now, momentum)
        variance = torch.lerp(variance, spread * len(x) / (len(x) - 1), momentum)
    return (x - now.view(shape)) / (spread.view(shape) + eps).sqrt(), mean, variance
""",
        ["The places count too"],
    ),
    (
        "groups are instances",
        "norm.axes",
        """
def normalize_over(x, axes, eps=1e-5):
    variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
    return (x - mean) / (variance + eps).sqrt()

def batch_norm(x):
    return normalize_over(x, tuple(a for a in range(x.ndim) if a != 1))

def instance_norm(x):
    return normalize_over(x, tuple(range(2, x.ndim)))

def group_norm(x, groups):
    if x.shape[1] % groups != 0:
        raise ValueError("groups")
    return torch.cat([instance_norm(part) for part in x.chunk(groups, 1)], 1)
""",
        ["group_norm", "which is instance norm"],
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
