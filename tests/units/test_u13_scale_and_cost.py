"""Unit 13: statements on sizes, laws, adapters and steps, checked by references, recordings and its own answers."""

import math
import re
from pathlib import Path

import pytest
import torch
from anatomy.experiments import lora as adapting
from anatomy.experiments import named_models, recorded, scaling, serving
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.recording.experiments import lora as lora_script
from autograder.recording.experiments import serving as serving_script
from autograder.reference import scaling as reference
from autograder.reference.serving import Served, compute_bound_users, experts_read, step_cost, step_seconds

from .solved import solved

PROSE = (Path(__file__).parents[2] / "solutions" / "13-scale-and-cost.py").read_text(encoding="utf-8")
LLAMA = Served(7_504_924_672, 32, 32, 8, 128)
A100 = 2.0e12, 312e12


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


@pytest.fixture(scope="module")
def answers():
    """Names that the setup and answer cells of the solved unit define."""
    return solved(PROSE)


def test_shares_of_the_tables_that_the_text_names():
    share = lambda d, layers, positions: (
        (tables := (50_257 + positions) * d) / (tables + layers * (12 * d * d + 13 * d))
    )
    assert says(f"two tables hold {100 * share(12_288, 96, 2048):.1f} % of its parameters")
    assert says(f"those of the smallest GPT-2 hold {100 * share(768, 12, 1024):.0f} %")


def test_counts_decode_to_the_configured_widths(answers):
    models = named_models.recorded()
    for name, vocab, places in (("gpt1", 40478, 512), ("gpt2", 50257, 1024), ("gpt2-xl", 50257, 1024)):
        m = models[name]
        assert answers.hidden_size(m["published"], m["layers"], vocab, places) == m["d_model"]
    for multiple in (64, 128):
        assert answers.hidden_size(175e9, 96, 50257, 2048, multiple) == 12288
    assert answers.gpt_parameters(1600, 48, 50257, 1024) == models["gpt2-xl"]["counted"]


@given(width=st.integers(2, 200), layers=st.integers(1, 100), vocab=st.integers(2, 200_000))
@settings(max_examples=50, deadline=None)
def test_a_width_comes_back_from_its_own_count(answers, width, layers, vocab):
    count = answers.gpt_parameters(64 * width, layers, vocab, 1024)
    assert answers.hidden_size(count, layers, vocab, 1024) == 64 * width


def test_aspect_ratios_that_the_verdict_counts():
    found = {n: m for n, m in named_models.recorded().items() if m.get("decoder_stacks", 1) == 1}
    aspect = {n: m["d_model"] / m["layers"] for n, m in found.items()}
    large = [n for n, m in found.items() if m["counted"] > 5e9]
    inside = [n for n in large if 100 <= aspect[n] <= 200]
    assert (len(inside), len(large)) == (10, 12) and says("Of the 12 recorded decoders over 5 billion parameters, 10")
    assert (round(aspect["gemma2-9b"]), round(aspect["bloom"]), round(aspect["gpt2-xl"])) == (85, 205, 33)
    assert all(aspect[n] < 100 for n in found if n not in large)
    palm = found["palm-540b"]
    assert round(palm["heads"] * palm["d_head"] / palm["d_model"], 2) == 0.67


def test_forward_takes_two_and_backward_four_and_attention_the_rest():
    short, long = (scaling.training_step(d=192, layers=1, length=n, batch=1) for n in (16, 192))
    for counted, length in ((short, 16), (long, 192)):
        rest = 4 * length * 192 / (12 * 192**2)  # scores and weighted sums, per parameter and token
        assert counted["forward"] == pytest.approx(2 + rest) and counted["backward"] == pytest.approx(2 * (2 + rest))
    assert scaling.training_step(layers=1, length=512, batch=1)["forward"] == pytest.approx(2.22, abs=0.005)


def test_days_of_the_puzzle(answers):
    plain, again = (answers.training_flops(175e9, 300e9, r) for r in (False, True))
    assert [round(answers.training_days(c, 1024, 140e12)) for c in (plain, again)] == [25, 34]
    assert answers.training_flops(174.6e9, 300e9) == pytest.approx(3.14e23, rel=0.002)


def tables():
    """(sizes, budgets by approach) from the text."""
    cell = next(c for c in PROSE.split("\n# %%") if "budgets = {" in c)
    space = {"torch": torch, "fit_power_law": reference.fit_power_law, "allocate": reference.allocation}
    exec(cell.split("\n", 1)[1].split("\nfor name, law")[0], space)
    return space["sizes"], space["budgets"]


