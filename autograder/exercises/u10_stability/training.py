"""Weight decay, parameter groups, dropout, clipping, spikes."""

import math
from itertools import pairwise

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import optim, stability

UNIT = "10-stability"


# --- weight decay --------------------------------------------------------------------------------------------------
def _step(rule):
    """The reference keeps its moments in a tuple; here they are plain arguments. step counts from 1."""
    def taken(theta, gradient, m, v, step, lr, weight_decay):
        new, state = rule(theta, gradient, optim.AdamState(m, v, step - 1), lr=lr, weight_decay=weight_decay)
        return new, state.m, state.v
    return taken


adamw_step, adam_l2_step = _step(optim.adamw_step), _step(optim.adam_l2_step)


def direction(gradient, m, v, step):
    """The direction of Adam and its new moments, as the notebook gives them."""
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
    return (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8), m, v


def adamw_two_lines(theta, gradient, m, v, step, lr, weight_decay):
    """Decay and step as one subtraction."""
    d, m, v = direction(gradient, m, v, step)
    return theta - lr * (d + weight_decay * theta), m, v


def l2_two_lines(theta, gradient, m, v, step, lr, weight_decay):
    """Penalty into the gradient, then plain Adam."""
    d, m, v = direction(gradient + weight_decay * theta, m, v, step)
    return theta - lr * d, m, v


