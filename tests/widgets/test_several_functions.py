"""Tier 1, no browser: how widgets of several functions handle stubs, wrong names and wrong results."""

import numpy as np
import pytest
import torch
from anatomy.widgets import ActivationExplorer, MaskExplorer, NormExplorer, ObjectiveLab, WrongOutput, norm
from anatomy.widgets import activation as act
from anatomy.widgets.tools.base import NOTHING_GIVEN

from autograder.recording.widgets.mask import MASKS
from autograder.recording.widgets.objective import OBJECTIVES

from .activation.learners import ACTIVATIONS
from .learners import unfinished
from .norm.learners import NORMS

WIDGETS = [(ActivationExplorer, ACTIVATIONS), (NormExplorer, NORMS)]
EACH = pytest.mark.parametrize("widget, functions", WIDGETS, ids=["activation", "norm"])


def with_(functions, **changes):
    return {**functions, **changes}


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


@EACH
def test_each_unwritten_function_falls_back_by_itself(widget, functions):
    first, *others = functions
    made = widget(with_(functions, **{first: unfinished}))
    assert made.notice == f"Showing the reference for {first}: not written yet"
    assert not made.written(first) and all(made.written(name) for name in others)
    made.refresh(functions)
    assert made.notice == "" and made.written(first)
    made = widget(dict.fromkeys(functions, unfinished))
    assert made.notice == f"Showing the reference for {', '.join(sorted(functions))}: not written yet"
    assert "the reference's" in made.alt and "broken" not in made.alt
    assert widget().notice == NOTHING_GIVEN


@EACH
def test_wrong_names_results_and_errors(widget, functions):
    first = next(iter(functions))
    with pytest.raises(TypeError, match="does not know geelu"):
        widget({"geelu": unfinished})
    with pytest.raises(WrongOutput, match=f"{first} must return a floating-point tensor of shape"):
        widget(with_(functions, **{first: lambda *args, **kwargs: torch.zeros(7, 7, 7)}))
    with pytest.raises(ZeroDivisionError):
        widget(with_(functions, **{first: lambda *args, **kwargs: 1 / 0}))


@EACH
def test_right_functions_are_right_everywhere(widget, functions):
    made = widget(functions)
    if widget is NormExplorer:
        shape = (len(norm.EPSILONS), len(norm.SCALES), len(norm.SHIFTS), len(norm.FACTS))
        assert array(made, "facts", *shape)[..., 2:].max() < norm.TOLERANCE
    else:
        facts = array(made, "facts", len(act.ACTIVATIONS), len(act.BETAS), 3)
        assert facts[..., 0].max() < act.TOLERANCE and np.nanmax(facts[..., 2]) < act.TOLERANCE


OF_WHOLES = [(MaskExplorer, MASKS), (ObjectiveLab, OBJECTIVES)]
EACH_OF_WHOLES = pytest.mark.parametrize("widget, functions", OF_WHOLES, ids=["mask", "objective"])


@EACH_OF_WHOLES
def test_each_unwritten_function_of_masks_and_examples_falls_back_by_itself(widget, functions):
    for name in functions:
        made = widget({**functions, name: unfinished})
        assert made.notice == f"Showing the reference for {name}: not written yet" and not made.written(name)
    made.refresh(functions)
    assert made.notice == ""
    assert widget().notice == NOTHING_GIVEN and widget().png()


@EACH_OF_WHOLES
def test_wrong_names_results_and_errors_of_masks_and_examples(widget, functions):
    first = next(iter(functions))
    with pytest.raises(TypeError, match="does not know maskk"):
        widget({"maskk": unfinished})
    with pytest.raises(WrongOutput, match=f"{first} must return"):
        widget({**functions, first: lambda *args: None})
    with pytest.raises(ZeroDivisionError):
        widget({**functions, first: lambda *args: 1 / 0})


def test_sentences_for_wrong_results():
    with pytest.raises(WrongOutput, match="boolean tensor of shape .*returned dtype float32"):
        MaskExplorer({**MASKS, "prefix_lm_mask": lambda T, p: torch.ones(T, T)})
    with pytest.raises(WrongOutput, match=r"shape \(1, 1, 8, 8\) here, and it returned shape \(1, 8, 8\)"):
        MaskExplorer({**MASKS, "causal_padding_mask": lambda real: torch.ones(1, 8, 8) > 0})
    with pytest.raises(WrongOutput, match="3 things here, and it returned 2 things"):
        ObjectiveLab({**OBJECTIVES, "sop_pair": lambda a, b, swap: (a, b)})
    with pytest.raises(WrongOutput, match="at most 16 can be drawn"):
        ObjectiveLab({**OBJECTIVES, "span_corruption": lambda ids, noise, first: (ids.repeat(2), ids)})
