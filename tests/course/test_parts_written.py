"""The count of a learner's own code: passed answers in saved notebooks, and nothing else."""

import pytest
from anatomy import parts
from anatomy.system import store

from .learners_folder import cell_of, released, save

NORM = "02-normalization"
ANSWER = '''
def layer_norm(x, weight, bias, eps=1e-5):
    """Mine."""
    # a comment

    mean = x.mean(-1, keepdim=True)
    return (x - mean) / ((x - mean).square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias
'''


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_NOTEBOOKS", str(tmp_path))
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "home"))
    book = released(NORM)
    cell_of(book, "solve-norm-layer_norm")["source"] = ANSWER
    cell_of(book, "solve-norm-rms_norm")["source"] = "def rms_norm(x, weight, eps):\n    return x"
    save(tmp_path, NORM, book)


def passed(*ids):
    entry = {"tries": 1, "passed_on_try": 1, "best": 1.0, "at": 1}
    store.update("progress", lambda entries: entries.update(dict.fromkeys(ids, entry)))


def test_nothing_is_counted_before_a_check_passed(notebook):
    assert parts.written().shares == () and "exercises 0, functions" in repr(parts.written())


def test_a_passed_answer_counts_without_comments_and_blank_lines(notebook):
    passed("norm.layer_norm")
    (share,) = parts.written().shares
    assert (share.exercises, share.functions, share.lines) == (1, 1, 4)  # def, docstring, mean, return
    assert "exercises 1, functions and classes 1, lines 4" in repr(parts.written())


def test_what_was_passed_and_is_no_longer_in_the_file_is_left_out(notebook):
    passed("norm.layer_norm", "norm.backward", "attention.softmax")
    assert sum(s.exercises for s in parts.written().shares) == 1
