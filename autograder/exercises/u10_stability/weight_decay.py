"""AdamW, and L2 inside Adam."""

from typing import Any

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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


MISTAKES = changes(
    (adamw_two_lines, l2_two_lines),
    """
without_rate: theta - lr * (d + weight_decay * theta) → (1 - weight_decay) * theta - lr * d
    θ shrinks by 1 − λ. Scale the decay by the learning rate: the factor is 1 − η·λ.
both_l2: direction(gradient, m → direction(gradient + weight_decay * theta, m ; (d + weight_decay * theta) → d
    adamw_step adds the decay to the gradient, so it is divided by √v like the rest. Shrink θ itself.
both_decoupled: direction(gradient + weight_decay * theta → direction(gradient
; theta - lr * d, → theta - lr * (d + weight_decay * theta),
    adam_l2_step takes η·λ·θ off θ directly, which is AdamW again. As an L2 penalty, λ·θ joins the gradient before
    the moments.
decay_after: theta - lr * (d + weight_decay * theta) → (1 - lr * weight_decay) * (theta - lr * d)
    The decay shrinks the step too. Multiply θ alone by 1 − η·λ, then subtract the step.
grows: (d + weight_decay → (d - weight_decay
    The weights grow. Decay multiplies θ by 1 − η·λ, which is below 1.
no_decay: (d + weight_decay * theta) → d
    adamw_step has no decay: θ is only moved by the step. Multiply θ by 1 − η·λ first.
old_moments: d, m, v = direction(gradient, → d, *_ = direction(gradient,
    The new θ is right, and the moments that come back are the old ones. Return those of adam_direction.
uphill: theta - lr * (d + weight_decay * theta) → (1 - lr * weight_decay) * theta + lr * d
    adamw_step goes up the slope. Subtract the step: (1 − η·λ)·θ − η·direction.
step_unscaled: theta - lr * (d + weight_decay * theta) → (1 - lr * weight_decay) * theta - d
    adamw_step takes the whole direction as its step. Multiply it by the learning rate.
l2_old_moments: d, m, v = direction(gradient + → d, *_ = direction(gradient +
    AdamW is right. adam_l2_step gives the old moments back: return those of adam_direction.
decays_twice: theta - lr * d, → (1 - lr * weight_decay) * theta - lr * d,
    AdamW is right. In adam_l2_step the decay counts twice: leave θ itself unshrunk.
no_penalty: gradient + weight_decay * theta → gradient
    AdamW is right. adam_l2_step has no decay: call adam_direction with the gradient plus λ·θ.
penalty_with_rate: gradient + weight_decay * theta → gradient + lr * weight_decay * theta
    AdamW is right. In adam_l2_step the penalty's gradient is λ·θ: the learning rate comes later, with the whole
    step.
penalty_squared: gradient + weight_decay * theta → gradient + weight_decay * theta**2
    AdamW is right. λ/2 · θ² is the penalty itself; what joins the gradient is its derivative, λ·θ.
penalty_doubled: gradient + weight_decay * theta → gradient + 2 * weight_decay * theta
    AdamW is right. The penalty here is λ/2 · ‖θ‖², so its gradient is λ·θ, without the 2.
adamw_decays_twice: direction(gradient, m → direction(gradient + weight_decay * theta, m
    In adamw_step the decay counts twice: λ·θ joins the gradient, and θ shrinks as well. Give adam_direction the
    bare gradient.
theta_lost: theta - lr * (d + weight_decay * theta) → 1 - lr * weight_decay * theta - lr * d
    A bracket is missing in adamw_step: the whole factor (1 − η·λ) multiplies θ.
rate_for_both: theta - lr * (d + weight_decay * theta) → (1 - lr) * weight_decay * theta - lr * d
    The bracket in adamw_step stands in the wrong place: the factor is (1 − η·λ).
only_rate: theta - lr * (d + weight_decay * theta) → (1 - lr) * theta - lr * d
    adamw_step does not use λ: θ shrinks by 1 − η. The factor is 1 − η·λ.
direction_shrunk: theta - lr * (d + weight_decay * theta) → theta - lr * (1 - lr * weight_decay) * d
    The factor 1 − η·λ multiplies the step in adamw_step. It multiplies θ.
decay_times_direction: (d + weight_decay * theta) → (d + weight_decay * d)
    The decay in adamw_step is taken from the direction. It is taken from θ: η·λ·θ.
decay_added_flat: (d + weight_decay * theta) → (d + weight_decay)
    adamw_step subtracts η·λ from every weight. The decay is a share of θ: η·λ·θ.
rate_twice: (d + weight_decay → (lr * d + weight_decay
    The step of adamw_step is multiplied by the learning rate twice. Once is enough.
decay_alone: (d + weight_decay * theta) → weight_decay * theta
    adamw_step only decays. Subtract the step too: − η·direction.
bare_gradient: (d + weight_decay → (gradient + weight_decay
    adamw_step moves along the gradient itself. Subtract η times the direction that adam_direction gives.
penalty_subtracted: gradient + weight_decay * theta → gradient - weight_decay * theta
    AdamW is right. In adam_l2_step the penalty's gradient is subtracted, so weights grow. Add λ·θ.
penalty_without_decay: gradient + weight_decay * theta → gradient + theta
    AdamW is right. In adam_l2_step θ joins the gradient without λ: add λ·θ.
penalty_without_theta: gradient + weight_decay * theta → gradient + weight_decay
    AdamW is right. In adam_l2_step λ alone joins the gradient. Its part is λ·θ.
penalty_halved: gradient + weight_decay * theta → gradient + weight_decay / 2 * theta
    AdamW is right. The derivative of λ/2 · θ² is λ·θ: the ½ goes away.
penalty_itself: gradient + weight_decay * theta → gradient + weight_decay / 2 * theta**2
    AdamW is right. λ/2 · θ² is the penalty; its derivative λ·θ joins the gradient.
penalty_summed: gradient + weight_decay * theta → gradient + weight_decay / 2 * (theta**2).sum()
    AdamW is right. The sum λ/2 · ‖θ‖² is the penalty; its derivative λ·θ joins the gradient.
penalty_times_gradient: gradient + weight_decay * theta → gradient * (1 + weight_decay)
    AdamW is right. In adam_l2_step the gradient is scaled. λ·θ is added to it.
l2_uphill: theta - lr * d, → theta + lr * d,
    AdamW is right. adam_l2_step goes up the slope: subtract η·direction.
l2_step_unscaled: theta - lr * d, → theta - d,
    AdamW is right. adam_l2_step takes the whole direction as its step. Multiply it by the learning rate.
l2_bare_gradient: theta - lr * d, → theta - lr * (gradient + weight_decay * theta),
    AdamW is right. adam_l2_step moves along gradient + λ·θ itself. That sum goes into adam_direction first.
moments_exchanged: theta - lr * (d + weight_decay * theta), m, v → theta - lr * (d + weight_decay * theta), v, m
    adamw_step returns v before m. The order is θ, m, v.
theta_alone: theta - lr * (d + weight_decay * theta), m, v → theta - lr * (d + weight_decay * theta)
    adamw_step returns θ alone. Return the new moments too: θ, m, v.
l2_theta_alone: theta - lr * d, m, v → theta - lr * d
    AdamW is right. adam_l2_step returns θ alone. Return the new moments too: θ, m, v.
""",
)


