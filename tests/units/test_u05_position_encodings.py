"""Unit 05: the numbers in its text, the claims on trial, and agreement with Hugging Face's code."""

import math
from pathlib import Path

import pytest
import torch
from anatomy.experiments import length, recorded

from autograder.exercises.u05_position_encodings.distance_profile import distance_profile
from autograder.exercises.u05_position_encodings.looking_back import looking_back
from autograder.exercises.u05_position_encodings.untied import tupe_scores
from autograder.recording.experiments import trained_length
from autograder.recording.experiments.length import TRAINED
from autograder.reference.positions import alibi, deberta, learned, recurrent, shaw, sinusoidal, t5_buckets
from autograder.reference.positions import transformer_xl as xl

PROSE = (Path(__file__).parents[2] / "solutions" / "05-position-encodings.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def read(sentence, bias):
    words = {"dog": [2.0, 0.0], "bites": [0.0, 2.0], "man": [1.0, 1.0]}
    W_K, W_V = torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([[1.0], [3.0]])
    x = torch.tensor([words[w] for w in sentence.split()])
    r = torch.arange(3) - torch.arange(3)[:, None]
    out = ((x @ (x @ W_K).T / math.sqrt(2) + bias(r)).softmax(-1) @ x @ W_V).flatten()
    return dict(zip(sentence.split(), out.tolist(), strict=True))


def test_the_puzzle_and_its_mirror_image():
    distance = lambda r: -r.abs()
    one, mirror, other = (read(s, distance) for s in ("dog bites man", "man bites dog", "bites dog man"))
    assert says("| dog | bites | man | |---|---|---| | " + " | ".join(f"{one[w]:.2f}" for w in one) + " |")
    assert says(f"dog {other['dog']:.2f}, bites {other['bites']:.2f}, man {other['man']:.2f}, so the order counts now")
    assert all(mirror[w] == pytest.approx(one[w], abs=1e-6) for w in one)
    ahead = [read(s, lambda r: -(r > 0).float()) for s in ("dog bites man", "man bites dog", "bites dog man")]
    assert min(abs(a["dog"] - b["dog"]) for a, b in zip(ahead, ahead[1:] + ahead[:1], strict=True)) > 0.1


def test_i_counts_pairs():
    assert says("$i$ counts *pairs* of features") and says("It ends at 31 for $d_{model} = 64$")
    assert sinusoidal.sinusoid(torch.arange(2), 64).shape == (2, 2 * (31 + 1))


def test_worked_shift():
    a = torch.tensor(1.0)
    assert says(f"$\\cos 1 = {a.cos():.3f}$, $\\sin 1 = {a.sin():.3f}$")
    torch.testing.assert_close(
        sinusoidal.shift_matrix(1, 2).float(), torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]])
    )


def test_projections_can_destroy_and_can_keep_the_distance():
    pe = sinusoidal.sinusoid(torch.arange(32), 32)
    torch.manual_seed(0)
    W_Q, W_K = torch.randn(2, 32, 32) / math.sqrt(32)
    mean, spread = distance_profile(pe @ pe.T)
    assert spread.max() < 1e-4 and (mean - mean.flip(0)).abs().max() < 1e-4
    mixed = distance_profile((pe @ W_Q) @ (pe @ W_K).T)[1]
    assert mixed.max() > 1
    mean, spread = distance_profile(pe @ looking_back(3, 32) @ pe.T)
    assert spread.max() < 1e-4 and mean.argmax() - 31 == -3 and (mean - mean.flip(0)).abs().max() > 1


def test_sums_of_shifts_keep_the_distance_too():
    pe = sinusoidal.sinusoid(torch.arange(20), 16)
    W = 0.7 * looking_back(2, 16) - 1.3 * looking_back(-5, 16) + 0.2 * looking_back(1, 16)
    assert says("Any sum of such matrices does, too") and distance_profile(pe @ W @ pe.T)[1].max() < 1e-4


def test_sizes_of_tables():
    assert says(f"512 \\times 768 = {512 * 768:,}".replace(",", "{,}")) and says(f"32 \\times 8 = {32 * 8}$ numbers")
    assert learned.LearnedPositions(512, 768).weight.numel() == 393_216 and says("BERT-base's 393,216")


