"""Finding submissions among any kind of file: each odd entry costs only its own student, and is reported in a line."""

import contextlib
import os
import resource
import socket
import stat
import sys
import unicodedata

import pytest

from autograder.grading.base import names
from autograder.grading.base.masters import gradable_units
from autograder.grading.intake import collect, opening, stamps
from autograder.grading.intake.opening import BadSubmission, Folder, read_below

from .cheats.base import ATTENTION, START

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the folders of this test need POSIX")

BOOK = b'{"cells": []}'
GBK = b"\xc0\xee\xc4\xc8"  # a name as an archive from a Chinese Windows contains it


def put(root, *parts, data=BOOK):
    """Writes root/…/unit/unit.ipynb for parts (student, unit); returns the unit's folder as bytes."""
    folder = os.path.join(os.fsencode(root), *(os.fsencode(p) for p in parts))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, os.fsencode(parts[-1]) + b".ipynb"), "wb") as file:
        file.write(data)
    return folder


def lines(root, units=None):
    """{(student, unit): slug, or None if it can be graded}; checks that all sentences are readable."""
    found = collect.find(root, units)
    for s in found:
        for slug, sentence in [*([s.problem] if s.problem else []), *s.notes]:
            assert slug.startswith("submission.") and sentence.endswith(".") and len(sentence) < 600
            assert sentence.isprintable(), sentence
            sentence.encode()
        assert s.student.isprintable() and s.unit.isprintable() and len(s.student.encode()) < 600
        assert bool(s.problem) or len(s.digest) == 64
    return {(s.student, s.unit): s.problem[0] if s.problem else None for s in found}


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except OSError:
        os.symlink("/dev/zero", path)


def listen(path):
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
        server.bind(path.name)


# Entries instead of the notebook → the slug that each gets.
INSTEAD = {
    "pipe": (os.mkfifo, "not_a_file"),
    "socket": (listen, "not_a_file"),
    "device": (device, "not_a_file"),
    "link to nothing": (lambda p: p.symlink_to("nowhere"), "not_a_file"),
    "link to itself": (lambda p: p.symlink_to(p), "not_a_file"),
    "link to an endless device": (lambda p: p.symlink_to("/dev/zero"), "not_a_file"),
    "link to a folder": (lambda p: p.symlink_to("/"), "not_a_file"),
    "link to another's": (lambda p: p.symlink_to(p.parent.parent.parent / "ada" / START / p.name), "not_a_file"),
    "folder": (lambda p: p.mkdir(), "is_a_folder"),
    "sparse giant": (lambda p: (p.touch(), os.truncate(p, 50 << 30)), "too_large"),
    "empty file": (lambda p: p.touch(), None),  # rebuild reports what is wrong with it
    "nothing": (lambda p: None, "missing"),
    "another notebook": (lambda p: p.with_name("notes.ipynb").write_bytes(BOOK), "missing"),
    "archive": (lambda p: p.with_suffix(".zip").write_bytes(b"PK"), "missing"),
}
# Entries instead of the unit's folder.
FOLDERS = {
    "linked unit": (lambda p: p.symlink_to(p.parent.parent / "ada" / START), "not_a_file"),
    "unit linked to itself": (lambda p: p.symlink_to(p), "not_a_file"),
    "unit linked to the system": (lambda p: p.symlink_to("/dev"), "not_a_file"),
    "unit that is a pipe": (os.mkfifo, "not_a_file"),
    "unit that is a socket": (listen, "not_a_file"),
    "unit that is a file": (lambda p: p.touch(), "layout"),
}


@pytest.fixture
def odd(tmp_path):
    """A folder with one honest student and one student for each odd entry."""
    root = tmp_path / "submitted"
    put(root, "ada", START)
    for name, (make, _) in INSTEAD.items():
        (root / name / START).mkdir(parents=True)
        make(root / name / START / f"{START}.ipynb")
    for name, (make, _) in FOLDERS.items():
        (root / name).mkdir()
        make(root / name / START)
    return root


def cpu():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def descriptors():
    return len(os.listdir("/dev/fd"))


def test_each_odd_entry_has_its_reason_and_the_others_are_found(odd):
    gradable_units()
    before, began = descriptors(), cpu()
    found = lines(odd)
    assert cpu() - began < 2 and descriptors() == before
    assert found.pop(("ada", START)) is None
    want = {(n, START): slug and f"submission.{slug}" for n, (_, slug) in {**INSTEAD, **FOLDERS}.items()}
    assert found == want


