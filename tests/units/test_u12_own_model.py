"""Unit 12 without unit 11, the learner's own weights, and the guessing game."""

import torch
from anatomy import evaluate, parts
from anatomy.experiments import breaking, shannon, speaking
from anatomy.language import apprentice, corpus, shipped
from anatomy.language.apprentice import Apprentice
from anatomy.language.stand_in import StandIn
from anatomy.models import config
from pytest import approx, fixture, raises

from autograder import ROOT
from autograder.reference.assembly.decoder import Decoder
from tests.course.learners_folder import write_unit

TINY = config(vocab=300, d_model=16, n_layers=2, n_heads=4, n_kv_heads=2, d_ff=24)


@fixture
def both():
    """The stand-in and the reference with the same weights."""
    c = {**TINY, "d_model": 32, "head_dim": 8, "rotary_dim": 8, "d_embedding": 32}
    reference = breaking.fresh(Decoder(c), 0).eval()
    standing = StandIn(c).eval()
    standing.load_state_dict(reference.state_dict())
    return c, standing, reference


def test_the_stand_in_is_the_model_with_a_cache_with_padding_and_broken(both):
    c, standing, reference = both
    ids, real = torch.randint(300, (3, 12)), torch.ones(3, 12, dtype=torch.bool)
    real[0, :5] = real[1, :2] = False
    with torch.no_grad():
        whole = standing(ids, real)[0]
        torch.testing.assert_close(whole[real], reference(ids, real)[0][real])
        _, past = standing(ids[:, :7], real[:, :7])
        torch.testing.assert_close(standing(ids[:, 7:], real, past)[0][real[:, 7:]], whole[:, 7:][real[:, 7:]])
        for name in breaking.NAMES:
            broken = [breaking.broken(m, c, name)(ids)[0] for m in (standing, reference)]
            torch.testing.assert_close(*broken, atol=1e-4, rtol=1e-4)


def test_the_stand_in_is_no_answer_to_unit_11():
    with raises(ValueError, match="family only, not norm = 'layer'"):
        StandIn({**TINY, "norm": "layer"})
    assert not evaluate("assembly.decoder", StandIn).passed


def test_without_unit_11_the_stand_in_speaks_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ANATOMY_NOTEBOOKS", str(tmp_path))
    write_unit(tmp_path, "02-normalization", {})
    assert parts.mine("norm.rms_norm", otherwise=len) is len
    said = capsys.readouterr().out
    assert "norm.rms_norm in " in said and "still to do" in said and "stands in for yours" in said
    with raises(parts.NotYet):
        parts.mine("norm.rms_norm")
    unit = (ROOT / "solutions" / "12-language-model.py").read_text(encoding="utf-8")
    assert 'parts.mine("assembly.decoder", otherwise=StandIn)' in unit and unit.count('("assembly.') == 1


def test_the_card_says_whose_model_wrote_it(both, tmp_path, monkeypatch):
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: None)
    _, standing, reference = both
    pages = [speaking.card("It", "was", {}, tmp_path, model=m)[0].read_text() for m in (standing, reference)]
    assert "parts and my own loop" in pages[0] and "my own parts" in pages[1] and "loop" not in pages[1]


# -- the learner's own weights -----------------------------------------------------------------------------------------


@fixture
def begun(tmp_path, monkeypatch):
    """Makes an apprentice of six steps with tiny rows; the same file each time."""
    monkeypatch.setattr(apprentice, "CONTEXT", 8)
    ids = torch.randint(300, (200,), generator=torch.Generator().manual_seed(0))

    def begin(c=TINY, path=tmp_path / "young.pt"):
        return Apprentice(breaking.fresh(Decoder(c), 0), ids, ids[:50], 100, path, steps=6)

    return begin


def weights(one):
    return torch.cat([w.flatten() for w in one.model.state_dict().values()])


def test_a_continued_training_ends_where_one_without_a_break_ends(begun, tmp_path, monkeypatch):
    whole = begun(path=tmp_path / "whole.pt")
    whole.go_on(9)
    assert whole.done == 6 and whole.curve[-1] == (6, approx(whole.curve[-1][1]))
    first = begun()
    step = first._step

    def interrupted():
        if first.done == 3:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(first, "_step", interrupted)
    first.go_on(9)
    assert first.done == 3 and (tmp_path / "young.pt").exists()
    second = begun()
    assert second.done == 3 and second.curve == first.curve
    second.go_on(9)
    torch.testing.assert_close(weights(second), weights(whole), rtol=0, atol=0)
    assert begun().done == 6


