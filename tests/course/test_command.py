"""The command ``anatomy``: one table of subcommands, which works even if torch does not."""

import importlib
import os
import re
import subprocess
import sys

import anatomy
import pytest
from anatomy.app import command

from autograder import ROOT


def run(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, timeout=120
    )


@pytest.mark.parametrize("name", command.COMMANDS)
def test_each_subcommand_says_what_it_takes(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        command.main([name, "--help"])
    assert f"usage: anatomy {name}" in " ".join(capsys.readouterr().out.split())
    assert f"  {name} " in command.usage()


def test_bad_words_are_one_sentence(capsys):
    assert command.main(["labb"]) == 2
    assert "there is no command 'labb'" in capsys.readouterr().err
    assert command.main(["progress", "99-none"]) == 2
    assert "There is no unit '99-none'. Units: 00-start-here" in capsys.readouterr().err


@pytest.mark.parametrize("name", command.COMMANDS)
def test_ctrl_c_ends_each_command_with_one_word(name, capsys, monkeypatch):
    module, function = command.COMMANDS[name][0].split(":")

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module(f"anatomy.{module}"), function, interrupted)
    assert command.main([name]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Stopped.\n")


def test_progress_is_the_page_as_text(capsys):
    from anatomy import progress

    assert command.main(["progress"]) == 0
    whole = capsys.readouterr().out
    assert whole == f"{progress()!r}\n" and "Total" in whole
    assert command.main(["progress", "06-rope"]) == 0 and "not tried yet" in capsys.readouterr().out


def test_version_and_help_need_no_torch():
    hidden = (
        "import sys; sys.modules['torch'] = None; from anatomy.app import command; sys.exit(command.main(sys.argv[1:]))"
    )
    for words, said in ((["--version"], anatomy.__version__), ([], "usage: anatomy"), (["doctor", "-h"], "mends")):
        done = subprocess.run([sys.executable, "-c", hidden, *words], capture_output=True, text=True)
        assert done.returncode == 0 and said in done.stdout, (words, done.stderr)


@pytest.mark.parametrize("words", [["progress"], ["progress", "06-rope"], ["certificate", "--no-browser"], ["doctor"]])
def test_what_is_only_read_is_there_without_torch(words, tmp_path, monkeypatch):
    """The doctor imports torch too, in a process of its own: that process isn't looked at here."""
    monkeypatch.chdir(tmp_path)
    code = f"""import sys
from anatomy.app import command
from anatomy.system import store
store.update("progress", lambda data: data.update(
    {{"rope.rotate_half": {{"passed_on_try": 1, "tries": 1, "best": 1.0, "passed_at": 1_700_000_000}}}}))
status = command.main({words})
heavy = {{"torch", "numpy", "matplotlib", "sympy", "safetensors", "tokenizers"}} & set(sys.modules)
print("imported:", sorted(heavy), "status:", status)
"""
    done = run(code, ANATOMY_HOME=str(tmp_path / "home"))
    assert done.stdout.splitlines()[-1] == "imported: [] status: 0", done.stdout + done.stderr


@pytest.mark.parametrize("missing, words", [("filelock", ["progress"]), ("torch", ["gallery", "--no-browser"])])
def test_a_library_that_is_missing_is_one_sentence(missing, words, tmp_path):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from anatomy.app import command; sys.exit(command.main({words}))"
    )
    done = run(code, ANATOMY_HOME=str(tmp_path))
    assert done.returncode == 1 and "`anatomy doctor` says what to do" in done.stderr and "Traceback" not in done.stderr
    assert f"anatomy {words[0]} cannot start" in done.stderr and missing in done.stderr


@pytest.mark.parametrize(
    "module", ["app.command", *sorted({where.split(":")[0] for where, _ in command.COMMANDS.values()})]
)
def test_each_module_of_a_command_can_be_run_by_its_name(module):
    done = subprocess.run([sys.executable, "-m", f"anatomy.{module}", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("usage: "), done.stdout + done.stderr


def test_a_console_without_our_letters_is_no_error():
    code = "from anatomy.app.command import main; main(['progress'])"
    done = run(code, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "?" in done.stdout and "Total" in done.stdout


def test_importing_the_package_imports_no_torch_until_something_is_asked_for():
    code = "import sys, anatomy; assert 'torch' not in sys.modules; anatomy.check; assert 'torch' in sys.modules"
    done = run(code)
    assert done.returncode == 0, done.stderr


BEFORE = (
    "",
    "import anatomy.progress",
    "from anatomy.progress import note",
    "import anatomy.widgets, anatomy.program.units",
)


@pytest.mark.parametrize("before", BEFORE)
def test_progress_is_what_learners_call_whatever_was_imported_before(before):
    code = "from anatomy import progress\nimport anatomy.progress as same\nassert same is progress\nprogress()"
    done = run(f"{before}\n{code}")
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there_and_no_other():
    assert {name for name in anatomy.__all__ if not callable(getattr(anatomy, name))} == set()
    assert set(anatomy.__all__) <= set(dir(anatomy))
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        importlib.import_module("anatomy").chekc  # noqa: B018


PAGES = "README.md", "docs/students.md", "course/README.md", "course/PACKAGE.md", "CONTRIBUTING.md"


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_commands_that_there_are(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?:^|[`/\\])anatomy ([a-z]+)", text, re.M)
    assert set(named) <= set(command.COMMANDS) and (named or page == "CONTRIBUTING.md")
    assert set(re.findall(r"transformer_anatomy-([\d.]+)-py3", text)) <= {anatomy.__version__}
