"""What unit 12 does with a model besides training: speaking, breaking, longer texts, speed; and the head that copies.

The models are the reference's decoder, tiny and untrained or the shipped one. Recorded results are checked here too.
"""

import copy
import itertools
import json
import math
import re

import pytest
import torch
from anatomy.experiments import breaking, induction, longer_text, recorded, speaking, speed_of_speech
from anatomy.language import corpus, shipped
from anatomy.models import config
from torch import nn

from autograder.recording.experiments import breaking as breaking_script
from autograder.recording.experiments import induction as induction_script
from autograder.recording.experiments import longer_text as longer_script
from autograder.recording.experiments import speed_of_speech as speed_script
from autograder.reference import rope_scaling
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.decoder import Decoder
from autograder.reference.language.generating import distribution, generate
from autograder.reference.language.induction import induction_score
from autograder.reference.rope import apply_rope, rope_frequencies

TINY = config(vocab=40, d_model=16, n_layers=2, n_heads=4, n_kv_heads=2, d_ff=24)


@pytest.fixture
def model():
    return breaking.fresh(Decoder(TINY), 0).eval()


@pytest.fixture
def ids():
    return torch.randint(40, (2, 9), generator=torch.Generator().manual_seed(1))


@pytest.fixture
def shown(monkeypatch):
    """The displays of a cell: a list of places, each with its latest bundle."""
    places = []

    class Place:
        def __init__(self, bundle):
            self.bundle, self.updates = bundle, 0
            places.append(self)

        def update(self, bundle, raw):
            self.bundle, self.updates = bundle, self.updates + 1

    monkeypatch.setattr("IPython.display.display", lambda bundle, raw, display_id=None: Place(bundle))
    return places


class Letters:
    """A tokenizer whose tokens are characters."""

    alphabet = "abcdefghijklmnopqrstuvwxyz .,!?$<&>\n\"'AB"

    def encode(self, text):
        return [self.alphabet.index(c) for c in text]

    def decode(self, ids):
        return "".join(self.alphabet[i] for i in ids)


# -- breaking ----------------------------------------------------------------------------------------------------------


def logits(model, ids):
    with torch.no_grad():
        return model(ids)[0]


@pytest.mark.parametrize("name", breaking.NAMES)
def test_a_broken_model_computes_something_else_and_the_whole_one_stays(model, ids, name):
    before = copy.deepcopy(model.state_dict())
    whole = logits(model, ids)
    broken = breaking.broken(model, TINY, name)
    assert not torch.allclose(logits(broken, ids), whole, atol=1e-5)
    assert torch.equal(logits(model, ids), whole)
    assert all(torch.equal(t, before[key]) for key, t in model.state_dict().items())


class Other(Attention):
    """Attention with one line changed, as in a learner's mistake."""

    wrong = ""

    def prepare(self, q, k, positions):
        if self.wrong == "no rotation":
            return q, k
        return super().prepare(q, k, -positions if self.wrong == "rotated backward" else positions)

    def attend(self, q, k, v, mask):
        if self.wrong == "no division by √D":
            q = q * math.sqrt(q.shape[-1])
        if self.wrong == "key-value heads swapped":
            k, v = k.flip(1), v.flip(1)
        return super().attend(q, k, v, None if self.wrong == "no mask" else mask)


@pytest.mark.parametrize(
    "name", ["no rotation", "rotated backward", "no division by √D", "key-value heads swapped", "no mask"]
)
def test_breaking_from_outside_equals_the_wrong_line(model, ids, name):
    wrong = Decoder(TINY, attention=type("Wrong", (Other,), {"wrong": name}))
    wrong.load_state_dict(model.state_dict())
    broken = breaking.broken(model, TINY, name)
    torch.testing.assert_close(logits(broken, ids), logits(wrong, ids), rtol=1e-4, atol=1e-5)
    # Also with a cache, token by token.
    past, pieces = [None, None], [[], []]
    with torch.no_grad():
        for t, (i, m) in itertools.product(range(ids.shape[1]), enumerate((broken, wrong))):
            out, past[i] = m(ids[:, t : t + 1], past=past[i])
            pieces[i].append(out)
    torch.testing.assert_close(torch.cat(pieces[0], 1), torch.cat(pieces[1], 1), rtol=1e-4, atol=1e-5)


