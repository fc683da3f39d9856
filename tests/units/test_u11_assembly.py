"""Unit 11: numbers in the text, guarantees of a decoder, and equality with Hugging Face."""

import re
from pathlib import Path

import nbformat
import pytest
import torch
from anatomy import evaluate
from anatomy.models import compare, config
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder import ROOT
from autograder.reference.assembly.decoder import Decoder
from autograder.reference.assembly.loading import rename

from .solved import solved

UNIT = "11-assembly"
PROSE = (Path(__file__).parents[2] / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
LLAMA = {"vocab": 32_000, "d_model": 4096, "n_layers": 32, "n_heads": 32, "d_ff": 11_008, "tied": False}
LLAMA_3 = LLAMA | {"vocab": 128_256, "n_kv_heads": 8, "d_ff": 14_336}


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


@pytest.fixture(scope="module")
def answers():
    """Names that the setup and answer cells of the solved unit define."""
    return solved(PROSE)


def size(build, **changes):
    with torch.device("meta"):
        return sum(p.numel() for p in build(config(**changes)).parameters())


# Numbers in the text


def test_puzzle_and_the_published_sizes(answers):
    for build in (answers.Decoder, Decoder):
        assert size(build, **LLAMA) == 6_738_415_616 and says("6,738,415,616 numbers")
        assert size(build, **LLAMA | {"n_kv_heads": 8}) == 5_933_109_248
        assert size(build, **LLAMA | {"tied": True}) == 6_607_343_616
        assert size(build, **LLAMA_3) == 8_030_261_248


def test_what_shared_heads_free_the_vocabulary_takes():
    """Checks the sentence below the experiment: both are 0.8 billion."""
    freed = size(Decoder, **LLAMA) - size(Decoder, **LLAMA | {"n_kv_heads": 8})
    taken = size(Decoder, **LLAMA | {"vocab": 128_256}) - size(Decoder, **LLAMA)
    assert round(freed / 1e9, 1) == round(taken / 1e9, 1) == 0.8
    assert round(128_256 / 32_000) == 4


def test_factorized_and_tied_tables():
    wide, narrow = 30_000 * 768, 30_000 * 128 + 128 * 768 + 768
    assert (wide, narrow) == (23_040_000, 3_939_072) and 5.5 < wide / narrow < 6.5
    assert round(30_000 * 4096 / (30_000 * 128 + 128 * 4096 + 4096)) == 28 and says("28 times fewer")
    gpt = 124_439_808
    assert round(50_257 * 768 / 1e6, 1) == 38.6 and 0.22 < 50_257 * 768 / (gpt + 50_257 * 768) < 0.28


def test_worked_example_of_the_norms():
    x = torch.tensor([3.0, 4.0])
    assert round((x.pow(2).mean() ** 0.5).item(), 2) == 3.54 and says("= 3.54")
    torch.testing.assert_close(nn.RMSNorm(2, eps=0)(x), x / 12.5**0.5)


def test_claim_stands_as_quoted_and_half_of_the_names_exist(answers):
    assert says("LLaMA's overall structure is similar to that of the GPT series; it differs only in model size")
    small = {"d_model": 8, "n_heads": 2, "d_ff": 8}
    biases = {"attention_bias": True, "out_bias": True, "ffn_bias": True}
    gpt = set(answers.Block(config(norm="layer", position="learned", gated=False, **biases, **small)).state_dict())
    llama = set(answers.Block(config(**small)).state_dict())
    assert (len(gpt), len(gpt & llama), llama - gpt) == (16, 8, {"ffn.gate_proj.weight"})
    assert says("of a GPT-2 block's sixteen weights eight exist in it")


# Brought parts


def test_the_released_cells_bring_and_an_unwritten_one_counts_as_not_written(answers):
    book = nbformat.read(ROOT / "course" / UNIT / f"{UNIT}.ipynb", as_version=4)
    cells = {c.id: c.source for c in book.cells}
    for name in ("parts", "wirings"):
        source = cells[f"solve-assembly-{name}"]
        assert re.fullmatch(r"parts\.bring\([^()]*\)", source)
        given = [c.source for c in book.cells if f"assembly.{name}: your code goes here" in c.source]
        assert len(given) == 1, "stand-ins in one given cell, none in the answer's"
        space = {}
        exec(given[0], space)
        targets = re.search(r"check\([^,]*, (.*)\)", cells[f"check-assembly-{name}"])[1].split(", ")
        verdict = evaluate(f"assembly.{name}", *(space[t] for t in targets))
        assert verdict.score == 0 and verdict.mistakes[0].name == "generic.not_written"


# Guarantees of a decoder

T = 7
WIRINGS = ("pre", "post", "inside", "both")


@st.composite
def plans(draw):
    cuts = sorted(draw(st.sets(st.integers(1, T - 1))))
    return [b - a for a, b in zip([0, *cuts], [*cuts, T], strict=True)]


def model(answers, seed, placement, position, window):
    torch.manual_seed(seed)
    sizes = {"vocab": 11, "d_model": 12, "n_layers": 3, "n_heads": 4, "n_kv_heads": 2, "head_dim": 6, "d_ff": 10}
    c = config(**sizes, placement=placement, position=position, window=window, window_every=2, max_positions=T)
    return answers.Decoder(c).eval()


@given(
    plan=plans(),
    pads=st.lists(st.integers(0, T - 1), min_size=3, max_size=3),
    placement=st.sampled_from(WIRINGS),
    position=st.sampled_from(["rope", "learned", "none"]),
    window=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 999),
)
@settings(max_examples=40, deadline=None)
def test_chunks_and_padding_change_nothing(answers, plan, pads, placement, position, window, seed):
    """In any chunks and next to any other texts, each text's logits equal those of the text alone."""
    decoder = model(answers, seed, placement, position, window)
    ids = torch.randint(11, (3, T))
    real = torch.arange(T) >= torch.tensor(pads)[:, None]
    with torch.no_grad():
        past, out, start = None, [], 0
        for n in plan:
            logits, past = decoder(ids[:, start : start + n], real[:, : start + n], past)
            out.append(logits)
            start += n
        together = torch.cat(out, dim=1)
        assert together.isfinite().all(), "padding spoils nothing"
        for row, pad in enumerate(pads):
            torch.testing.assert_close(
                together[row, pad:], decoder(ids[row : row + 1, pad:])[0][0], rtol=1e-3, atol=1e-3
            )