def test_looking_trains_nothing_and_writes_nothing(begun, tmp_path, capsys):
    one = begun()
    one.go_on(0)
    assert one.done == 0 and "step 0 of 6" in capsys.readouterr().out and not list(tmp_path.iterdir())


def test_a_file_of_another_model_or_half_a_file_stays_as_it_is(begun, tmp_path, capsys):
    begun().go_on(9)
    kept = (tmp_path / "young.pt").read_bytes()
    other = begun({**TINY, "d_ff": 48})
    assert other.done == 0 and "young.pt does not fit" in capsys.readouterr().out
    other.go_on(9)
    assert (tmp_path / "young.pt").read_bytes() == kept and (tmp_path / "young-2.pt").exists()
    (tmp_path / "young.pt").write_bytes(kept[: len(kept) // 2])
    fresh = begun()
    assert fresh.done == 0 and fresh.path.name == "young-3.pt"
    torch.testing.assert_close(weights(fresh), weights(begun(path=tmp_path / "none.pt")), rtol=0, atol=0)


# -- Shannon's game ----------------------------------------------------------------------------------------------------


def test_a_game_shows_one_letter_per_guess_and_the_others_at_the_end(capsys):
    game = shannon.Game("", "It is a truth ", "uni")
    game.play("UX", always=lambda text: "n")
    said = capsys.readouterr().out
    assert "truth un▁" in said and "1 ✓  U✓ X✗" in said and "2 of 3 letters" in said and "always" not in said
    game.play("uniq", always=lambda text: "n")
    said = capsys.readouterr().out
    assert "truth uni▁" in said and "3 ✓  u✓ n✓ i✓" in said and "always:  1 ✓  n✗ n✓ n✗" in said


def test_a_player_reads_all_letters_before_and_none_after():
    seen = []
    shannon.Game("ab ", "cd ", "ef").guesses(lambda text: seen.append(text) or "e")
    assert seen == ["ab cd ", "ab cd e"]


def test_passages_are_parts_of_the_pages_and_differ():
    pages = corpus.held_out_text()[:10_000]
    games = [shannon.passage(pages, seed) for seed in range(6)]
    assert len({g.hidden for g in games}) > 3
    for g in games:
        assert g.before + g.shown + g.hidden in pages and len(g.hidden) == 20 and g.hidden[0].islower()
        assert "\n" not in g.shown + g.hidden and g.shown.endswith(" ") and len(g.shown) <= 240
    with raises(ValueError, match="no paragraph has"):
        shannon.passage("short\n\nlines")


class Pair:
    """A tokenizer of a, b, ab and a space before ab."""

    texts = ("a", "b", "ab", " ab", "a ")

    def encode(self, text):
        found = []
        while text:
            token = max((t for t in self.texts if text.startswith(t)), key=len)
            found.append(self.texts.index(token))
            text = text[len(token) :]
        return found

    def decode(self, ids):
        return "".join(self.texts[i] for i in ids)


def test_all_ways_to_spell_the_begun_word_count():
    p = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.0])  # after any text
    model = lambda ids: (p.log().expand(1, ids.shape[1], 5), None)
    # " a" is begun: " ab" goes on with b; nothing else begins with a space and an a.
    assert shannon.next_letters(model, Pair(), "ab a") == {"b": approx(1.0)}
    # Behind " ab" the next token decides: a with 0.1 and "ab" with 0.3, b with 0.2, a space with 0.4.
    assert shannon.next_letters(model, Pair(), "ab ab") == approx({"a": 0.4, " ": 0.4, "b": 0.2})


def test_the_shipped_model_knows_the_end_of_a_word():
    c, weights = shipped.checkpoint()
    model = StandIn(c).eval()
    model.load_state_dict(weights)
    assert shannon.likeliest(model, shipped.tokenizer(), "It is a truth universally acknowledge") == "d"
    found = shannon.next_letters(model, shipped.tokenizer(), "Mr. Darc")
    assert max(found, key=found.get) == "y" and sum(found.values()) == approx(1.0)