def test_residual_norms_and_blocks_are_what_they_say(model, ids):
    """Compares with the same change written out with the model's parts."""
    x = model.embeddings(ids, None)
    mask = torch.ones(9, 9).tril().bool()
    positions = torch.arange(9)
    through = {"no residual": x, "no norms": x, "first block left out": x, "gate and up swapped": x}
    for number, block in enumerate(model.blocks):
        attend = lambda h, block=block: block.attention(h, mask, positions)[0]
        swapped = lambda h, f=block.ffn: f.down_proj(nn.functional.silu(f.up_proj(h)) * f.gate_proj(h))
        for name, y in through.items():
            if name == "first block left out" and number == 0:
                continue
            norms = [lambda h: h] * 2 if name == "no norms" else [block.attention_norm, block.ffn_norm]
            stay = 0 if name == "no residual" else 1
            y = stay * y + attend(norms[0](y))
            through[name] = stay * y + (swapped if name.startswith("gate") else block.ffn)(norms[1](y))
    for name, y in through.items():
        expected = model.logits(y if name == "no norms" else model.final_norm(y))
        got = logits(breaking.broken(model, TINY, name), ids)
        torch.testing.assert_close(got, expected.detach(), rtol=1e-4, atol=1e-4, msg=name)


class Renamed(Attention):
    """A learner's layer: its arguments have different names."""

    def forward(self, h, may_look=None, places=None, before=None):
        return super().forward(h, may_look, places, before)


def test_a_learners_own_names_of_arguments_do(model, ids):
    renamed = Decoder(TINY, attention=Renamed)
    renamed.load_state_dict(model.state_dict())
    for name in ("no mask", "no rotation"):
        a, b = (logits(breaking.broken(m, TINY, name), ids) for m in (model, renamed))
        assert torch.equal(a, b)


def test_a_model_put_together_otherwise_is_told_so():
    with pytest.raises(breaking.NoSuchPart, match="no part called blocks"):
        breaking.broken(nn.Linear(2, 2), TINY, "no mask")


def test_loss_is_the_mean_over_whole_stretches(model):
    text = torch.randint(40, (50,), generator=torch.Generator().manual_seed(2))
    pieces = [text[i : i + 17] for i in range(0, 33, 16)]
    expected = [nn.functional.cross_entropy(logits(model, p[None, :-1])[0], p[1:]).item() for p in pieces]
    assert breaking.loss(model, text, context=16) == pytest.approx(sum(expected) / 3, rel=1e-5)
    assert longer_text.by_place(model, text, 16, 16)[0] == pytest.approx(sum(expected) / 3, rel=1e-5)


def test_an_unmasked_model_sees_the_answer_and_loss_unseen_hides_it(model):
    text = torch.randint(40, (300,), generator=torch.Generator().manual_seed(3))
    unmasked = breaking.broken(model, TINY, "no mask")
    lengths, rows = (4, 8), 5
    starts = torch.linspace(0, len(text) - 9, rows).long()
    expected = [
        nn.functional.cross_entropy(logits(unmasked, text[s : s + n][None])[:, -1], text[s + n][None]).item()
        for n in lengths
        for s in starts
    ]
    assert breaking.loss_unseen(unmasked, text, lengths, rows) == pytest.approx(sum(expected) / 10, rel=1e-5)


def test_a_seed_gives_the_same_start_and_the_same_batches_whatever_is_broken():
    text = torch.randint(40, (400,), generator=torch.Generator().manual_seed(4))
    runs = {
        name: breaking.train(Decoder, TINY, text, name, steps=3, context=8)[1] for name in (None, "no rotation", None)
    }
    again = breaking.train(Decoder, TINY, text, steps=3, context=8)[1]
    assert runs[None] == again and runs["no rotation"][0] == pytest.approx(again[0], abs=0.02)
    assert breaking.train(Decoder, TINY, text, seed=1, steps=3, context=8)[1] != again


# -- longer texts ------------------------------------------------------------------------------------------------------


def test_squeezed_positions_are_divided(model, ids):
    class Squeezed(Attention):
        def prepare(self, q, k, positions):
            return super().prepare(q, k, positions / 4)

    wanted = Decoder(TINY, attention=Squeezed)
    wanted.load_state_dict(model.state_dict())
    got = logits(longer_text.squeeze(copy.deepcopy(model), 4), ids)
    torch.testing.assert_close(got, logits(wanted, ids))