@given(
    placement=st.sampled_from(WIRINGS),
    position=st.sampled_from(["rope", "learned"]),
    window=st.sampled_from([None, 2]),
    seed=st.integers(0, 999),
)
@settings(max_examples=20, deadline=None)
def test_answers_equal_the_reference(answers, placement, position, window, seed):
    mine = model(answers, seed, placement, position, window)
    theirs = Decoder(mine.c)
    theirs.load_state_dict(mine.state_dict(), strict=True)
    ids, real = torch.randint(11, (2, T)), torch.arange(T) >= torch.tensor([[0], [2]])
    with torch.no_grad():
        torch.testing.assert_close(mine(ids, real)[0], theirs(ids, real)[0], rtol=1e-4, atol=1e-4)


def test_only_rope_does_not_mind_counted_padding(answers):
    """Checks the prediction about positions that count padding."""
    shifts = {}
    for position in ("rope", "learned"):
        decoder = model(answers, 0, "pre", position, None)
        x = torch.randint(11, (1, 3))
        embedded = [decoder.embeddings(x, torch.arange(3)[None] + s) for s in (0, 4)]
        mask = torch.ones(3, 3).tril().bool()
        out = []
        for s, stream in zip((0, 4), embedded, strict=True):
            for block in decoder.blocks:
                stream, _ = block(stream, mask, torch.arange(3)[None] + s)
            out.append(stream)
        shifts[position] = (out[0] - out[1]).abs().max().item()
    assert shifts["rope"] < 1e-4 and shifts["learned"] > 0.1


# Models of Hugging Face


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2"])
def test_the_answers_are_hugging_faces_models(answers, family):
    """The weights are the same and load strictly, logits agree within rounding, and generated tokens are equal."""
    pytest.importorskip("transformers")
    found = compare.compare(family, answers.Decoder, rename)
    assert found.equal, found


def test_a_count_leaves_the_default_device_as_it_was():
    def count(build, c):
        torch.set_default_device("meta")
        return sum(p.numel() for p in build(c).parameters())

    verdict = evaluate("assembly.parameters", count)
    assert not verdict.passed and "changes the default device" in verdict.text()
    assert torch.empty(0).device.type == "cpu"


def test_a_variant_is_one_method(answers):
    """Builds Qwen 3 with the subclass that the text shows."""
    pytest.importorskip("transformers")
    cell = next(c for c in PROSE.split("\n# %%") if "class HeadNorm" in c)
    space = dict(vars(answers))
    exec(cell.partition("\n")[2], space)
    found = compare.compare("qwen3", lambda c: answers.Decoder(c, space["HeadNorm"]), rename)
    assert found.equal, found


GPT2 = {"norm": "layer", "position": "learned", "activation": "gelu_tanh", "gated": False, "n_heads": 12}
BIASES = {"attention_bias": True, "out_bias": True, "ffn_bias": True}


@pytest.mark.parametrize("width, told", [(768, "0.119%"), (12_288, "0.007%")])
def test_biases_are_next_to_nothing(width, told):
    with torch.device("meta"):
        block = Decoder(config(**GPT2, **BIASES, vocab=10, d_model=width, n_layers=1, max_positions=8)).blocks[0]
    sizes = {name: p.numel() for name, p in block.named_parameters()}
    biases = sum(n for name, n in sizes.items() if name.endswith("bias"))
    assert f"{biases / sum(sizes.values()):.3%}" == told and says("about a thousandth of a block")
