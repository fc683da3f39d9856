"""logsumexp, z-loss, QK-norm and soft caps."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import stability as ref

UNIT = "10-stability"
INF = math.inf


# --- logsumexp -----------------------------------------------------------------------------------------------------
def lse_by_where(x, dim=-1):
    """The peak is replaced where it is infinite."""
    peak = x.amax(dim=dim, keepdim=True)
    peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak))
    return (peak + (x.float() - peak).exp().sum(dim, keepdim=True).log()).squeeze(dim).to(x.dtype)


def lse_by_lists(x, dim=-1):
    """Python numbers, one slice at a time."""
    def one(row):
        peak = max(row)
        return peak if math.isinf(peak) else peak + math.log(sum(math.exp(v - peak) for v in row))

    rows = x.movedim(dim, -1)
    sums = [one(r.tolist()) for r in rows.reshape(-1, rows.shape[-1])]
    return torch.tensor(sums).reshape(rows.shape[:-1]).to(x.dtype)


def lse_plain(x, dim=-1):
    return torch.log(torch.exp(x).sum(dim=dim))


def lse_unshifted(x, dim=-1):
    return torch.log(torch.exp(x - x.amax(dim=dim, keepdim=True)).sum(dim=dim))


def lse_global(x, dim=-1):
    peak = x.max()
    return peak + torch.log(torch.exp(x - peak).sum(dim=dim))


def lse_last(x, dim=-1):
    return ref.logsumexp(x, -1)


def lse_nan(x, dim=-1):
    peak = x.amax(dim=dim, keepdim=True)
    return (peak + torch.log(torch.exp(x - peak).sum(dim=dim, keepdim=True))).squeeze(dim)


def lse_no_keepdim(x, dim=-1):
    peak = x.amax(dim=dim)
    peak = peak.masked_fill(peak == -INF, 0.0)
    return peak + torch.log(torch.exp(x - peak).sum(dim=dim))


def lse_mean(x, dim=-1):
    return ref.logsumexp(x, dim) - math.log(x.shape[dim])


LOGSUMEXP = Exercise(
    id="stability.logsumexp", unit=UNIT, title="The log of a sum of exponentials", points=2, difficulty=2, minutes=10,
    signature="logsumexp(x, dim=-1)", reference=ref.logsumexp, alternatives=[lse_by_where, lse_by_lists],
    forbidden=("logsumexp", "logaddexp", "log_softmax", "softmax", "softplus"),
    forbidden_message="Use exp, a maximum, a sum and log.",
    cases=[
        Case("by hand", "ln 3 and 0 have exponentials 3 and 1, and ln 4 is 1.386; two zeros give ln 2",
             lambda g: call(torch.tensor([[math.log(3), 0.0], [0.0, 0.0]]))),
        Case("other axis", "with dim=0 the columns are added up", lambda g: call(g.randn(4, 3), dim=0)),
        Case("overflow", "scores near 1000, whose exponentials do not exist in float32",
             lambda g: call(1000 + g.randn(2, 5))),
        Case("far apart", "two rows that lie 4000 apart", lambda g: call(
            torch.tensor([[2000.0, 2001.0], [-2000.0, -2001.0]]))),
        Case("empty", "a row of minus infinities has sum 0, and log 0 is minus infinity",
             lambda g: call(torch.tensor([[-INF, -INF], [0.5, -INF]]))),
    ],
    mutants=[
        Mutant("global", lse_global, "One maximum serves the whole tensor, so slices far below it sum to 0. Take the "
               "maximum along dim."),
        Mutant("plain", lse_plain, "exp overflows before log can bring the number back. Take the maximum out of the "
               "sum first, and add it again after the log."),
        Mutant("unshifted", lse_unshifted, "The maximum was taken out and never came back. Add it after the log: "
               "log(e^m · sum) = m + log(sum)."),
        Mutant("last_axis", lse_last, "The sum runs over the last axis whatever dim says. Use dim in the maximum and "
               "in the sum."),
        Mutant("nan_row", lse_nan, "Right for finite rows. Where the maximum is -inf, -inf minus -inf is NaN: use 0 "
               "as the shift of such a row."),
        Mutant("no_keepdim", lse_no_keepdim, "The maximum has lost its axis, so it is subtracted along another one, or "
               "does not fit at all. Take it with keepdim=True, and drop the axis at the end."),
        Mutant("mean", lse_mean, "This is the log of the mean. The number of entries must not divide the sum."),
    ],
)


# --- z-loss --------------------------------------------------------------------------------------------------------
def z_builtin(logits, coefficient=1e-4):
    """With PyTorch's logsumexp."""
    return coefficient * (torch.logsumexp(logits, -1) ** 2).mean()