def _torch(name, **kwargs):
    def step_by_torch(theta, gradient, m, v, step, lr, weight_decay):
        p = torch.nn.Parameter(theta.clone())
        p.grad = gradient.clone()
        optimizer = getattr(torch.optim, name)([p], lr=lr, weight_decay=weight_decay, foreach=False)
        optimizer.state[p] = {"step": torch.tensor(float(step - 1)), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
        optimizer.step()
        return p.detach(), optimizer.state[p]["exp_avg"], optimizer.state[p]["exp_avg_sq"]
    return step_by_torch


def _decoupled(form):
    def wrong(theta, gradient, m, v, step, lr, weight_decay):
        d, m, v = direction(gradient, m, v, step)
        return form(theta, d, lr, weight_decay), m, v
    return wrong


def _coupled(form):
    def wrong(theta, gradient, m, v, step, lr, weight_decay):
        d, m, v = direction(form(theta, gradient, lr, weight_decay), m, v, step)
        return theta - lr * d, m, v
    return wrong


def _by_l2(*inputs):
    return Program().call(*inputs, fn="adam_l2_step")


def _later(g):
    """Inputs of a seventh step."""
    return g.randn(3, 4), g.randn(3, 4), g.randn(3, 4, scale=0.3), g.uniform(3, 4, low=0.1), 7, 0.2, 0.4


def _steep(g):
    """A first step whose gradient is large."""
    return torch.tensor([3.0, -3.0]), 100 + g.randn(2), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5


def _zero(*values):
    return torch.zeros(len(values))


DECAY = Exercise(
    id="stability.weight_decay", unit=UNIT, title="AdamW, and L2 inside Adam", points=3, difficulty=3, minutes=15,
    signature="adamw_step(theta, gradient, m, v, step, lr, weight_decay)", targets=("adamw_step", "adam_l2_step"),
    reference=(adamw_step, adam_l2_step),
    alternatives=[(adamw_two_lines, l2_two_lines), (_torch("AdamW"), _torch("Adam"))],
    cases=[
        Case("no gradient", "θ = 2 and 4, gradient 0, η = 0.1, λ = 0.5: AdamW takes 5 % off, 1.9 and 3.8",
             lambda g: call(torch.tensor([2.0, 4.0]), _zero(0, 0), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5)),
        Case("later", "AdamW's seventh step, with moments from before", lambda g: call(*_later(g))),
        Case("large gradient", "AdamW's decay does not depend on a gradient of about 100", lambda g: call(*_steep(g))),
        Case("L2, no gradient", "θ = 2 and 4, gradient 0: L2 takes a whole step of 0.1 off both, 1.9 and 3.9",
             lambda g: _by_l2(torch.tensor([2.0, 4.0]), _zero(0, 0), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5)),
        Case("L2, later", "the seventh step with L2, with moments from before", lambda g: _by_l2(*_later(g))),
        Case("L2, large gradient", "a gradient of about 100 hides the L2 penalty", lambda g: _by_l2(*_steep(g))),
    ],
    mutants=[
        Mutant("without_rate", (_decoupled(lambda t, d, lr, wd: (1 - wd) * t - lr * d), adam_l2_step),
               "θ shrinks by 1 − λ. Scale the decay by the learning rate: the factor is 1 − η·λ."),
        Mutant("both_l2", (adam_l2_step, adam_l2_step),
               "adamw_step adds the decay to the gradient, so it is divided by √v like the rest. Shrink θ itself."),
        Mutant("both_decoupled", (adamw_step, adamw_step),
               "adam_l2_step shrinks θ directly. As an L2 penalty, λ·θ joins the gradient before the moments."),
        Mutant("decay_after", (_decoupled(lambda t, d, lr, wd: (1 - lr * wd) * (t - lr * d)), adam_l2_step),
               "The decay shrinks the step too. Multiply θ alone by 1 − η·λ, then subtract the step."),
        Mutant("grows", (_decoupled(lambda t, d, lr, wd: (1 + lr * wd) * t - lr * d), adam_l2_step),
               "The weights grow. Decay multiplies θ by 1 − η·λ, which is below 1."),
        Mutant("no_decay", (_decoupled(lambda t, d, lr, wd: t - lr * d), adam_l2_step),
               "adamw_step has no decay: θ is only moved by the step. Multiply θ by 1 − η·λ first."),
        Mutant("penalty_with_rate", (adamw_step, _coupled(lambda t, g, lr, wd: g + lr * wd * t)),
               "AdamW is right. In adam_l2_step the penalty's gradient is λ·θ: the learning rate comes later, with the "
               "whole step."),
        Mutant("penalty_squared", (adamw_step, _coupled(lambda t, g, lr, wd: g + wd * t**2)),
               "AdamW is right. λ/2 · θ² is the penalty itself; what joins the gradient is its derivative, λ·θ."),
        Mutant("penalty_doubled", (adamw_step, _coupled(lambda t, g, lr, wd: g + 2 * wd * t)),
               "AdamW is right. The penalty here is λ/2 · ‖θ‖², so its gradient is λ·θ, without the 2."),
    ],
)


# --- parameter groups ----------------------------------------------------------------------------------------------
def parameter_groups(shapes, embeddings, weight_decay):
    """dict name → shape, names of embeddings → two groups of names. By way of the rule for modules."""
    model = torch.nn.Module()
    for i, (name, shape) in enumerate(shapes.items()):
        p = torch.nn.Parameter(torch.zeros(*shape))
        if name in embeddings:
            layer = torch.nn.Embedding(1, 1)
            layer.weight = p
        else:
            layer = torch.nn.Module()
            layer.register_parameter("weight", p)
        model.add_module(str(i), layer)
    names = {id(p): name for p, name in zip(model.parameters(), shapes, strict=True)}
    return [{"params": [names[id(p)] for p in group["params"]], "weight_decay": group["weight_decay"]}
            for group in optim.parameter_groups(model, weight_decay)]


def groups_by_lists(shapes, embeddings, weight_decay):
    """Two comprehensions."""
    on = [n for n in shapes if len(shapes[n]) > 1 and n not in embeddings]
    return [{"params": on, "weight_decay": weight_decay},
            {"params": [n for n in shapes if n not in on], "weight_decay": 0.0}]


def groups_by_loop(shapes, embeddings, weight_decay):
    """A loop with two lists."""
    decay, rest = [], []
    for name, shape in shapes.items():
        (rest if name in embeddings or len(shape) < 2 else decay).append(name)
    return [dict(params=decay, weight_decay=weight_decay), dict(params=rest, weight_decay=0.0)]


def _groups(rule):
    def wrong(shapes, embeddings, weight_decay):
        on = [n for n in shapes if rule(n, shapes[n], embeddings)]
        return [{"params": on, "weight_decay": weight_decay},
                {"params": [n for n in shapes if n not in on], "weight_decay": 0.0}]
    return wrong


def embeddings_twice(shapes, embeddings, weight_decay):
    on = [n for n in shapes if len(shapes[n]) > 1]
    return [{"params": on, "weight_decay": weight_decay},
            {"params": [n for n in shapes if n not in on or n in embeddings], "weight_decay": 0.0}]


def embeddings_lost(shapes, embeddings, weight_decay):
    return [{"params": [n for n in shapes if len(shapes[n]) > 1 and n not in embeddings], "weight_decay": weight_decay},
            {"params": [n for n in shapes if len(shapes[n]) < 2], "weight_decay": 0.0}]


def _shapes(g, names):
    """Random sizes of at least 2, an axis for each letter."""
    return {name: [g.integer(2, 9) for _ in range(axes)] for name, axes in names.items()}


GROUPS = Exercise(
    id="stability.parameter_groups", unit=UNIT, title="Which parameters decay", points=2, difficulty=2, minutes=8,
    signature="parameter_groups(shapes, embeddings, weight_decay)", reference=parameter_groups,
    alternatives=[groups_by_lists, groups_by_loop],
    cases=[
        Case("three", "a matrix decays; its bias and the table of word vectors do not",
             lambda g: call({"up.weight": [8, 4], "up.bias": [8], "words": [50, 4]}, ["words"], 0.1)),
        Case("norms", "gains of norms are called weight too, and do not decay",
             lambda g: call(_shapes(g, {"norm.weight": 1, "q.weight": 2, "norm.bias": 1, "k.weight": 2}), [], 0.01)),
        Case("convolution", "a kernel of three axes decays; two tables do not",
             lambda g: call(_shapes(g, {"places": 2, "words": 2, "conv": 3, "head.weight": 2}), ["words", "places"],
                            0.05)),
    ],
    mutants=[
        Mutant("everything", _groups(lambda n, s, e: True),
               "Everything decays. Vectors (biases and gains) and embeddings belong into the second group."),
        Mutant("embeddings_decay", _groups(lambda n, s, e: len(s) > 1),
               "The tables of word and position vectors decay. Names in embeddings belong into the second group."),
        Mutant("embeddings_twice", embeddings_twice,
               "Embeddings are in both groups, and an optimizer refuses that. Take them out of the first."),
        Mutant("embeddings_lost", embeddings_lost,
               "Embeddings are in no group, so they would never be trained. They belong into the second."),
        Mutant("by_name", _groups(lambda n, s, e: not n.endswith("bias") and n not in e),
               "The gain of a norm is called weight and is a vector. Decide by the number of axes, not by the name."),
        Mutant("vectors_decay", _groups(lambda n, s, e: n not in e),
               "Biases and gains decay. Only parameters with two axes or more belong into the first group."),
        Mutant("only_two_axes", _groups(lambda n, s, e: len(s) == 2 and n not in e),
               "A kernel of three axes is left out. Two axes or more decay."),
        Mutant("swapped", lambda shapes, embeddings, weight_decay: [
            dict(group, weight_decay=wd) for group, wd in
            zip(groups_by_lists(shapes, embeddings, weight_decay), (0.0, weight_decay), strict=True)],
            "The names are right and the decays are swapped: the first group decays."),
    ],
)


# --- dropout -------------------------------------------------------------------------------------------------------
def dropout(x, keep, p, training=True):
    """Inverted dropout for a given pattern, x itself at inference."""
    return stability.dropout_with(x, keep, p) if training else x


def _valid(p):
    if not 0 <= p <= 1:
        raise ValueError("p must lie in [0, 1]")


def dropout_by_where(x, keep, p, training=True):
    """torch.where."""
    _valid(p)
    if not training or p == 0:
        return torch.where(keep, x, torch.zeros_like(x)) if training else x
    return torch.where(keep, x / (1 - p) if p < 1 else torch.zeros_like(x), torch.zeros_like(x))


def dropout_by_factor(x, keep, p, training=True):
    """A factor per entry."""
    _valid(p)
    if not training:
        return x
    return x * keep / max(1 - p, 1e-12)


def _dropout(train, infer=lambda x, p: x):
    def wrong(x, keep, p, training=True):
        _valid(p)
        return train(x, keep, p) if training else infer(x, p)
    return wrong


def _scale(p):
    return 1 / (1 - p) if p < 1 else 0.0


def no_check(x, keep, p, training=True):
    return x if not training else x * keep * _scale(p)


_KEEP = torch.tensor([True, False, True, True])
DROPOUT = Exercise(
    id="stability.dropout", unit=UNIT, title="Inverted dropout", points=2, difficulty=2, minutes=10,
    signature="dropout(x, keep, p, training=True)", reference=dropout,
    alternatives=[dropout_by_where, dropout_by_factor], forbidden=("dropout",),
    forbidden_message="The pattern is given: multiply and divide yourself.",
    cases=[
        Case("by hand", "p = 0.75: what is kept is multiplied by 4",
             lambda g: call(torch.tensor([1.0, 2.0, 3.0, 4.0]), _KEEP, 0.75)),
        Case("both", "training with a random pattern, then inference on the same input, which changes nothing",
             lambda g: _both_modes(g)),
        Case("one pattern", "one pattern for all rows, p = 0.2",
             lambda g: call(g.randn(3, 4), torch.tensor([False, True, True, False]), 0.2)),
        Case("all dropped", "p = 1 drops everything and makes no NaN",
             lambda g: call(torch.tensor([1.0, 2.0]), torch.tensor([False, False]), 1.0)),
        Case("not a probability", "p = 1.5 is a ValueError",
             lambda g: call(torch.tensor([1.0]), torch.tensor([True]), 1.5)),
    ],
    mutants=[
        Mutant("not_scaled", _dropout(lambda x, keep, p: x * keep),
               "What is kept is not scaled, so the mean shrinks by 1 − p in training. Divide it by 1 − p."),
        Mutant("by_p", _dropout(lambda x, keep, p: x * keep / p if p < 1 else x * 0),
               "The kept entries are divided by p. A share of 1 − p is kept: divide by 1 − p."),
        Mutant("multiplied", _dropout(lambda x, keep, p: x * keep * (1 - p)),
               "The kept entries shrink even further. Divide by 1 − p, so that the mean stays."),
        Mutant("at_inference", _dropout(lambda x, keep, p: x * keep, lambda x, p: x * (1 - p)),
               "This is the first form of dropout: no scale in training, 1 − p at inference. Here the scale 1/(1 − p) "
               "belongs to training, and inference does nothing."),
        Mutant("inference_grows", _dropout(lambda x, keep, p: x * keep, lambda x, p: x * _scale(p)),
               "The factor 1/(1 − p) is applied at inference. It belongs to training; inference returns x itself."),
        Mutant("always", lambda x, keep, p, training=True: dropout(x, keep, p),
               "Entries are dropped at inference too. Return x unchanged when training is False."),
        Mutant("upside_down", _dropout(lambda x, keep, p: x * ~keep * _scale(p)),
               "The pattern is used upside down: True means keep."),
        Mutant("nan_at_one", _dropout(lambda x, keep, p: x * keep / (1 - p) if p < 1 else x * math.nan),
               "Right for p below 1. At p = 1 this divides 0 by 0: return zeros there."),
        Mutant("no_check", no_check, "Right for probabilities. Raise a ValueError when p lies outside [0, 1]."),
    ],
)


def _both_modes(g):
    x, keep = 3 + g.randn(3, 5), torch.tensor([[True, False, True, True, False]] * 3).roll(g.integer(0, 5), 1)
    return Program().call(x, keep, 0.4).call(x, keep, 0.4, training=False)


# --- clipping ------------------------------------------------------------------------------------------------------
def clip_by_cat(gradients, limit):
    """One long vector."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * min(1.0, limit / max(float(norm), 1e-30)) for g in gradients], norm


def clip_by_sum(gradients, limit):
    """Squares added up."""
    norm = torch.sqrt(sum((g**2).sum() for g in gradients))
    return ([g / norm * limit for g in gradients] if norm > limit else list(gradients)), norm


def _clip(form):
    def wrong(gradients, limit):
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        return form(gradients, limit, norm)
    return wrong


def _shrink(measure):
    def wrong(gradients, limit):
        norm = measure(gradients)
        return [g * min(1.0, limit / max(float(norm), 1e-30)) for g in gradients], norm
    return wrong


CLIP = Exercise(
    id="stability.clip", unit=UNIT, title="Clipping by the global norm", points=2, difficulty=2, minutes=10,
    signature="clip_by_global_norm(gradients, limit)", reference=optim.clip_by_global_norm,
    alternatives=[clip_by_cat, clip_by_sum],
    cases=[
        Case("by hand", "gradients 3 and 4 have joint length 5; with limit 1 they become 0.6 and 0.8",
             lambda g: call([torch.tensor([3.0]), torch.tensor([4.0])], 1.0)),
        Case("shapes", "a matrix, a vector and a number",
             lambda g: call([3 * g.randn(3, 4), g.randn(5), torch.tensor(2.0)], 0.5)),
        Case("short", "a joint length below the limit changes nothing",
             lambda g: call([torch.tensor([0.3, 0.0]), torch.tensor([[0.4]])], 2.0)),
        Case("zero", "gradients of zero stay zero", lambda g: call([torch.zeros(2), torch.zeros(1)], 1.0)),
    ],
    mutants=[
        Mutant("each", _clip(lambda gs, c, n: ([g * min(1.0, c / max(float(g.norm()), 1e-30)) for g in gs], n)),
               "Each tensor is clipped by its own length, which turns the direction of the step. Use one length and "
               "one factor for all."),
        Mutant("values", _clip(lambda gs, c, n: ([g.clamp(-c, c) for g in gs], n)),
               "Single values are cut off, which turns the direction of the step. Multiply all gradients by one "
               "factor."),
        Mutant("always", _clip(lambda gs, c, n: ([g * c / max(float(n), 1e-30) for g in gs], n)),
               "Short gradients are stretched to the limit. Change them only where the joint length is above it."),
        Mutant("norm_after", _clip(lambda gs, c, n: ([g * min(1.0, c / max(float(n), 1e-30)) for g in gs],
                                                     n.clamp(max=c))),
               "The gradients are right. Return the joint length before clipping, which is the one worth watching."),
        Mutant("no_root", _shrink(lambda gs: sum((g**2).sum() for g in gs)),
               "The sum of the squares is used as the length. Take its square root."),
        Mutant("sum_of_norms", _shrink(lambda gs: sum(g.norm() for g in gs)),
               "The lengths are added up. Lengths of parts combine by their squares: √(a² + b²)."),
        Mutant("divided_only", _clip(lambda gs, c, n: ([g / max(float(n), 1e-30) if n > c else g for g in gs], n)),
               "Clipped gradients have length 1. Multiply by limit, so that their joint length is the limit."),
    ],
)


# --- spikes --------------------------------------------------------------------------------------------------------
def spike_height(losses):
    """Largest rise of the loss above its lowest value so far, as a float; 0 where it never rises."""
    low, height = math.inf, 0.0
    for loss in losses:
        low = min(low, loss)
        height = max(height, loss - low)
    return height


def spike_by_cummin(losses):
    """Running minimum."""
    x = torch.tensor(losses, dtype=torch.float64)
    return float((x - x.cummin(0).values).max())


def spike_by_pairs(losses):
    """All pairs of an earlier and a later loss."""
    return max(b - a for i, a in enumerate(losses) for b in losses[i:])


SPIKE = Exercise(
    id="stability.spike", unit=UNIT, title="How high is a spike", points=1, difficulty=2, minutes=8,
    signature="spike_height(losses)", reference=spike_height, alternatives=[spike_by_cummin, spike_by_pairs],
    cases=[
        Case("by hand", "3, 1, 2, 2.5, 0.5: from 1 the loss climbs to 2.5, a spike of 1.5",
             lambda g: call([3.0, 1.0, 2.0, 2.5, 0.5])),
        Case("two spikes", "two spikes, and the higher one begins lower",
             lambda g: call([4.0, 2.0, 3.0, 0.5, 0.9, g.number(2.5, 2.9), 0.2])),
        Case("first", "the spike comes before the lowest loss of the run",
             lambda g: call([5.0, 1.0, g.number(4.0, 4.5), 3.0, 0.25, 0.5])),
        Case("falling", "a loss that only falls has no spike", lambda g: call([3.0, 2.0, 1.0, 0.5])),
    ],
    mutants=[
        Mutant("order_ignored", lambda losses: max(losses) - min(losses),
               "This is the largest loss minus the smallest, in any order. A spike goes up: compare each loss with "
               "the lowest one before it."),
        Mutant("low_of_all", lambda losses: max(losses[1:]) - min(losses),
               "min(losses) is the lowest loss of the whole run, later ones too. Only what came before a loss counts: "
               "keep a running minimum."),
        Mutant("one_step", lambda losses: max(0.0, max(b - a for a, b in pairwise(losses))),
               "This is the largest rise in a single step. A spike may take several: compare with the lowest loss so "
               "far."),
        Mutant("above_start", lambda losses: max(losses) - losses[0],
               "This compares with the first loss. Compare with the lowest loss so far."),
        Mutant("final_low", lambda losses: max(losses[losses.index(min(losses)):]) - min(losses),
               "Only what follows the lowest loss of the whole run counts here. Keep a running minimum instead."),
        Mutant("peak", lambda losses: max(losses[1:]),
               "This is a loss, not a rise. Subtract the lowest loss before it."),
    ],
)

EXERCISES = [DECAY, GROUPS, DROPOUT, CLIP, SPIKE]
