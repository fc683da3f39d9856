"""A verdict's code can be pasted: for every case of the course, running it gives the expected outcome."""

import math

import pytest
import torch
from anatomy.judge import judging
from anatomy.judge.case_text import tensor_text
from anatomy.notebook.cases import case
from anatomy.program import records, runner

from ..exercises.pasted import pasted


@pytest.mark.parametrize(
    "t, text",
    [
        (torch.tensor([[1.099, 0.0], [5.0, 5.0]]), "torch.tensor([[1.099, 0.0], [5.0, 5.0]])"),
        (torch.tensor(0.1), "torch.tensor(0.1)"),
        (torch.tensor([1, -2]), "torch.tensor([1, -2])"),
        (torch.tensor([True, False]), "torch.tensor([True, False])"),
        (torch.tensor([1 / 3], dtype=torch.float64), "torch.tensor([0.3333333333333333], dtype=torch.float64)"),
        (torch.tensor([1 / 3], dtype=torch.bfloat16), "torch.tensor([0.334], dtype=torch.bfloat16)"),
        (torch.tensor([1], dtype=torch.int32), "torch.tensor([1], dtype=torch.int32)"),
        (torch.tensor([math.inf, -math.inf, math.nan]), "torch.tensor([torch.inf, -torch.inf, torch.nan])"),
        (torch.zeros(0, 3), "torch.zeros(0, 3)"),
        (torch.zeros(0, 3, dtype=torch.bool), "torch.zeros(0, 3, dtype=torch.bool)"),
        (torch.zeros(40, 3), "torch.zeros(40, 3)"),
        (torch.full((3, 4), 2.5), "torch.full((3, 4), 2.5)"),
        (torch.arange(2, 40), "torch.arange(2, 40)"),
        (torch.ones(6, 6).tril().bool(), "torch.ones(6, 6, dtype=torch.bool).tril()"),
        (torch.tensor([1 + 2j]), "torch.tensor([complex(1.0, 2.0)])"),
    ],
)
def test_tensors_are_written_as_one_would_type_them(t, text):
    assert tensor_text(t) == text


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64])
def test_every_float_comes_back_bit_for_bit(dtype):
    g = torch.Generator().manual_seed(3)
    for scale in (1e-30, 1e-4, 1.0, 1e7):
        for _ in range(20):
            t = (torch.randn(2, 5, generator=g, dtype=torch.float64) * scale).to(dtype)
            back = eval(tensor_text(t), {"torch": torch})
            assert back.dtype == dtype and torch.equal(back, t)
    minus_zero = eval(tensor_text(torch.tensor([-0.0])), {"torch": torch})
    assert minus_zero.signbit().all()


def test_layout_does_not_matter():
    t = torch.arange(6.0).view(2, 3)
    assert torch.equal(eval(tensor_text(t.T), {"torch": torch}), t.T)
    assert eval(tensor_text(torch.tensor([2.0]).expand(3)), {"torch": torch}).tolist() == [2, 2, 2]


def test_a_function_that_writes_into_its_input_spoils_nothing():
    c = case("start.weighted_average", 1)
    before = c.args[0].clone()
    c.args[0].zero_()
    c.run(lambda values, weights: values.zero_())
    assert torch.equal(c.args[0], before) and c.expected.abs().sum() > 0


def test_what_is_not_there_is_said_in_one_sentence():
    with pytest.raises(records.MissingRecording, match="has the cases 1 to . there is no case 99|there is no case 99"):
        case("start.weighted_average", 99)
    for number in (0, True, "1", -1):
        with pytest.raises(records.MissingRecording, match="has the cases 1 to"):
            case("start.weighted_average", number)
    with pytest.raises(records.MissingRecording, match="There is no exercise 'start.weighted'"):
        case("start.weighted", 1)
    with pytest.raises(TypeError, match="this case needs weighted_average"):
        case("start.weighted_average", 1).run()


def test_a_verdict_prints_what_can_be_pasted():
    record = records.load("start.weighted_average")
    wrong = lambda values, weights: weights @ values
    outcomes = [runner.run_program(c.program, c.tensors, {"weighted_average": wrong}) for c in record.cases]
    verdict = judging.judge(record, outcomes)
    assert pasted(verdict.first_failure.call, {"weighted_average": wrong}).tolist() == [12, 70]
