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


def _new_moments(gradient, m, v):
    return torch.lerp(m, gradient, 0.1), torch.addcmul(0.999 * v, gradient, gradient, value=0.001)


def adamw_by_hand(theta, gradient, m, v, step, lr, weight_decay):
    """The decay first, then the step with the corrections in its size."""
    m, v = _new_moments(gradient, m, v)
    root = (1 - 0.999**step) ** 0.5
    shrunk = theta - theta * (lr * weight_decay)
    return shrunk - lr * root / (1 - 0.9**step) * m / (v.sqrt() + root * 1e-8), m, v


def l2_by_hand(theta, gradient, m, v, step, lr, weight_decay):
    """AdamW without decay, on the gradient of the loss with the penalty."""
    return adamw_by_hand(theta, torch.add(gradient, theta, alpha=weight_decay), m, v, step, lr, 0.0)


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


def l2_old_moments(theta, gradient, m, v, step, lr, weight_decay):
    return adam_l2_step(theta, gradient, m, v, step, lr, weight_decay)[0], m, v


def l2_twice(theta, gradient, m, v, step, lr, weight_decay):
    d, m, v = direction(gradient + weight_decay * theta, m, v, step)
    return (1 - lr * weight_decay) * theta - lr * d, m, v


def old_moments(theta, gradient, m, v, step, lr, weight_decay):
    return adamw_step(theta, gradient, m, v, step, lr, weight_decay)[0], m, v


def _by_l2(*inputs: Any) -> Program:
    return Program().call(*inputs, fn="adam_l2_step")


def _later(g: Source) -> tuple[Any, ...]:
    """Inputs of a seventh step."""
    return g.randn(3, 4), g.randn(3, 4), g.randn(3, 4, scale=0.3), g.uniform(3, 4, low=0.1), 7, 0.2, 0.4


