"""Unit 06: numbers in the text, verdicts of the claims on trial, the memory game's dealing and schemes."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from anatomy.experiments import length, recorded
from anatomy.experiments.length import Scheme

from autograder.exercises.u06_rope.relative_gap import relative_gap
from autograder.recording.experiments import length as script
from autograder.reference import rope, rope_scaling
from autograder.reference.measuring import accuracy_by_position

PROSE = (Path(__file__).parents[2] / "solutions" / "06-rope.py").read_text(encoding="utf-8")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# -- numbers in the text --------------------------------------------------------------------------------------------


def test_wavelengths_that_the_text_names():
    fastest, slowest = rope.wavelengths(128)[[0, -1]].tolist()
    assert f"comes round every {fastest:.0f} tokens, the slowest every {slowest:,.0f}. " in PROSE
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
    """As the plot's alt text says, with 64 features and base 10,000 the score of a vector with itself stays below 1."""
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


def test_with_one_map_the_shear_fails_and_with_two_it_works():
    shear = torch.tensor([[1.0, 0.3], [0.0, 1.0]], dtype=torch.float64)
    keys, queries = powers(shear), powers(torch.linalg.inv(shear).T)
    torch.testing.assert_close(queries[1], torch.tensor([[1.0, 0.0], [-0.3, 1.0]], dtype=torch.float64))
    products = torch.einsum("mji,njk->mnik", queries, keys)
    assert relative_gap(keys) > 0.1 and (products[1:, 1:] - products[:-1, :-1]).abs().max() < 1e-12


def test_the_start_can_be_put_into_the_weights():
    """A family that applies rotations after an invertible start matrix is relative; moving that matrix into the weights
    keeps the scores."""
    A, _ = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=generator(2)))
    start, q, k = (torch.randn(4, 4, dtype=torch.float64, generator=generator(i)) for i in (3, 4, 5))
    family = powers(A) @ start
    assert relative_gap(family) < 1e-12
    turned = family @ torch.linalg.inv(start)
    torch.testing.assert_close(turned[3].T @ turned[3], torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close((family[2] @ q).T @ (family[5] @ k), (turned[2] @ start @ q).T @ (turned[5] @ start @ k))


def test_the_random_matrix_of_the_text_has_three_planes():
    A, _ = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64, generator=generator(3)))
    A = A * torch.linalg.det(A) ** torch.tensor([1.0, 0, 0, 0, 0, 0])
    values, vectors = torch.linalg.eig(A)
    planes = vectors[:, values.imag > 0]
    assert planes.shape == (6, 3)
    basis = math.sqrt(2) * torch.stack([planes.real, -planes.imag], -1).flatten(1)
    torch.testing.assert_close(basis.T @ basis, torch.eye(6, dtype=torch.float64))
    turns = basis.T @ A @ basis
    angles = torch.stack([turns[i, i] + 1j * turns[i + 1, i] for i in (0, 2, 4)]).angle()
    torch.testing.assert_close(turns, torch.block_diag(*rope.rotation_matrix_2d(angles)))


def test_yarns_ramp_reaches_one_sooner_after_a_shorter_training():
    first = lambda trained: rope_scaling.yarn_ramp(32, 10000.0, trained).tolist().index(1.0)
    assert (first(64), first(32)) == (5, 3)
    root = rope_scaling.yarn_temperature(4)
    assert (round(root, 3), round(root**2, 2), round(1 / root**2, 2)) == (1.139, 1.3, 0.77)


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
    """Runs the notebook's training: 200 steps, a few seconds."""
    model, _ = length.train(Scheme(turn=rope.apply_rope))
    plain = length.test(model, accuracy_by_position)
    yarn = rope_scaling.yarn_frequencies(32, 10000.0, 4, 64)
    stretched = length.test(
        model,
        accuracy_by_position,
        Scheme(turn=lambda x, ids: rope_scaling.apply_scaled_rope(x, ids, yarn, rope_scaling.yarn_temperature(4))),
    )
    assert min(plain["twin"][3], plain["back"][3]) > 0.95
    assert max(plain["twin"][-1], plain["back"][-1]) < 0.9
    assert min(stretched["twin"][-1], stretched["back"][-1]) > 0.95


