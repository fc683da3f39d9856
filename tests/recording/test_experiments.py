"""The recorded experiments: each says how it was made, has a figure, and its script still runs."""

import dataclasses
import json
import math
import re
import xml.etree.ElementTree as ET
from statistics import median

import pytest
import torch
from anatomy.experiments import loss_spike as spikes

from autograder import ROOT
from autograder.recording import figures
from autograder.recording.experiments import decode, loss_spike, roofline, sparse_attention
from autograder.recording.experiments.__main__ import NAMES
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments
from autograder.reference.gqa import RotaryAttention
from autograder.reference.mla import LatentAttention
from tests.recording.tiny import TINY

EXPERIMENTS = ROOT / "assets" / "experiments"
FIGURES = ROOT / "assets" / "figures"
RECORDED = sorted(p for p in EXPERIMENTS.glob("*.json") if p.stem not in figures.TABLES)
LARGE = sorted((EXPERIMENTS / "large").glob("*.json"))  # made on a GPU, if one was available
each = pytest.mark.parametrize("path", RECORDED + LARGE, ids=lambda p: str(p.relative_to(EXPERIMENTS).with_suffix("")))
SIZES = {
    "contexts": (8, 16),
    "prompts": (4, 8),
    "batches": (1, 2),
    "roofline_context": 8,
    "copied": 4096,
    "square": 16,
    "d_model": 32,
    "heads": 4,
    "head_dim": 8,
    "latent": 16,
    "rotary": 8,
    "d_ff": 64,
    "rounds": 2,
    "repeats": 1,
}


def test_there_are_recordings():
    assert len(RECORDED) >= 12 and set(figures.DRAWINGS) >= {p.stem for p in RECORDED}


def missing(name):
    """One sentence for each thing that an experiment lacks."""
    method = (ROOT / "autograder" / "recording" / "METHOD.md").read_text(encoding="utf-8")
    notebooks = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "solutions").glob("*.py"))
    recorded = (EXPERIMENTS / f"{name}.json").exists()
    drawn = (FIGURES / f"{name}.svg").exists()
    command = f'make experiments ARGS="--only {name}"'
    found = {
        f"{name} has not been measured: {command}": recorded,
        f"{name} has no drawing: write {name}(data) in a module of autograder/recording/figures": name
        in figures.DRAWINGS,
        f"{name} has no figure: {command} draws it": drawn,
        f"{name} has no row in autograder/recording/METHOD.md, in the table of experiments": f"| {name} |" in method,
        f"{name} has no tiny setting in tests/recording/tiny.py: add a line to TINY": name in TINY,
        f'{name} has no place in a notebook: show_large("{name}") in a cell of a unit': f'show_large("{name}")'
        in notebooks,
    }
    return [sentence for sentence, there in found.items() if not there]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_complete(name):
    assert not missing(name), "\n".join(missing(name))


@each
def test_every_recording_says_how_it_was_made(path):
    made = json.loads(path.read_text())["made"]
    assert made["device"].split(":")[0] in ("cpu", "cuda") and made["seeds"], made
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", made["torch"]) and re.fullmatch(r"\d{4}-\d\d-\d\d", made["date"])
    assert made["command"].startswith(f"python -m autograder.recording.experiments.{path.stem}")
    assert ("--device cuda" in made["command"]) == made["device"].startswith("cuda")
    assert made["setting"] == ("large" if path in LARGE else "small") and made["tf32"] is False
    assert set(made["dtype"].split(", ")) <= {"float32", "bfloat16", "float16", "float64"}
    script = ROOT / "autograder" / "recording" / "experiments" / f"{path.stem}.py"
    assert script.exists(), "the command that made it is gone"


@each
def test_a_cpu_recording_never_speaks_of_a_gpu(path):
    data = json.loads(path.read_text())
    if data["made"]["device"] == "cpu":
        assert not re.search(r"gpu|cuda|nvidia|h100|a100|h200", json.dumps(data), re.I)


@each
def test_figure_and_alternative_text(path):
    folder = FIGURES / "large" if path in LARGE else FIGURES
    alt = json.loads((folder / "alt.json").read_text())[path.stem]
    data = json.loads(path.read_text())
    picture, text = figures.draw(path.stem, data)
    assert picture == figures.draw(path.stem, data)[0], "a figure must have the same bytes each time"
    assert text == alt, "alt.json is stale: python -m autograder.recording.figures"
    assert 60 < len(alt) < 1500 and alt.endswith("."), alt
    words = (folder / f"{path.stem}.svg").read_text()
    title = " ".join("".join(t.itertext()) for t in ET.fromstring(words).iter("{http://www.w3.org/2000/svg}text"))
    assert figures.where(data) in title and figures.where(data)[1:] in alt
    assert "<dc:date>" not in words and "nan" not in alt
    if data["made"]["device"] == "cpu":
        assert "on a CPU" in title and "GPU" not in title + alt
    seeds = len(data["made"]["seeds"])
    assert (f"{seeds} seeds" in title) == (seeds > 1)


