"""Tier 1 of AnatomyView: its tables, the judging of each part in its place, damage, and which parts are lit."""

import math

import numpy as np
import pytest
import torch
from anatomy import check
from anatomy.language import corpus, shipped
from anatomy.notebook.checks import CheckFailed
from anatomy.system import store
from anatomy.widgets import AnatomyView
from anatomy.widgets.anatomy import (
    FAILS,
    NAMED,
    PASSED,
    PLACES,
    REFERENCE,
    RIGHT,
    SIZES,
    TRUTH,
    UNWRITTEN,
    WRONG,
    passing,
)
from anatomy.widgets.anatomy.places import KEY_OF
from anatomy.widgets.tools import following
from torch import nn

from autograder.recording.widgets.anatomy import TEXT
from autograder.reference.assembly.decoder import Decoder

from .. import learners as shared
from . import learners


def view(**parts):
    return AnatomyView(parts or None)


@pytest.fixture
def unchecked(monkeypatch):
    """Turns off the checks of the parts: only the judging in place remains."""
    monkeypatch.setattr(following, "_judge", lambda exercise, given: None)


@pytest.fixture(scope="module")
def decoder():
    """The shipped model in the reference's decoder, and the stream after each of its blocks."""
    c, weights = shipped.checkpoint()
    model = Decoder(c)
    model.load_state_dict(weights)
    streams = []
    for block in model.blocks:
        block.register_forward_hook(lambda module, given, out: streams.append(out[0]))
    with torch.no_grad():
        logits, _ = model(AnatomyView()._inputs["ids"].long()[None])
    return c, logits[0], streams


def test_the_text_was_held_out_and_goes_on_as_the_view_says():
    assert TEXT in corpus.held_out_text() and TEXT not in corpus.training_text()
    assert TEXT + TRUTH in corpus.held_out_text()
    assert "".join(AnatomyView().spec["words"]) == TEXT


def test_the_recorded_tables_are_the_trained_models_own(decoder):
    """Probabilities of the next token and lengths of the streams, from a model written for another purpose."""
    c, logits, streams = decoder
    assert {k: c[k] for k in SIZES} == SIZES
    shown = AnatomyView()
    ids, shares = (torch.from_numpy(shown.shown(name)[-1]) for name in ("lens_i", "lens_p"))
    top = logits.softmax(-1).topk(ids.shape[-1])
    assert torch.equal(ids.long(), top.indices) and torch.allclose(shares, top.values, atol=1e-5)
    for layer, stream in enumerate(streams):
        assert np.allclose(shown.shown("norms")[2 * layer + 2], stream[0].norm(dim=-1), rtol=1e-5)
    assert np.allclose(shown.shown("att").sum(-1), 1, atol=1e-6) and (shown.shown("att")[:, :, 0, 1:] == 0).all()


def test_the_stand_ins_give_the_recorded_tables():
    """The code that runs instead of a broken part is torch's own, and equals the recorded reference."""
    shown = AnatomyView()
    for name, table in passing.reference(shown._inputs["ids"]).tables.items():
        assert np.allclose(table, shown._reference[name], rtol=1e-4, atol=1e-5), name


def test_right_parts_are_lit_and_move_nothing():
    made = AnatomyView(learners.RIGHT)
    assert set(made.states().values()) == {RIGHT} and made.notice == "" and made.mistake == ""
    assert made._drift.max() < 1e-5 and made.damage() == {}
    assert made.likely(31)[0][0] == TRUTH


@pytest.mark.parametrize("name", learners.WRONG)
def test_a_wrong_part_is_blamed_and_no_other(unchecked, name):
    """All parts are given; each is judged on the reference's inputs, so the right ones stay right."""
    key, parts = KEY_OF[name], {**learners.RIGHT, name: learners.WRONG[name]}
    states = AnatomyView(parts).states()
    assert states.pop(key) == WRONG and set(states.values()) == {RIGHT}


