"""ModelAtlas's story agrees with its rows."""

import numpy as np
from anatomy.atlas.words import families
from anatomy.widgets import ModelAtlas
from anatomy.widgets.atlas import INDEX, ROWS

from .case import CASE


def told(i):
    """A step, its right answer, and the widget in the step's state."""
    step = ModelAtlas.story[i]
    return step, step.choices[step.answer], CASE.make(**step.state)


def bright(widget):
    return [ROWS[i].year for i in widget.shown()]


def origins(row):
    """Names of the rows that it goes back to."""
    while row.after:
        yield row.after
        row = ROWS[INDEX[row.after]]


def test_most_go_back_to_llama_and_none_to_a_secret():
    step, answer, widget = told(0)
    later = [row for row in ROWS if any(name.startswith("llama-1") for name in origins(row))]
    assert f"{len(later)} later models" in step.because and answer == "LLaMA"
    gpt, llama, larger = (ROWS[INDEX[name]] for name in ("gpt-4", "llama-1-7b", "gpt-3"))
    assert gpt.year == llama.year == 2023 and "gpt-4" not in {row.after for row in ROWS}
    assert "gpt-3" in {row.after for row in ROWS} and larger.published > llama.published, "size is no hindrance"
    widget.first = INDEX["llama-1-7b"]
    assert widget.words.endswith(f"In all, {len(later)} models go back to it.") and len(later) == 17
    widget.first = INDEX["gpt-2"]
    assert widget.words.endswith("In all, 9 models go back to it.") and 9 < len(later)
    widget.first = INDEX["gpt-4"]
    assert widget.words.endswith("its design is not published.")


def test_rope_took_the_tables_place():
    step, answer, widget = told(1)
    assert max(bright(widget)) == 2022 and answer == "RoPE, nearly everywhere"
    late = [families(row)["position"] for row in ROWS if row.year >= 2024]
    assert f"{late.count('RoPE')} of {len(late)} from 2024 on" in step.because and set(late) == {"RoPE", "none"}


def test_shared_heads_keep_less():
    step, answer, widget = told(2)
    small, large = (ROWS[INDEX[name]] for name in ("llama-2-7b", "llama-2-70b"))
    assert large.published == 10 * small.published and large.values["n_layers"] > small.values["n_layers"]
    kept = [widget.spec["models"][INDEX[row.name]]["cache"]["n"] for row in (small, large)]
    assert kept == ["524,288", "327,680"] and answer == "its heads share"
    family = [row.name for row in ROWS if row.title.startswith("LLaMA 2")]
    assert (family[0], family[-1]) == (small.name, large.name)
    assert (large.values["n_heads"], large.values["n_kv_heads"]) == (64, 8) and "64 query heads share 8" in step.because
    for widget.first, factors in ((INDEX[small.name], "32 layers × 32"), (INDEX[large.name], "80 layers × 8")):
        assert f"bytes a token = 2 × {factors} key-value heads × 128 × 2 bytes." in widget.words
    assert "share" not in widget.words and step.waits == ("numbers",), "the reason is to be found"
    assert INDEX[large.name] in widget.shown() and INDEX[small.name] not in widget.shown()


def test_what_is_open_in_2026():
    _, answer, widget = told(3)
    last = [families(row) for row in ROWS if row.year == 2026]
    assert len(last) == 6 and {family["norm"] for family in last} == {"RMSNorm"} and answer == "no, three ways"
    assert {family["mixing"] for family in last} == {"recurrent state", "chosen tokens", "latent"}
    assert widget.shown() == list(range(len(ROWS)))


def test_what_the_two_share():
    _, answer, widget = told(4)
    one, two = (families(ROWS[i]) for i in (widget.first, widget.second))
    assert answer == "two sublayers, each added" and one["placement"] == two["placement"] == "pre"
    assert all(one[what] != two[what] for what in ("norm", "position", "activation"))
    pluses = [[s[0] for s in widget.spec["models"][i]["shapes"]].count("sum") for i in (widget.first, widget.second)]
    assert pluses == [2, 2]


def test_experts_are_feed_forwards():
    step, answer, widget = told(5)
    high, rest = np.frombuffer(widget.tables["count"], "<f4").reshape(-1, 2)[widget.first]
    billions = (int(high) * 2**20 + int(rest)) / 1e9
    assert f"{billions:.1f} billion" in step.says and answer == "attention"
    v = ROWS[widget.first].values
    attention = 2 * v["d_model"] * v["head_dim"] * (v["n_heads"] + v["n_kv_heads"])
    experts = v["n_experts"] * 3 * v["d_model"] * v["d_ff"]
    tables = 2 * v["vocab"] * v["d_model"]
    counted = v["n_layers"] * (attention + experts) + tables  # but for norms and the router
    assert v["n_experts"] == 8 and 0 < billions * 1e9 - counted < 1e-4 * counted
