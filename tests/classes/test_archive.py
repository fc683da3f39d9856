"""Hostile and damaged downloads affect only their own files, write nothing elsewhere, and need few resources."""

import io
import stat
import struct
import time
import zipfile

import pytest

from autograder.classes import archive
from autograder.grading.book.course import load_course
from autograder.grading.intake.opening import MAX_BYTES, BadSubmission
from tests.grading import classroom

from .downloads import START, became, book, submitted, take, zipped

ADA = f"ada/{START}/{START}.ipynb"


@pytest.fixture
def course(tmp_path):
    return load_course(classroom.course(tmp_path / "course"))


def entries(path):
    with archive.opened(path) as found:
        return {e.path: e for e in found}


def info(name, mode=0, **more):
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    made.compress_type = zipfile.ZIP_DEFLATED
    for key, value in more.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize(
    "bad, says",
    [
        (info(f"../../grace/{START}/{START}.ipynb"), "leads out"),
        (info(f"/grace/{START}/{START}.ipynb"), "leads out"),
        (info(f"C:\\grace\\{START}\\{START}.ipynb"), "leads out"),
        (info(f"grace/{START}/{START}.ipynb", stat.S_IFLNK | 0o777), "is a link"),
        (info(f"grace/{START}/{START}.ipynb", stat.S_IFIFO | 0o666), "not a regular file"),
        (info("/".join("abcdefghijk") + f"/{START}.ipynb"), "more than 8 folders"),
        (info(f"grace/{START}/{START}.ipynb", compress_type=zipfile.ZIP_LZMA), "way that is not read"),
    ],
)
def test_one_bad_entry_is_said_and_the_others_are_taken(bad, says, course, tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", [(ADA, book()), (bad, book(mark="bad"))])
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    lines = take(course, path, monkeypatch)
    assert lines["ada", START].what == "taken" and submitted(course) == {ADA: book()}
    assert [line for line in lines.values() if line.what == "not taken" and says in line.says], lines
    new = {p for p in tmp_path.rglob("*") if p.is_file()} - before
    assert new == {course.root / "submitted" / ADA}


def test_of_two_files_with_one_name_the_second_is_said(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "a.zip", [(ADA, b"1"), (info(ADA), b"2")])
    with archive.opened(path) as (first, second):
        assert first.read() == b"1" and second.problem == "stands in the archive more than once"


def patched(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def test_a_damaged_entry_costs_itself_alone(course, tmp_path, monkeypatch):
    grace = f"grace/{START}/{START}.ipynb"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as target:
        target.writestr(ADA, book())
        target.writestr(grace, book(mark="what was here before"))
    path = patched(tmp_path / "a.zip", b"what was here before", b"what was here behind")
    assert became(take(course, path, monkeypatch)) == {("ada", START): "taken", ("grace", START): "not taken"}


def test_an_encrypted_entry_is_said(tmp_path):
    path = zipped(tmp_path / "a.zip", [(info(ADA), b"x")])
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    path.write_bytes(bytes(data))
    assert entries(path)[ADA].problem == "is encrypted"


def test_bombs_are_not_unpacked(course, tmp_path, monkeypatch):
    began = time.monotonic()
    path = zipped(tmp_path / "a.zip", [(ADA, bytes(60 << 20)), (f"grace/{START}/{START}.ipynb", book())])
    lines = take(course, path, monkeypatch)
    assert "200 times" in lines["ada", START].says and lines["grace", START].what == "taken"
    large = info(ADA)
    path = zipped(tmp_path / "b.zip", [(large, b"x" * 1000)])
    patched(path, struct.pack("<L", 1000), struct.pack("<L", MAX_BYTES + 1))
    assert "MB" in entries(path)[ADA].problem
    assert time.monotonic() - began < 20


def test_an_entry_larger_than_it_says_is_cut_off(tmp_path):
    path = zipped(tmp_path / "a.zip", [(info(ADA), b"x" * 5_000_000)])
    patched(path, struct.pack("<L", 5_000_000), struct.pack("<L", 1000))
    with archive.opened(path) as found, pytest.raises(BadSubmission):
        found[0].read()


def test_files_that_overlap_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", [(info(f"s{n}/{START}/{START}.ipynb"), book()) for n in range(3)])
    size = path.stat().st_size
    with zipfile.ZipFile(path) as found:
        packed = found.infolist()[0].compress_size
    patched(path, struct.pack("<L", packed), struct.pack("<L", size // 2))
    with pytest.raises(archive.BadArchive, match="overlap"):
        entries(path)


def test_a_list_of_contents_that_is_too_long_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_LIST", 5_000)
    path = zipped(tmp_path / "a.zip", [(info(f"{n:0200}.ipynb"), b"") for n in range(100)])
    with pytest.raises(archive.BadArchive, match="list of contents is too long"):
        entries(path)


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILES", 10)
    files = {f"s{n}/x.ipynb": b"" for n in range(11)}
    for name in files:
        (tmp_path / "folder" / name).parent.mkdir(parents=True)
        (tmp_path / "folder" / name).write_bytes(b"")
    for path in (zipped(tmp_path / "a.zip", files), tmp_path / "folder"):
        with pytest.raises(archive.BadArchive, match="more than 10 files"):
            entries(path)


def test_links_in_a_folder_are_not_followed(course, tmp_path, monkeypatch):
    secret = tmp_path / "secret.ipynb"
    secret.write_bytes(book())
    folder = tmp_path / "folder" / "ada" / START
    folder.mkdir(parents=True)
    (folder / f"{START}.ipynb").symlink_to(secret)
    (tmp_path / "folder" / "grace").symlink_to(tmp_path)
    (tmp_path / "folder" / "zoe" / START).mkdir(parents=True)
    (tmp_path / "folder" / "zoe" / START / f"{START}.ipynb").write_bytes(book())
    lines = take(course, tmp_path / "folder", monkeypatch)
    assert lines["zoe", START].what == "taken" and "link" in lines["ada", START].says
    assert list(submitted(course)) == [f"zoe/{START}/{START}.ipynb"]


def test_nothing_is_written_through_a_link_that_is_there(course, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (course.root / "submitted").mkdir()
    (course.root / "submitted" / "ada").symlink_to(elsewhere)
    lines = take(course, zipped(tmp_path / "a.zip", {ADA: book()}), monkeypatch)
    assert lines["ada", START].what == "not taken" and not list(elsewhere.iterdir())


def test_archives_in_archives(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as target:
        target.writestr("deep/x.ipynb", b"1")
        target.writestr("__MACOSX/deep/._x.ipynb", b"2")
        target.writestr("again.zip", b"PK")
        target.writestr("../y.ipynb", b"3")
    outer = zipped(tmp_path / "a.zip", {"ada/all.zip": inner.getvalue(), "ada/all.rar": b"x", "ada/bad.zip": b"PK\5\6"})
    with archive.opened(outer) as found:
        by_name = {e.name: e for e in found}
        inside = archive.unpacked(by_name["all.zip"])
        assert [(e.path, e.problem) for e in inside] == [
            ("ada/all.zip/deep/x.ipynb", ""),
            ("ada/all.zip/again.zip", ""),  # named, but not opened
            ("ada/all.zip/../y.ipynb", "has a name that leads out of the archive"),
        ]
        assert inside[0].read() == b"1"
        for name, says in (("all.rar", "another kind than zip"), ("bad.zip", "no zip that can be read")):
            with pytest.raises(BadSubmission, match=says):
                archive.unpacked(by_name[name])


def test_names_are_read_as_they_were_meant(tmp_path):
    path = zipped(tmp_path / "a.zip", {f"zoe/{START}/XXX.ipynb": b"", "Windows\\sub\\y.ipynb": b""})
    patched(path, b"XXX", "ö!".encode())  # macOS: UTF-8 without the flag for it
    assert set(entries(path)) == {f"zoe/{START}/ö!.ipynb", "Windows/sub/y.ipynb"}


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_zip_is_refused_in_one_sentence(data, tmp_path):
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(archive.BadArchive, match="no zip that can be read"):
        entries(tmp_path / "a.zip")