def test_a_missing_notebook_names_what_is_there_instead(odd):
    said = {s.student: s.problem[1] for s in collect.find(odd) if s.problem}
    assert "There is notes.ipynb; rename the right one." in said["another notebook"]
    assert said["nothing"].endswith("The folder is empty.")
    assert f"There is {START}.zip; unpack it." in said["archive"]
    assert "a pipe" in said["pipe"] and "a link" in said["linked unit"] and "device" in said["device"] + "device"


NAMES = {
    b"Jos\xc3\xa9": "José",
    "José".encode(): "José",
    unicodedata.normalize("NFD", "Zoë").encode(): "Zoë",
    "王小明".encode(): "王小明",
    b"O'Brien, Mary-Ann (2)": "O'Brien, Mary-Ann (2)",
    b"-rf": "-rf",
    b"=cmd|x": "=cmd|x",
    b"%s{0}$HOME`": "%s{0}$HOME`",
    b"a" * 100: "a" * 100,
}
NO_NAMES = {
    GBK: r"\xc0\xee\xc4\xc8",
    b"\x1b[31mred": r"\x1b[31mred",
    "a\u202eb".encode(): r"a\u202eb",
    "a\u200bb".encode(): r"a\u200bb",
    "a\u3164".encode(): r"a\u3164",
    "\U000e0041".encode(): r"\U000e0041",
    b"line\nbreak": r"line\x0abreak",
    b"back\\slash": "back\\slash",
    b"<img src=x>": "<img src=x>",
    b'a"b': 'a"b',
    b" blank": " blank",
    b"blank ": "blank ",
    b"\xed\xa0\x80": r"\xed\xa0\x80",
    b"a" * 101: "a" * 100,
    "é".encode() * 120: "é" * 99 + "…",
}


def _can(tmp_path, name):
    try:
        os.makedirs(os.path.join(os.fsencode(tmp_path), name))
    except OSError:  # macOS only accepts UTF-8
        pytest.skip("this file system has no such names")


@pytest.mark.parametrize("name, student", NAMES.items(), ids=[ascii(n)[:20] for n in NAMES])
def test_names_that_people_have(name, student, tmp_path):
    _can(tmp_path, name)
    put(tmp_path, name, START)
    assert lines(tmp_path) == {(student, START): None}
    only = collect.find(tmp_path)[0]
    assert read_below(only.root, only.parts) == BOOK, "the notebook still opens by the name that it has on the disk"


@pytest.mark.parametrize("name, seen", NO_NAMES.items(), ids=[ascii(n)[:20] for n in NO_NAMES])
def test_names_that_nobody_has_are_shown_and_cost_themselves(name, seen, tmp_path):
    _can(tmp_path, name)
    put(tmp_path, name, START)
    put(tmp_path, "ada", START)
    found = lines(tmp_path)
    assert found.pop(("ada", START)) is None
    ((student, unit),) = found
    assert student.rstrip("…") == seen.rstrip("…")[:99] or student == seen
    assert unit == "" and found == {(student, ""): "submission.name"}


def test_one_name_in_two_spellings_is_nobodys_and_capitals_are_two_people(tmp_path):
    composed, apart = "José", unicodedata.normalize("NFD", "José")
    put(tmp_path, composed, START)
    put(tmp_path, apart, START)
    put(tmp_path, apart, ATTENTION)
    put(tmp_path, "Ada", START)
    put(tmp_path, "ada", START)
    if len(os.listdir(tmp_path)) < 4:
        pytest.skip("this file system takes them for the same")
    found = lines(tmp_path)
    assert found == {
        (composed, START): "submission.twice",
        (composed, ATTENTION): None,
        ("Ada", START): None,
        ("ada", START): None,
    }
    notes = {s.student: [n for n, _ in s.notes] for s in collect.find(tmp_path)}
    assert notes["ada"] == notes["Ada"] == ["submission.same_letters"]