def test_three_equal_words_get_three_rows_from_an_rnn():
    torch.manual_seed(0)
    out = recurrent.RecurrentPositions(4)(torch.randn(4).expand(1, 3, 4))[0]
    assert min((out[a] - out[b]).abs().max() for a, b in ((0, 1), (1, 2), (0, 2))) > 1e-3


def test_buckets_as_told():
    from transformers.models.t5.modeling_t5 import T5Attention

    r = torch.arange(-2000, 2001)
    for both in (True, False):
        assert torch.equal(t5_buckets.t5_relative_bucket(r, both), T5Attention._relative_position_bucket(r, both))
    assert says("8, 12, 16, 23, 32, 46, 64, 91") and t5_buckets.t5_bucket_starts(16, 128)[8:] == [
        8,
        12,
        16,
        23,
        32,
        46,
        64,
        91,
    ]
    future = t5_buckets.t5_relative_bucket(torch.arange(1, 500))
    assert says("buckets 17 to 31 of their own") and (future.min(), future.max()) == (17, 31)
    assert says(f"$8\\sqrt 2 = {8 * math.sqrt(2):.1f}$")


def test_bias_before_scaling_is_eight_times_weaker():
    w = torch.tensor([0.0, -1 / 8]).softmax(0)
    assert -math.log(w[1] / w[0]) == pytest.approx(1 / 8, abs=1e-5) and says("8 times weaker")


def test_alibi_windows_as_told():
    weights = alibi.alibi_bias(alibi.alibi_slopes(8), 1, 1024, 1023)[:, 0].softmax(-1).flip(-1)
    nearest = (weights.cumsum(-1) < 0.99).sum(-1) + 1
    assert nearest[0] == 10 == alibi.alibi_window(0.5) and says(f"n = 2·ln 100 = {2 * math.log(100):.1f}")
    assert says("a score 16 higher pays for 32 tokens at slope 1/2")
    extra = alibi.alibi_slopes(112)[64:]
    assert len(extra) == 48 and says("(64, then 48 from the series for")
    assert torch.allclose(extra, 2.0 ** -(torch.arange(1, 96, 2) / 16))


def test_bloom_uses_these_slopes():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for heads in (16, 112):
        theirs = build_alibi_tensor(torch.ones(1, 5), heads, torch.float32)[:, 0, 1]
        torch.testing.assert_close(theirs, alibi.alibi_slopes(heads))


def test_debertas_third_term_reads_the_papers_index_and_the_code_another():
    torch.manual_seed(0)
    qc, kc, kr, qr = torch.randn(1, 2, 4, 6), torch.randn(1, 2, 4, 6), torch.randn(2, 10, 6), torch.randn(2, 10, 6)
    paper, code = deberta.deberta_scores(qc, kc, kr, qr), deberta.deberta_scores_released(qc, kc, kr, qr)
    assert (paper - code).abs().max() > 0.1
    torch.testing.assert_close(deberta.deberta_scores_released(qc, kc, kr, deberta.released_query_table(qr)), paper)


def test_deberta_stores_twelve_layers():
    from transformers import DebertaConfig

    assert DebertaConfig().num_hidden_layers == 12 and says("The released base model stores 12 layers")
    assert recorded("named_models")["models"]["deberta-base"]["probe"]["layers"] == 12


def test_how_named_models_scale_and_add():
    """Claim on trial: (QKᵀ + Bias)/√d."""
    models = {name: model["probe"] for name, model in recorded("named_models")["models"].items() if "probe" in model}
    assert (models["t5-small"]["score_factor"], models["bloom"]["score_factor"]) == ("1", "1/√d")
    assert models["t5-small"]["bias_after_scaling"] and models["bloom"]["bias_after_scaling"]
    assert models["deberta-base"]["score_factor"] == "1/√(3d)" and models["bloom"]["heads"] == 112


@pytest.mark.parametrize(
    "layers, d, heads, told", [(32, 4096, 16, 8.63), (64, 8192, 32, 62.5), (118, 18432, 48, 540.35)]
)
def test_palm_has_no_room_for_a_learned_table(layers, d, heads, told):
    count = layers * (2 * d * heads * 256 + 2 * d * 256 + 3 * d * 4 * d) + 256_000 * d
    norms, table = (layers + 1) * d, 2048 * d
    assert round(count / 1e9, 2) == told and round((count + table) / 1e9, 2) > told
    assert norms < 0.0023e9 and says("weigh at most 0.002 billion") and says(f"({layers}, {d}, {heads}, {told:.2f})")