def _doubles(g: Source) -> Program:
    theta, none = g.randn(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    small, rate, decay = 1e-8 * g.randn(3, dtype=torch.float64), g.number(0.1, 0.9), g.number(0.1, 0.9)
    program = Program().call(theta, small, none, none, 1, rate, decay)
    return program.call(theta, small, none, none, 2, rate, 1e-8 * decay, fn="adam_l2_step")


def _steep(g: Source) -> tuple[Any, ...]:
    """A first step whose gradient is large."""
    return torch.tensor([3.0, -3.0]), 100 + g.randn(2), _zero(0, 0), _zero(0, 0), 1, 0.1, 0.5


def _zero(*values: float) -> Tensor:
    return torch.zeros(len(values))


def _after_l2(form):
    def wrong(theta, gradient, m, v, step, lr, weight_decay):
        d, m, v = direction(gradient + weight_decay * theta, m, v, step)
        return form(theta, d, lr), m, v

    return wrong


def _by_gradient(theta, gradient, m, v, step, lr, weight_decay):
    return (1 - lr * weight_decay) * theta - lr * gradient, *direction(gradient, m, v, step)[1:]


def _l2_by_gradient(theta, gradient, m, v, step, lr, weight_decay):
    gradient = gradient + weight_decay * theta
    return theta - lr * gradient, *direction(gradient, m, v, step)[1:]


EXERCISE = Exercise(
    id="stability.weight_decay",
    title="AdamW, and L2 inside Adam",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="adamw_step(theta, gradient, m, v, step, lr, weight_decay)",
    targets=("adamw_step", "adam_l2_step"),
    reference=(adamw_step, adam_l2_step),
    alternatives=[(adamw_two_lines, l2_two_lines), (adamw_by_hand, l2_by_hand)],
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
        Case(
            "double",
            "float64 through both, and a gradient near 1e-8, where Adam's own ε counts: all results are float64",
            _doubles,
            weight=0.5,
        ),
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
            "adam_l2_step takes η·λ·θ off θ directly, which is AdamW again. As an L2 penalty, λ·θ joins the gradient "
            "before the moments.",
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
            "uphill",
            (_decoupled(lambda t, d, lr, wd: (1 - lr * wd) * t + lr * d), adam_l2_step),
            "adamw_step goes up the slope. Subtract the step: (1 − η·λ)·θ − η·direction.",
        ),
        Mutant(
            "step_unscaled",
            (_decoupled(lambda t, d, lr, wd: (1 - lr * wd) * t - d), adam_l2_step),
            "adamw_step takes the whole direction as its step. Multiply it by the learning rate.",
        ),
        Mutant(
            "l2_old_moments",
            (adamw_step, l2_old_moments),
            "AdamW is right. adam_l2_step gives the old moments back: return those of adam_direction.",
        ),
        Mutant(
            "decays_twice",
            (adamw_step, l2_twice),
            "AdamW is right. In adam_l2_step the decay counts twice: leave θ itself unshrunk.",
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
        Mutant(
            "adamw_decays_twice",
            (l2_twice, adam_l2_step),
            "In adamw_step the decay counts twice: λ·θ joins the gradient, and θ shrinks as well. Give "
            "adam_direction the bare gradient.",
        ),
        Mutant(
            "theta_lost",
            (_decoupled(lambda t, d, lr, wd: 1 - lr * wd * t - lr * d), adam_l2_step),
            "A bracket is missing in adamw_step: the whole factor (1 − η·λ) multiplies θ.",
        ),
        Mutant(
            "rate_for_both",
            (_decoupled(lambda t, d, lr, wd: (1 - lr) * wd * t - lr * d), adam_l2_step),
            "The bracket in adamw_step stands in the wrong place: the factor is (1 − η·λ).",
        ),
        Mutant(
            "only_rate",
            (_decoupled(lambda t, d, lr, wd: (1 - lr) * t - lr * d), adam_l2_step),
            "adamw_step does not use λ: θ shrinks by 1 − η. The factor is 1 − η·λ.",
        ),
        Mutant(
            "direction_shrunk",
            (_decoupled(lambda t, d, lr, wd: t - lr * (1 - lr * wd) * d), adam_l2_step),
            "The factor 1 − η·λ multiplies the step in adamw_step. It multiplies θ.",
        ),
        Mutant(
            "decay_times_direction",
            (_decoupled(lambda t, d, lr, wd: t - lr * d - lr * wd * d), adam_l2_step),
            "The decay in adamw_step is taken from the direction. It is taken from θ: η·λ·θ.",
        ),
        Mutant(
            "decay_added_flat",
            (_decoupled(lambda t, d, lr, wd: t - lr * d - lr * wd), adam_l2_step),
            "adamw_step subtracts η·λ from every weight. The decay is a share of θ: η·λ·θ.",
        ),
        Mutant(
            "rate_twice",
            (_decoupled(lambda t, d, lr, wd: (1 - lr * wd) * t - lr * lr * d), adam_l2_step),
            "The step of adamw_step is multiplied by the learning rate twice. Once is enough.",
        ),
        Mutant(
            "decay_alone",
            (_decoupled(lambda t, d, lr, wd: (1 - lr * wd) * t), adam_l2_step),
            "adamw_step only decays. Subtract the step too: − η·direction.",
        ),
        Mutant(
            "bare_gradient",
            (_by_gradient, adam_l2_step),
            "adamw_step moves along the gradient itself. Subtract η times the direction that adam_direction gives.",
        ),
        Mutant(
            "penalty_subtracted",
            (adamw_step, _coupled(lambda t, g, lr, wd: g - wd * t)),
            "AdamW is right. In adam_l2_step the penalty's gradient is subtracted, so weights grow. Add λ·θ.",
        ),
        Mutant(
            "penalty_without_decay",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + t)),
            "AdamW is right. In adam_l2_step θ joins the gradient without λ: add λ·θ.",
        ),
        Mutant(
            "penalty_without_theta",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + wd)),
            "AdamW is right. In adam_l2_step λ alone joins the gradient. Its part is λ·θ.",
        ),
        Mutant(
            "penalty_halved",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + wd / 2 * t)),
            "AdamW is right. The derivative of λ/2 · θ² is λ·θ: the ½ goes away.",
        ),
        Mutant(
            "penalty_itself",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + wd / 2 * t**2)),
            "AdamW is right. λ/2 · θ² is the penalty; its derivative λ·θ joins the gradient.",
        ),
        Mutant(
            "penalty_summed",
            (adamw_step, _coupled(lambda t, g, lr, wd: g + wd / 2 * (t**2).sum())),
            "AdamW is right. The sum λ/2 · ‖θ‖² is the penalty; its derivative λ·θ joins the gradient.",
        ),
        Mutant(
            "penalty_times_gradient",
            (adamw_step, _coupled(lambda t, g, lr, wd: g * (1 + wd))),
            "AdamW is right. In adam_l2_step the gradient is scaled. λ·θ is added to it.",
        ),
        Mutant(
            "l2_uphill",
            (adamw_step, _after_l2(lambda t, d, lr: t + lr * d)),
            "AdamW is right. adam_l2_step goes up the slope: subtract η·direction.",
        ),
        Mutant(
            "l2_step_unscaled",
            (adamw_step, _after_l2(lambda t, d, lr: t - d)),
            "AdamW is right. adam_l2_step takes the whole direction as its step. Multiply it by the learning rate.",
        ),
        Mutant(
            "l2_bare_gradient",
            (adamw_step, _l2_by_gradient),
            "AdamW is right. adam_l2_step moves along gradient + λ·θ itself. That sum goes into adam_direction first.",
        ),
        Mutant(
            "moments_exchanged",
            (lambda *given: tuple(adamw_step(*given)[i] for i in (0, 2, 1)), adam_l2_step),
            "adamw_step returns v before m. The order is θ, m, v.",
        ),
        Mutant(
            "theta_alone",
            (lambda *given: adamw_step(*given)[0], adam_l2_step),
            "adamw_step returns θ alone. Return the new moments too: θ, m, v.",
        ),
        Mutant(
            "l2_theta_alone",
            (adamw_step, lambda *given: adam_l2_step(*given)[0]),
            "AdamW is right. adam_l2_step returns θ alone. Return the new moments too: θ, m, v.",
        ),
    ],
)
