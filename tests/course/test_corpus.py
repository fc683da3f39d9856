"""The novels: their source, their cleaning, and the held-out part, which is never trained on."""

import hashlib
import json
import struct
import zlib

import pytest
from anatomy.language import corpus
from anatomy.program.records import MissingRecording

from autograder import ROOT
from autograder.recording.language_model import text as cleaning

FOLDER = ROOT / "assets" / "text" / "austen"
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())


def test_six_novels_in_the_order_of_their_years():
    listed = MANIFEST["novels"]
    assert [n["title"] for n in listed] == list(corpus.novels()) and len(listed) == 6
    assert [n["year"] for n in listed] == sorted(n["year"] for n in listed)
    assert corpus.novels()["Pride and Prejudice"].startswith(
        "It is a truth universally acknowledged, that a single man"
    )
    assert corpus.novels()["Emma"].endswith("in the perfect happiness of the union.\n")


@pytest.mark.parametrize("novel", MANIFEST["novels"], ids=lambda n: n["file"])
def test_a_file_is_the_one_that_was_written(novel):
    data = (FOLDER / novel["file"]).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (novel["bytes"], novel["sha256"])
    assert data.isascii() and not set("_*\r\t").intersection(data.decode())
    assert all(line == line.strip() and "  " not in line for line in data.decode().split("\n"))


def test_the_manifest_is_the_one_that_the_script_writes():
    texts = {n["file"].removesuffix(".txt"): (FOLDER / n["file"]).read_text() for n in MANIFEST["novels"]}
    assert cleaning.manifest(texts) == MANIFEST
    assert {p.name for p in FOLDER.iterdir()} == {n["file"] for n in MANIFEST["novels"]} | {
        "manifest.json",
        "README.md",
    }


# -- two parts --------------------------------------------------------------------------------------------------------


def test_blocks_end_where_paragraphs_do():
    text = "".join(f"{'word ' * (n % 7)}end.\n\n" for n in range(200))
    cut = corpus.blocks(text, 100)
    assert "".join(cut) == text and len(cut) > 10
    assert all(block.endswith(".\n\n") and 100 <= len(block) < 150 for block in cut[:-1])
    assert corpus.blocks("no end", 3) == ["no end"] and corpus.blocks("", 3) == []


def test_every_20th_block_is_held_out():
    train, held_out = corpus.training_text(), corpus.held_out_text()
    cut = corpus.blocks("\n".join(corpus.novels().values()))
    assert held_out == "".join(cut[10::20]) and len(train) + len(held_out) == sum(map(len, cut))
    assert 0.045 < len(held_out) / len(train) < 0.06
    assert not any(block in train for block in cut[10::20]) and all(block in train for block in cut[:10])


def test_each_novel_has_a_part_of_either():
    held_out = corpus.held_out_text()
    for title, novel in corpus.novels().items():
        pieces = corpus.blocks(novel, 5_000)
        assert 0 < sum(piece in held_out for piece in pieces) < 0.1 * len(pieces), title


def test_missing_files_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(MissingRecording, match="is missing, which holds the novels. `git checkout assets`"):
        corpus.training_text()


# -- cleaning ---------------------------------------------------------------------------------------------------------

PAGE = """EMMA

By Jane Austen


VOLUME I


CHAPTER I

She was _very_  clever,
and had £20,000.

     [To Mrs. Weston.]

     * * * * *

[At this point in the first
edition, Volume 1 ends.]

CHAPTER II

The end was near.

FINIS

A NOTE ON THE TEXT"""


def test_a_novels_own_words_are_kept_and_nothing_else():
    cleaned = cleaning.clean(PAGE.split("\n"))
    assert cleaned == "She was very clever, and had 20,000 pounds.\n\n[To Mrs. Weston.]\n\nThe end was near.\n"
    with pytest.raises(ValueError, match="not ASCII: .*é"):
        cleaning.clean(["CHAPTER 1", "", "café"])


def database(*novels):
    """Bytes in R's file format, with one block for each list of lines."""
    number = lambda *values: struct.pack(f">{len(values)}I", *values)
    blocks = []
    for lines in novels:
        head = b"X\n" + number(3, 0x40201, 0x30500, 5) + b"UTF-8" + number(16, len(lines))
        block = head + b"".join(number(0x40009, len(line.encode())) + line.encode() for line in lines)
        blocks.append(number(len(block)) + zlib.compress(block))
    return b"".join(blocks)


def test_the_packages_file_is_read_block_by_block():
    novels = [["EMMA", "", "a line"], ["Persuasion", "£ 1"]]
    assert list(cleaning.character_vectors(database(*novels))) == novels
    with pytest.raises(ValueError, match="a block of"):
        list(cleaning.character_vectors(struct.pack(">I", 7) + zlib.compress(b"12")))


def test_another_file_is_refused(tmp_path, capsys):
    (tmp_path / "Rdata.rdb").write_bytes(database(["EMMA"]))
    with pytest.raises(SystemExit):
        cleaning.main([str(tmp_path / "Rdata.rdb"), "--out", str(tmp_path / "out")])
    assert "another file than the one that was cleaned" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_cleaning_writes_what_is_committed(tmp_path, monkeypatch):
    """Cleans a file made from the committed texts, since the original is not in the repository."""
    titles = {name: first for first, (name, _, _) in cleaning.NOVELS.items()}
    novels = [
        [titles[p.stem], "", "CHAPTER 1", "", *p.read_text().split("\n"), "", "FINIS"] for p in FOLDER.glob("*.txt")
    ]
    (tmp_path / "Rdata.rdb").write_bytes(database(*novels))
    monkeypatch.setattr(cleaning, "SHA256", hashlib.sha256(database(*novels)).hexdigest())
    cleaning.main([str(tmp_path / "Rdata.rdb"), "--out", str(tmp_path / "out")])
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (FOLDER / path.name).read_bytes(), path.name