def test_absolute_queries_tell_equal_rows_apart():
    torch.manual_seed(0)
    h = torch.randn(1, 5, 8)
    h[:, 4] = h[:, 1]
    attend = lambda q: torch.nn.functional.scaled_dot_product_attention(q, h, h)[0]
    late = deberta.enhanced_mask_decoder_query(h, sinusoidal.sinusoidal_table(5, 8))
    assert torch.equal(attend(h)[1], attend(h)[4]) and (attend(late)[1] - attend(late)[4]).abs().max() > 0.05


@pytest.mark.parametrize("terms, D", [(2, 64), (3, 64)])
def test_variance_of_a_sum_of_products(terms, D):
    torch.manual_seed(0)
    total = sum(torch.randn(300, D) @ torch.randn(300, D).T for _ in range(terms))
    assert (total / math.sqrt(terms * D)).var() == pytest.approx(1, abs=0.05)


def test_shaw_and_transformer_xl_know_distance_and_direction():
    torch.manual_seed(0)
    table = torch.randn(7, 8) @ torch.randn(8)
    mean, spread = distance_profile(table[shaw.shaw_index(16, 16, 3)])
    assert spread.max() == 0 and (mean - mean.flip(0)).abs().max() > 0.1 and len(mean.round(decimals=4).unique()) == 7
    word, r = torch.randn(8).expand(1, 1, 16, 8), sinusoidal.sinusoid(torch.arange(15, -16, -1), 8)[None]
    s = xl.transformer_xl_scores(word, torch.zeros(1, 1, 16, 8), r, torch.zeros(1, 8), torch.randn(1, 8))[0, 0]
    mean, spread = distance_profile(s)
    assert spread.max() < 1e-5 and (mean - mean.flip(0)).abs().max() > 0.1


def test_tupe_has_no_cross_terms():
    torch.manual_seed(0)
    q, k, pos_q, pos_k = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4), torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    both = tupe_scores(q, k, pos_q, pos_k)
    torch.testing.assert_close(both, tupe_scores(q, k, 0 * pos_q, pos_k) + tupe_scores(0 * q, k, pos_q, pos_k))


def test_rows_of_64_places_look_up_27_of_t5s_buckets():
    met = lambda places: set(t5_buckets.t5_relative_bucket(-torch.arange(places), bidirectional=False).tolist())
    assert met(64) == set(range(27)) and met(128) == met(512) == set(range(32))
    assert trained_length.unreached(64) == [27, 28, 29, 30, 31] and trained_length.unreached(128) == []
    assert t5_buckets.t5_bucket_starts(32, 128)[27] == 67 and says("67 or more apart. Buckets 27 to 31")


def test_a_bucket_that_is_not_looked_up_keeps_its_first_value():
    """True on every processor: its gradient is 0, and the decay of 0 is 0."""
    torch.manual_seed(0)
    model, _ = length.train(TRAINED["T5 bias"](), steps=3, rows=4)
    table = model.scheme.bias.table.weight
    assert (table[27:] == 0).all() and (table[:27] != 0).all() and (table.grad[27:] == 0).all()


def test_recorded_games_say_what_the_text_says():
    data = recorded("trained_length")
    facts = trained_length.facts(data)
    assert trained_length.seeds(data) >= 3 and trained_length.controls(data)["trained length"] == 2
    for where in ("on64", "on128"):
        sinusoid = facts["sinusoidal"][where]
        assert sinusoid["back_fell"] == sinusoid["twin_fell"] == facts["seeds"]
        assert sinusoid["back_beyond_highest"] < 0.3 and facts["alibi"][where]["back_inside"] < 0.5
    assert facts["sinusoidal"]["on64"]["back_inside"] > 0.95 and facts["twin_missed"] < 0.01
    t5 = facts["t5"]
    assert t5["on64"]["back_inside"] > 0.95 and t5["on64"]["back_end"] < 0.5 < t5["filled_end"]
    assert t5["on128"]["back_end"] > 0.9 and t5["third"] > 1 and t5["lowered"] > 0.5
    assert t5["unchanged"] == t5["gained"] == facts["seeds"] and t5["gain"] > 4 * t5["gain_error"]
    assert all(r["unchanged"] == r["unreached"] for r in data["rows"] if r["scheme"] == "T5 bias")
    assert says("it has no row 64")
