"""Oracles: torch.nn.functional, Hugging Face, Python's math in loops, autograd, difference quotients."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference import activations as act

from . import hugging_face as hf

FAST = settings(max_examples=40, deadline=None, derandomize=True)
GRID = torch.cat([torch.linspace(-12, 12, 2001), torch.tensor([-700.0, -100, 1e-9, 100, 700])]).double()

TORCH = {
    "sigmoid": F.sigmoid,
    "tanh": F.tanh,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "squared_relu": lambda x: F.relu(x).square(),
    "identity": lambda x: x,
}


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def logistic(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x)


BY_HAND = {
    "sigmoid": logistic,
    "tanh": math.tanh,
    "relu": lambda x: max(x, 0.0),
    "leaky_relu": lambda x: max(x, 0.0) + 0.01 * min(x, 0.0),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "gelu": lambda x: x * normal_cdf(x),
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x**3))),
    "silu": lambda x: x * logistic(x),
    "squared_relu": lambda x: max(x, 0.0) ** 2,
    "identity": lambda x: x,
}
HUGGING_FACE = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_tanh": "gelu_new",
    "silu": "silu",
    "squared_relu": "relu2",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
}


def test_every_activation_has_its_oracles():
    assert act.ACTIVATIONS.keys() == TORCH.keys() == BY_HAND.keys()


@pytest.mark.parametrize("name", TORCH)
def test_values_equal_torch_and_a_loop(oracle_report, name):
    function, _ = act.ACTIVATIONS[name]
    got = function(GRID)
    oracle_report(f"{name} / torch", got, TORCH[name](GRID))
    looped = torch.tensor([BY_HAND[name](float(x)) for x in GRID], dtype=torch.float64)
    oracle_report(f"{name} / math", got, looped)


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_values_equal_hugging_face(oracle_report, name):
    function, _ = act.ACTIVATIONS[name]
    oracle_report(f"{name} / HF {HUGGING_FACE[name]}", function(GRID), hf.ACT2FN[HUGGING_FACE[name]](GRID))


@pytest.mark.parametrize("name", TORCH)
def test_derivatives_by_hand_equal_autograd_of_torch(oracle_report, name):
    function, derivative = act.ACTIVATIONS[name]
    for label, source in (("torch's", TORCH[name]), ("its own", function)):
        x = torch.cat([GRID, torch.zeros(1, dtype=torch.float64)]).requires_grad_()
        source(x).sum().backward()
        oracle_report(f"{name}_derivative / autograd of {label}", derivative(x.detach()), x.grad)


@pytest.mark.parametrize("name", TORCH)
def test_derivatives_equal_difference_quotients(name):
    function, derivative = act.ACTIVATIONS[name]
    x, h = torch.linspace(-4, 4, 80, dtype=torch.float64), 1e-5  # 80 points miss the kink at 0
    quotient = (function(x + h) - function(x - h)) / (2 * h)
    torch.testing.assert_close(derivative(x), quotient, rtol=0, atol=1e-8)


@pytest.mark.parametrize("slope, alpha, beta", [(0.2, 0.5, 0.1), (0.0, 2.0, 3.0), (1.0, 1.0, -1.0)])
def test_parameters_of_leaky_relu_elu_and_swish(oracle_report, slope, alpha, beta):
    x = GRID.clone().requires_grad_()
    cases = (
        ("leaky_relu", act.leaky_relu, act.leaky_relu_derivative, slope, F.leaky_relu(x, slope)),
        ("elu", act.elu, act.elu_derivative, alpha, F.elu(x, alpha)),
        ("swish", act.swish, act.swish_derivative, beta, x * F.sigmoid(beta * x)),
    )
    for name, function, derivative, parameter, expected in cases:
        oracle_report(f"{name} with parameter / torch", function(GRID, parameter), expected)
        (gradient,) = torch.autograd.grad(expected.sum(), x)
        oracle_report(f"{name}_derivative with parameter / autograd", derivative(GRID, parameter), gradient)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", TORCH)
def test_dtype_and_precision(oracle_report, name, dtype):
    limit = 60 if name == "squared_relu" else 200  # 200² and above overflow float16
    x = GRID.clamp(-limit, limit).to(dtype)
    for part, label in zip(act.ACTIVATIONS[name], ("", " derivative"), strict=True):
        expected = part(x.double()).to(dtype)
        oracle_report(f"low precision{label} / float64", part(x), expected)


@pytest.mark.parametrize("name", TORCH)
def test_nothing_breaks_at_the_ends(name):
    function, derivative = act.ACTIVATIONS[name]
    x = torch.tensor([-1e4, -1e3, 1e3, 1e4], requires_grad=True)
    function(x).sum().backward()
    assert torch.isfinite(function(x)).all() and torch.isfinite(x.grad).all()
    assert torch.isfinite(derivative(x.detach())).all()
    assert torch.isnan(function(torch.tensor(math.nan)))


def test_pinned_values():
    one = torch.tensor(1.0, dtype=torch.float64)
    expected = {
        "sigmoid": 0.7310585786,
        "tanh": 0.7615941560,
        "gelu": 0.8413447461,
        "gelu_tanh": 0.8411919906,
        "silu": 0.7310585786,
        "squared_relu": 1.0,
    }
    for name, value in expected.items():
        assert float(act.ACTIVATIONS[name][0](one)) == pytest.approx(value, abs=1e-10)
    assert float(act.elu(-one)) == pytest.approx(-0.6321205588)
    assert float(act.sigmoid_derivative(0 * one)) == 0.25
    assert float(act.gelu_derivative(0 * one)) == 0.5 and float(act.silu_derivative(0 * one)) == 0.5


def test_gap_between_the_two_gelus():
    x = torch.linspace(-8, 8, 160_001, dtype=torch.float64)
    gap = float((act.gelu(x) - act.gelu_tanh(x)).abs().max())
    assert gap == pytest.approx(4.73e-4, abs=1e-6)
    wrong = 0.5 * x * (1 + torch.tanh(2 / math.sqrt(math.pi) * (x + 0.044715 * x**3)))
    far = float((act.gelu(x) - wrong).abs().max())
    assert far > 100 * gap


def test_swish_limits():
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    torch.testing.assert_close(act.swish(x, 0.0), x / 2)
    torch.testing.assert_close(act.swish(x, 1e4), act.relu(x))
    assert float((act.swish(x, 1.0) - act.relu(x)).abs().max()) > 0.2


@FAST
@given(st.floats(-30, 30))
def test_symmetries(value):
    x = torch.tensor(value, dtype=torch.float64)
    close = lambda a, b: torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)
    close(act.sigmoid(x) + act.sigmoid(-x), torch.ones_like(x))
    close(act.tanh(x), 2 * act.sigmoid(2 * x) - 1)
    for gate in (act.gelu, act.gelu_tanh, act.silu):
        close(gate(x) - gate(-x), x)  # x·Φ(x) + x·Φ(-x) = x
    # The wrong derivative f(x)·f(1-x) agrees only at 1/2.
    if abs(value - 0.5) > 0.1 and abs(value) < 10:
        wrong = act.sigmoid(x) * act.sigmoid(1 - x)
        assert abs(float(wrong - act.sigmoid_derivative(x))) > 1e-9


@FAST
@given(st.integers(1, 6), st.integers(0, 99))
def test_softmax_jacobian_equals_autograd(oracle_report, n, seed):
    x = torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    expected = torch.autograd.functional.jacobian(lambda v: torch.softmax(v, -1), x)
    oracle_report("softmax_jacobian / autograd", act.softmax_jacobian(torch.softmax(x, -1)), expected)


def test_softmax_jacobian_batched():
    p = torch.softmax(torch.randn(2, 3, 4, dtype=torch.float64), -1)
    jacobian = act.softmax_jacobian(p)
    assert jacobian.shape == (2, 3, 4, 4)
    torch.testing.assert_close(jacobian.sum(-1), torch.zeros_like(p))
    torch.testing.assert_close(jacobian[1, 2], act.softmax_jacobian(p[1, 2]))
