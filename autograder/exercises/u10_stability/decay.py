"""Weight decay, and which parameters it is for."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import optim

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


def old_moments(theta, gradient, m, v, step, lr, weight_decay):
    return adamw_step(theta, gradient, m, v, step, lr, weight_decay)[0], m, v


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
    id="stability.weight_decay",
    unit=UNIT,
    title="AdamW, and L2 inside Adam",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="adamw_step(theta, gradient, m, v, step, lr, weight_decay)",
    targets=("adamw_step", "adam_l2_step"),
    reference=(adamw_step, adam_l2_step),
    alternatives=[(adamw_two_lines, l2_two_lines), (_torch("AdamW"), _torch("Adam"))],
    cases=[
        Case(
            "no gradient",
            "θ = 2 and 4, gradient 0, η = 0.1, λ = 0.5: AdamW takes 5 % off, 1.9 and 3.8",
            lambda g: call(torch.tensor([2.0, 4.0]), _zero(0, 0), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5),
        ),
        Case("later", "AdamW's seventh step, with moments from before", lambda g: call(*_later(g))),
        Case("large gradient", "AdamW's decay does not depend on a gradient of about 100", lambda g: call(*_steep(g))),
        Case(
            "L2, no gradient",
            "θ = 2 and 4, gradient 0: L2 takes a whole step of 0.1 off both, 1.9 and 3.9",
            lambda g: _by_l2(torch.tensor([2.0, 4.0]), _zero(0, 0), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5),
        ),
        Case("L2, later", "the seventh step with L2, with moments from before", lambda g: _by_l2(*_later(g))),
        Case("L2, large gradient", "a gradient of about 100 hides the L2 penalty", lambda g: _by_l2(*_steep(g))),
    ],
    mutants=[
        Mutant(
            "without_rate",
            (_decoupled(lambda t, d, lr, wd: (1 - wd) * t - lr * d), adam_l2_step),
            "θ shrinks by 1 − λ. Scale the decay by the learning rate: the factor is 1 − η·λ.",
        ),
        Mutant(
            "both_l2",
            (adam_l2_step, adam_l2_step),
            "adamw_step adds the decay to the gradient, so it is divided by √v like the rest. Shrink θ itself.",
        ),
        Mutant(
            "both_decoupled",
            (adamw_step, adamw_step),
            "adam_l2_step shrinks θ directly. As an L2 penalty, λ·θ joins the gradient before the moments.",
        ),
        Mutant(
            "decay_after",
            (_decoupled(lambda t, d, lr, wd: (1 - lr * wd) * (t - lr * d)), adam_l2_step),
            "The decay shrinks the step too. Multiply θ alone by 1 − η·λ, then subtract the step.",
        ),
        Mutant(
            "grows",
            (_decoupled(lambda t, d, lr, wd: (1 + lr * wd) * t - lr * d), adam_l2_step),
            "The weights grow. Decay multiplies θ by 1 − η·λ, which is below 1.",
        ),
        Mutant(
            "no_decay",
            (_decoupled(lambda t, d, lr, wd: t - lr * d), adam_l2_step),
            "adamw_step has no decay: θ is only moved by the step. Multiply θ by 1 − η·λ first.",
        ),
        Mutant(
            "old_moments",
            (old_moments, adam_l2_step),
            "The new θ is right, and the moments that come back are the old ones. Return those of adam_direction.",
        ),
        Mutant(
            "no_penalty",
            (adamw_step, _coupled(lambda t, g, lr, wd: g)),
            "AdamW is right. adam_l2_step has no decay: call adam_direction with the gradient plus λ·θ.",
        ),
        Mutant(
            "penalty_with_rate",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + lr * wd * t)),
            "AdamW is right. In adam_l2_step the penalty's gradient is λ·θ: the learning rate comes later, with the "
            "whole step.",
        ),
        Mutant(
            "penalty_squared",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + wd * t**2)),
            "AdamW is right. λ/2 · θ² is the penalty itself; what joins the gradient is its derivative, λ·θ.",
        ),
        Mutant(
            "penalty_doubled",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + 2 * wd * t)),
            "AdamW is right. The penalty here is λ/2 · ‖θ‖², so its gradient is λ·θ, without the 2.",
        ),
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
    return [
        {"params": [names[id(p)] for p in group["params"]], "weight_decay": group["weight_decay"]}
        for group in optim.parameter_groups(model, weight_decay)
    ]


def groups_by_lists(shapes, embeddings, weight_decay):
    """Two comprehensions."""
    on = [n for n in shapes if len(shapes[n]) > 1 and n not in embeddings]
    return [
        {"params": on, "weight_decay": weight_decay},
        {"params": [n for n in shapes if n not in on], "weight_decay": 0.0},
    ]


def groups_by_loop(shapes, embeddings, weight_decay):
    """A loop with two lists."""
    decay, rest = [], []
    for name, shape in shapes.items():
        (rest if name in embeddings or len(shape) < 2 else decay).append(name)
    return [dict(params=decay, weight_decay=weight_decay), dict(params=rest, weight_decay=0.0)]


def _groups(rule):
    def wrong(shapes, embeddings, weight_decay):
        on = [n for n in shapes if rule(n, shapes[n], embeddings)]
        return [
            {"params": on, "weight_decay": weight_decay},
            {"params": [n for n in shapes if n not in on], "weight_decay": 0.0},
        ]

    return wrong


def embeddings_twice(shapes, embeddings, weight_decay):
    on = [n for n in shapes if len(shapes[n]) > 1]
    return [
        {"params": on, "weight_decay": weight_decay},
        {"params": [n for n in shapes if n not in on or n in embeddings], "weight_decay": 0.0},
    ]


def embeddings_lost(shapes, embeddings, weight_decay):
    return [
        {"params": [n for n in shapes if len(shapes[n]) > 1 and n not in embeddings], "weight_decay": weight_decay},
        {"params": [n for n in shapes if len(shapes[n]) < 2], "weight_decay": 0.0},
    ]


def _shapes(g, names):
    """Random sizes of at least 2, an axis for each letter."""
    return {name: [g.integer(2, 9) for _ in range(axes)] for name, axes in names.items()}


def _layer(number):
    axes = {"norm.weight": 1, "q.weight": 2, "norm.bias": 1, "k.weight": 2}
    return {f"layers.{number}.{name}": count for name, count in axes.items()}


GROUPS = Exercise(
    id="stability.parameter_groups",
    unit=UNIT,
    title="Which parameters decay",
    points=2,
    difficulty=2,
    minutes=8,
    signature="parameter_groups(shapes, embeddings, weight_decay)",
    reference=parameter_groups,
    alternatives=[groups_by_lists, groups_by_loop],
    cases=[
        Case(
            "three",
            "a matrix decays; its bias and the table of word vectors do not",
            lambda g: call({"up.weight": [8, 4], "up.bias": [8], "words": [50, 4]}, ["words"], 0.1),
        ),
        Case(
            "norms",
            "gains of norms are called weight too, and do not decay",
            lambda g: call(_shapes(g, _layer(g.integer(0, 90))), [], g.number(0.01, 0.2)),
        ),
        Case(
            "convolution",
            "a kernel of three axes decays; two tables do not",
            lambda g: call(
                _shapes(g, {"places": 2, "words": 2, "conv": 3, "head.weight": 2}), ["words", "places"], 0.05
            ),
        ),
    ],
    mutants=[
        Mutant(
            "everything",
            _groups(lambda n, s, e: True),
            "Everything decays. Vectors (biases and gains) and embeddings belong into the second group.",
        ),
        Mutant(
            "embeddings_decay",
            _groups(lambda n, s, e: len(s) > 1),
            "The tables of word and position vectors decay. Names in embeddings belong into the second group.",
        ),
        Mutant(
            "embeddings_twice",
            embeddings_twice,
            "Embeddings are in both groups, and an optimizer refuses that. Take them out of the first.",
        ),
        Mutant(
            "embeddings_lost",
            embeddings_lost,
            "Embeddings are in no group, so they would never be trained. They belong into the second.",
        ),
        Mutant(
            "by_name",
            _groups(lambda n, s, e: not n.endswith("bias") and n not in e),
            "The gain of a norm is called weight and is a vector. Decide by the number of axes, not by the name.",
        ),
        Mutant(
            "vectors_decay",
            _groups(lambda n, s, e: n not in e),
            "Biases and gains decay. Only parameters with two axes or more belong into the first group.",
        ),
        Mutant(
            "only_two_axes",
            _groups(lambda n, s, e: len(s) == 2 and n not in e),
            "A kernel of three axes is left out. Two axes or more decay.",
        ),
        Mutant(
            "swapped",
            lambda shapes, embeddings, weight_decay: [
                dict(group, weight_decay=wd)
                for group, wd in zip(
                    groups_by_lists(shapes, embeddings, weight_decay), (0.0, weight_decay), strict=True
                )
            ],
            "The names are right and the decays are swapped: the first group decays.",
        ),
    ],
)

EXERCISES = [GROUPS, DECAY]
