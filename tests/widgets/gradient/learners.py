"""Ways to wire a block as learners write them, all right."""

WIRED = {
    "post_ln": lambda x, sublayer, norm: norm(sublayer(x) + x),
    "pre_ln": lambda x, sublayer, norm: sublayer(norm(x)) + x,
    "sandwich": lambda x, sublayer, norm_in, norm_out: norm_out(sublayer(norm_in(x))) + x,
    "norm_inside": lambda x, sublayer, norm: norm(sublayer(x)) + x,
    "deepnorm": lambda x, sublayer, norm, alpha: norm(sublayer(x) + alpha * x),
    "parallel": lambda x, attention, ffn, norm: attention(norm(x)) + ffn(norm(x)) + x,
}
