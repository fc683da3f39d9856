"""Unit 12: numbers in the text, the verdicts, and the unit's own answers on real text and a real model."""

import copy
import json
import math
import re
import sys
from pathlib import Path

import pytest
import tokenizers
import torch
from anatomy.experiments import induction, recorded
from anatomy.judge import judging
from anatomy.language import corpus, shipped
from anatomy.models.compare import compare_checkpoint
from anatomy.program import records, runner, toys
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import exercises
from autograder.judge.drawing import draw_record
from autograder.notebooks import numbers
from autograder.recording.experiments.austen import shipped_model
from autograder.reference.language import bpe, generating
from autograder.reference.language import induction as induction_reference
from autograder.reference.rope import apply_rope

from .solved import solved

PROSE = (Path(__file__).parents[2] / "solutions" / "12-language-model.py").read_text(encoding="utf-8")
drawn = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**6)


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


@pytest.fixture(scope="module")
def answers():
    """Names that the setup and answer cells of the solved unit define."""
    return solved(PROSE)


@pytest.fixture(scope="module")
def model():
    return shipped_model("cpu")


def largest(logits):
    return logits.argmax(-1)


# Worked examples


def test_the_letter_behind_r(answers):
    counts = answers.count_contexts("abracadabra", 2)
    assert round(answers.probability(counts, "", "a"), 3) == 0.314
    assert round(answers.probability(counts, "r", "a"), 3) == 0.771
    assert says(r"$(5 + 5 \cdot \tfrac{1}{256})/(11 + 5) = 0.314$") and says("$(2 + 1 \\cdot 0.314)/(2 + 1) = 0.771$")


def test_abra_becomes_three_tokens(answers):
    words = {(0, 1, 4, 0): 2, (2, 0): 1, (3, 0): 1}
    assert answers.train(words, 3, base=5) == [(0, 1), (4, 0), (5, 6)]
    assert answers.encode([0, 1, 4, 0], [(0, 1), (4, 0)], base=5) == [5, 6]
    assert says("so **ab** becomes 5, and *abra* is 5 4 0") and says("(5, 6) becomes 7")


def test_the_token_that_crosses_stays(answers):
    p = torch.tensor([0.5, 0.25, 0.125, 0.125])
    assert torch.allclose(answers.distribution(p.log(), top_p=0.6), torch.tensor([2 / 3, 1 / 3, 0, 0]))
    assert says("and 2/3 and 1/3 remain")


def test_the_score_of_seven_eight_seven_eight(answers):
    weights = torch.tensor([[[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.7, 0.2, 0], [0.25, 0.25, 0.3, 0.2]]])
    assert answers.induction_score(weights, torch.tensor([7, 8, 7, 8])).item() == pytest.approx(0.5)
    assert says("If the head gives 0.7 and 0.3 to these, its score is 0.5")


def test_bits_of_a_file_in_the_recap():
    assert 1_000_000 * 1.5 / 8 == 187_500 and says("about 187 kB")


# Counting


@given(text=st.text("abcd", min_size=1, max_size=60), context=st.text("abcde", max_size=4), order=st.integers(1, 4))
@drawn
def test_probabilities_of_all_bytes_add_up_to_one(answers, text, context, order):
    counts = answers.count_contexts(text, order)
    assert sum(answers.probability(counts, context, chr(i)) for i in range(256)) == pytest.approx(1)


def test_counting_speaks_better_with_longer_contexts(answers):
    counts = answers.count_contexts(corpus.training_text()[:400_000], 6)
    bits = [answers.bits_per_byte(counts, corpus.held_out_text()[:10_000], order) for order in range(1, 7)]
    assert bits == sorted(bits, reverse=True) and bits[-1] < 1.9, "as the cell prints them"


# Tokens


