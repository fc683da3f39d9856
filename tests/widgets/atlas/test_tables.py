"""Tier 1 of ModelAtlas: its counts with a learner's class or the reference's, its texts, its pictures. No browser."""

import functools
import io
import re

import numpy as np
import pytest
from anatomy import atlas
from anatomy.widgets import ModelAtlas, WrongOutput
from anatomy.widgets.atlas import CHOICES, FAILED, INDEX, ROWS, block
from anatomy.widgets.tools.base import NOTHING_GIVEN
from PIL import Image
from torch import nn

from ..learners import unfinished
from .learners import Block, Norm, right_decoder

made = functools.cache(ModelAtlas)


def told(decoder, name):
    """The widget's text about that model's parameters, counted with the class."""
    widget = made(decoder)
    widget.first = INDEX[name]
    return widget.counted()


def test_every_count_is_what_the_sizes_add_up_to():
    count = ModelAtlas()._mine["count"]
    for row, (high, rest) in zip(ROWS, count, strict=True):
        assert int(high) * 2**20 + int(rest) == (atlas.closed_form(row) or 0), row.name


def test_a_right_decoder_counts_as_the_reference_does():
    mine, theirs = made(right_decoder), made(None)
    assert (mine.tables["count"], mine.tables["how"]) == (theirs.tables["count"], theirs.tables["how"])
    assert mine.notice == "" and theirs.notice == NOTHING_GIVEN
    assert told(right_decoder, "llama-2-7b") == (
        "6,738,415,616 parameters by your Decoder, published 7,000,000,000: −3.74 %. "
        "Rounded, it is the published figure."
    )
    assert "by the reference" in told(None, "llama-2-7b") and "by the sizes" in told(right_decoder, "bert-base")
    assert told(right_decoder, "gpt-4").startswith("Its sizes are not published")


def without(part, of=right_decoder):
    class Decoder(of):
        def __init__(self, c):
            super().__init__({**c, **part})

    return Decoder


@pytest.mark.parametrize(
    "decoder, name, says",
    [
        (without({"tied": True}), "llama-2-7b", "whether the head is tied"),
        (without({"attention_bias": False}), "gpt-2", "look at attention_bias"),
        (without({"ffn_bias": False}), "gpt-2", "look at ffn_bias"),
        (without({"qk_norm": None}), "qwen-3-8b", "look at qk_norm"),
        (without({"n_experts": 0}), "mixtral-8x7b", "the count without experts"),
        (without({"placement": "post"}), "llama-3-8b", "the one after the last block"),
        (without({"d_ff": 4096}), "llama-3-8b", "not what the published sizes add up to"),
    ],
)
def test_a_mistake_in_the_count_is_named(decoder, name, says):
    assert says in told(decoder, name)
    good = np.frombuffer(made(decoder).tables["good"], "<f4")
    assert not good[INDEX[name]] and good[INDEX["deepseek-v3"]]


def test_key_value_heads_are_named():
    class Decoder(right_decoder):
        def __init__(self, c):
            super().__init__({**c, "n_kv_heads": c["n_heads"]})

    assert "as many key-value heads as heads" in told(Decoder, "llama-3-8b")
    assert "Rounded" in told(Decoder, "llama-2-7b"), "there the mistake leaves no mark"


def test_what_the_class_cannot_build_is_said_and_the_rest_is_counted():
    class Decoder(right_decoder):
        def __init__(self, c):
            if c["placement"] == "parallel":
                raise KeyError("parallel")
            super().__init__(c)

    assert made(Decoder)._mine["how"][INDEX["falcon-7b"]] == FAILED
    assert told(Decoder, "falcon-7b") == "Your Decoder cannot build this one yet."
    assert "by your Decoder" in told(Decoder, "gpt-2")


def test_notices_and_errors():
    assert ModelAtlas(unfinished).notice == "Showing the reference: Decoder is not written yet"
    with pytest.raises(WrongOutput, match="must return a module, and it returned int"):
        ModelAtlas(lambda c: 7)
    with pytest.raises(ZeroDivisionError):
        ModelAtlas(lambda c: 1 / 0)


def test_filters_find_what_the_words_say():
    n = len(ROWS)
    assert ModelAtlas().shown() == list(range(n))
    mqa = ModelAtlas(attention=CHOICES["attention"].index("MQA"))
    assert {ROWS[i].get("n_kv_heads") for i in mqa.shown()} == {1}
    late = ModelAtlas(since=2025, norm=CHOICES["norm"].index("LayerNorm"))
    assert [ROWS[i].name for i in late.shown()] == ["command-a"]
    assert all("google" in ROWS[i].organization.lower() for i in ModelAtlas(text=" Google ").shown())
    assert ModelAtlas(text="no such thing").words.startswith(f"0 of {n} models")
    for name, choices in CHOICES.items():
        found = [ModelAtlas(**{name: k}).shown() for k in range(1, len(choices))]
        assert sorted(sum(found, [])) == list(range(n)), name