def z_gradient_by_autograd(logits, coefficient=1e-4):
    """Let autograd differentiate the loss."""
    with torch.enable_grad():
        x = logits.detach().clone().requires_grad_(True)
        return torch.autograd.grad(z_builtin(x, coefficient), x)[0]


def z_by_rows(logits, coefficient=1e-4):
    """One row at a time."""
    rows = logits.reshape(-1, logits.shape[-1])
    return coefficient * sum(r.logsumexp(0) ** 2 for r in rows) / len(rows)


def z_gradient_by_softmax(logits, coefficient=1e-4):
    """2λ·log Z·softmax over the number of rows, with built-ins."""
    log_z = torch.logsumexp(logits, -1, keepdim=True)
    return 2 * coefficient * log_z * torch.softmax(logits, -1) / log_z.numel()


def _z_loss(form):
    return lambda logits, coefficient=1e-4: form(logits, coefficient, torch.logsumexp(logits, -1))


def _z_gradient(form):
    return lambda logits, coefficient=1e-4: form(coefficient, torch.logsumexp(logits, -1, keepdim=True),
                                                 torch.softmax(logits, -1), logits[..., 0].numel())


def _slope(x, coefficient):
    return Program().call(x, coefficient, fn="z_loss_gradient")


_TWO_ROWS = torch.tensor([[-3.0, -4.0, -5.0], [2.0, 1.0, 4.0]])


Z_LOSS = Exercise(
    id="stability.z_loss", unit=UNIT, title="z-loss and its gradient", points=3, difficulty=3, minutes=15,
    signature="z_loss(logits, coefficient=1e-4)", targets=("z_loss", "z_loss_gradient"),
    reference=(ref.z_loss, ref.z_loss_gradient),
    alternatives=[(z_builtin, z_gradient_by_autograd), (z_by_rows, z_gradient_by_softmax)],
    cases=[
        Case("by hand", "Z = 3 + 1 = 4: with λ = 0.5 the loss is 0.5 · (ln 4)², 0.96",
             lambda g: call(torch.tensor([[math.log(3), 0.0]]), 0.5)),
        Case("two rows", "two rows, one below log Z = 0 and one above: the loss is their mean",
             lambda g: call(_TWO_ROWS, 0.25)),
        Case("batch", "the loss of a batch of shape (2, 3, 5)", lambda g: call(2 + g.randn(2, 3, 5), 0.1)),
        Case("large", "the loss of logits near 500", lambda g: call(500 + g.randn(3, 4), 1e-3)),
        Case("gradient by hand", "for one row with Z = 4 and λ = 0.5 the gradient shares ln 4 as 3 to 1",
             lambda g: _slope(torch.tensor([[math.log(3), 0.0]]), 0.5)),
        Case("gradient of two rows", "each row of the gradient has the sign of its own log Z",
             lambda g: _slope(_TWO_ROWS, 0.25)),
        Case("gradient of a batch", "the gradient for a batch of shape (2, 3, 5)",
             lambda g: _slope(2 + g.randn(2, 3, 5), 0.1)),
        Case("gradient, large", "the gradient for logits near 500", lambda g: _slope(500 + g.randn(3, 4), 1e-3)),
    ],
    mutants=[
        Mutant("no_square", (_z_loss(lambda x, c, z: c * z.mean()), ref.z_loss_gradient),
               "log Z is not squared, so the loss could fall without end. Square it before the mean."),
        Mutant("square_of_mean", (_z_loss(lambda x, c, z: c * z.mean() ** 2), ref.z_loss_gradient),
               "The mean is squared, so rows above and below 0 cancel. Square log Z of each row, then take the mean."),
        Mutant("summed", (_z_loss(lambda x, c, z: c * z.square().sum()), ref.z_loss_gradient),
               "The rows are summed, so the loss grows with the batch. Take their mean."),
        Mutant("not_reduced", (_z_loss(lambda x, c, z: c * z.square()), ref.z_loss_gradient),
               "There is one loss per row. Take the mean over the rows: the result is a scalar."),
        Mutant("no_log", (_z_loss(lambda x, c, z: c * x.exp().sum(-1).square().mean()), ref.z_loss_gradient),
               "This squares Z itself, which overflows soon. The loss squares log Z: use your logsumexp."),
        Mutant("no_coefficient", (_z_loss(lambda x, c, z: z.square().mean()), ref.z_loss_gradient),
               "The loss lacks its coefficient λ."),
        Mutant("overflow", (_z_loss(lambda x, c, z: c * x.exp().sum(-1).log().square().mean()), ref.z_loss_gradient),
               "Right for small logits, but exp overflows for large ones. Use your logsumexp."),
        Mutant("no_two", (ref.z_loss, _z_gradient(lambda c, z, p, n: c * z * p / n)),
               "The loss is right. In the gradient the 2 is missing: the derivative of u² is 2u·u′."),
        Mutant("no_softmax", (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z.expand_as(p) / n)),
               "The loss is right. The derivative of log Z by a logit is that logit's softmax weight: multiply by it."),
        Mutant("no_log_z", (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * p / n)),
               "The loss is right. The gradient lacks log Z, which says how hard to pull and in which direction."),
        Mutant("per_entry", (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p / p.numel())),
               "The loss is right. Its gradient is divided by the number of all entries. The loss is a mean over rows: "
               "divide by their number."),
        Mutant("rows_forgotten", (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p)),
               "The loss is a mean over rows, so its gradient is divided by the number of rows too."),
    ],
)