def test_merges_are_the_library_s(answers):
    """Compares them on the notebook's part of the text; tests/reference compares all of them."""
    text, n = corpus.training_text()[:16_000], 768
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=256 + n, initial_alphabet=alphabet, show_progress=False)
    theirs.train_from_iterator([text], trainer)
    words: dict[tuple[int, ...], int] = {}
    for word in bpe.words(text):
        ids = tuple(bpe.byte_ids(word))
        words[ids] = words.get(ids, 0) + 1
    mine = answers.train(words, n)
    names = bpe.BytePairEncoding(mine).spelled()
    found = [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]
    assert len(found) == n and found == [(names[a], names[b]) for a, b in mine] and mine == bpe.train(text, n)


def test_ids_are_the_library_s_and_come_back(answers):
    tokenizer = shipped.tokenizer()
    vocabulary = tokenizer.get_vocab()
    merges = [(vocabulary[a], vocabulary[b]) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]
    byte_of = [0] * 256
    for byte, i in enumerate(bpe.IDS_OF_BYTES):
        byte_of[i] = byte
    for text in (corpus.held_out_text(), "A café: 12.50 €, “isn’t” it?\t中文"):
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
        known = {word: answers.encode([vocabulary[name] for name in word], merges) for word in {*words}}
        ids = [i for word in words for i in known[word]]
        assert ids == tokenizer.encode(text).ids and answers.decode(ids, merges, byte_of) == text


@given(words=st.dictionaries(st.lists(st.integers(0, 3), min_size=1, max_size=7).map(tuple), st.integers(1, 9)))
@drawn
def test_what_was_encoded_spells_the_same(answers, words):
    merges = answers.train(words, 8, base=4)
    for word in words:
        ids = answers.encode(word, merges, base=4)
        assert answers.decode(ids, merges, [97, 98, 99, 100]) == "".join("abcd"[i] for i in word)


# Sampling and the loop