def test_published_tables_give_the_papers_exponents_and_hold_no_slip():
    """Table 2 of arXiv:2203.15556 says 0.50, 0.49 and 0.46; 6·N·D of table 3 equals its FLOPs except for rounding."""
    sizes, budgets = tables()
    laws = [reference.fit_power_law(torch.tensor(C, dtype=torch.float64), sizes) for C in budgets.values()]
    assert [round(law.exponent, 2) for law in laws] == [0.50, 0.49, 0.46]
    for law, C in zip(laws, budgets.values(), strict=True):
        fitted = law.coefficient * torch.tensor(C, dtype=torch.float64) ** law.exponent
        assert (fitted / sizes - 1).abs().max() < 0.06, "a row that lies off the law was copied wrongly"
    tokens = torch.tensor([8.0, 20.2, 205.1, 1500, 3700, 5900, 11_000, 21_200, 216_200], dtype=torch.float64) * 1e9
    first = torch.tensor(next(iter(budgets.values())), dtype=torch.float64)
    assert (6 * sizes * tokens / first - 1).abs().max() < 0.06
    assert 9 < 100 ** laws[0].exponent < 11


def test_fits_of_the_loss_and_their_flat_minimum(answers):
    C = answers.training_flops(70e9, 1.4e12)
    ratio = lambda fit: C / 6 / answers.best_size(C, fit) ** 2
    assert round(ratio(reference.BESIROGLU)) == 18 and 4 < ratio(reference.HOFFMANN) / 20 < 5
    best = answers.best_size(C, reference.BESIROGLU)
    for factor in (0.5, 2):
        other = answers.predicted_loss(factor * best, C / (6 * factor * best), reference.BESIROGLU)
        assert 0 < other - answers.predicted_loss(best, C / (6 * best), reference.BESIROGLU) < 0.01


@given(law=st.tuples(st.floats(0.05, 5), st.floats(-2, 2)), n=st.integers(2, 9))
@settings(max_examples=50, deadline=None)
def test_an_exact_law_is_read_back(answers, law, n):
    x = torch.logspace(1, 9, n, dtype=torch.float64)
    assert answers.fit_power_law(x, law[0] * x ** law[1]) == pytest.approx(law, rel=1e-6, abs=1e-9)


def test_lora_starts_as_its_base_trains_little_and_merges_away(answers):
    torch.manual_seed(0)
    layer, x = answers.LoRALinear(6, 4, 2, 3.0), torch.randn(5, 6)
    assert torch.equal(layer(x), layer.base(x))
    assert adapting.trainable(layer) == answers.lora_parameters(6, 4, 2) == 20
    torch.nn.init.normal_(layer.B)
    weight = answers.merge(layer.base.weight, layer.A, layer.B, 3.0)
    torch.testing.assert_close(torch.nn.functional.linear(x, weight, layer.base.bias), layer(x))
    assert 32 * 2 * answers.lora_parameters(4096, 4096, 8) == 4_194_304
    for r in (1, 8, 64):
        A, B, one = torch.randn(r, 512), torch.randn(512, r), torch.randn(1, 512)
        assert scaling.flops(lambda: answers.low_rank(one, A, B, 1.0)) == 2 * r * (512 + 512)


def test_adapting_freezes_all_but_the_differences(answers):
    model = adapting.given(trained=False)
    changed = adapting.adapted(model, answers.LoRALinear, 2)
    names = {n.rpartition(".")[2] for n, p in changed.named_parameters() if p.requires_grad}
    assert names == {"A", "B"} and adapting.trainable(changed) == 1152
    words = torch.randint(16, (3, 12))
    assert torch.equal(changed(words), model(words))


def test_recorded_ranks_say_what_the_verdict_says():
    facts = lora_script.facts(recorded("lora"))
    known, new = facts["renamed"], facts["farther"]
    assert known["trained"]["r2"]["lowest"] > 0.95 and new["trained"]["r2"]["highest"] < 0.8
    assert known["trained"]["r1"]["lowest"] > known["random"]["r1"]["highest"] + 0.5, "knowledge pays"
    assert new["random"]["r8"]["lowest"] > 0.99 > new["trained"]["r8"]["mean"], "and is in the way"
    assert facts["seeds"] >= 3 and facts["parameters"]["full"] == adapting.trainable(adapting.Model())


