"""A verdict's code can be pasted: for every case of the course, running it gives the expected outcome."""

import pytest
import torch
from anatomy.judge.case_text import MAX_CHARACTERS, spelled
from anatomy.judge.compare import difference
from anatomy.notebook.cases import case
from anatomy.program import codec, distributions, runner

from .pasted import pasted


def agrees(c, value, tree, tensors):
    found = {}
    value = codec.decode(codec.encode(_detached(value), found), found)
    expected = codec.decode(tree, tensors)
    return difference(expected, value, {id(tensors[n]): a for n, a in c.atol.items()}, c.rtol)


def _detached(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, list | tuple):
        return [_detached(v) for v in value]
    return {k: _detached(v) for k, v in value.items()} if isinstance(value, dict) else value


def test_every_printed_call_gives_the_expected_outcome(exercise, drawn):
    record, functions = drawn.recorded, exercise.functions(exercise.reference)
    for number, c in enumerate(record.cases, 1):
        outcome, tensors = c.outcomes["expected"]
        for at, step in enumerate(outcome["results"]):
            if "new" in c.program["steps"][at] or "skipped" in step:
                continue
            text = spelled(record, number, at)
            assert len(text) <= MAX_CHARACTERS
            if "raises" in step:
                with pytest.raises(Exception) as caught:
                    pasted(text, functions)
                assert type(caught.value).__name__ == step["raises"][0], text
                continue
            if "law" in c.program["steps"][at]:
                assert (
                    distributions.problem(c.program["steps"][at]["law"], *runner.floating(pasted(text, functions)))
                    is None
                )
                continue
            assert agrees(c, pasted(text, functions), step["value"], tensors) is None, text
            for label, tree in step.get("grads", {}).get("dict", []):
                text = spelled(record, number, at, label)
                assert agrees(c, pasted(text, functions), tree, tensors) is None, text


def test_a_case_runs_and_shows_itself(exercise, drawn):
    record, functions = drawn.recorded, exercise.functions(exercise.reference).values()
    for number, c in enumerate(record.cases, 1):
        shown = case(exercise.id, number)
        assert c.shows in repr(shown) and len(repr(shown)) < 2_000
        if isinstance(shown.expected, str) and shown.expected.endswith("Error"):
            with pytest.raises(Exception) as caught:
                shown.run(*functions)
            assert type(caught.value).__name__ == shown.expected
        else:
            outcome, tensors = c.outcomes["expected"]
            value = shown.run(*functions)
            if "law" in c.program["steps"][-1]:
                assert distributions.problem(c.program["steps"][-1]["law"], *runner.floating(value)) is None
                continue
            value = value["value"] if "grads" in outcome["results"][-1] else value
            assert agrees(c, value, outcome["results"][-1]["value"], tensors) is None