# --- QK-norm -------------------------------------------------------------------------------------------------------
def qk_builtin(q, k, q_gain, k_gain, eps=1e-6):
    """PyTorch's rms_norm."""
    D = (q.shape[-1],)
    return torch.nn.functional.rms_norm(q, D, q_gain, eps), torch.nn.functional.rms_norm(k, D, k_gain, eps)


def bound_by_lengths(q_gain, k_gain):
    """Largest length of a query times largest length of a key, over √D."""
    D = len(q_gain)
    return float((D**0.5 * q_gain.abs().max()) * (D**0.5 * k_gain.abs().max()) / D**0.5)


def qk_by_hand(q, k, q_gain, k_gain, eps=1e-6):
    """Squares, mean, root, division."""
    out = []
    for x, gain in ((q, q_gain), (k, k_gain)):
        out.append(x / (torch.einsum("...d,...d->...", x, x) / x.shape[-1] + eps).sqrt().unsqueeze(-1) * gain)
    return out


def bound_by_lists(q_gain, k_gain):
    """Python numbers."""
    return math.sqrt(len(q_gain)) * max(map(abs, q_gain.tolist())) * max(map(abs, k_gain.tolist()))


def _normed(one):
    return lambda q, k, q_gain, k_gain, eps=1e-6: (one(q, q_gain, eps), one(k, k_gain, eps))


