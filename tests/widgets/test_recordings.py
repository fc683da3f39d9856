"""The recordings are reproducible, and equal to those in the repository."""

import json

import numpy as np


def test_recording_is_reproducible_and_equal_to_the_committed_one(tmp_path):
    from anatomy.program.records import assets_dir
    from safetensors.numpy import load_file

    from autograder.recording.widgets import record

    first = record(tmp_path / "a")
    assert record(tmp_path / "b") == first
    committed = assets_dir() / "recordings" / "widgets"
    manifest = json.loads((committed / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == first["seed"] and manifest["files"].keys() == first["files"].keys()
    for name in first["files"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        fresh, kept = load_file(tmp_path / "a" / name), load_file(committed / name)
        assert fresh.keys() == kept.keys()
        for key, value in fresh.items():
            # Rounded from float64, so two machines may differ at most in the last bit of float32.
            assert np.allclose(value, kept[key], rtol=2e-7, atol=2e-7, equal_nan=True), (name, key)
