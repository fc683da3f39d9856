"""Carrying a learner's work over into a new release: nothing lost, nothing doubled, everything in its place."""

import copy
import json

import pytest
from anatomy.app import carry_over
from anatomy.app.build_stamp import NotANotebook, digest, is_as_built, mark, parse, plain, sign, text_of, to_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.build import __main__ as build
from autograder.notebooks.source import to_json

from .toy import UNIT, answer, book, cell, check, demo, edit, exercise, sources, text, written

OLD = book(text("intro"), *exercise(1), demo("a"), *exercise(2), text("end"))


def test_answers_go_into_the_new_text_and_the_new_checks():
    work = copy.deepcopy(OLD)
    edit(work, "solve-x-1", "def f1():\n    return 1")
    new = book(text("intro2"), *exercise(1, "Write it again."), *exercise(3), *exercise(2), text("end"))
    made, report = carry_over.merge(work, new)
    assert [c["id"] for c in made["cells"]] == [c["id"] for c in new["cells"]]
    assert [s for s, n in zip(sources(made), sources(new), strict=True) if s != n] == ["def f1():\n    return 1"]
    assert made["metadata"]["anatomy"] == new["metadata"]["anatomy"]
    assert report == carry_over.Carried(answers=1)


def test_a_written_answer_goes_into_the_new_release_like_code_and_its_pictures_with_it():
    old, new = book(text("intro"), written()), book(text("new"), written("Write here, at length."), *exercise(1))
    work = copy.deepcopy(old)
    picture = {"a.png": {"image/png": "AA=="}}
    edit(work, "written-x", "Because.\n\n![](attachment:a.png)")
    work["cells"][-1]["attachments"] = picture
    made, report = carry_over.merge(work, new)
    assert sources(made)[1] == "Because.\n\n![](attachment:a.png)" and report == carry_over.Carried(answers=1)
    assert made["cells"][1]["attachments"] == picture and made["cells"][1]["cell_type"] == "markdown"
    untouched, report = carry_over.merge(old, new)
    assert sources(untouched)[1] == "Write here, at length." and report == carry_over.Carried()
    again, report = carry_over.merge(made, new)
    assert plain(again) == plain(made) and report == carry_over.Carried(answers=1)


def test_a_written_answer_is_never_lost_with_its_question_its_marks_or_its_release():
    old = book(text("intro"), written())
    for change in (
        lambda c: c["metadata"].clear(),
        lambda c: c.pop("id"),
        lambda c: c.update(cell_type="raw"),
        lambda c: c["metadata"]["nbgrader"].pop("checksum"),
    ):
        work = copy.deepcopy(old)
        edit(work, "written-x", "Because.")
        change(work["cells"][1])
        made, _ = carry_over.merge(work, book(text("new"), written("Write anew."), *exercise(1)))
        assert sources(made)[1] == "Because.", "in its place"
    edit(old, "written-x", "Because.")
    made, report = carry_over.merge(old, book(text("new")))
    assert sources(made)[-1] == "Because." and made["cells"][-1]["cell_type"] == "raw" and report.kept == 1


def test_a_question_that_is_new_in_a_release_comes_with_it_and_an_unsigned_stub_is_known():
    work = book(text("intro"), *exercise(1))
    made, report = carry_over.merge(work, book(text("intro"), *exercise(1), written()))
    assert sources(made)[-1] == "Write here." and report == carry_over.Carried()
    unsigned = book(written())
    del unsigned["metadata"]["anatomy"]
    made, report = carry_over.merge(unsigned, book(written("Write anew.")))
    assert sources(made) == ["Write anew."] and report == carry_over.Carried()


def test_own_cells_stay_behind_their_neighbor_or_the_nearest_one_left():
    work = copy.deepcopy(OLD)
    mine = [cell(f"mine-{n}", f"mine {n}", tags=["t"], own={"x": 1}) for n in range(4)]
    at = {c["id"]: i for i, c in enumerate(work["cells"])}
    work["cells"][at["c-a"] + 1 : at["c-a"] + 1] = mine[2:]
    work["cells"].insert(at["solve-x-1"] + 1, mine[1])
    work["cells"].insert(0, mine[0])
    made, report = carry_over.merge(work, book(text("intro"), *exercise(1), *exercise(2)))
    assert sources(made) == [
        "mine 0",
        "text intro",
        "Write it.",
        text_of(answer(1)),
        "mine 1",
        text_of(check(1)),
        "mine 2",
        "mine 3",
        "Write it.",
        text_of(answer(2)),
        text_of(check(2)),
    ]
    assert report == carry_over.Carried(cells=4)
    assert [c for c in made["cells"] if c["id"].startswith("mine")] == mine, "tags and metadata stay"


def test_changes_to_released_cells_stay_in_place_where_the_release_is_the_same():
    work = copy.deepcopy(OLD)
    edit(work, "c-a", "demo('mine')")
    made, report = carry_over.merge(work, book(text("new"), *exercise(1), demo("a"), *exercise(2)))
    assert sources(made)[4] == "demo('mine')" and report == carry_over.Carried(cells=1)