def test_a_figure_names_the_gpu_that_made_its_data():
    data = json.loads((EXPERIMENTS / "loss_spike.json").read_text())
    data["made"] |= {"device": "cuda", "name": "Some Card"}
    picture, alt = figures.draw("loss_spike", data)
    assert b"measured on Some Card" in picture and alt.endswith("Measured on Some Card.")


def test_a_recording_without_a_drawing_is_an_error(tmp_path):
    (tmp_path / "unknown.json").write_text(json.dumps({"made": {"device": "cpu"}}))
    with pytest.raises(KeyError, match="unknown"):
        figures.write(tmp_path, tmp_path / "out")


# -- the scripts, with tiny settings ---------------------------------------------------------------------------------


def test_roofline_runs_and_says_the_ratio_to_the_copy(tmp_path, capsys):
    roofline.main(["--out", str(tmp_path)], roofline.Setting(**SIZES))
    data, said = json.loads((tmp_path / "roofline.json").read_text()), capsys.readouterr().out
    assert {r["kind"] for r in data["attention"]} == {"MHA", "GQA", "MQA", "MLA"} and "of the copy" in said
    for r in data["attention"]:
        users, numbers = data["setting"]["users"], data["numbers_per_token"][r["kind"]]
        assert r["bytes"] == users * r["context"] * numbers * 4
        assert all(len(t) == 2 and min(t) >= 0 for t in r["seconds"].values())
    assert not (tmp_path / "roofline.partial").exists()


@pytest.mark.parametrize("kind, base", [("GQA", RotaryAttention), ("MLA", LatentAttention)])
def test_the_timed_decoding_step_computes_what_the_reference_does(kind, base):
    """Compares one token through the timed layer with the reference's expanded form under a mask."""
    s = roofline.Setting(**SIZES)
    layer = roofline.layer(kind, s).attention
    widths = (s.latent, s.rotary) if kind == "MLA" else (s.head_dim, s.head_dim)
    cached = [torch.randn(2, roofline.kinds(s)[kind][0], 9, w) for w in widths]
    x, ids = torch.randn(2, 1, s.d_model), torch.tensor([8])
    fresh = lambda: roofline.FullCache(*map(torch.clone, cached))
    got = layer(x, position_ids=ids, cache=fresh())
    torch.testing.assert_close(got, base.forward(layer, x, torch.ones(1, 9).bool(), ids, fresh()))


@pytest.mark.parametrize("kind", ["MHA", "GQA", "MQA", "MLA"])
def test_all_ways_to_decode_give_the_same(kind):
    calls, _ = roofline.attention_calls(kind, 16, roofline.Setting(**SIZES), "cpu", torch.float32)
    want = calls["reference"]()
    torch.testing.assert_close(calls["SDPA"]().reshape(want.shape), want)


def test_sparse_attention_runs_and_prints_time_against_pairs(tmp_path, capsys):
    s = sparse_attention.Setting(heads=2, head_dim=8, window=8, lengths=(16, 32), longest_dense=16, rounds=1, repeats=1)
    sparse_attention.main(["--out", str(tmp_path)], s)
    data, said = json.loads((tmp_path / "sparse_attention.json").read_text()), capsys.readouterr().out
    assert "FlexAttention is left out" in said and "per pair" in said and data["flex"] is False
    assert {r["way"] for r in data["rows"] if r["T"] == 32} == {
        "SDPA, full causal",
        "window, gathered",
        "blocks, gathered",
    }


def test_ways_to_compute_the_window_agree_and_their_memory_is_measured():
    s = sparse_attention.Setting(window=8)
    q, k, v = torch.randn(3, 1, 2, 32, 8)
    ways = sparse_attention.ways(32, s, "cpu")
    want = ways["dense, masked"][0](q, k, v)
    for name in ("SDPA, masked", "window, gathered"):
        torch.testing.assert_close(ways[name][0](q, k, v), want)
    assert 4000 <= sparse_attention.peak_bytes(lambda: torch.ones(1000) * 1, "cpu") - 4000 < 4100
    assert 8000 <= sparse_attention.peak_bytes(lambda: torch.ones(1000) * 2 * 3 * 4, "cpu") < 8100


def test_a_wrong_kernel_is_not_timed(monkeypatch, capsys):
    s = roofline.Setting(**SIZES)
    monkeypatch.setattr(roofline.F, "scaled_dot_product_attention", lambda q, k, v, **options: q[..., : v.shape[-1]])
    row = roofline.attention_row("GQA", 16, s, "cpu", torch.float32)
    assert list(row["seconds"]) == ["reference"] and "SDPA gives another result" in capsys.readouterr().out


