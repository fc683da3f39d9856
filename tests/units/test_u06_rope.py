"""Unit 06: numbers in the prose, verdicts of the claims on trial, the memory game's dealing and schemes."""

import dataclasses
import math

import pytest
import torch
from anatomy.experiments import length, recorded
from anatomy.experiments.length import Scheme

from autograder.exercises.u06_rope.measuring import accuracy_by_position
from autograder.exercises.u06_rope.proof import relative_gap
from autograder.reference import rope, rope_scaling


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# -- numbers in the prose -------------------------------------------------------------------------------------------

def test_wavelengths_that_the_text_names():
    assert round(rope.wavelengths(128)[-1].item()) == 54410
    assert (64 / rope.wavelengths(32) > 1).sum() == 5, "five pairs pass a full turn within 64 places"


def test_ntk_numbers_that_the_text_names():
    assert round(rope_scaling.ntk_base(10000.0, 8, 128), 1) == 82684.6
    assert rope_scaling.ntk_base(100.0, 4, 4) == 1600
    slower = rope.rope_frequencies(32, rope_scaling.ntk_base(10000.0, 4, 32)) / rope.rope_frequencies(32)
    torch.testing.assert_close(slower[[0, -1]], torch.tensor([1.0, 0.25]))


def test_ramp_of_the_worked_example():
    assert rope_scaling.yarn_ramp(8, 10000.0, 4096).tolist() == [0, 0, 0.5, 1]
    assert round(rope_scaling.yarn_temperature(16), 3) == 1.277
    kept = rope_scaling.yarn_ramp(128, 10000.0, 2048)
    assert kept[16] == 0 and kept[17] > 0 and kept[40] < 1 and kept[41] == 1


def test_partial_example():
    x = torch.tensor([1.0, 0.0, 5.0, 6.0]).reshape(1, 1, 1, 4)
    out = rope.apply_partial_rope(x, torch.tensor([1]), 2).flatten()
    torch.testing.assert_close(out, torch.tensor([0.54, 0.84, 5, 6]), atol=5e-3, rtol=0)


def test_score_of_many_angles_never_returns():
    """The plot's alt text: with 64 features and base 10,000 the score of a vector with itself stays below 1."""
    scores = torch.cos(torch.arange(1.0, 200)[:, None] * rope.rope_frequencies(64)).mean(1)
    assert scores.max() < 0.97


# -- claims on trial ------------------------------------------------------------------------------------------------

def powers(matrix):
    return torch.stack([torch.linalg.matrix_power(matrix, p) for p in range(6)])


def test_every_orthogonal_matrix_gives_a_relative_family_and_falls_apart_into_planes():
    A, _ = torch.linalg.qr(torch.randn(7, 7, dtype=torch.float64, generator=generator()))
    assert relative_gap(powers(A)) < 1e-12
    assert relative_gap(powers(1.01 * A)) > 1e-2
    torch.testing.assert_close(torch.linalg.eigvals(A).abs(), torch.ones(7, dtype=torch.float64))


def notes_rope(x, ids):
    angles = torch.cat([ids[:, None] * rope.rope_frequencies(x.shape[-1])] * 2, -1)
    x1, x2 = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-x1, x2], -1) * angles.sin()


def test_wrong_half_changes_lengths_and_is_not_relative():
    x, ids = torch.randn(100, 64, generator=generator(1)), torch.arange(100)
    here, there = notes_rope(x, ids), notes_rope(x, ids + 50)
    change = here.norm(dim=-1) / x.norm(dim=-1) - 1
    assert change.min() < -0.05 and change.max() > 0.05
    assert (here @ here.T - there @ there.T).abs().max() > 1
    right = rope.apply_rope_half(x, ids)
    torch.testing.assert_close(right.norm(dim=-1), x.norm(dim=-1))


def test_layouts_agree_after_the_permutation():
    q, k = torch.randn(2, 1, 2, 6, 16, dtype=torch.float64, generator=generator())
    p, ids = rope.interleaved_to_half_permutation(16), torch.tensor([3, 4, 9, 40, 41, 1000])
    plain = rope.apply_rope(q, ids) @ rope.apply_rope(k, ids).mT
    half = rope.apply_rope_half(q[..., p], ids) @ rope.apply_rope_half(k[..., p], ids).mT
    torch.testing.assert_close(plain, half, atol=1e-13, rtol=1e-13)


def test_moving_a_whole_text_changes_nothing():
    q, k, v = torch.randn(3, 1, 2, 6, 16, dtype=torch.float64, generator=generator())
    look = lambda ids: (rope.apply_rope(q, ids) @ rope.apply_rope(k, ids).mT / 4).softmax(-1) @ v
    torch.testing.assert_close(look(torch.arange(6)), look(torch.arange(6) + 1000), atol=1e-12, rtol=0)


