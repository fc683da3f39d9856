"""Five chapters of Moby-Dick: their source, and their cleaning."""

import hashlib
import io
import json
import tarfile

import pytest
from anatomy.language import corpus
from anatomy.program.records import MissingRecording

from autograder import ROOT
from autograder.build import package
from autograder.recording.language_model import melville as cleaning

FOLDER = ROOT / "assets" / "text" / "melville"
MANIFEST = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))


def test_five_chapters_in_the_order_of_the_book():
    chapters = corpus.melville()
    assert list(chapters) == ["Loomings", "Ahab", "The Quarter-Deck", "Stubb Kills a Whale", "The Symphony"]
    assert chapters["Loomings"].startswith("Call me Ishmael. Some years ago--never mind how long precisely--having")
    assert sum(map(len, chapters.values())) <= 60_000


@pytest.mark.parametrize("chapter", MANIFEST["chapters"], ids=lambda c: c["file"])
def test_a_file_is_the_one_that_was_written(chapter):
    data = (FOLDER / chapter["file"]).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (chapter["bytes"], chapter["sha256"])
    assert data.isascii() and not set("_*\r\t").intersection(data.decode())
    assert all(line == line.strip() and "  " not in line for line in data.decode().split("\n"))


def test_the_manifest_is_the_one_that_the_script_writes():
    texts = {c["chapter"]: (c["title"], (FOLDER / c["file"]).read_text()) for c in MANIFEST["chapters"]}
    assert cleaning.manifest(texts) == MANIFEST
    files = {c["file"] for c in MANIFEST["chapters"]}
    assert {p.name for p in FOLDER.iterdir()} == files | {"manifest.json", "README.md"}
    assert files | {"manifest.json", "README.md"} <= {
        name.rpartition("/")[2] for name in package.listed() if "/melville/" in name
    }, "learners get them"


def test_missing_files_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(MissingRecording, match="is missing, which holds the chapters. `git checkout assets`"):
        corpus.melville()


def test_a_chapters_own_words_are_kept_and_nothing_else():
    page = 'He ran—quickly—on.*\n\n"*A  footnote,\nof two lines."\n\n*Another.\n\n(Enter Ahab: Then, all)\n'
    assert cleaning.clean(page) == "He ran--quickly--on.\n\n(Enter Ahab: Then, all)\n"
    with pytest.raises(ValueError, match="not ASCII: .*é"):
        cleaning.clean("café")


def packed(path):
    """A package made from the committed texts, since the original is not in the repository."""
    with tarfile.open(path, "w:gz") as archive:
        for chapter in MANIFEST["chapters"]:
            text = (FOLDER / chapter["file"]).read_text().replace("--", "—")
            data = json.dumps({"title": chapter["title"] + ".", "text": text}).encode()
            info = tarfile.TarInfo(f"package/data/chapter_{chapter['chapter']}.json")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def test_cleaning_writes_what_is_committed(tmp_path, monkeypatch):
    file = packed(tmp_path / "moby.tgz")
    monkeypatch.setitem(cleaning.SOURCE, "sha256", cleaning.SHA256)
    monkeypatch.setattr(cleaning, "SHA256", hashlib.sha256(file.read_bytes()).hexdigest())
    cleaning.main([str(file), "--out", str(tmp_path / "out")])
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (FOLDER / path.name).read_bytes(), path.name


def test_another_file_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        cleaning.main([str(packed(tmp_path / "moby.tgz")), "--out", str(tmp_path / "out")])
    assert "another file than the one that was cleaned" in capsys.readouterr().err and not (tmp_path / "out").exists()