def test_growth_of_time_with_pairs():
    rows = [{"T": t, "pairs": t * t, "seconds": [3.0 * t * t]} for t in (8, 16, 32)]
    assert math.isclose(sparse_attention.growth(rows, lambda r: min(r["seconds"])), 1)


def test_decoding_step_runs(tmp_path):
    decode.main(["--out", str(tmp_path)], decode.Setting(lengths=(8,), groups=(1, 4)))
    rows = json.loads((tmp_path / "decode.json").read_text())["rows"]
    assert [r["G"] for r in rows] == [1, 4] and {r["S"] for r in rows} == {8}


def test_loss_spike_runs_with_every_remedy(tmp_path):
    tiny = spikes.Setting(d_model=8, heads=2, layers=1, length=6, batch=4, steps=4)
    loss_spike.main(["--out", str(tmp_path)], tiny, seeds=(0,))
    data = json.loads((tmp_path / "loss_spike.json").read_text())
    assert [r["remedy"] for r in data["rows"]] == data["remedies"] == list(loss_spike.REMEDIES)
    first = {name: spikes.train(0, tiny, **remedy)["loss"][0] for name, remedy in loss_spike.REMEDIES.items()}
    # Before the first step, only a remedy inside the model can change the loss.
    same = {name for name in first if first[name] == first["nothing"]}
    assert same >= {"a tenth of the rate", "decay on matrices", "clipping", "z-loss"} and "QK-norm" not in same


def runs(remedy):
    """The recorded rows of one remedy, with their curves as numbers."""
    curves = ("loss", "score", "gain")
    return [
        r | {curve: [float(v) for v in r[curve].split()] for curve in curves}
        for r in json.loads((EXPERIMENTS / "loss_spike.json").read_text())["rows"]
        if r["remedy"] == remedy
    ]


def test_the_recorded_spike_and_its_cures():
    """As text and figure say, every seed learns the rule, and remedies that keep the scores small keep it learned."""
    plain = runs("nothing")
    assert len(plain) >= 6 and all(min(r["loss"]) < spikes.LEARNED for r in plain)
    assert all(spikes.worst(r["loss"]) > 0.5 and max(r["score"]) > 1000 for r in plain)
    assert median(spikes.end(r["loss"]) for r in plain) > 0.3
    for cure in ("a tenth of the rate", "QK-norm", "soft cap on scores", "decay on gains too"):
        assert max(spikes.end(r["loss"]) for r in runs(cure)) < 0.05, cure
        assert max(max(r["score"]) for r in runs(cure)) < 500, cure
    for other in ("z-loss", "soft cap on logits", "clipping"):
        assert median(spikes.end(r["loss"]) for r in runs(other)) > 0.1, other
        assert median(max(r["score"]) for r in runs(other)) > 1000, other
    matrices = runs("decay on matrices")
    assert median(spikes.end(r["loss"]) for r in matrices) > 0.1 and median(max(r["gain"]) for r in matrices) > 2.5
    held = median(max(r["score"]) for r in plain) / median(max(r["score"]) for r in matrices)
    assert held > 4, "decay limits what it acts on"
    assert max(max(r["gain"]) for r in runs("decay on gains too")) < 2


def test_spikes_are_counted_after_learning_only():
    assert spikes.after_learning([2.0, 0.05, 0.3, 0.01]) == [0.05, 0.3, 0.01]
    assert spikes.worst([2.0, 0.05, 0.3]) == 0.3 and math.isnan(spikes.worst([2.0, 1.0]))
    assert spikes.end([9.0] * 5 + [1.0, 2.0] * 10) == 1.5


# -- resuming --------------------------------------------------------------------------------------------------------


def options(folder):
    return arguments("").parse_args(["--out", str(folder)])


def test_an_interrupted_recording_goes_on_where_it_stopped(tmp_path):
    rows = Rows("x", options(tmp_path), {"size": 1}, 2)
    assert rows.row("a", lambda: {"v": 1}) == {"v": 1}
    with (tmp_path / "x.partial").open("a") as file:
        file.write('["b", {"v"')  # interrupted while writing
    again = Rows("x", options(tmp_path), {"size": 1}, 2)
    assert again.row("a", lambda: pytest.fail("measured twice")) == {"v": 1}
    assert again.row("b", lambda: {"v": 2}) == {"v": 2}
    assert Rows("x", options(tmp_path), {"size": 1}, 2).rows == {"a": {"v": 1}, "b": {"v": 2}}


def test_rows_of_another_setting_are_not_taken_up(tmp_path):
    Rows("x", options(tmp_path), {"size": 1}, 1).row("a", lambda: 1)
    assert Rows("x", options(tmp_path), {"size": 2}, 1).rows == {}


def test_settings_for_a_gpu_are_larger():
    for module in (roofline, sparse_attention):
        small, large = dataclasses.asdict(module.LAPTOP), dataclasses.asdict(module.LARGE)
        assert large["heads"] > small["heads"] and large["dtype"] == "bfloat16"