def test_a_further_rotation_gives_the_frequencies_that_are_wanted(model, ids):
    """Compares YaRN added from outside with attention that itself rotates by YaRN's frequencies."""
    D, base, s = TINY["head_dim"], TINY["base"], 4
    frequencies = rope_scaling.yarn_frequencies(D, base, s, 16)
    factor = rope_scaling.yarn_temperature(s)

    class Yarn(Attention):
        def prepare(self, q, k, positions):
            turn = rope_scaling.apply_scaled_rope_half
            return turn(q, positions, frequencies, factor), turn(k, positions, frequencies, factor)

    wanted = Decoder(TINY, attention=Yarn)
    wanted.load_state_dict(model.state_dict())
    got = logits(longer_script.yarn(copy.deepcopy(model), TINY, s, 16), ids)
    torch.testing.assert_close(got, logits(wanted, ids), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(frequencies, rope_frequencies(D, base))


# -- speaking ----------------------------------------------------------------------------------------------------------


def test_speaking_shows_each_token_and_returns_what_was_written(model, shown, monkeypatch):
    monkeypatch.setattr(speaking, "PAUSE", 0)
    pick = speaking.picker(distribution, seed=3, temperature=0.9, top_k=5)
    text = speaking.speak(generate, model, Letters(), "a b<", pick, 12)
    (place,) = shown
    assert len(text) == 12 and place.bundle["text/plain"] == "a b<" + text and place.updates == 12
    assert "<b>a b&lt;</b>" in place.bundle["text/html"] and "▍" not in place.bundle["text/html"]
    quiet = speaking.speak(
        generate,
        model,
        Letters(),
        "a b<",
        speaking.picker(distribution, seed=3, temperature=0.9, top_k=5),
        12,
        live=False,
    )
    assert quiet == text and len(shown) == 1


def test_the_page_is_not_told_more_often_than_it_can_show(model, shown):
    speaking.speak(generate, model, Letters(), "a", lambda logits: logits.argmax(-1), 30)
    assert shown[0].updates < 30 and len(shown[0].bundle["text/plain"]) == 31


def test_half_a_character_waits_for_the_rest():
    tokenizer = shipped.tokenizer()
    ids = tokenizer.encode("é").ids
    assert len(ids) == 2 and speaking.readable(tokenizer, ids[:1]) == "" and speaking.readable(tokenizer, ids) == "é"


def test_candidates_are_the_distribution_in_order(model, shown):
    found = speaking.candidates(model, Letters(), "a b", distribution, 4, temperature=0.5, top_k=3)
    p = distribution(logits(model, torch.tensor([Letters().encode("a b")]))[:, -1], temperature=0.5, top_k=3)[0]
    assert [q for _, q in found] == p.sort(descending=True).values[:3].tolist() and len(found) == 3
    assert Letters().encode(found[0][0]) == [p.argmax().item()]
    assert f"{found[0][1]:.1%}" in shown[0].bundle["text/plain"]


def test_a_card_is_a_page_of_its_own_and_never_takes_anothers_place(tmp_path, shown):
    text = "said <she> & paid $5 and $6.\n\nA second paragraph."
    first = speaking.card("Mr. Darcy ", text, {"temperature": 0.7, "seed": 1}, tmp_path)
    kept = [p.read_bytes() for p in first]
    second = speaking.card("Mr. Darcy ", "other", {}, tmp_path)
    assert [p.name for p in first + second] == ["my-card.html", "my-card.png", "my-card-2.html", "my-card-2.png"]
    assert [p.read_bytes() for p in first] == kept and kept[1].startswith(b"\x89PNG")
    page = kept[0].decode()
    assert "&lt;she&gt; &amp; paid" in page and "temperature 0.7, seed 1" in page
    assert not re.search(r"(src|href)=", page), "a page of its own needs nothing else"
    assert "my-card.html" in shown[0].bundle["text/plain"] and 'alt="' in shown[0].bundle["text/html"]


# -- speed -------------------------------------------------------------------------------------------------------------


def test_a_hollow_model_makes_the_same_calls_with_next_to_no_numbers():
    c = shipped.checkpoint()[0]
    whole, empty = Decoder(c), Decoder(speed_of_speech.hollow(c))
    calls = [speed_of_speech.calls(speed_of_speech.step(m)) for m in (whole, empty)]
    assert calls[0] == calls[1] > 100
    assert 50 * speed_of_speech.weight_bytes(empty) < speed_of_speech.weight_bytes(whole)


def test_what_bytes_and_operations_ask_for(model):
    n = sum(p.numel() for p in model.parameters())
    reading, computing = speed_of_speech.predicted(model, speed_of_speech.Machine(1e9, 1e10))
    assert reading == pytest.approx(4 * n / 1e9) and computing == pytest.approx(2 * n / 1e10)
    found = speed_of_speech.machine(100_000)
    assert found.bytes_per_second > 1e8 and found.flops_per_second > 1e8


@pytest.mark.parametrize(
    "hollow, measured, said",
    [(0.9, 1, "mostly calls"), (0.5, 1, "calls and numbers alike"), (0.1, 1, "mostly numbers")],
)
def test_the_verdict_on_time_follows_the_numbers(hollow, measured, said):
    sentence = speed_of_speech.verdict(speed_of_speech.Token(measured, 0.1, 0.05, hollow))
    assert said in sentence and "10 times" in sentence
    assert "about as long as" in speed_of_speech.verdict(speed_of_speech.Token(1, 0.9, 0.5, hollow))


# -- the head that copies ----------------------------------------------------------------------------------------------


def test_rows_repeat_themselves_or_do_not():
    rows = induction.draw(50, torch.Generator().manual_seed(0))
    for row, period in zip(rows.ids, rows.period[:, 0], strict=True):
        assert len(set(row[:period].tolist())) == period and torch.equal(row[period:], row[:-period])
    free = induction.draw(50, torch.Generator().manual_seed(0), repeats=False)
    assert not any(torch.equal(r[p:], r[:-p]) for r, p in zip(free.ids, free.period[:, 0], strict=True))


def test_a_head_that_is_off_adds_nothing():
    model = induction.Copier(apply_rope)
    ids = torch.randint(32, (2, 9))
    assert sum(p.numel() for p in model.parameters()) == 37_056
    bare = model.head(model.norms[-1](model.tokens(ids)))
    torch.testing.assert_close(model(ids, off=(0, 1))[0], bare)


def test_circles_lie_where_the_score_looks():
    """The picture's circles are at the places that the score adds up."""
    import matplotlib.pyplot as plt

    _, ids = induction.look(induction.Copier(apply_rope))
    weights = torch.zeros(1, 36, 36)
    induction.draw_attention(weights, ids)
    x, y = plt.gcf().axes[0].lines[0].get_data()
    plt.close()
    for m, n in zip(y, x, strict=True):
        weights[0, m, n] = 1
    counted = torch.tensor([sum(n for n in weights[0, m]) for m in range(12, 36)])
    torch.testing.assert_close(induction_score(weights, ids), counted.mean()[None])
    assert counted.tolist() == [1] * 12 + [2] * 12


# -- recorded results --------------------------------------------------------------------------------------------------


def test_every_seed_of_two_layers_has_an_induction_head_and_no_control_has():
    facts = induction_script.facts(recorded("induction"))
    assert facts["two_layers"]["heads"] == facts["seeds"] >= 5 and facts["two_layers"]["accuracy"]["min"] > 0.98
    for control in ("one_layer", "no_repetition"):
        assert facts[control]["heads"] == 0 and facts[control]["accuracy"]["max"] < 0.2
    for layer in (0, 1):
        assert facts["two_layers"][f"off_{layer}"]["max"] < 0.2
    assert json.dumps(facts).isascii()


def test_without_a_mask_every_seed_looks_better_and_is_worse():
    facts = breaking_script.facts(recorded("breaking"))
    cheat = facts["learned"]["no_mask"]
    whole = facts["learned"]["whole"]
    assert cheat["max"] < whole["min"] - 1 and cheat["unseen_min"] > whole["unseen_max"] + 1 and facts["fresh"] >= 3
    used = facts["used"]
    assert used["key_value_heads_swapped"]["worse"] == used["no_residual"]["worse"] == facts["models"] >= 3


def test_a_window_holds_in_every_model():
    facts = longer_script.facts(recorded("longer_text"))
    assert facts["models"] >= 3 and facts["window"]["holds"] == facts["models"]
    assert facts["as_trained"]["whole"] > facts["restart"] + 0.1 and facts["yarn"]["end"] < facts["as_trained"]["end"]


def test_the_recorded_speed_is_ruled_by_calls_at_this_size_and_by_bytes_at_the_largest():
    facts = speed_script.facts(recorded("speed_of_speech"))
    assert facts["own"]["factor"] > 10 and facts["own"]["hollow_share"] > 0.5
    assert facts["widest"]["factor"] < 5 and facts["widest"]["hollow_share"] < 0.5


def test_the_text_that_is_broken_is_the_held_out_one():
    ids = shipped.tokenizer().encode(corpus.held_out_text()).ids
    assert len(ids) > max(breaking.TOKENS, longer_text.TOKENS)
