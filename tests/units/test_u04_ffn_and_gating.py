"""Unit 04: computes the numbers and verdicts of its text, and tests its experiments."""

import math
from pathlib import Path

import pytest
import torch
from anatomy import evaluate
from anatomy.experiments import ffn_variants, recorded, unit_health, where
from anatomy.program.records import MissingRecording

from autograder.notebooks.numbers import script
from autograder.reference import activations as act
from autograder.reference.ffn import FeedForward, GatedFeedForward, dead_units, gate_saturation, matched_hidden_size

PROSE = (Path(__file__).parents[2] / "solutions" / "04-ffn-and-gating.py").read_text(encoding="utf-8")
LINE = torch.linspace(-8, 8, 160_001, dtype=torch.float64)
PLAIN = ("ReLU", "GELU", "SiLU", "squared ReLU")
GATED = ("GLU", "ReGLU", "GeGLU", "SwiGLU", "bilinear", "both activated", "gated twice")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def wrong_constant(x):
    return 0.5 * x * (1 + torch.tanh(2 / math.sqrt(math.pi) * (x + 0.044715 * x**3)))


def test_gelu_gaps_and_the_wrong_constant():
    gap = (act.gelu(LINE) - act.gelu_tanh(LINE)).abs()
    wrong = (act.gelu(LINE) - wrong_constant(LINE)).abs().max().item()
    assert math.isclose(gap.max().item(), 4.7e-4, rel_tol=0.01) and abs(LINE[gap.argmax()].abs() - 2.7) < 0.01
    assert math.isclose(wrong, 7.5e-2, rel_tol=0.01)
    slope = math.sqrt(2 / math.pi)
    assert (
        says(f"the constant {slope:.3f}")
        and says("= %.3f$" % (slope / 2))
        and math.isclose(slope / 2, 1 / math.sqrt(2 * math.pi))
    )
    coarse = (act.gelu(LINE) - LINE * torch.sigmoid(1.702 * LINE)).abs().max().item()
    assert math.isclose(coarse, 0.02, rel_tol=0.05)  # a mistake's message says so


def test_swish_limits():
    assert torch.equal(act.swish(LINE, 0.0), LINE / 2)
    x = torch.linspace(-6, 6, 1_200_001, dtype=torch.float64)
    for beta in (1, 10, 100):
        assert math.isclose((act.swish(x, beta) - act.relu(x)).abs().max().item(), 0.27846 / beta, rel_tol=1e-3)
    low = act.silu(x)
    assert math.isclose(low.min().item(), -0.2785, abs_tol=1e-4)
    assert math.isclose(x[low.argmin()], -1.2785, abs_tol=1e-4)
    assert says(f"it is also how far SiLU dips below zero, at $x = {x[low.argmin()]:.2f}$")


def test_numbers_of_the_first_pages():
    keep = act.gelu(torch.tensor(1.0)).item()
    assert says(f"For $x = 1$ you keep it in {keep:.0%}".replace("%", " %"))
    assert round(32 * 3 * 4096 * 11008 / 6_738_415_616, 2) == 0.64
    assert math.isclose(11008 / 4096, 2.6875)
    assert math.isclose(4.0**-20, 1e-12, rel_tol=0.1)  # twenty sigmoids
    sigmoid = lambda v: 1 / (1 + math.exp(-v))
    assert round(-5 * sigmoid(2), 1) == -4.4 and round(-5 * sigmoid(-3), 2) == -0.24


def test_four_relu_units_are_no_product():
    a, b = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [2.0, 3.0], [4.0, 6.0]]).T
    four = (act.relu(a + b) + act.relu(-a - b) - act.relu(a - b) - act.relu(b - a)) / 2
    assert four.tolist() == [1, -1, 1, 2, 4] and (a * b).tolist() == [1, -1, 1, 6, 24]


def test_widths_of_llama():
    assert [matched_hidden_size(d, 256) for d in (4096, 5120, 6656, 8192)] == [11008, 13824, 17920, 22016]
    later = [math.ceil(int(1.3 * matched_hidden_size(d)) / m) * m for d, m in ((8192, 4096), (4096, 1024))]
    assert later == [28672, 14336]