@given(seed=seeds, t=st.floats(0.1, 3), k=st.integers(1, 9), p=st.floats(0.05, 1))
@drawn
def test_a_distribution_keeps_a_front_that_is_just_long_enough(answers, seed, t, k, p):
    logits = torch.randn(7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    top = answers.distribution(logits, t, k)
    both = answers.distribution(logits, t, k, p)
    assert both.sum().item() == pytest.approx(1) and (top > 0).sum() == min(k, 7)
    kept = top[both > 0].sort().values
    assert kept.sum() >= p - 1e-9 and kept[1:].sum() < p + 1e-9, "without the last one it would not reach p"
    assert (top[both == 0] <= kept[0]).all()


WAYS_TO_CUT = {
    "sum less share": lambda share, p: share.cumsum(-1) - share >= p,
    "moved on by one": lambda share, p: torch.nn.functional.pad(share.cumsum(-1)[..., :-1], (1, 0)) >= p,
    "from the end": lambda share, p: 1 - share.flip(-1).cumsum(-1).flip(-1) >= p,
    "in float64": lambda share, p: share.double().cumsum(-1) - share.double() >= p,
    "counted": lambda share, p: torch.arange(share.shape[-1]) > (share.cumsum(-1) < p).sum(-1, keepdim=True),
}


def cutting(cut):
    """An answer to the exercise in which ``cut`` decides which of the sorted tokens top-p removes."""

    def distribution(logits, temperature=1.0, top_k=None, top_p=None):
        if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
            raise ValueError("a setting is out of its range")
        x, order = torch.sort(logits / (temperature or 1), descending=True, stable=True)
        if temperature == 0:
            return torch.zeros_like(logits).scatter(-1, order[..., :1], 1.0)
        x[..., top_k:] = x[..., top_k:] if top_k is None else -torch.inf
        if top_p is not None:
            x = x.masked_fill(cut(x.softmax(-1), top_p), -torch.inf)
        return torch.zeros_like(logits).scatter(-1, order, x.softmax(-1))

    return distribution


@pytest.mark.parametrize("way", WAYS_TO_CUT)
def test_every_way_to_add_is_right(way):
    exercise, right = exercises.get("generate.distribution"), {"distribution": cutting(WAYS_TO_CUT[way])}
    for i in range(40):
        record = draw_record(exercise, bytes([i]) * 32, with_mutants=False)
        outcomes = [runner.run_program(c.program, c.tensors, right) for c in record.cases]
        assert judging.scored(record, outcomes, 0.0).passed, i


def test_the_token_that_is_lost_is_named_however_it_is_added():
    record = records.load("generate.distribution")
    lost = {"distribution": cutting(lambda share, p: share.cumsum(-1) > p)}
    outcomes = [runner.run_program(c.program, c.tensors, lost) for c in record.cases]
    assert judging.judge(record, outcomes, 0.0).mistakes[0].name == "crossing_lost_all"


@given(seed=seeds, T=st.integers(1, 6), padding=st.integers(0, 4))
@drawn
def test_the_toys_are_decoders(answers, seed, T, padding):
    """A cache changes nothing, padding changes nothing, but rounding the cache's contents does."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(16, (2, T), generator=g)
    once = answers.generate(toys.decoder, ids, 5, largest)
    text = ids
    for _ in range(5):
        text = torch.cat([text, toys.decoder(text)[0][:, -1:].argmax(-1)], 1)
    assert torch.equal(once, text)
    longer = torch.cat([torch.randint(16, (2, padding), generator=g), ids], 1)
    real = (torch.arange(padding + T) >= padding).expand(2, -1)
    assert torch.equal(answers.generate(toys.decoder, longer, 5, largest, real)[:, padding:], once)


def test_a_rounded_past_is_told_from_a_text_read_anew():
    ids = torch.randint(16, (50, 5), generator=torch.Generator().manual_seed(0))
    kept, anew = generating.generate(toys.rounding_decoder, ids, 8, largest), ids
    for _ in range(8):
        anew = torch.cat([anew, toys.rounding_decoder(anew)[0][:, -1:].argmax(-1)], 1)
    assert (kept != anew).any(1).sum() > 40
    with pytest.raises(ValueError, match="3 tokens in the past"):
        toys.decoder(ids[:, :1], torch.ones(50, 3).bool(), toys.decoder(ids[:, :3])[1])


# The trained model


def test_the_shipped_model_is_hugging_face_s(model):
    from transformers import LlamaForCausalLM

    theirs = LlamaForCausalLM.from_pretrained(shipped.folder()).eval()
    ids = torch.tensor(shipped.tokenizer().encode(corpus.held_out_text()[:2_000]).ids)[None, :128]
    with torch.no_grad():
        torch.testing.assert_close(model(ids)[0], theirs(ids).logits, rtol=1e-4, atol=1e-3)


def test_the_table_of_the_notebook_says_so_and_says_where_it_is_not_so(model):
    ids = torch.tensor(shipped.tokenizer().encode(corpus.held_out_text()[:2_000]).ids)[:128].view(2, 64)
    (same,) = compare_checkpoint(model, shipped.folder(), ids).rows
    assert same.equal and same.same_tokens and same.parameters == (1_342_880,) * 2
    moved = copy.deepcopy(model)
    with torch.no_grad():
        moved.final_norm.weight.mul_(1.001)
    (other,) = compare_checkpoint(moved, shipped.folder(), ids).rows
    assert not other.equal


def test_without_transformers_the_page_is_compared_with_its_recording(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    ids = torch.tensor(shipped.tokenizer().encode(corpus.held_out_text()[:2_000]).ids)[:128].view(2, 64)
    (same,) = compare_checkpoint(model, shipped.folder(), ids).rows
    assert same.equal and same.same_tokens and "recorded with transformers" in same.source
    moved = copy.deepcopy(model)
    with torch.no_grad():
        moved.final_norm.weight.mul_(1.001)
    assert not compare_checkpoint(moved, shipped.folder(), ids).rows[0].equal
    table = compare_checkpoint(model, shipped.folder(), torch.zeros(2, 6, dtype=torch.int64))
    assert len(table.rows) == 1 and "-m pip install transformers==" in repr(table)


def test_the_toys_want_true_and_false():
    with pytest.raises(ValueError, match="dtype torch.int64"):
        toys.decoder(torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.int64))


def test_the_answer_writes_the_same_in_a_padded_batch(answers, model):
    tokenizer = shipped.tokenizer()
    prompts = [tokenizer.encode(text).ids for text in ("It was", "Elizabeth looked at Mr. Darcy, and")]
    size = max(map(len, prompts))
    ids = torch.tensor([[0] * (size - len(p)) + p for p in prompts])
    real = torch.tensor([[False] * (size - len(p)) + [True] * len(p) for p in prompts])
    together = answers.generate(model, ids, 20, largest, real)[:, size:]
    for prompt, row in zip(prompts, together, strict=True):
        alone = answers.generate(model, torch.tensor([prompt]), 20, largest)[0, len(prompt) :]
        assert torch.equal(alone, row)


def test_an_induction_head_arrives_within_the_cell_s_steps(answers):
    _, curve = induction.train(apply_rope, answers.induction_score, seed=0)
    assert curve[-1][1].score[1] > induction.FOUND and curve[-1][1].accuracy > 0.9
    weights, ids = torch.rand(2, 9, 9).tril(), torch.tensor([1, 2, 1, 2, 1, 3, 3, 1, 2])
    torch.testing.assert_close(answers.induction_score(weights, ids), induction_reference.induction_score(weights, ids))


# Recordings


def facts(name):
    return numbers.facts(name)


def test_the_trained_model_beats_the_best_count():
    f = facts("language_model")
    assert f["better"] == f["seeds"] and f["shipped"] < f["ngram"]["best"] - 0.05


def test_without_a_mask_the_loss_is_too_good_to_be_true():
    f = facts("breaking")["learned"]
    assert f["no_mask"]["max"] < f["whole"]["min"] and f["no_mask"]["unseen_min"] > f["whole"]["unseen_max"]
    used = facts("breaking")["used"]
    assert used["key_value_heads_swapped"]["loss"] > used["rotated_backward"]["loss"] > used["no_mask"]["loss"]


def test_longer_texts_are_read_worse_and_cures_help():
    f = facts("longer_text")
    assert (
        f["breaks"] == f["models"] == f["yarn"]["holds"] == 3
        and f["as_trained"]["end"] > f["trained_end"] + 0.1
        and str(4 * f["trained"]) == f["tested"]
    )
    assert all(f[cure]["end"] < f["as_trained"]["end"] for cure in ("ntk_aware_base", "yarn", "window"))
    assert f["interpolated_tuned"]["end"] < f["interpolated"]["end"]


def test_calls_rule_the_small_model_and_bytes_the_wide_one():
    f = facts("speed_of_speech")
    assert f["own"]["factor"] > 4 * f["widest"]["factor"] and f["own"]["hollow_share"] > 0.5
    assert f["widest"]["hollow_share"] < f["own"]["hollow_share"]


def test_one_layer_has_no_induction_head():
    f = facts("induction")
    assert f["two_layers"]["heads"] == f["seeds"] and f["one_layer"]["heads"] == 0
    assert f["two_layers"]["off_0"]["max"] < 0.3 and math.isclose(f["chance"], 1 / 32)
    assert recorded("induction")["found"] == induction.FOUND


def test_of_the_three_lines_one_is_hers_one_the_models_and_one_from_counts():
    lines = [line for line in re.findall(r'"([A-Z][^"]+\.)"', PROSE) if line in LINES]
    assert set(lines) == LINES.keys()
    found = recorded("language_model")
    texts = {"counts": found["ngrams"]["sample"], "model": found["samples"][0]["text"]}
    texts |= {title: novel for title, novel in corpus.novels().items()}
    for line, wanted in LINES.items():
        assert [name for name, text in texts.items() if line in text] == [wanted]


LINES = {
    "She was not at all in the room.": "model",
    "But, dependent for his hearer, he would reasonable bias himself.": "counts",
    "He had always something to entreat the explanation of.": "Mansfield Park",
}