def told():
    return script.facts(recorded("length"))


def test_verdicts_have_seeds_and_controls():
    record = recorded("length")
    assert record["made"]["device"] in ("cpu", "cuda") and script.seeds(record) >= 3
    assert script.controls(record) == {"trained length": 2, "steps": 2, "clipping distance": 2}


@pytest.mark.parametrize("part", ["trained on 64", "trained on 32"])
def test_what_the_text_says_of_rope(part):
    found = told() if part == "trained on 64" else told()["shorter"]
    for name in ("rope", "sinusoidal", "rope_wrong_half"):
        for question in ("twin", "back"):
            assert found[name][question]["trained"]["min"] > 0.95, (name, question)
            assert found[name][question]["end"]["max"] < 0.9, "all fall"
    assert found["rope_pi"]["twin"]["end"]["min"] > 0.95 and found["rope_pi"]["back"]["end"]["max"] < 0.2
    window = found[f"rope_window_of_{found['trained']}"]
    assert window["back"]["anywhere"]["min"] > 0.95 and window["twin"]["end"]["max"] < 0.5
    assert found["rope_yarn"]["twin"]["end"]["min"] > 0.95
    more = found["ntk_minus_rope"]["twin"]
    assert more["pairs"] >= 3 and more["mean"] > 2 * more["error"], "NTK finds more twins"


def test_longer_rows_do_not_tell_which_half_is_wrong():
    long, short = (t["wrong_half_minus_right"]["back"] for t in (told(), told()["shorter"]))
    assert -2 * long["error"] < long["mean"] < 0, "lower, by less than two standard errors"
    assert short["mean"] > 2 * short["error"], "higher"


def test_yarn_holds_both_after_the_longer_training_only():
    long, short = (t["rope_yarn"]["back"]["end"] for t in (told(), told()["shorter"]))
    assert long["right"] == told()["seeds"] and short["right"] < told()["seeds"]


def test_what_the_text_says_of_other_schemes():
    found = told()
    assert found["rope_pi_tuned"]["back"]["end"]["max"] < 0.2, "300 steps did not repair it"
    assert found["no_positions"]["twin"]["anywhere"]["min"] > 0.95 and found["alibi"]["twin"]["anywhere"]["min"] > 0.95
    assert found["alibi"]["back"]["trained"]["max"] < 0.45
    assert len(recorded("length")["schemes"]["learned"][0]["twin"]) == 4
    assert found["partial_rope"]["twin"]["end"]["min"] > found["rope"]["twin"]["end"]["max"]


def test_why_some_survive():
    found, seeds = told(), told()["seeds"]
    for name in ("shaw", "deberta"):
        assert found[name]["twin"]["end"]["right"] == found[name]["back"]["end"]["right"] == seeds
        for change in ("every_distance", "far_rows_drawn"):
            assert all(found["ablations"][f"{name}_{change}"][q]["end"]["right"] == seeds for q in ("twin", "back"))
        drawn = found["ablations"][f"{name}_far_rows_drawn"]
        assert drawn["far"]["mean"] > 0.95 * drawn["near"]["mean"], "as large as the trained ones"
    short, long = found["transformer_xl"], found["ablations"]["transformer_xl_longer"]
    assert short["back"]["end"]["right"] == long["back"]["end"]["right"] == seeds
    assert short["twin"]["trained"]["right"] < long["twin"]["trained"]["right"]
    assert short["twin"]["trained"]["right"] == short["twin"]["end"]["right"], "length is not its problem"


def test_rows_of_far_distances_are_the_ones_that_training_never_touches():
    """The ablation redraws exactly the rows that get no gradient at the trained length, up to the last distance."""
    for make in script.CLIPPED.values():
        torch.manual_seed(0)
        score = make(4 * length.TRAINED)
        model = length.Reader(Scheme(score=score))
        game = length.deal(2, length.TRAINED, generator())
        model(game.cards, game.colors).square().sum().backward()
        for p in score.parameters():
            p.data = (p.grad.abs().sum(-1, keepdim=True) > 0).float().expand_as(p).clone()
        assert all(t.min() == 1 for t in score.rows(0, length.TRAINED))
        assert all(t.max() == 0 for t in score.rows(length.TRAINED, 4 * length.TRAINED))