def test_a_factor_is_the_same_as_a_scaled_matrix():
    torch.manual_seed(0)
    layer, other = GatedFeedForward(6, 16, act.silu), GatedFeedForward(6, 16, act.silu)
    other.load_state_dict({**layer.state_dict(), "down_proj.weight": layer.down_proj.weight / math.sqrt(2)})
    x = torch.randn(5, 6)
    assert torch.allclose(layer(x) / math.sqrt(2), other(x), atol=1e-6)


def facts(name):
    return script(name).facts(recorded(name))


def test_recorded_comparison_is_fair_and_says_where_it_ran():
    record = recorded("ffn_variants")
    rows, compared = record["rows"], record["compared"]
    assert {row["parameters"] for row in rows + compared} == {147_456}
    assert {row["variant"] for row in rows} == {row["variant"] for row in compared} == set(PLAIN + GATED)
    chosen, fresh = ({len(row["losses"]) for row in part} for part in (rows, compared))
    assert min(chosen) >= 3 and min(fresh) >= 5 and len(chosen) == len(fresh) == 1
    assert record["made"]["seeds"] == list(range(max(chosen) + max(fresh))), "those that are compared are fresh ones"
    for row in compared:  # at the rate that was best on the seeds for choosing
        tried = [r for r in rows if r["variant"] == row["variant"]]
        assert row["lr"] == min(tried, key=lambda r: sum(r["losses"]))["lr"]
    made = record["made"]
    assert {"device", "torch", "seeds", "date", "command"} <= set(made) and made["device"] in where(record)


def test_student_t_and_what_many_comparisons_ask():
    for freedom, quantile in ((4, 2.776445), (7, 2.364624), (100, 1.983972)):  # two-sided 5 %, from a table
        assert math.isclose(ffn_variants.limit(1, freedom), quantile, abs_tol=1e-4)
        assert math.isclose(ffn_variants.outside(quantile, freedom), 0.05, abs_tol=1e-5)
    assert ffn_variants.limit(10, 7) > ffn_variants.limit(3, 7) > ffn_variants.limit(1, 7)
    assert math.isclose(ffn_variants.outside(ffn_variants.limit(3, 7), 7), 0.05 / 3, rel_tol=1e-3)
    assert says(f"more than {ffn_variants.limit(1, 7):.1f} standard errors") and facts("ffn_variants")["fresh"] == 8


def test_what_the_verdicts_on_the_comparison_say():
    """Checks words of the text that the build does not fill in."""
    found = facts("ffn_variants")
    best = {row["variant"]: sum(row["losses"]) for row in recorded("ffn_variants")["compared"]}
    offered = ("ReLU", "GELU", "GLU", "SwiGLU", "bilinear")
    assert min(offered, key=best.get) == "SwiGLU", "the answer of the prediction"
    gate, smooth, both = (found["pair"][name] for name in ("swiglu_gelu", "geglu_swiglu", "both_activated_swiglu"))
    assert gate["mean"] < 0 and gate["says"] == "a difference", "the gate helps"
    assert smooth["says"] == "not settled"
    assert both["says"] == "a difference" and -gate["mean"] > 3 * both["mean"] > 0, "most of the gain remains"
    assert len(found["pair"]) == 3 and found["limit"] == ffn_variants.limit(3, found["fresh"] - 1)
    assert found["slow"]["better_than_glu"] > found["slow"]["better_than_glu_at_best"]
    assert abs(found["swapped"]["tanh"]["mean"]) < abs(found["swapped"]["wrong"]["mean"]) < 0.1


def test_words_follow_the_size_of_a_difference():
    judged = script("ffn_variants").judged
    says = [judged({"mean": 1.0, "error": 1.0, "errors": e}, 3.1)["says"] for e in (1.9, -1.9, 3.0, 3.2, -6.0)]
    assert says == ["not settled"] * 3 + ["a difference"] * 2


def test_most_dead_units_come_back_unless_what_they_see_is_frozen():
    found = facts("unit_health")
    high, fifth, frozen = (found[name] for name in ("high", "fifth", "frozen"))
    assert found["seeds"] >= 3 and found["units"] == 384
    assert high["dead_min"] > 100 and high["share"] > 0.5 > 2 * frozen["share"]
    assert fifth["dead"] < 0.1 * high["dead"]