def test_what_systems_leave_behind_has_no_line_and_what_is_misplaced_has_one(tmp_path):
    put(tmp_path, "ada", START)
    for junk in ("__MACOSX", ".ipynb_checkpoints", ".Trash"):
        (tmp_path / junk).mkdir()
        (tmp_path / "ada" / junk).mkdir()
    for junk in (".DS_Store", "Thumbs.db", "desktop.ini", "._ada", "roster.csv"):
        (tmp_path / junk).touch()
        (tmp_path / "ada" / junk).touch()
    assert lines(tmp_path) == {("ada", START): None}
    (tmp_path / "nobody").mkdir()
    (tmp_path / "only-junk" / "__MACOSX").mkdir(parents=True)
    (tmp_path / "bob.zip").write_bytes(b"PK")
    (tmp_path / f"{START}.ipynb").write_bytes(BOOK)
    (tmp_path / "linked").symlink_to(tmp_path / "ada")
    os.mkfifo(tmp_path / "waiting")
    (tmp_path / "carl").mkdir()
    (tmp_path / "carl" / f"{START}.ipynb").write_bytes(BOOK)
    (tmp_path / "dora" / "00-Start-Here").mkdir(parents=True)
    assert lines(tmp_path) == {
        ("ada", START): None,
        ("nobody", ""): "submission.empty",
        ("only-junk", ""): "submission.empty",
        ("bob.zip", ""): "submission.layout",
        (f"{START}.ipynb", ""): "submission.layout",
        ("linked", ""): "submission.layout",
        ("waiting", ""): "submission.layout",
        ("carl", START): "submission.layout",
        ("dora", "00-Start-Here"): "submission.unknown_unit",
    }


def test_no_run_forgets_what_is_in_the_wrong_place(tmp_path):
    put(tmp_path, "ada", START)
    put(tmp_path, "bob", "99-nothing")
    put(tmp_path, "carl", ATTENTION)
    assert lines(tmp_path, [START]) == {("ada", START): None, ("bob", "99-nothing"): "submission.unknown_unit"}


def test_thousands_of_files_cost_little_and_a_few_lines(tmp_path):
    crowded = tmp_path / "crowded"
    put(tmp_path, "crowded", START)
    for i in range(10_000):
        (crowded / START / f"{i}.ipynb").touch()
    put(tmp_path, "scattered", START)
    for i in range(2_500):
        (tmp_path / "scattered" / f"{i}").mkdir()
    for i in range(50):
        (tmp_path / "untidy" / f"{i}").mkdir(parents=True)
    gradable_units()
    began = cpu()
    found = collect.find(tmp_path)
    assert cpu() - began < 2
    good = [(s.student, s.unit) for s in found if not s.problem]
    assert good == [("crowded", START), ("scattered", START)]
    assert len([s for s in found if s.student == "untidy"]) == collect.MAX_LINES + 1
    assert "40 more entries" in " ".join(s.problem[1] for s in found if s.problem)


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="nothing is forbidden to root")
def test_what_may_not_be_read_is_said(tmp_path):
    put(tmp_path, "file", START)
    os.chmod(tmp_path / "file" / START / f"{START}.ipynb", 0)
    put(tmp_path, "unit", START)
    os.chmod(tmp_path / "unit" / START, 0)
    put(tmp_path, "student", START)
    os.chmod(tmp_path / "student", 0)
    assert lines(tmp_path) == {
        ("file", START): "submission.unreadable",
        ("unit", START): "submission.unreadable",
        ("student", ""): "submission.layout",
    }


STAMPS = {
    "nbgrader's": (b"2030-01-01 12:00:00.000000 UTC\n", True),
    "with a zone": (b"2015-02-02 15:58:23.948203 America/Los_Angeles", True),
    "iso": (b"2030-01-01T12:00:00+01:00", True),
    "with a mark": (b"\xef\xbb\xbf2030-01-01 12:00:00 UTC", True),
    "words": (b"yesterday evening", False),
    "a day of some month": (b"12", False),
    "an hour": (b"12:00", False),
    "empty": (b"", False),
    "a file as zone": (b"2030-01-01 12:00:00 /etc/passwd", False),
    "a way out as zone": (b"2030-01-01 12:00:00 ../../../etc/passwd", False),
    "huge zone": (b"2030-01-01 12:00:00 " + b"9" * 100, False),
    "before all time": (b"0001-01-01 00:00:00 +0100", False),
    "long": (b"2030-01-01 12:00:00 UTC" + b" " * 10_000, False),
    "bytes": (b"\xff\xfe2\x000\x003\x000\x00", False),
    "escape": (b"\x1b[2J", False),
}


