"""Which file of a unit's folder is graded: the notebook of that unit, whatever a browser has named it."""

import os
import sys

import pytest

from autograder.grading.intake import collect
from autograder.grading.intake.opening import read_below

from .cheats.base import START
from .test_collect import BOOK, lines, put

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the folders of this test need POSIX")

MARKED = b'{"cells": [{"metadata": {"nbgrader": {"grade_id": "solve-start-weighted_average"}}}]}'
OTHERS = b'{"cells": [{"grade_id": "solve-attention-softmax", "source": "def weighted_average("}]}'
BARE = b'{"cells": [{"source": ["def weighted_average(values, weights):\\n"]}]}'
# Files in a unit's folder → the notebook that counts, or the problem; and the message or note about it.
BESIDE = {
    "a browser's copy": ({f"{START} (1).ipynb": MARKED}, f"{START} (1).ipynb", "misnamed"),
    "underscores": ({"00_start_here.ipynb": MARKED}, "00_start_here.ipynb", "misnamed"),
    "other capitals": ({"00-Start-Here.IPYNB": MARKED}, "00-Start-Here.IPYNB", "misnamed"),
    "without marks": ({"start-final.ipynb": BARE}, "start-final.ipynb", "misnamed"),
    "cut off": ({"start-final.ipynb": MARKED[:-4]}, "start-final.ipynb", "misnamed"),
    "beside other things": (
        {f"Copy of {START}.ipynb": MARKED, "notes.ipynb": BOOK, "01-attention.ipynb": OTHERS, "a.zip": b"PK"},
        f"Copy of {START}.ipynb",
        "misnamed",
    ),
    "the same twice": ({"a.ipynb": MARKED, "b.ipynb": MARKED}, "a.ipynb", "misnamed"),
    "two": ({"a.ipynb": MARKED, "b.ipynb": MARKED + b" "}, "several", "a.ipynb, b.ipynb. Leave the one that counts"),
    "many": ({f"{i}.ipynb": MARKED for i in range(9)}, "several", "9 other notebooks: 0.ipynb, 1.ipynb, 2.ipynb and 6"),
    "another unit's": ({"a.ipynb": OTHERS}, "missing", "There is a.ipynb; rename the right one."),
    "nothing in it": ({f"{START} (1).ipynb": b""}, "missing", "rename the right one."),
    "the right name and others": (
        {f"{START}.ipynb": BOOK, f"{START} (1).ipynb": MARKED, "x\x1b.ipynb": MARKED},
        f"{START}.ipynb",
        "other_notebooks",
    ),
    "the right name alone": ({f"{START}.ipynb": BOOK, "data.csv": b"", "._x.ipynb": b""}, f"{START}.ipynb", ""),
}


@pytest.mark.parametrize("files, which, said", BESIDE.values(), ids=BESIDE)
def test_a_notebook_under_another_name_counts_where_it_is_the_only_one(files, which, said, tmp_path):
    folder = tmp_path / "ada" / START
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (found,) = collect.find(tmp_path)
    lines(tmp_path)
    if which in files:
        assert found.problem is None and read_below(found.root, found.parts) == files[which]
        assert [slug for slug, _ in found.notes] == ([f"submission.{said}"] if said else [])
        assert found.parts[-1] == which
    else:
        assert found.problem[0] == f"submission.{which}" and said in found.problem[1] and found.known
        assert f"There is no file {START}.ipynb" in found.problem[1]


def test_links_under_other_names_are_not_followed(tmp_path):
    put(tmp_path, "ada", START, data=MARKED)
    (tmp_path / "eve" / START).mkdir(parents=True)
    (tmp_path / "eve" / START / "mine.ipynb").symlink_to(tmp_path / "ada" / START / f"{START}.ipynb")
    os.mkfifo(tmp_path / "eve" / START / "pipe.ipynb")
    assert lines(tmp_path)[("eve", START)] == "submission.missing"