def test_words_of_each_view():
    state = {"first": INDEX["gpt-2"], "second": INDEX["llama-2-7b"]}
    assert "GPT-2, OpenAI, 2019: LayerNorm. It starts from GPT." in ModelAtlas(**state).words
    asked = {"placement": CHOICES["placement"].index("pre"), "activation": CHOICES["activation"].index("GELU")}
    assert "GPT-2, OpenAI, 2019: before each sublayer; GELU. It" in ModelAtlas(**state, **asked).words
    assert "GPT-2, OpenAI, 2019: LayerNorm; before each sublayer" in ModelAtlas(view=2, **state).words
    compared = ModelAtlas(view=1, **state).words
    assert all(sentence in compared for sentence in atlas.difference("gpt-2", "llama-2-7b"))
    built = ModelAtlas(view=2, first=INDEX["palm-540b"]).words
    assert "Some notes say “RMSNorm”" in built and "arXiv:2204.02311" in built
    assert "no part for a LayerNorm without bias" in built
    assert "They differ in nothing" in ModelAtlas(view=1, first=3, second=3).words or "They share" in compared


def test_what_is_not_published_has_names_in_words():
    for i in (INDEX["gpt-4"], INDEX["reka-flash"]):
        card = ModelAtlas().spec["models"][i]
        shown = card["lacking"] + " ".join(shape[-1] for shape in card["shapes"])
        assert "number of heads" in shown and not re.search(r"[a-z]_[a-z]", shown)


def test_the_code_makes_the_configuration():
    for i, card in enumerate(ModelAtlas().spec["models"]):
        assert bool(card["code"]) != bool(card["lacking"])
        if card["code"]:
            space = {}
            exec(card["code"], space)
            assert space["c"] == atlas.configuration(ROWS[i].name), ROWS[i].name
            assert max(map(len, card["code"].splitlines())) <= 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_block_lies_inside_its_picture_and_shows_its_parts(row):
    height, shapes = block.block(row)
    said = " ".join(shape[5] for shape in shapes if shape[0] == "text")
    for shape in shapes:
        if shape[0] == "box":
            x, y, w, h = shape[1:5]
            assert 0 <= x and x + w <= block.WIDTH and 0 <= y and y + h <= height
        if shape[0] == "path":
            numbers = [float(n) for n in re.findall(r"[\d.]+", shape[1])]
            assert max(numbers[::2]) <= block.WIDTH and max(numbers[1::2]) <= height
    if "Not published" in said:
        assert atlas.lacking(row)
        return
    norms = sum(1 for shape in shapes if shape[0] == "box" and shape[5] == "norm")
    layer = {"both": 4, "parallel": 1}.get(row.get("placement"), 2) + (row.get("kind") == "encoder-decoder")
    final = row.get("placement") != "post"
    assert norms == layer + final + bool(row.get("embedding_norm")), "a norm is missing or too many"
    assert f"→ {row.get('d_ff'):,} →" in said and f"{row.get('n_heads')} heads" in said
    assert ("RMSNorm" in said) == (row.get("norm") in ("rms", "gemma"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_stream_is_one_line_from_the_embedding_to_the_head(row):
    """The vertical spans on it leave no gap: its own strokes, sums, and boxes that it passes through."""
    spans = []
    for kind, *rest in block.block(row)[1]:
        if kind == "path":
            points = re.findall(r"([\d.]+) ([\d.]+)", rest[0])
            heights = [float(y) for x, y in points if float(x) == block.STREAM]
            spans += [(min(heights), max(heights))] if len(heights) > 1 else []
        if kind == "sum":
            spans.append((rest[1] - 8, rest[1] + 8))
        if kind == "box" and rest[4] != "frame" and rest[0] <= block.STREAM <= rest[0] + rest[2]:
            spans.append((rest[1], rest[1] + rest[3]))
    spans.sort()
    assert not any(nxt[0] > max(b for _, b in spans[: i + 1]) + 0.2 for i, nxt in enumerate(spans[1:]))


@pytest.mark.parametrize("state", [{}, {"view": 1}, {"view": 2}, {"view": 2, "first": INDEX["gpt-4"]}])
def test_there_is_a_still_picture_of_each_view(state):
    widget = ModelAtlas(**state)
    assert widget.png() == widget.png()
    width, height = Image.open(io.BytesIO(widget.png())).size
    assert width > 600 and height > 150


def test_learners_parts_are_modules():
    """The class in these tests has the modules and parameters that are counted."""
    c = atlas.configuration("gpt-2")
    assert (
        isinstance(Norm(c), nn.Module) and len(list(Block({**c, "n_layers": 1}).parameters())) == 4 * 2 + 2 * 2 + 2 * 2
    )