def _rms(x, gain, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain


def _bound(form):
    return lambda q_gain, k_gain: float(form(q_gain, k_gain, q_gain.shape[-1]))


_LAYER = _normed(lambda x, gain, eps: _rms(x - x.mean(-1, keepdim=True), gain, eps))
_UNIT = _normed(lambda x, gain, eps: x / (x.square().sum(-1, keepdim=True) + eps).sqrt() * gain)
_WHOLE = _normed(lambda x, gain, eps: x * torch.rsqrt(x.square().mean((-2, -1), keepdim=True) + eps) * gain)
_NO_GAIN = _normed(lambda x, gain, eps: _rms(x, 1.0, eps))
_NO_EPS = _normed(lambda x, gain, eps: _rms(x, gain, 0.0))
_NO_KEEPDIM = _normed(lambda x, gain, eps: x * torch.rsqrt(x.square().mean(-1) + eps) * gain)
_EPS_OUT = _normed(lambda x, gain, eps: x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * gain)


def _limit(q_gain, k_gain):
    return Program().call(q_gain, k_gain, fn="qk_norm_bound")


QK_NORM = Exercise(
    id="stability.qk_norm", unit=UNIT, title="QK-norm and the bound it gives", points=3, difficulty=3, minutes=15,
    signature="qk_norm(q, k, q_gain, k_gain, eps=1e-6)", targets=("qk_norm", "qk_norm_bound"),
    reference=(ref.qk_norm, ref.qk_norm_bound),
    alternatives=[(qk_builtin, bound_by_lengths), (qk_by_hand, bound_by_lists)],
    cases=[
        Case("by hand", "(3, 3, 3, 3) becomes (1, 1, 1, 1) and (0, 0, 0, 8) becomes (0, 0, 0, 2), each times its gain",
             lambda g: call(torch.full((1, 4), 3.0), torch.tensor([[0.0, 0.0, 0.0, 8.0]]),
                            torch.tensor([1.0, 1.0, 1.0, 2.0]), torch.tensor([3.0, 1.0, 1.0, 1.0]))),
        Case("heads", "two sentences, three heads, four queries, five keys",
             lambda g: call(5 + g.randn(2, 3, 4, 6), g.randn(2, 3, 5, 6, scale=30.0), g.uniform(6, low=0.5, high=2.0),
                            g.uniform(6, low=2.5, high=4.0))),
        Case("tiny", "vectors of size 0.001 and 0, where ε inside the root matters",
             lambda g: call(torch.tensor([[1e-3, -1e-3], [0.0, 0.0]]), torch.tensor([[2e-3, 0.0]]), torch.ones(2),
                            torch.full((2,), 2.0))),
        Case("bound by hand", "four entries, gains of at most 2 and 3: scores up to √4 · 2 · 3 = 12",
             lambda g: _limit(torch.tensor([1.0, 1.0, 1.0, 2.0]), torch.tensor([3.0, 1.0, 1.0, 1.0]))),
        Case("negative gain", "a gain of −5 stretches as much as one of 5",
             lambda g: _limit(torch.tensor([1.0, -5.0, 2.0]), torch.tensor([0.5, 1.0, -2.0]))),
        Case("bound", "drawn gains of a head with six entries",
             lambda g: _limit(g.uniform(6, low=0.5, high=2.0), g.uniform(6, low=2.5, high=4.0))),
    ],
    mutants=[
        Mutant("layer_norm", (_LAYER, ref.qk_norm_bound), "The mean is subtracted, as in LayerNorm. RMS-norm only "
               "divides by the root of the mean square."),
        Mutant("unit_length", (_UNIT, ref.qk_norm_bound), "The vectors have length 1. RMS-norm divides by the root of "
               "the mean of the squares, so that the length is √D."),
        Mutant("all_words", (_WHOLE, ref.qk_norm_bound), "The mean runs over all words of a head. Each vector is "
               "divided by its own root mean square: last axis only."),
        Mutant("no_keepdim", (_NO_KEEPDIM, ref.qk_norm_bound),
               "The mean square has lost its axis, so it divides along another one or does not fit. Use keepdim=True."),
        Mutant("no_gain", (_NO_GAIN, ref.qk_norm_bound), "The gains are missing. Multiply the normalized queries by "
               "q_gain and the keys by k_gain."),
        Mutant("swapped", (lambda q, k, q_gain, k_gain, eps=1e-6: ref.qk_norm(q, k, k_gain, q_gain, eps),
                           ref.qk_norm_bound), "The gains are swapped: q_gain belongs to the queries."),
        Mutant("query_only", (lambda q, k, q_gain, k_gain, eps=1e-6: (_rms(q, q_gain, eps), k), ref.qk_norm_bound),
               "Only the queries are normalized, so large keys still make large scores. Normalize both."),
        Mutant("no_eps", (_NO_EPS, ref.qk_norm_bound), "A vector of zeros becomes NaN. Add ε to the mean square "
               "before the root."),
        Mutant("eps_outside", (_EPS_OUT, ref.qk_norm_bound), "ε is added after the root. Here it belongs inside: "
               "√(mean square + ε)."),
        Mutant("no_root", (ref.qk_norm, _bound(lambda a, b, D: a.abs().max() * b.abs().max())),
               "The vectors are right. The bound lacks √D: two vectors of length √D have a product of at most D, and "
               "D/√D = √D."),
        Mutant("times_d", (ref.qk_norm, _bound(lambda a, b, D: D * a.abs().max() * b.abs().max())),
               "The vectors are right. D bounds q·k; the score is q·k/√D, so √D is left."),
        Mutant("no_abs", (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * a.max() * b.max())),
               "The vectors are right. The bound ignores negative gains: take the largest |g|."),
        Mutant("entrywise", (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * (a * b).abs().max())),
               "The vectors are right. Multiplying gains entry by entry assumes that nothing rotates q and k later. "
               "RoPE does: use the two largest lengths."),
    ],
)


# --- soft cap ------------------------------------------------------------------------------------------------------
def _checked(cap):
    if cap <= 0:
        raise ValueError("cap must be positive")


def cap_by_exp(x, cap):
    """tanh from one exponential."""
    _checked(cap)
    return cap * (1 - 2 / (torch.exp(2 * x / cap) + 1))


def weights_by_exp(scores, cap, mask=None):
    """exp of the capped scores needs no shift for a modest cap; forbidden ones are multiplied away, then divided."""
    e = torch.exp(cap_by_exp(scores, cap) - cap)
    e = e if mask is None else e * mask
    return e / e.sum(-1, keepdim=True)


def cap_by_sigmoid(x, cap):
    """tanh(u) = 2σ(2u) − 1."""
    _checked(cap)
    return cap * (2 * torch.sigmoid(2 * x.double() / cap) - 1).to(x.dtype)