EXERCISE = Exercise(
    id="stability.weight_decay",
    title="AdamW, and L2 inside Adam",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
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
    mutants=MISTAKES,
    unasked="""
an optimizer's step is not trained through
    gradient of adamw_step
    gradient of adam_l2_step
""",
    equivalent="""
An optimizer's step stands outside of the graph: nobody trains through it, and torch.optim detaches too.
    31cfba30a6 solution, result: return ((1 - lr * weight_decay) * theta - lr * direction, m, v): result detach
    0de2fdfa55 solution, result: return (theta - lr * direction, m, v): result detach
    2cb46c774a alternative (adamw_two_lines, l2_two_lines), result: return (m / (1 - 0.9 ** step) / ((v / (1 - 0.999 *…
    3d7db9dfd8 alternative (adamw_two_lines, l2_two_lines), result: return (theta - lr * (d + weight_decay * theta), m…
    5b42872780 alternative (adamw_two_lines, l2_two_lines), result: return (theta - lr * d, m, v): result detach
    f9eb38b178 alternative (adamw_by_hand, l2_by_hand), result: return (torch.lerp(m, gradient, 0.1), torch.addcmul(0.…
    6a885fb7cc alternative (adamw_by_hand, l2_by_hand), result: return (shrunk - lr * root / (1 - 0.9 ** step) * m / (…
    7548471b03 alternative (adamw_by_hand, l2_by_hand), result: return adamw_by_hand(theta, torch.add(gradient, theta,…
""",
)
