"""The growing character model: each part that a learner gives is used, and nothing else changes."""

import math

import pytest
import torch
from anatomy.experiments import growing
from anatomy.experiments.growing import Parts, grow
from torch import nn

SMALL = {"steps": 3, "d_model": 16, "n_heads": 2, "context": 12}


def loss(**parts):
    return grow(**SMALL, **parts).loss


def attend(q, k, v, mask):
    """Without the division."""
    scores = (q @ k.transpose(-2, -1)).masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v


PARTS = {
    "attend": attend,
    "make_norm": lambda d: nn.Identity(),
    "wire": lambda x, sublayer, norm: norm(x + sublayer(x)),
    "make_ffn": lambda d: nn.Linear(d, d),
    "table": lambda length, d: torch.ones(length, d) * torch.arange(length)[:, None] / 9,
    "rotate": lambda x: x.flip(-1) * torch.arange(x.shape[-2])[:, None],
    "bias": lambda heads, length: -torch.arange(length).expand(heads, length, length).float(),
    "mask": lambda length: torch.eye(length, dtype=torch.bool),
    "n_kv_heads": 1,
    "loss": lambda logits, targets: logits.square().mean(),
}


def test_parts_are_all_tried():
    assert set(PARTS) == set(Parts.__dataclass_fields__)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_used(name):
    made = grow(**SMALL, **{name: PARTS[name]})
    assert math.isfinite(made.loss) and made.loss != loss()


def test_a_seed_is_a_run():
    assert loss() == loss() != loss(seed=1)


def test_no_table_means_no_positions():
    """Without positions and without a mask, a shuffled row gives the shuffled logits."""
    made = grow(**SMALL, table=None, mask=lambda length: torch.ones(length, length, dtype=torch.bool))
    ids, order = torch.randint(9, (1, 12)), torch.randperm(12)
    torch.testing.assert_close(made.model(ids)[:, order], made.model(ids[:, order]))


@pytest.mark.parametrize("name", ["attend", "bias", "rotate", None])
def test_nothing_sees_the_future(name):
    model = grow(**SMALL, **({name: PARTS[name]} if name else {})).model
    ids = torch.randint(9, (2, 12))
    other = ids.clone()
    other[:, 7:] = 3
    torch.testing.assert_close(model(ids)[:, :7], model(other)[:, :7])


def test_it_learns_and_says_what_it_learned():
    made = grow(steps=100)
    assert len(made.losses) == 10 and made.losses[-1] < made.losses[0] - 0.5
    assert 1.5 < made.loss < 3.0 and made.parameters == sum(p.numel() for p in made.model.parameters())
    said = made.say("It was", 20)
    assert (
        said.startswith("It was")
        and len(said) == 26
        and said == made.say("It was", 20) != made.say("It was", 20, seed=1)
    )


def test_fewer_kv_heads_have_fewer_parameters():
    many, few = grow(**SMALL), grow(**SMALL, n_kv_heads=1)
    assert many.parameters - few.parameters == 2 * 2 * 16 * 8  # 2 layers, keys and values, d_model × one head less


@pytest.mark.parametrize("prompt, says", [("", "none at all"), ("é", "é")])
def test_a_prompt_that_it_cannot_read(prompt, says):
    with pytest.raises(ValueError, match=says):
        grow(**SMALL).say(prompt)


@pytest.mark.parametrize("wrong, error", [({"n_kv_heads": 3}, ValueError), ({"attention": attend}, TypeError)])
def test_what_does_not_fit_is_said(wrong, error):
    with pytest.raises(error, match="key-value heads|attention"):
        grow(**SMALL, **wrong)


def test_held_out_text_is_not_trained_on():
    alphabet, train, held_out = growing._text()
    text = "".join(alphabet[i] for i in train[:200_000])
    row = "".join(alphabet[i] for i in held_out[1000:1060])
    assert row not in text and len(held_out) < len(train) / 10