def test_what_has_no_place_goes_to_the_end_as_raw_cells_and_stays_there():
    work = copy.deepcopy(OLD)
    edit(work, "solve-x-1", "def f1():\n    return 1")
    edit(work, "c-a", "demo('mine')")
    edit(work, "say-x-2", "my notes")
    edit(work, "check-x-2", "True")
    next(c for c in work["cells"] if c["id"] == "c-end")["attachments"] = {"a.png": {"image/png": "AA=="}}
    edit(work, "c-end", "![](attachment:a.png)")
    new = book(text("intro"), *exercise(2, "Write it anew."), text("end2"))
    made, report = carry_over.merge(work, new)
    n = len(new["cells"])
    assert plain(made)["cells"][:n] == plain(new)["cells"] and made["cells"][n]["source"] == carry_over.HEADING
    kept = made["cells"][n + 1 :]
    assert {c["cell_type"] for c in kept} == {"raw"} and report == carry_over.Carried(kept=5)
    assert [text_of(c) for c in kept] == [
        "def f1():\n    return 1",
        "demo('mine')",
        "my notes",
        "True",
        "![](attachment:a.png)",
    ]
    assert kept[-1]["attachments"] == {"a.png": {"image/png": "AA=="}}
    kept[1]["cell_type"] = "code"  # JupyterLab's key Y
    made["cells"].append(cell("below", "written below"))
    edit(made, "solve-x-2", "def f2():\n    return 2")
    newest = book(text("intro"), text("end2"), text("more"))
    again, report = carry_over.merge(made, newest)
    assert sources(again) == [
        "text intro",
        "text end2",
        "text more",
        carry_over.HEADING,
        *map(text_of, kept),
        "written below",
        "def f2():\n    return 2",
    ]
    assert report == carry_over.Carried(kept=1)


def test_of_an_answer_that_is_there_twice_the_first_counts_and_the_second_follows():
    work = copy.deepcopy(OLD)
    edit(work, "solve-x-1", "first")
    work["cells"].append(answer(1, "second") | {"id": "pasted"})
    work["cells"].append(answer(1, "third") | {"id": "solve-x-1"})
    made, report = carry_over.merge(work, book(*exercise(1, "New."), *exercise(2)))
    assert sources(made)[1:4] == ["first", "second", "third"] and len({c["id"] for c in made["cells"]}) == 8
    assert report == carry_over.Carried(answers=1, cells=2)


def test_outputs_stay_where_the_source_did_but_not_a_checks():
    work, out = copy.deepcopy(OLD), [{"output_type": "stream", "name": "stdout", "text": "ran"}]
    edit(work, "solve-x-1", "mine")
    for c in work["cells"]:
        if c["cell_type"] == "code":
            c |= {"outputs": out, "execution_count": 7}
    edit(work, "solve-x-2", text_of(answer(2)))
    made, _ = carry_over.merge(work, book(*exercise(1), demo("a"), demo("b"), *exercise(2, "new")))
    ran = [c["id"] for c in made["cells"] if c.get("outputs")]
    assert ran == ["solve-x-1", "c-a", "solve-x-2"]


def test_a_notebook_from_before_the_fingerprints_keeps_its_answers_and_gets_new_stubs():
    """In a release without fingerprints, ids and nbgrader's checksums tell which cells are unchanged."""
    unit = "01-attention"
    new = parse(next(b for p, b in build.outputs(unit).items() if "course" in p.parts))
    work = copy.deepcopy(new)
    del work["metadata"]["anatomy"]
    stubs = [c for c in work["cells"] if c["id"].startswith("solve-")]
    stubs[0]["source"] = "answered = 1"
    text_of_first = text_of(work["cells"][0])
    changed = copy.deepcopy(new)
    for c in changed["cells"]:
        if c["id"] == stubs[1]["id"]:
            c["source"] = "def renewed(): ..."
        if c["id"] == work["cells"][0]["id"]:
            c |= {"source": "# New", "id": "c-000000000000"}
    made, report = carry_over.merge(work, sign(changed, unit))
    assert report == carry_over.Carried(answers=1) and "def renewed(): ..." in sources(made)
    assert "answered = 1" in sources(made) and text_of_first not in sources(made)


def test_a_notebook_whose_ids_another_program_dropped_is_still_understood():
    work = copy.deepcopy(OLD)
    edit(work, "solve-x-1", "mine")
    for c in work["cells"]:
        del c["id"]
    work["nbformat_minor"] = 0
    new = book(text("intro"), *exercise(1), *exercise(2))
    made, report = carry_over.merge(work, new)
    assert [c["id"] for c in made["cells"]] == [c["id"] for c in new["cells"]] and report.answers == 1
    assert made["nbformat_minor"] == 5


