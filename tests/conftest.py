"""Shared fixtures. Every test keeps its progress, predictions and Jupyter files in a folder of its own."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No test sees the developer's own progress, nor leaves any."""
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "anatomy-home"))
