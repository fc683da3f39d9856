"""Unit 13's other voice: the learner's LoRA layer around the trained model, merged and subtracted again."""

from pathlib import Path

import pytest
import torch
from anatomy.experiments import lora, voices
from anatomy.language import corpus, shipped, training
from anatomy.language.stand_in import StandIn
from torch import nn

from autograder.recording.experiments.austen import shipped_model

from .solved import solved

PROSE = (Path(__file__).parents[2] / "solutions" / "13-scale-and-cost.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def answers():
    """The unit's own ``LoRALinear`` and ``merge``."""
    return solved(PROSE, "lora.")


@pytest.fixture(scope="module")
def austen():
    c, weights = shipped.checkpoint()
    model = StandIn(c)
    model.load_state_dict(weights)
    return model.eval()


@pytest.fixture(scope="module")
def sailor(austen, answers):
    torch.manual_seed(0)
    model = voices.adapted(austen, answers.LoRALinear, 8)
    training.train(model, voices.sea(), voices.STEPS, rows=voices.ROWS, context=voices.CONTEXT, rate=voices.RATE)
    return model


@torch.no_grad()
def logits(model, text="He looked at the sea, and said nothing."):
    return model(torch.tensor([shipped.tokenizer().encode(text).ids]))[0]


def test_a_layer_around_every_matrix_changes_nothing_at_first_and_trains_92_672_numbers(austen, answers):
    model = voices.adapted(austen, answers.LoRALinear, 8)
    assert torch.equal(logits(model), logits(austen))
    layers = [m for m in model.blocks.modules() if isinstance(m, answers.LoRALinear)]
    assert len(layers) == sum(isinstance(m, nn.Linear) for m in austen.blocks.modules()) == 28
    assert lora.trainable(model) == 92_672 and lora.trainable(austen) == 1_342_880
    assert {n.rpartition(".")[2] for n, p in model.named_parameters() if p.requires_grad} == {"A", "B"}


def test_the_other_voice_pays_less_for_melville_and_more_for_austen(austen, sailor):
    before, now = voices.bits(austen), voices.bits(sailor)
    assert now["Melville"] < before["Melville"] - 0.05 and now["Austen"] > before["Austen"] + 0.05
    assert before["Austen"] < before["Melville"]
    assert voices.say(sailor, "He looked at the", seed=2) != voices.say(austen, "He looked at the", seed=2)


def test_what_is_kept_back_is_not_read():
    read = shipped.tokenizer().decode(voices.sea().tolist())
    assert "Call me Ishmael." in read and corpus.melville()[voices.UNREAD][:200] not in read
    assert len(corpus.melville()) == 5 and "reads four chapters" in PROSE


def test_merged_it_says_the_same_and_subtracted_austen_is_back_but_for_rounding(austen, sailor, answers):
    learned = voices.differences(sailor)
    one = voices.merged(austen, learned, answers.merge)
    back = voices.merged(one, learned, answers.merge, sign=-1)
    assert one.state_dict().keys() == austen.state_dict().keys()
    torch.testing.assert_close(logits(one), logits(sailor), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(logits(back), logits(austen), rtol=1e-4, atol=1e-3)
    assert (logits(one) - logits(austen)).abs().max() > 0.1
    largest, share = voices.gap(back, austen)
    assert 0 < largest < 2.5e-7 and 0 < share < 0.5, "each of two sums of numbers below 2 is rounded once"
    assert voices.gap(austen, austen) == (0, 0) and voices.gap(one, austen)[0] > 1e-3


def test_the_reference_decoder_can_be_adapted_as_well(austen, answers):
    model = voices.adapted(shipped_model("cpu"), answers.LoRALinear, 8)
    assert lora.trainable(model) == 92_672
    torch.testing.assert_close(logits(model), logits(austen), rtol=1e-4, atol=1e-3)
    before = logits(model)
    for difference in voices.differences(model).values():
        difference.B.normal_(std=0.1)
    assert (logits(model) - before).abs().max() > 0.1, "the new layers are really called"


def test_the_same_seed_says_the_same(austen):
    told = [voices.say(austen, "It was", n=8, seed=seed) for seed in (0, 0, 1)]
    assert told[0] == told[1] != told[2] and all(text.startswith("It was") for text in told)
