"""Tier 1 of CacheStepper: what each step computes, reads and keeps; mistakes, notices, display."""

import base64
import io

import pytest
import torch
from anatomy.widgets import CacheStepper, WrongOutput
from anatomy.widgets.stepper import PLANS, TOLERANCE
from PIL import Image

from .learners import unfinished


def right(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]) == 0
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ v, (k, v)


def top_left(q, k, v, past=None):
    """The mask of a chunk that stands at position 0."""
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    mask = torch.ones(q.shape[2], k.shape[2]).tril() == 0
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask, -torch.inf).softmax(-1) @ v, (k, v)


def test_plans_cover_the_text():
    assert {sum(plan) for plan in PLANS} == {12}


def test_every_step_of_every_plan_equals_the_full_forward():
    for plan in range(len(PLANS)):
        for step in range(len(PLANS[plan])):
            assert CacheStepper(right, plan=plan, step=step).figures()["gap"] < 1e-6


def test_what_a_step_does():
    one = CacheStepper(right, plan=0, step=3).figures()  # prompt of 6, then the third single token
    assert (one["start"], one["stop"], one["read"], one["stored"]) == (8, 9, 9, 9)
    rolling = CacheStepper(right, plan=0, step=3, store=1).figures()
    assert (rolling["first"], rolling["read"], rolling["stored"]) == (5, 4, 4)
    chunk = CacheStepper(right, plan=3, step=1, store=1).figures()  # tokens 4 to 7, and 1 to 3 before them
    assert (chunk["first"], chunk["read"]) == (1, 7)


def test_a_mistake_shows_where_it_is_made():
    assert CacheStepper(top_left, plan=2, step=0).figures()["gap"] <= TOLERANCE, "right without a past"
    wrong = CacheStepper(top_left, plan=0, step=3)
    assert wrong.figures()["gap"] > 0.1 and "differs from" in wrong.alt
    assert "equals" in CacheStepper(right, plan=0, step=3).alt


def test_notices_and_errors():
    assert CacheStepper(unfinished).notice == "Showing the reference: cached_attention is not written yet"
    with pytest.raises(WrongOutput, match="the pair"):
        CacheStepper(lambda q, k, v, past=None: v)
    with pytest.raises(WrongOutput, match="shape"):
        CacheStepper(lambda q, k, v, past=None: (v[:, :1], (k, v)))
    with pytest.raises(ZeroDivisionError):
        CacheStepper(lambda *args: 1 / 0)


def test_bundle_and_page(tmp_path):
    widget = CacheStepper(right)
    data, metadata = widget._repr_mimebundle_()
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).width > 600
    assert data["text/plain"] == widget.alt == metadata["image/png"]["alt"] and widget.png() == widget.png()
    page = widget.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not any(word in page for word in ("http:", "https:", 'src="//', "@import", "url("))