def weights_builtin(scores, cap, mask=None):
    """masked_fill and softmax."""
    y = cap_by_sigmoid(scores, cap)
    return torch.softmax(y if mask is None else y.masked_fill(~mask, -INF), -1)


def weights_mask_first(scores, cap, mask=None):
    scores = scores if mask is None else scores.masked_fill(~mask, -INF)
    return torch.softmax(ref.soft_cap(scores, cap), -1)


def weights_mask_last(scores, cap, mask=None):
    weights = torch.softmax(ref.soft_cap(scores, cap), -1)
    return weights if mask is None else weights * mask


def weights_times_mask(scores, cap, mask=None):
    capped = ref.soft_cap(scores, cap)
    return torch.softmax(capped if mask is None else capped * mask, -1)


def weights_uncapped(scores, cap, mask=None):
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -INF), -1)


def weights_upside_down(scores, cap, mask=None):
    return weights_builtin(scores, cap, None if mask is None else ~mask)


def _plain_cap(form):
    def capped(x, cap):
        _checked(cap)
        return form(x, cap)
    return capped


_MASK = torch.tensor([[True, False, True], [False, True, True]])
_CAPPED = lambda scores, cap, mask=None: Program().call(scores, cap, mask, fn="soft_capped_weights")
_OWN = ref.soft_capped_weights

SOFT_CAP = Exercise(
    id="stability.soft_cap", unit=UNIT, title="Soft caps, before the mask", points=3, difficulty=2, minutes=12,
    signature="soft_cap(x, cap)", targets=("soft_cap", "soft_capped_weights"), reference=(ref.soft_cap, _OWN),
    alternatives=[(cap_by_exp, weights_by_exp), (cap_by_sigmoid, weights_builtin)],
    cases=[
        Case("by hand", "cap 10: 0 stays 0, 10 becomes 10 · tanh 1 = 7.62, −1000 becomes −10",
             lambda g: call(torch.tensor([0.0, 10.0, -1000.0]), 10.0)),
        Case("slope", "the slope is 1 at 0 and almost 0 far out",
             lambda g: call(torch.tensor([0.0, 3.0, -40.0]), 4.0, grad=[0], cotangent=torch.ones(3))),
        Case("weights", "weights of capped scores, without a mask",
             lambda g: _CAPPED(g.randn(2, 3, 4, scale=9.0), 5.0)),
        Case("mask", "forbidden keys get weight exactly 0, and each row sums to 1",
             lambda g: _CAPPED(g.randn(2, 3, scale=2.0), 1.5, _MASK), weight=2),
        Case("no cap", "a cap of 0 is a ValueError", lambda g: call(torch.tensor([1.0, 2.0]), 0.0)),
    ],
    mutants=[
        Mutant("clamp", (_plain_cap(lambda x, c: x.clamp(-c, c)), _OWN),
               "This cuts off: beyond the cap the slope is 0 and nothing is learned. Use cap · tanh(x / cap)."),
        Mutant("not_divided", (_plain_cap(lambda x, c: c * torch.tanh(x)), _OWN),
               "The slope at 0 is cap, so small scores are stretched. Divide x by cap inside tanh."),
        Mutant("not_multiplied", (_plain_cap(lambda x, c: torch.tanh(x / c)), _OWN),
               "The result lies between −1 and 1. Multiply by cap after tanh."),
        Mutant("no_error", (lambda x, cap: cap * torch.tanh(x / cap), _OWN),
               "Right for positive caps. Raise a ValueError when cap <= 0, before dividing by it."),
        Mutant("mask_first", (ref.soft_cap, weights_mask_first),
               "The mask comes before the cap, and tanh(-inf) is −1: forbidden keys get score −cap and some weight. "
               "Cap first, then mask."),
        Mutant("mask_last", (ref.soft_cap, weights_mask_last),
               "The mask comes after the softmax, so rows no longer sum to 1. Put -inf between the cap and the "
               "softmax."),
        Mutant("times_mask", (ref.soft_cap, weights_times_mask),
               "Forbidden scores became 0, and a score of 0 still gets weight. Put -inf in their place, between the "
               "cap and the softmax."),
        Mutant("uncapped", (ref.soft_cap, weights_uncapped), "The weights are those of the raw scores. Send the "
               "scores through soft_cap first."),
        Mutant("upside_down", (ref.soft_cap, weights_upside_down), "The mask is used upside down. True means may "
               "look: fill where it is False."),
    ],
)

EXERCISES = [LOGSUMEXP, Z_LOSS, QK_NORM, SOFT_CAP]
