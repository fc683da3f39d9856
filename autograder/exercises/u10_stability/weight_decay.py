"""AdamW, and L2 inside Adam."""

from typing import Any

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import optim


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


def _by_l2(*inputs: Any) -> Program:
    return Program().call(*inputs, fn="adam_l2_step")


def _later(g: Source) -> tuple[Any, ...]:
    """Inputs of a seventh step."""
    return g.randn(3, 4), g.randn(3, 4), g.randn(3, 4, scale=0.3), g.uniform(3, 4, low=0.1), 7, 0.2, 0.4


def _steep(g: Source) -> tuple[Any, ...]:
    """A first step whose gradient is large."""
    return torch.tensor([3.0, -3.0]), 100 + g.randn(2), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5


def _zero(*values: float) -> Tensor:
    return torch.zeros(len(values))


EXERCISE = Exercise(
    id="stability.weight_decay",
    unit="10-stability",
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