def test_steps_of_llama_on_an_a100(answers):
    model = LLAMA._asdict()
    assert named_models.recorded()["llama-3-8b"]["counted"] - 128_256 * 4096 == LLAMA.weights
    for users, tokens in ((1, 0), (64, 4096), (1000, 100)):
        assert answers.step_cost(model, users, tokens) == step_cost(LLAMA, users, tokens)
        assert answers.step_seconds(model, users, tokens, *A100) == step_seconds(LLAMA, users, tokens, *A100)
    found = {S: compute_bound_users(LLAMA, S, *A100) for S in (0, 100, 400, 700, 800, 4096)}
    assert found[0] == 156 == math.ceil(A100[1] / A100[0]) and found[800] is found[4096] is None
    assert found[0] < found[100] < found[400] < found[700] and says("Beyond some 750 tokens")
    assert compute_bound_users(LLAMA, 750, *A100) and compute_bound_users(LLAMA, 760, *A100) is None


def test_the_written_question_has_the_answer_that_is_given():
    flops, moved = step_cost(LLAMA, 32, 8000)
    cache = moved - 2 * LLAMA.weights
    assert round(cache / 1e9) == 34 and round(flops / 1e12, 1) == 0.6 and round(1e3 * flops / A100[1]) == 2
    before, after = (step_seconds(LLAMA._replace(n_kv_heads=G), 32, 8000, *A100) for G in (8, 2))
    assert 1.9 < before / after < 2.2
    assert step_seconds(LLAMA, 32, 8000, A100[0], 2 * A100[1]) == before


def test_mixtral_sleeps_for_one_user_and_wakes_for_sixteen():
    config = re.search(r"shared, expert = ([\d_]+), (32 \* 3 \* 4096 \* 14336)", PROSE)
    shared, expert = int(config[1]), 32 * 3 * 4096 * 14336
    assert shared + 8 * expert == 46_702_792_704
    assert round((shared + 2 * expert) / 1e9, 1) == 12.9
    assert experts_read(8, 2, 1) == 2 and experts_read(8, 2, 16) > 7.9


def test_recorded_steps_are_never_faster_than_predicted_and_the_tiny_model_is_ruled_by_calls():
    facts = serving_script.facts(recorded("serving"))
    assert 1 < facts["one"]["least"] and facts["one"]["most"] < 3, "bytes explain most of one user's time"
    assert 1 < facts["batch"]["least"] and facts["batch"]["most"] < 8
    assert round(facts["shrunk"]) == 225 and says("The small model has 225 times fewer weights")
    assert facts["tiny_ratio"] > 10 > 1 < facts["faster"] and facts["tiny_speedup"] < facts["shrunk"] / 4


def test_a_step_on_this_machine_takes_at_least_the_predicted_time_and_not_a_hundred_times_it(answers):
    decoder = serving.Decoder(d_model=256, n_layers=2)
    bandwidth, peak = serving.machine(4 * decoder.sizes["weights"], square=256)
    (row,) = serving.measured(answers.step_seconds, [(1, 16)], decoder, bandwidth, peak, 3)
    assert 0.5 < row["ratio"] < 100


def test_architectures_have_equal_parameters_and_the_costs_that_the_table_tells():
    encoder, decoder, both = scaling.architectures(source=64, target=16, d=96)
    assert encoder["parameters"] == decoder["parameters"] == both["parameters"] == 336 * 96**2
    assert both["read"] < decoder["read"] / 2 and both["cache"] < decoder["cache"] / 2
    assert encoder["write"] > 16 * decoder["write"] and encoder["cache"] == 0
    assert encoder["write"] == sum(map(_again, range(65, 81))), "three points of a square give the sum"
    assert decoder["read"] == _again(64) == 28 * (2 * 64 * 12 * 96**2 + 4 * 64 * 64 * 96)


def _again(n):
    """FLOPs of reading n tokens in a stack of 28 layers."""
    with torch.device("meta"), torch.no_grad():
        layer, text = scaling.Layer(96), torch.empty(1, n, 96)
    return 28 * scaling.flops(lambda: layer(text))


def test_claims_stand_as_quoted():
    for quote in (
        "Hidden size: GPT-1 3072, GPT-2 6400, GPT-3 49152.",
        "an aspect ratio of 100 to 200.",
        "trained on 1024 A100 with 80 GB for about a month.",
        "the rank of LoRA must be weighed against latency.",
        "The kind of model sets the rank",
    ):
        assert says(quote)