@pytest.mark.parametrize("name", learners.WRONG)
def test_the_damage_is_that_of_the_whole_model(unchecked, name):
    made = AnatomyView({name: learners.WRONG[name]})
    assert made.damage() == {KEY_OF[name]: pytest.approx(made._drift[-1, -1])} and made._drift[-1].max() > 1e-2
    assert (made._drift[0] == 0).all(), "the embedding is before every part"


def test_a_wrong_mask_moves_tokens_by_what_they_see_too_much(unchecked):
    """The last token has nothing after it: it is affected only through the others, above the first layer."""
    made = view(causal_mask=learners.leaking_mask)
    assert made._drift[1, -1] == 0 and made._drift[1, :-1].max() > 1e-2 and made._drift[-1, -1] > 1e-2
    assert made.shown("may")[5, 6] == 1 and made.shown("att")[0, :, 5, 6].max() > 0


def test_a_wrong_part_changes_the_next_word():
    made = view(GatedFeedForward=learners.Swapped)
    assert made.likely(31)[0][0] != TRUTH and "Broken: gated FFN" in made.words
    assert "activation sits on the up branch" in made.mistake and made.mistake in made.alt


def test_damage_alone_is_told_apart(unchecked):
    """With two wrong parts, each is listed with the damage that it does alone; the picture shows that of both."""
    made = view(rms_norm=learners.centered_norm, GatedFeedForward=learners.Swapped)
    for name in ("rms_norm", "GatedFeedForward"):
        alone = AnatomyView({name: learners.WRONG[name]})
        assert made.damage()[KEY_OF[name]] == pytest.approx(alone._drift[-1, -1])
    assert made.damage()["norm"] < made.damage()["ffn"]


def no_tensor(x, *args):
    return None


def short_one(x, *args):
    return x[:, :3]


def not_a_number(x, *args):
    return x * math.nan


def raising(x, *args):
    raise ZeroDivisionError("of mine")


class NoWeights(nn.Module):
    def __init__(self, *sizes):
        super().__init__()


FAILING = [("rms_norm", fn) for fn in (no_tensor, short_one, not_a_number, raising)] + [
    (name, raising) for name in learners.RIGHT if name != "rms_norm"
]


@pytest.mark.parametrize("name, fn", FAILING, ids=[f"{name}-{fn.__name__}" for name, fn in FAILING])
def test_a_part_that_fails_is_broken_and_the_reference_goes_on(unchecked, name, fn):
    made = AnatomyView({**learners.RIGHT, name: fn})
    states = made.states()
    assert states.pop(KEY_OF[name]) == FAILS and set(states.values()) == {RIGHT}
    assert f"Showing the reference for {name}" in made.notice and made._drift.max() < 1e-5
    assert not made.written(name)


def test_a_class_without_the_right_weights_is_broken(unchecked):
    made = view(GatedFeedForward=NoWeights)
    assert made.states()["ffn"] == FAILS and "gate_proj" in made.notice


def test_right_parts_are_not_blamed_for_what_a_wrong_one_gives_them(unchecked):
    """Numbers of 1e25 are still finite after the norm; attention multiplies them."""
    huge = lambda x, weight, eps: 1e25 * learners.rms_norm(x, weight, eps)
    made = AnatomyView({**learners.RIGHT, "rms_norm": huge})
    assert made.states()["norm"] == FAILS and made.states()["attention"] == RIGHT
    assert "rms_norm: with it, numbers grow out of bounds" in made.notice and np.isfinite(made.shown("lens_p")).all()


def test_unwritten_parts_are_the_references(unchecked):
    made = AnatomyView({**learners.RIGHT, "pre_ln": shared.unfinished, "rms_norm": shared.unfinished})
    assert made.notice == "Showing the reference for pre_ln, rms_norm: not written yet"
    assert made.states()["norm"] == made.states()["residual"] == UNWRITTEN and made.states()["ffn"] == RIGHT
    made.refresh(learners.RIGHT)
    assert made.notice == "" and set(made.states().values()) == {RIGHT}