@pytest.mark.parametrize(
    "data, says",
    [
        (b"", "empty"),
        (b"{", "JSON"),
        (b"[]", "format 4"),
        (b'{"cells": [], "nbformat": 3}', "format 4"),
        (b"[" * 100_000, "JSON"),
        (b'{"nbformat": 4, "cells": [1]}', "cells is damaged"),
        (b'{"nbformat": 4, "cells": [], "metadata": 1}', "metadata"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "cells is damaged"),
    ],
)
def test_what_is_no_notebook_is_one_sentence(data, says):
    with pytest.raises(NotANotebook, match=says):
        parse(data)


def test_every_change_shows_in_the_fingerprint_and_every_form_of_the_file_has_the_same():
    assert is_as_built(OLD) and is_as_built(parse(to_bytes(OLD))) and is_as_built(parse(to_json(as_node(OLD))))
    for change in (
        lambda b: b["cells"].pop(),
        lambda b: b["cells"][2]["outputs"].append({}),
        lambda b: b["cells"][2].update(execution_count=1),
        lambda b: b["cells"].reverse(),
        lambda b: b["metadata"].update(x=1),
        lambda b: edit(b, "c-a", "x"),
        lambda b: b["metadata"].pop("anatomy"),
        lambda b: b["metadata"]["anatomy"].pop("digest"),
    ):
        work = copy.deepcopy(OLD)
        change(work)
        assert not is_as_built(work)
    assert digest(OLD) == OLD["metadata"]["anatomy"]["digest"] and OLD["metadata"]["anatomy"]["unit"] == UNIT


def as_node(made):
    import nbformat

    return nbformat.from_dict(made)


def test_odd_text_survives_the_file():
    odd = book(cell("c-odd", "a\u2028b\x0c\ud800\r\nc\n", "markdown"))
    assert parse(to_bytes(odd))["cells"][0]["source"] and plain(parse(to_bytes(odd))) == plain(odd)


WORDS = st.sampled_from("abcdefgh")
RELEASE = st.lists(
    st.one_of(
        st.tuples(st.just("text"), WORDS),
        st.tuples(st.just("demo"), st.sampled_from("uvwxyz")),
        st.tuples(st.just("exercise"), st.integers(1, 5), st.sampled_from(["Write.", "Say.", "Do."])),
        st.tuples(st.just("written"), st.just(1), st.sampled_from(["Write here.", "Write below."])),
    ),
    max_size=9,
    unique_by=lambda x: x[:2],
)
SOURCE = st.text(st.characters(codec="utf-8"), max_size=12).map(lambda s: f"mine {s}")
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.integers(0, 40), SOURCE),
        st.tuples(st.just("add"), st.integers(0, 40), SOURCE, st.sampled_from(["code", "markdown", "raw"])),
        st.tuples(st.just("copy"), st.integers(0, 40), st.booleans()),
        st.tuples(st.just("delete"), st.integers(0, 40)),
        st.tuples(st.just("move"), st.integers(0, 40)),
    ),
    max_size=8,
)


def released(parts):
    makers = {"text": lambda w: [text(w)], "demo": lambda w: [demo(w)], "exercise": exercise}
    makers["written"] = lambda n, stub: [written(stub)]
    return book(*(c for kind, *rest in parts for c in makers[kind](*rest)))


def changed(made, changes):
    """A learner's notebook after the changes to cells that JupyterLab allows."""
    work = copy.deepcopy(made)
    cells = work["cells"]
    for n, (kind, at, *rest) in enumerate(changes):
        if kind == "add":
            cells.insert(at % (len(cells) + 1), cell(f"own-{n}", rest[0], rest[1]))
        elif cells:
            i = at % len(cells)
            if kind == "edit":
                cells[i]["source"] = rest[0]
            elif kind == "copy":
                cells.append(copy.deepcopy(cells[i]) | ({} if rest[0] else {"id": f"copy-{n}"}))
            elif kind == "delete":
                del cells[i]
            else:
                cells.append(cells.pop(i))
    return work


@settings(max_examples=150, deadline=None)
@given(RELEASE, CHANGES, RELEASE, CHANGES, RELEASE)
def test_two_updates_lose_nothing_whatever_was_done_to_the_notebook(first, once, second, twice, third):
    work = changed(released(first), once)
    for parts, then in ((second, twice), (third, [])):
        new = released(parts)
        made, _ = carry_over.merge(work, new)
        written = [s for s in sources(work) if s.startswith("mine ")]
        assert (
            sorted(s for s in sources(made) if s.startswith("mine ")) == sorted(written)
            or set(written) <= set(sources(made))
            and len(set(written)) < len(written)
        ), "each once"
        ids = [c["id"] for c in made["cells"]]
        assert len(set(ids)) == len(ids)
        place = [ids.index(c["id"]) for c in new["cells"]]
        assert place == sorted(place), "the release's cells, all of them, in order"
        for c in new["cells"]:
            now = made["cells"][ids.index(c["id"])]
            assert mark(now) == mark(c) or text_of(now) in written
        assert parse(to_bytes(made)) and json.loads(to_bytes(made))["metadata"]["anatomy"] == new["metadata"]["anatomy"]
        again, report = carry_over.merge(made, new)
        assert plain(again) == plain(made), "a second update changes nothing"
        assert report.kept == 0
        work = changed(made, then)
