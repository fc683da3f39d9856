"""Runs the code for ``--device cuda`` without a GPU, on a pretended device that refuses to mix tensors."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder import ROOT, exercises
from autograder.judge.drawing import draw_record
from autograder.recording import figures, precision, references, widgets
from autograder.recording.__main__ import main as record_all
from autograder.recording.experiments import sparse_attention
from autograder.recording.experiments.__main__ import NAMES, READ
from tests import proofs
from tests.conftest import every_one
from tests.recording.pretend_cuda import NAME, Event, OnCuda, pretend_cuda
from tests.recording.tiny import TINY


def test_every_experiment_is_tried():
    recorded = {p.stem for p in (ROOT / "assets" / "experiments").glob("*.json")}
    assert set(TINY) == set(NAMES) == recorded - set(READ) and set(READ) == set(figures.TABLES)


@pytest.mark.parametrize("unit", exercises.units())
def test_recordings_are_the_same_on_another_device(unit, request):
    """Compares values, errors and mutants' fingerprints: once, a module made on the CPU got inputs on the GPU here.

    A usual run draws the mutants of every third exercise, and of different ones after each change of the unit.
    """
    share, turn = 1 if every_one(request.config) else 3, int(proofs.of_exercise(unit), 16)
    for i, exercise in enumerate(exercises.of_unit(unit)):
        with_mutants = (i + turn) % share == 0
        here = draw_record(exercise, with_mutants=with_mutants)
        with pretend_cuda():
            there = draw_record(exercise, device="cuda", with_mutants=with_mutants)
        for a, b in zip(here.cases, there.cases, strict=True):
            for name in a.outcomes:
                raised = [[(r.get("raises") or [None])[0] for r in c.outcomes[name][0]["results"]] for c in (a, b)]
                assert raised[0] == raised[1], (exercise.id, a.name, name)
                assert not any(isinstance(t, OnCuda) for t in b.outcomes[name][1].values()), "recorded on the CPU"
                for key, value in a.outcomes[name][1].items():
                    torch.testing.assert_close(b.outcomes[name][1][key], value, rtol=0, atol=0, equal_nan=True)


def test_an_error_that_only_the_device_knows_is_not_recorded(monkeypatch):
    exercise = exercises.get("start.weighted_average")
    forgetful = lambda values, weights: weights @ values / weights.sum() * torch.ones(len(values[0]), device="cpu")
    monkeypatch.setattr(exercise, "reference", forgetful)
    draw_record(exercise)
    with pretend_cuda(), pytest.raises(RuntimeError, match="start.weighted_average, .*: on cuda .*same device"):
        draw_record(exercise, device="cuda")


def test_distances_on_another_device():
    for name in ("attention.multi_head", "cache.rolling", "norm.layer_norm"):
        exercise = exercises.get(name)
        with pretend_cuda():
            there = precision.measure(exercise, "cuda")
        assert there == precision.measure(exercise), name


# The atlas always counts on the meta device; see the next test.
@pytest.mark.parametrize("name", [n for n in widgets.WIDGETS if n != "atlas"])
def test_widgets_tables_on_another_device(name):
    with pretend_cuda():
        there = widgets.recording(name, "cuda")
    for key, value in widgets.recording(name).items():
        assert np.array_equal(there[key], value, equal_nan=True), key


def test_what_a_widget_counts_on_the_meta_device_is_allocated_nowhere(monkeypatch):
    """A model of 405 billion parameters would not fit on any device."""
    places = []

    class Counting:
        @staticmethod
        def measure(build, inputs):
            with torch.device("meta"):
                places.append(build({"vocab": 3}).is_meta)
            return {}

    recorder = replace(widgets.WIDGETS["atlas"], widget=Counting, reference=lambda c: torch.empty(c["vocab"]))
    monkeypatch.setitem(widgets.WIDGETS, "atlas", recorder)
    with pretend_cuda():
        widgets.recording("atlas", "cuda")
    assert places == [True]


def test_make_record_on_cuda_says_so_and_keeps_the_cpus_distances(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda on, warn_only: None)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    (tmp_path / "precision.json").write_bytes((ROOT / "assets/recordings/precision.json").read_bytes())
    with pretend_cuda():
        assert record_all(["--device", "cuda", "--unit", "00-start-here", "--out", str(tmp_path)]) == 0
    made = json.loads((tmp_path / "manifest.json").read_text())["00-start-here"]
    assert (made["device"], made["name"], made["command"]) == ("cuda", NAME, "make record DEVICE=cuda")
    distances = json.loads((tmp_path / "precision.json").read_text())
    assert distances["cuda"]["made"]["name"] == NAME and len(distances["cpu"]["distances"]) > 50
    assert distances["cuda"]["distances"].keys() == {"start.weighted_average"}


def test_too_little_memory_leaves_one_row_out(monkeypatch, capsys):
    def full(*args):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(sparse_attention, "measured", full)
    assert sparse_attention.measure("dense, masked", 32, sparse_attention.LAPTOP, "cpu") is None
    assert "dense, masked at 32 tokens is left out" in capsys.readouterr().out


def test_recording_on_cuda_asks_for_exact_and_repeatable_products(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda on, warn_only: asked.append(on))
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    references.exact("cpu")
    assert not asked
    references.exact("cuda")
    products = torch.backends.cuda.matmul
    assert asked == [True] and not torch.backends.cudnn.allow_tf32 and not products.allow_tf32
    assert not products.allow_fp16_reduced_precision_reduction and not products.allow_bf16_reduced_precision_reduction


def test_manifest_without_the_vendors_tool(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pretend_cuda():
        facts = references.device_facts("cuda")
    assert facts["name"] == NAME and facts["driver"] == "unknown"


def test_flex_attention_computes_the_window():
    """Runs uncompiled on the CPU, with the same mask."""
    s = sparse_attention.Setting(window=8)
    q, k, v = torch.randn(3, 1, 2, 32, 16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "compile", lambda f, **options: f)
        flex = sparse_attention.flex_window(32, 8, "cpu")
    torch.testing.assert_close(flex(q, k, v), sparse_attention.ways(32, s, "cpu")["dense, masked"][0](q, k, v))


@pytest.mark.parametrize("T, w", [(512, 128), (640, 100), (512, 300), (32, 8), (1280, 1024)])
def test_blocks_of_the_window_equal_torchs_search_over_all_pairs(T, w):
    from torch.nn.attention.flex_attention import create_block_mask

    found = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j < w), None, None, T, T, device="cpu")
    touched, whole = sparse_attention.window_blocks(T, w)
    assert torch.equal(found.to_dense()[0, 0].bool(), touched)
    assert torch.equal(found.full_kv_num_blocks[0, 0], whole.sum(-1).int())
    assert touched.sum() * sparse_attention.FLEX_BLOCK**2 >= min(T, w) * (T - min(T, w))


# -- the pretended device itself --------------------------------------------------------------------------------------

MIXES = {
    "add": lambda there, here: there + here,
    "matmul": lambda there, here: there @ here,
    "join": lambda there, here: torch.cat([there, here]),
    "a GPU number": lambda there, here: here * there.sum(),
    "module": lambda there, here: torch.nn.Linear(3, 3)(there),
    "gather": lambda there, here: there.gather(0, here.long()),
    "write": lambda there, here: there.__setitem__(there > 0, here),
    "draw": lambda there, here: torch.randn(3, device="cuda", generator=torch.Generator()),
    "backward": lambda there, here: there.requires_grad_().backward(here),
}


@pytest.mark.parametrize("name", MIXES)
def test_the_pretended_device_refuses_to_mix(name):
    with pretend_cuda(), pytest.raises(RuntimeError, match="device"):
        MIXES[name](torch.randn(3, 3, device="cuda"), torch.randn(3, 3))


def test_the_pretended_device_allows_what_cuda_allows():
    with pretend_cuda():
        x = torch.randn(3, 3, device="cuda")
        for y in (
            x * torch.tensor(2.0),
            x[torch.tensor([0, 1])],
            torch.zeros_like(x),
            x.new_ones(2),
            torch.randn(2).to(x),
            torch.nn.Linear(3, 3).to("cuda")(x),
        ):
            assert y.device.type == "cuda"
        assert x.cpu().device.type == "cpu" and (x.cpu() + torch.ones(3)).device.type == "cpu"
        with pytest.raises(TypeError, match="cpu"):
            x.numpy()
        start, end = Event(), Event()
        start.record(), end.record()
        with pytest.raises(RuntimeError, match="synchron"):
            start.elapsed_time(end)
        torch.cuda.synchronize()
        assert start.elapsed_time(end) >= 0
    assert not torch.cuda.is_available() and torch.randn(2).device.type == "cpu"