def test_both_names_of_a_place_can_stand_there(unchecked):
    made = view(grouped_attention=learners.grouped_attention, decoder_mask=learners.decoder_mask)
    assert made.states()["attention"] == made.states()["mask"] == RIGHT and made._drift.max() < 1e-5


def test_names_without_a_place_and_two_for_one(unchecked):
    with pytest.raises(TypeError, match="does not know rmsnorm"):
        view(rmsnorm=learners.rms_norm)
    with pytest.raises(TypeError, match="causal_mask and decoder_mask stand in the same place"):
        view(causal_mask=learners.causal_mask, decoder_mask=learners.decoder_mask)


def test_a_part_that_is_right_here_and_wrong_elsewhere_is_named():
    """This model's mask has no empty rows; the check of attention has them, and names the result."""
    careless = lambda q, k, v, mask=None: (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -math.inf).softmax(-1) @ v
    careless.__name__ = "scaled_dot_product_attention"
    made = view(scaled_dot_product_attention=careless)
    assert made.mistake and made.states()["attention"] == NAMED


def test_parts_light_up_where_their_exercise_was_passed(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path))
    assert set(AnatomyView().states().values()) == {REFERENCE}
    store.update("progress", lambda data: data.update({"norm.rms_norm": {"passed_on_try": 2, "tries": 2, "best": 1.0}}))
    made = AnatomyView()
    assert made.states() == {place.key: PASSED if place.key == "norm" else REFERENCE for place in PLACES}
    assert "Lit: RMSNorm." in made.words


def test_a_check_lights_a_part_and_a_failed_one_breaks_it():
    """The widget takes over the checked function, as in a notebook."""
    made = view(pre_ln=shared.unfinished, rms_norm=learners.rms_norm)
    scope = {}
    exec("def rms_norm(x, weight, eps=1e-6):\n    return x", scope)
    with pytest.raises(CheckFailed):
        check("norm.rms_norm", scope["rms_norm"])
    assert made.states()["norm"] == WRONG and "Your rms_norm" in made.mistake
    check("norm.rms_norm", learners.rms_norm)
    assert made.states()["norm"] == RIGHT and made.mistake == "" and made._drift.max() < 1e-5


def test_what_equals_the_reference_is_sent_once(unchecked):
    """A page with only the reference takes about 100 KB of tables."""
    tables = AnatomyView().tables
    assert not [name for name in tables if name.startswith("ref_")] and sum(map(len, tables.values())) < 115_000
    assert len(view(pre_ln=learners.post_ln).tables["ref_lens_i"]) == len(tables["lens_i"])


def test_right_parts_read_as_the_reference_does():
    made, plain = AnatomyView(learners.RIGHT, text="She was"), AnatomyView(text="She was")
    assert made.read_words == plain.read_words == ["She", " was"]
    assert np.allclose(made.shown("norms"), plain.shown("norms"), rtol=1e-4)
    assert "reads “She was”" in made.words and made.png() != AnatomyView(learners.RIGHT).png()
    made.wrote = [int(made.shown("lens_i")[-1, -1, 0])]
    assert len(made.read_words) == 3 and "The model wrote" in made.words
    made.text, made.wrote = "", []
    assert made.tables == AnatomyView(learners.RIGHT).tables


def test_a_part_that_fails_on_a_text_is_replaced_there_alone(monkeypatch):
    monkeypatch.setattr(following, "_judge", lambda exercise, given: None)

    def of_32(x, weight, eps=1e-6):
        assert x.shape[1] == 32
        return learners.rms_norm(x, weight, eps)

    made = AnatomyView({"rms_norm": of_32}, text="She was")
    assert "On this text the reference stands in for rms_norm" in made.notice
    made.text = ""
    assert made.notice == "" and passing.vocabulary()[1279] in made.spec["vocabulary"]