@pytest.mark.parametrize("text, good", STAMPS.values(), ids=STAMPS)
def test_a_time_of_submission_is_a_date_or_a_note(text, good, tmp_path):
    folder = put(tmp_path, "ada", START)
    with open(os.path.join(folder, b"timestamp.txt"), "wb") as file:
        file.write(text)
    (found,) = collect.find(tmp_path)
    assert (found.timestamp is not None) == good and found.problem is None
    assert [slug for slug, _ in found.notes] == ([] if good else ["submission.timestamp"])
    assert good == (bool(found.timestamp) and stamps.parse_stamp(found.timestamp) is not None)
    lines(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, listen, lambda p: p.symlink_to("/dev/zero"), lambda p: p.mkdir()])
def test_a_time_of_submission_is_never_waited_for_nor_followed(make, tmp_path):
    put(tmp_path, "ada", START)
    make(tmp_path / "ada" / START / "timestamp.txt")
    began = cpu()
    (found,) = collect.find(tmp_path)
    assert cpu() - began < 2
    assert found.problem is None and found.timestamp is None
    assert "The time of submission is not known" in found.notes[0][1]


def test_the_instructors_own_folder_may_be_a_link(tmp_path):
    put(tmp_path / "real", "ada", START)
    (tmp_path / "submitted").symlink_to(tmp_path / "real")
    (found,) = collect.find(tmp_path / "submitted")
    assert found.problem is None and read_below(found.root, found.parts) == BOOK
    with pytest.raises(FileNotFoundError):
        collect.find(tmp_path / "nowhere")
    with pytest.raises(NotADirectoryError):
        collect.find(tmp_path / "real" / "ada" / START / f"{START}.ipynb")


@pytest.mark.parametrize("level", range(3))
def test_what_is_swapped_for_a_link_after_it_was_found_is_not_read(level, tmp_path):
    root = tmp_path / "submitted"
    put(root, "ada", START, data=b"of ada")
    put(root, "eve", START)
    found = next(s for s in collect.find(root) if s.student == "eve")
    mine, hers = [root.joinpath(*(who, START, f"{START}.ipynb")[: level + 1]) for who in ("eve", "ada")]
    mine.rename(tmp_path / "old")
    mine.symlink_to(hers)
    before = descriptors()
    with pytest.raises(BadSubmission):
        read_below(found.root, found.parts)
    assert descriptors() == before


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)
    real = os.fstat

    def then_grown(fd):
        about = real(fd)
        with open(path, "ab") as file:
            file.write(b"x" * 100)
        return about

    monkeypatch.setattr(opening.os, "fstat", then_grown)
    before = descriptors()
    with Folder(tmp_path) as folder, pytest.raises(BadSubmission, match="more than") as caught:
        folder.read("a", 20)
    assert caught.value.name == "submission.too_large" and descriptors() == before


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "/etc/passwd", "a/b", "nul\0"])
def test_a_name_never_leads_out_of_its_folder(name, tmp_path):
    with Folder(tmp_path) as folder:
        for take in (folder.read, folder.folder):
            with pytest.raises(BadSubmission):
                take(name)


def test_hard_links_and_large_notebooks_are_read(tmp_path):
    put(tmp_path, "ada", START, data=b"x" * (3 << 20))
    (tmp_path / "bob" / START).mkdir(parents=True)
    os.link(tmp_path / "ada" / START / f"{START}.ipynb", tmp_path / "bob" / START / f"{START}.ipynb")
    assert lines(tmp_path) == {("ada", START): None, ("bob", START): None}


def test_shown_text_never_hides_anything():
    for code in (
        *range(0x20),
        0x7F,
        0x9B,
        0xAD,
        0x200B,
        0x202E,
        0x2066,
        0x2800,
        0x3164,
        0xD800,
        0xDCFF,
        0xFEFF,
        0xE0041,
    ):
        assert chr(code) not in names.shown(f"a{chr(code)}b") and len(names.shown(f"a{chr(code)}b")) >= 6
    assert names.shown("José 王 🦜 O'Brien") == "José 王 🦜 O'Brien"
    assert len(names.shown("\x1b" * 1_000_000)) <= names.MAX_SHOWN