def test_a_frozen_run_learns_above_only():
    health = script("unit_health")
    model = ffn_variants.CharModel(lambda d: FeedForward(d, 4 * d, act.relu, bias=False), SMALL)
    health.freeze_below(model)
    learning = {name for name, p in model.named_parameters() if p.requires_grad}
    assert learning == {
        "layers.1.up_proj.weight",
        "layers.1.down_proj.weight",
        "norms.2.weight",
        "head.weight",
        "head.bias",
    }


def test_llamas_own_layer_has_no_factor():
    probe = recorded("named_models")["models"]["llama-2-7b"]["probe"]
    assert probe["mlp_without_factor"] == 0 < 0.2 < min(probe["mlp_with_half_sqrt"], probe["mlp_with_two_thirds"])


def test_hint_three_without_its_check_of_sizes_is_told_so():
    def as_in_the_hint(d_model, multiple_of=1):
        width = 8 * d_model // 3
        return math.ceil(width / multiple_of) * multiple_of

    def in_integers(d_model, multiple_of=1):
        return -(-(8 * d_model // 3) // multiple_of) * multiple_of

    for tried in (as_in_the_hint, in_integers):
        assert [m.name for m in evaluate("ffn.matched_width", tried).mistakes] == ["unchecked"]


def test_recordings_that_are_missing_are_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(MissingRecording, match="ffn_variants.json is missing"):
        recorded("ffn_variants")


SMALL = ffn_variants.Setting(d_model=16, layers=2, steps=4, batch=8)


def test_training_is_seeded_and_gives_every_variant_the_same_batches():
    plain = lambda d: FeedForward(d, 4 * d, act.relu, bias=False)
    first, again = (ffn_variants.train(plain, 3, SMALL)[1]["loss"] for _ in range(2))
    other = ffn_variants.train(plain, 4, SMALL)[1]["loss"]
    assert first == again != other
    gated = lambda d: GatedFeedForward(d, matched_hidden_size(d), act.silu)
    model, row = ffn_variants.train(gated, 3, SMALL)
    assert row["parameters"] == sum(p.numel() for layer in model.layers for p in layer.parameters())


def test_text_is_split_without_overlap():
    training, held_out = ffn_variants.windows()
    assert training.shape[1] == held_out.shape[1] == ffn_variants.LAPTOP.context + 1
    assert len(training) > 300_000 and int(ffn_variants.text().max()) < len(ffn_variants.ALPHABET)


def test_units_are_watched_where_the_text_says():
    gated = lambda d: GatedFeedForward(d, 10, torch.sigmoid)
    model, steps, dead = unit_health.deaths(gated, dead_units, setting=SMALL, every=2)
    assert steps == [0, 2, 4] and dead.shape == (3, 2, 10) and not dead.any()
    gates = unit_health.gates(model, tokens=50)
    hidden = unit_health.collect(model, "down_proj", tokens=50)
    inputs = unit_health.collect(model, "gate_proj", tokens=50)
    for layer, gate, h, x in zip(model.layers, gates, hidden, inputs, strict=True):
        assert gate.shape == (50, 10) and 0 <= gate_saturation(gate) <= 1
        assert torch.allclose(h, gate * layer.up_proj(x))


def test_two_mistakes_at_once_are_named_one_after_the_other():
    erf_of_x = lambda x: 0.5 * x * (1 + torch.erf(x))
    verdict = evaluate("activation.gelu", erf_of_x, wrong_constant)
    assert verdict.mistakes[0].name == "erf_of_x"
    verdict = evaluate("activation.gelu", act.gelu, wrong_constant)
    assert verdict.mistakes[0].name == "wrong_constant"


def test_of_two_mistakes_that_fit_the_nearer_one_is_named():
    """Both give 10923 for 10922.67, but only one also agrees in each case where this learner is right."""

    def rounds_once(d_model, multiple_of=1):
        if d_model < 1 or multiple_of < 1:
            raise ValueError("in words of one's own")
        return math.ceil(8 * d_model / 3 / multiple_of) * multiple_of

    assert [m.name for m in evaluate("ffn.matched_width", rounds_once).mistakes] == ["ceiling_first"]