def test_float16_times_float32_tables_is_float32():
    assert (torch.ones(2, dtype=torch.float16) * torch.ones(2)).dtype == torch.float32
    with pytest.raises(RuntimeError):
        torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float16)
    assert [torch.tensor(p).bfloat16().item() for p in (301, 1027)] == [300, 1024]


def test_nope_sees_order_from_the_second_layer_on():
    def layer(x):
        future = torch.ones(len(x), len(x)).triu(1).bool()
        return x + (x @ x.T / 16).masked_fill(future, -math.inf).softmax(-1) @ x

    words = torch.randn(8, 16, generator=generator(2))
    mixed = words[[4, 2, 6, 0, 5, 1, 3, 7]]
    assert (layer(words) - layer(mixed))[-1].abs().max() < 1e-5
    assert (layer(layer(words)) - layer(layer(mixed)))[-1].abs().max() > 0.05


# -- the memory game ------------------------------------------------------------------------------------------------

def test_dealt_rows_ask_what_they_say():
    game = length.deal(3, 20, generator(5))
    for cards, colors, twin, back, gap in zip(*(t.tolist() for t in game), strict=True):
        for i, card in enumerate(cards):
            seen = [j for j in range(i) if cards[j] == card]
            assert len([c for c in cards if c == card]) == 2
            assert twin[i] == (colors[seen[0]] if seen else -1)
            assert gap[i] == (i - seen[0] if seen else -1)
            assert back[i] == (colors[i - length.BACK] if i >= length.BACK else -1)


def test_window_hides_everything_farther():
    torch.manual_seed(0)
    model = length.Reader(Scheme()).eval()
    game = length.deal(1, 32, generator())
    local = dataclasses.replace(model.scheme, window=4)
    changed = game.cards.clone()
    changed[0, 10] = (changed[0, 10] + 1) % length.KINDS
    with torch.no_grad():
        moved = (model(changed, game.colors, local) - model(game.cards, game.colors, local)).abs().amax((0, 2, 3))
    assert (moved > 0).nonzero().flatten().tolist() == [10, 11, 12, 13]


def test_a_learned_table_ends_at_the_trained_length():
    torch.manual_seed(0)
    model = length.Reader(Scheme(add=torch.nn.Embedding(length.TRAINED, length.D_MODEL)))
    with pytest.raises(IndexError):
        length.test(model, accuracy_by_position, length=80, rows=2)


def test_live_run_solves_the_trained_length_and_yarn_the_long_one():
    """What the notebook runs: 200 steps, a few seconds."""
    model, _ = length.train(Scheme(turn=rope.apply_rope))
    plain = length.test(model, accuracy_by_position)
    yarn = rope_scaling.yarn_frequencies(32, 10000.0, 4, 64)
    stretched = length.test(model, accuracy_by_position, Scheme(turn=lambda x, ids: rope_scaling.apply_scaled_rope(
        x, ids, yarn, rope_scaling.yarn_temperature(4))))
    assert min(plain["twin"][3], plain["back"][3]) > 0.95
    assert max(plain["twin"][-1], plain["back"][-1]) < 0.9
    assert min(stretched["twin"][-1], stretched["back"][-1]) > 0.95


def test_recording_says_what_the_text_says():
    record = recorded("length")
    assert record["made"]["device"] in ("cpu", "cuda") and len(record["made"]["seeds"]) >= 3
    end = {name: {q: [run[q][-1] for run in runs] for q in ("twin", "back")}
           for name, runs in record["schemes"].items()}
    trained = {name: {q: [run[q][3] for run in runs] for q in ("twin", "back")}
               for name, runs in record["schemes"].items()}
    for name in ("RoPE", "sinusoidal", "T5 bias", "learned", "RoPE, wrong half"):
        assert min(trained[name]["twin"] + trained[name]["back"]) > 0.97, name
    assert max(end["RoPE"]["twin"]) < 0.8 and max(end["RoPE"]["back"]) < 0.85
    assert max(end["sinusoidal"]["back"]) < 0.4 and max(end["sinusoidal"]["twin"]) < 0.9
    assert min(end["RoPE + YaRN"]["twin"] + end["RoPE + YaRN"]["back"]) > 0.98
    assert min(end["RoPE + PI"]["twin"]) > 0.98 and max(end["RoPE + PI"]["back"]) < 0.2
    assert max(end["RoPE + PI, tuned"]["back"]) < 0.2, "the text says that 300 steps did not repair it"
    assert min(end["RoPE + window of 64"]["back"]) > 0.98 and max(end["RoPE + window of 64"]["twin"]) < 0.5
    assert min(end["ALiBi"]["twin"]) > 0.98 and max(trained["ALiBi"]["back"]) < 0.45
    assert max(end["RoPE, wrong half"]["back"]) < 0.5
    assert len(record["schemes"]["learned"][0]["twin"]) == 4
