"""The ways to wire a block as learners write them, all right."""

WIRED = {
    "post_ln": lambda x, f, n: n(f(x) + x),
    "pre_ln": lambda x, f, n: f(n(x)) + x,
    "sandwich": lambda x, f, a, b: b(f(a(x))) + x,
    "norm_inside": lambda x, f, n: n(f(x)) + x,
    "deepnorm": lambda x, f, n, alpha: n(f(x) + alpha * x),
    "parallel": lambda x, a, f, n: a(n(x)) + f(n(x)) + x,
}
