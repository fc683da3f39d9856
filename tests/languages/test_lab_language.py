"""``anatomy lab --language zh_CN``: notebooks in a language, in their own folder, which remembers the language."""

import json
import shutil

import pytest
from anatomy.app import command, lab
from anatomy.app.build_stamp import is_as_built, parse, sign, to_bytes
from anatomy.system import installation, translation

from autograder import ROOT
from autograder.languages import notebooks

UNIT = installation.FIRST
ZH = "zh_CN"
ANSWER = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n"


@pytest.fixture(scope="module")
def chinese():
    """The bytes of the first unit's notebook in Chinese."""
    return notebooks.outputs(ZH, [UNIT])[f"course/{UNIT}/{UNIT}.ipynb"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in. JupyterLab is not started, and no language is chosen."""
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ANATOMY_LANGUAGE", raising=False)
    monkeypatch.setattr(lab, "launch", lambda line, env: 0)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def released(here, chinese, tmp_path, monkeypatch):
    """The contents of a wheel: the first unit in English and in Chinese; returns the folder of the Chinese one."""
    monkeypatch.setattr(installation, "course_root", lambda: None)
    monkeypatch.setattr(installation, "DATA", tmp_path / "data")
    write(tmp_path / "data" / "notebooks", (ROOT / "course" / UNIT / f"{UNIT}.ipynb").read_bytes())
    return write(tmp_path / "data" / "languages" / ZH, chinese)


def write(folder, content):
    path = folder / UNIT / f"{UNIT}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return folder


def raw(folder):
    return (folder / UNIT / f"{UNIT}.ipynb").read_bytes()


def answer(folder):
    book = json.loads(raw(folder))
    next(c for c in book["cells"] if c["id"].startswith("solve-"))["source"] = ANSWER
    write(folder, json.dumps(book).encode())


def sources(folder):
    return ["".join(cell["source"]) for cell in json.loads(raw(folder))["cells"]]


def newer(content):
    book = parse(content)
    book["cells"][1]["source"] = "# 新的开头"
    return to_bytes(sign(book, UNIT))


def test_a_folder_of_its_own_is_begun_answered_and_brought_to_a_newer_release(released, here, chinese, capsys):
    assert command.main(["lab", "--language", ZH]) == 0
    mine = here / "transformer-anatomy-zh_CN"
    assert raw(mine) == chinese and not (here / "transformer-anatomy").exists()
    with translation.speaking(ZH):
        begun = translation._("Your own copies of the notebooks are in {folder}.").format(folder=mine)
    assert begun in capsys.readouterr().out and begun.startswith("你")
    answer(mine)
    write(released, newer(chinese))
    assert command.main(["update"]) == 0  # the folder determines the language
    assert {ANSWER, "# 新的开头", 'from anatomy import speak\n\nspeak("zh_CN")'} <= set(sources(mine))
    assert list((mine / "kept" / UNIT).glob("*.ipynb"))
    said = capsys.readouterr().out
    assert "已换成新版本，其中有你的 1 个答案" in said
    before = raw(mine)
    assert command.main(["lab"]) == 0 and command.main(["lab", str(mine)]) == 0 and raw(mine) == before
    assert not (here / "transformer-anatomy").exists(), "it was found again"


def test_english_notebooks_beside_it_are_not_touched(released, here, chinese):
    assert command.main(["lab"]) == 0
    english = here / "transformer-anatomy"
    answer(english)
    before = raw(english)
    assert command.main(["lab", "--language", ZH]) == 0
    assert raw(english) == before and raw(here / "transformer-anatomy-zh_CN") == chinese
    assert command.main(["update", str(english)]) == 0 and raw(english) == before


def test_a_folder_in_another_language_is_left_alone_until_update_is_asked_to_bring_it(released, here, capsys):
    assert command.main(["lab"]) == 0
    folder = here / "transformer-anatomy"
    answer(folder)
    before = raw(folder)
    assert command.main(["lab", str(folder), "--language", ZH]) == 2 and raw(folder) == before
    assert f'anatomy update --language zh_CN "{folder}"' in capsys.readouterr().err
    assert command.main(["update", "--language", ZH, str(folder)]) == 0
    assert installation.language_of(folder) == ZH and ANSWER in sources(folder)
    (kept,) = (folder / "kept" / UNIT).glob("*.ipynb")
    assert kept.read_bytes() == before
    assert command.main(["update", "--language", "en", str(folder)]) == 0
    assert installation.language_of(folder) == "en" and ANSWER in sources(folder)
    assert not any(translation.spoken_by(source) for source in sources(folder))


@pytest.mark.parametrize("name", ["xx", "../zh_CN", "zh_TW"])
def test_an_unknown_language_is_one_sentence(released, here, name, capsys):
    for words in (["lab", "--language", name], ["update", "--language", name]):
        assert command.main(words) == 2
        said = capsys.readouterr().err
        assert "There are no notebooks in" in said and "Languages: en, zh_CN." in said and len(said.splitlines()) == 1
    assert not list(here.iterdir())


def test_the_words_of_a_command_are_those_of_the_notebooks(released, here, monkeypatch, capsys):
    command.main(["lab", "--language", ZH])
    capsys.readouterr()
    command.main([])
    shown = capsys.readouterr().out
    assert "Transformer Anatomy" in shown and "show how far you are" not in shown
    monkeypatch.setenv("ANATOMY_LANGUAGE", "en")
    command.main([])
    assert "show how far you are" in capsys.readouterr().out


def test_the_language_is_known_where_the_first_notebook_is_damaged(released, here):
    command.main(["lab", "--language", ZH])
    folder = here / "transformer-anatomy-zh_CN"
    shutil.copytree(folder / UNIT, folder / "01-attention")
    (folder / "01-attention" / f"{UNIT}.ipynb").rename(folder / "01-attention" / "01-attention.ipynb")
    (folder / UNIT / f"{UNIT}.ipynb").write_text("{ half")
    assert installation.language_of(folder) == ZH


def test_the_gallery_is_there_and_its_widgets_speak_the_language():
    made = notebooks.outputs(ZH)
    assert {name.split("/")[1] for name in made} == {path.stem for path in (ROOT / "course").glob("*/*.ipynb")}
    first = json.loads(made["course/gallery/gallery.ipynb"])["cells"][0]
    assert translation.spoken_by("".join(first["source"])) == ZH
    assert is_as_built(parse(made["course/gallery/gallery.ipynb"]))


def test_a_checkout_makes_them_first(here, chinese, capsys):
    write(here / "course", (ROOT / "course" / UNIT / f"{UNIT}.ipynb").read_bytes())
    (here / "autograder").mkdir()
    assert command.main(["lab", "--language", ZH]) == 2
    assert f"make build LANG={ZH}" in capsys.readouterr().err and not (here / "work-zh_CN").exists()
    write(here / "build" / ZH / "course", chinese)
    assert command.main(["lab", "--language", ZH]) == 0
    assert raw(here / "work-zh_CN") == chinese and not (here / "work").exists()
    assert command.main(["lab"]) == 0 and not (here / "work").exists(), "it goes on in that language"


@pytest.fixture
def package(here, chinese, monkeypatch):
    """A student package for a class in Chinese: a course folder whose released notebooks are in Chinese."""
    monkeypatch.setattr(installation, "course_root", lambda: here)
    write(here / "course", chinese)
    return here


def test_a_package_for_a_class_speaks_its_language_without_being_asked(package, chinese, capsys):
    assert command.main(["lab"]) == 0 and raw(package / "work") == chinese
    assert "你自己的" in capsys.readouterr().out
    answer(package / "work")
    write(package / "course", newer(chinese))
    assert command.main(["update"]) == 0 and command.main(["lab"]) == 0
    assert {ANSWER, "# 新的开头"} <= set(sources(package / "work"))
    assert "make build" not in capsys.readouterr().out, "learners have no such target"
    assert command.main(["lab", "--language", "en"]) == 2, "the package holds no English notebooks"
    assert "zh_CN" in capsys.readouterr().err and not (package / "work-zh_CN").exists()


def test_a_package_in_another_language_over_an_english_one_keeps_answers(package, capsys):
    write(package / "work", (ROOT / "course" / UNIT / f"{UNIT}.ipynb").read_bytes())
    answer(package / "work")
    before = raw(package / "work")
    assert command.main(["lab"]) == 2 and raw(package / "work") == before
    assert "update --language zh_CN" in capsys.readouterr().err
    assert command.main(["update"]) == 0
    assert installation.language_of(package / "work") == ZH and ANSWER in sources(package / "work")
