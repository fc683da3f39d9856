"""Unit 07: the numbers in its text, the claims on trial, the leak experiment."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from anatomy import evaluate
from anatomy.experiments import leak
from torch import nn

from autograder.exercises.u07_masks_and_objectives.likelihood import perplexity
from autograder.recording.experiments import leak as script
from autograder.reference import masks
from autograder.reference import objectives as ref
from autograder.reference.attention import scaled_dot_product_attention

FACTS = script.facts(leak.recorded())
PROSE = (Path(__file__).parents[2] / "solutions" / "07-masks-and-objectives.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").replace("\n#\n", "\n").split())


@pytest.fixture(scope="module")
def trained():
    return {
        "causal": leak.train(masks.causal_mask, ref.next_token_loss, steps=300),
        "bidirectional": leak.train(leak.full_mask, ref.next_token_loss, steps=300),
    }


def mean(values):
    return sum(values) / len(values)


def test_the_language_and_its_entropy():
    assert math.prod(leak.CHOICES) == 144 and f"{leak.ENTROPY:.2f}" == "0.83" and len(leak.WORDS) == 17
    assert says("2 · 4 · 3 · 2 · 3 = 144 sentences, $\\ln 144 / 6 =")
    ids = leak.texts(3000, torch.Generator().manual_seed(0))
    assert leak.share_right(ids) == 1
    kinds = {tuple(s) for s in ids[:, 1:].reshape(-1, 6).tolist()}
    assert len(kinds) == 144, "every sentence of the language, and no other"


@pytest.mark.parametrize(
    "words, right",
    [
        ("one dog sees two cats .", True),
        ("two birds hear one horse .", True),
        ("one dogs sees two cats .", False),
        ("one dog see two cats .", False),
        ("one dog sees two dogs .", False),
        ("one dog sees two cat .", False),
        ("one dog sees two cats one", False),
    ],
)
def test_sentences_are_judged_by_the_rules(words, right):
    assert leak.is_sentence([leak.IDS[w] for w in words.split()]) is right


def test_the_puzzle_and_the_leak(trained):
    finals = {name: curve[-1][1] for name, (_, curve) in trained.items()}
    assert leak.ENTROPY < FACTS["causal"]["at_300"] < leak.ENTROPY + 0.05 and FACTS["bidirectional"]["at_300"] < 0.01
    assert leak.ENTROPY < finals["causal"] < leak.ENTROPY + 0.05 and finals["bidirectional"] < 0.01
    causal, blind = (trained[n][0] for n in ("causal", "bidirectional"))
    assert mean(leak.loss_by_place(causal, future=False)) == pytest.approx(mean(leak.loss_by_place(causal)), abs=1e-3)
    assert mean(leak.loss_by_place(blind)) < 0.01 and mean(leak.loss_by_place(blind, future=False)) > 2
    assert leak.share_right(leak.write(causal)) > 0.85 > 0.6 > leak.share_right(leak.write(blind))


def test_only_the_causal_models_factors_multiply_to_a_probability(trained):
    two = torch.cartesian_prod(torch.tensor([0]), torch.arange(17), torch.arange(17))
    with torch.no_grad():
        total = {
            name: ref.sequence_log_probability(model(two)[:, :-1], two[:, 1:]).exp().sum().item()
            for name, (model, _) in trained.items()
        }
    assert total["causal"] == pytest.approx(1, abs=1e-4) and total["bidirectional"] > 2


def test_a_models_jacobian_is_what_its_mask_allows(trained):
    for name, (model, _) in trained.items():
        ids = leak.texts(1, torch.Generator().manual_seed(3))
        x = model.words(ids).detach().requires_grad_()
        h = x + model.places.weight[: ids.shape[1]]
        for block in model.blocks:
            h = block(h, model.mask_of(ids.shape[1]))
        model.head(model.norm(h))[0, 8].sum().backward()
        slope = x.grad[0].norm(dim=-1)
        assert (slope[:9] > 0).all() and (slope[9:] > 0).all() == (name == "bidirectional")


def test_recorded_runs_say_where_they_come_from_and_what_the_text_says():
    data = leak.recorded()
    assert data["made"]["device"] in ("cpu", "cuda") and data["made"]["torch"] and data["made"]["command"]
    assert len(data["made"]["seeds"]) == 5 and data["entropy"] == pytest.approx(leak.ENTROPY)
    assert {name: data["curves"][name][0][-1][0] for name in leak.SETTINGS} == dict.fromkeys(leak.SETTINGS, 800)
    for table in leak.by_rate(data).values():
        for seed in range(5):
            causal, blind = ({k: table[k][n][seed] for k in ("whole", "cut", "right")} for n in leak.SETTINGS)
            assert leak.ENTROPY - 0.02 < mean(causal["whole"]) < leak.ENTROPY + 0.03
            assert mean(causal["cut"]) == pytest.approx(mean(causal["whole"]), abs=1e-3) and causal["right"] > 0.9
            assert mean(blind["whole"]) < 0.01 and mean(blind["cut"]) > 2 and blind["right"] < 0.6
    assert FACTS["runs"] == FACTS["bidirectional"]["beats"] == 10 and FACTS["causal"]["beats"] == 0
    assert FACTS["bidirectional"]["blind"] > 5, "most do worse than guessing: the verdict says so"


def test_worked_examples():
    may = masks.causal_mask(3)
    weights = torch.zeros(3, 3).masked_fill(~may, -math.inf).softmax(-1)
    assert (weights @ torch.tensor([2.0, 4.0, 9.0])).tolist() == pytest.approx([2, 3, 5])
    assert perplexity([math.log(2), math.log(8)], [3, 1]) == pytest.approx(2**1.5) and says("2^{6/4} = 2.83")
    made = ref.span_corruption(torch.arange(11, 17), torch.tensor([0, 1, 1, 0, 1, 0]).bool(), 99)
    assert made.inputs.tolist() == [11, 99, 14, 98, 16] and made.targets.tolist() == [99, 12, 13, 98, 15, 97]
    assert says("| inputs | 11 ⟨99⟩ 14 ⟨98⟩ 16 |") and says("| targets | ⟨99⟩ 12 13 ⟨98⟩ 15 ⟨97⟩ |")
    loss = ref.info_nce(torch.eye(2), torch.eye(2), 1.0).item()
    assert f"{loss:.3f}" == "0.313" and f"{math.e / (math.e + 1):.2f}" == "0.73"


def test_masking_before_and_after_the_softmax():
    scores, may = torch.tensor([[-1.0, -2.0, 3.0]]), torch.tensor([[True, True, False]])
    zero = scores.masked_fill(~may, 0.0).softmax(-1)
    assert zero.argmax() == 2 and f"{(scores.softmax(-1) * may).sum():.3f}" == "0.024" and says("sums to 0.024")
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    right = masks.dependence(lambda x: scaled_dot_product_attention(x, x, x, masks.causal_mask(6)), x)
    after = masks.dependence(lambda x: (x @ x.T / 2).softmax(-1) * torch.ones(6, 6).tril() @ x, x)
    assert right.triu(1).max() == 0 and right[masks.causal_mask(6)].min() > 1e-4 and after.triu(1).max() > 0.01


def test_what_empty_rows_become():
    scores = torch.tensor([3.0, 1.0, 2.0])
    torch.testing.assert_close((scores - 1e9).softmax(-1), torch.full((3,), 1 / 3))
    low = torch.tensor(torch.finfo(torch.float32).min)
    assert torch.isinf(low + low) and (scores + (low + low)).softmax(-1).isnan().all()
    step = torch.nextafter(torch.tensor(1e9), torch.tensor(2e9)) - 1e9
    assert step == 64 and says("float32 has steps of 64 up there")


def test_t5_has_the_pattern_of_a_prefix_lm_but_not_its_softmax():
    no, full = torch.zeros(3, 2).bool(), torch.ones(3, 3).bool()
    pattern = torch.cat([torch.cat([full, no], 1), torch.cat([full[:2], masks.causal_mask(2)], 1)])
    assert torch.equal(pattern, masks.prefix_lm_mask(5, 3))
    count = lambda m: sum(p.numel() for p in m.parameters())
    layer, cross = nn.TransformerEncoderLayer(64, 4, 256), nn.TransformerDecoderLayer(64, 4, 256)
    assert 2 * count(layer) < (2 * count(layer) + 2 * count(cross)) / 2


def test_t5s_setting_in_tokens():
    noise, spans = ref.noise_counts(568)
    assert (noise, spans) == (85, 28) and 568 - noise + spans == 511 and noise + spans + 1 == 114
    assert says("114 steps instead of 568, about a fifth") and says(f"the {568 - noise} tokens in sight")


def test_a_mismatch_with_the_closing_sentinel_is_found():
    """The inputs have one gap more than the targets fill, and its sentinel is the one that closes the targets."""
    with pytest.raises(ValueError, match="inputs hold more sentinels"):
        ref.restore_spans(torch.tensor([1, 99, 2, 98]), torch.tensor([99, 7, 98]), 99)


def test_ten_fixed_masks_leave_a_fifth_unpredicted():
    assert f"{0.85**10:.0%}" == "20%" and f"{0.85**40:.2%}" == "0.15%"
    special = torch.zeros(1, 4000).bool()
    seen = [ref.dynamic_mlm(torch.ones(1, 4000).long(), special, 4, 9, 0, e).labels != ref.IGNORE for e in range(40)]
    assert (~torch.stack(seen[:10]).any(0)).float().mean() == pytest.approx(0.85**10, abs=0.02)
    assert (~torch.stack(seen).any(0)).float().mean() < 0.005


def test_topic_tells_next_sentences_and_not_their_order():
    g = torch.Generator().manual_seed(0)
    docs = [[torch.randint(b, b + 8, (6,), generator=g).tolist() for _ in range(50)] for b in (10, 60)]
    rule = lambda pair: int(not set(pair.first) & set(pair.second)) == pair.label
    nsp = [ref.nsp_pair(docs, 0, s, r) for s in range(49) for r in (None, (1, s))]
    sop = [ref.sop_pair(docs[0][s], docs[0][s + 1], w) for s in range(49) for w in (False, True)]
    assert mean([rule(p) for p in nsp]) > 0.95 and mean([rule(p) for p in sop]) == 0.5


def test_two_towers_do_not_see_each_other():
    torch.manual_seed(0)
    image, other, text = torch.randn(3, 1, 5, 16)
    decoder = nn.TransformerDecoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    assert (decoder(text, image) - decoder(text, other)).abs().max() > 0.1
    same = torch.randn(1, 6).expand(8, 6)
    assert ref.info_nce(torch.randn(8, 6), same) == pytest.approx(math.log(8), abs=1e-5)
    assert F.softmax(torch.tensor([10.0, 0.0]), -1)[0] == pytest.approx(0.99995, abs=1e-5)


def test_a_learner_who_lacks_one_check_is_told_so():
    """Mistakes without any check fail the same case, but their masks are wrong."""

    def unchecked_below(T, S=None):
        S = T if S is None else S
        if S < T:
            raise ValueError("too few keys")
        return torch.arange(S) <= torch.arange(S - T, S)[:, None]

    assert [m.name for m in evaluate("mask.rectangular", unchecked_below).mistakes] == ["queries_unchecked"]
