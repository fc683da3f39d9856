"""Statements that need something grading lacks are skipped alone; other exceptions end their cell, as in Jupyter."""

import ast

import pytest

from autograder.sandbox import passing


@pytest.fixture(scope="module", params=["zygote", "local"])
def run(request, open_sandbox):
    """run(source) → result of a cell. All cells run in one session, as in a notebook."""
    with open_sandbox(request.param) as session:
        yield lambda source: session.execute(source, timeout=60)


def lines(result):
    assert result.ok, (result.error_name, result.error_text)
    return [line for line in result.stdout.splitlines() if "passed over in grading" in line]


def test_what_colab_puts_at_the_head_of_a_cell_costs_itself_alone(run):
    source = """from google.colab import drive, files
drive.mount('/content/drive')
!pip install -q einops && echo never
%pip install einops
%tensorflow_version 2.x
%load_ext google.colab.data_table
%matplotlib inline
def first(): return 1
files.download('x')
first()"""
    result = run(source)
    assert len(lines(result)) == 8 and result.stdout.rstrip().endswith("\n1") and "/bin/" not in result.stdout
    assert "[passed over in grading: from google.colab import drive (No module named 'google')]" in result.stdout
    assert "never" not in result.stdout.replace("echo never", "") and "%tensorflow_version 2.x (" in result.stdout


def test_of_an_import_what_is_there_is_imported(run):
    result = run("import math, not_there, json as j\nfrom math import pi, tau_of_mine\nmath.floor(pi), j.dumps(1)")
    assert len(lines(result)) == 2 and result.stdout.rstrip().endswith("(3, '1')")
    assert "cannot import name 'tau_of_mine' from 'math'" in result.stdout and "/" not in result.stdout


def test_nobody_answers_and_what_depends_on_the_answer_goes_with_it(run):
    source = (
        "n = int(input('n? '))\nm = n + 1\nfor i in range(m):\n    print(i)\nprint('on')\ndef f(x=2): return x\nf()"
    )
    result = run(source)
    assert len(lines(result)) == 3 and result.stdout.rstrip().endswith("on\n2")
    assert lines(run("import getpass\ntoken = getpass.getpass()"))
    stopped = run("breakpoint()\nprint('on')")
    assert lines(stopped) and stopped.stdout.rstrip().endswith("on"), stopped.stdout
    assert run("try:\n    n = input()\nexcept EOFError:\n    n = '3'\nn").stdout.strip() == "'3'", "who provides for it"


def test_what_is_built_on_a_missing_package_is_missing_too(run):
    source = """import not_there as nt
from not_there.nn import Layer
class A(nt.Module): pass
class B(Layer): pass
@nt.jit
def c(): return 1
d: int = nt.x[0] @ 2
def e(): return nt.f()
5"""
    result = run(source)
    assert len(lines(result)) == 6 and result.stdout.rstrip().endswith("\n5")
    caught = "try:\n    e()\nexcept ImportError as error:\n    print(error)"
    assert run(caught).stdout.strip() == "not_there is not there while a notebook is graded"
    assert run("A, B, c, d").stdout.count("not there in grading") == 4


def test_other_exceptions_end_the_cell_as_in_jupyter(run):
    for source, name in (
        ("x1 = 1 / 0\nlate = 1", "ZeroDivisionError"),
        ("x2 = undefined\nlate = 1", "NameError"),
        ("raise ImportError('mine')\nlate = 1", "ImportError"),
        ("raise EOFError('mine')\nlate = 1", "EOFError"),
        ("def f():\n    import not_there_either\nf()\nlate = 1", "ModuleNotFoundError"),
        ("import math; math.nothing\nlate = 1", "AttributeError"),
        ("%alias\n%run nothing.py\nlate = 1", "Exception"),
        ("%%time\nimport not_there_either\nlate = 1", "ModuleNotFoundError"),
        ("late = 1\nx3 = (", "SyntaxError"),
    ):
        result = run(source)
        assert result.error_name == name, (source, result)
        assert run("late").error_name == "NameError"
    assert run("y = 4\nraise ValueError\n").error_name == "ValueError" and run("y").stdout.strip() == "4"


def test_a_student_who_provides_for_it_is_left_alone(run):
    source = "try:\n    import google.colab\n    here = True\nexcept ImportError:\n    here = False\nhere"
    assert run(source).stdout.strip() == "False"


def test_values_are_shown_as_ever(run):
    assert run("1\n2").stdout.strip() == "2"
    assert run("import math\nmath.floor(2.5)").stdout.strip() == "2"
    assert run("1\nx = 2").stdout == ""
    setting = "from IPython.core.interactiveshell import InteractiveShell as S\nS.ast_node_interactivity = "
    assert run(setting + "'all'").ok and run("1\n2").stdout.split() == ["1", "2"]
    assert run(setting + "'last_expr'").ok
    assert run("import asyncio\nawait asyncio.sleep(0, 7)").stdout.strip() == "7"


def test_an_import_keeps_what_its_name_means_already_and_an_assignment_does_not(run):
    assert run("keep, lose = 1, 1").ok
    assert lines(run("from not_there import keep\nimport not_there\nlose = not_there.f"))
    assert run("keep").stdout.strip() == "1"
    assert run("lose()").stdout.startswith("[passed over"), "the name is no longer what it was before"


@pytest.mark.parametrize(
    "command", ["pip install x", "python -m pip install x", "sudo apt-get install x", "cd a && git clone b", "wget x"]
)
def test_commands_that_fetch(command):
    assert passing.fetches(command)


@pytest.mark.parametrize("command", ["ls", "echo pip", "git log", "python pip.py", "cat wget.txt", "x" * 100_000])
def test_commands_that_do_not(command):
    assert not passing.fetches(command)


def test_a_missing_thing_refuses_everything():
    thing = passing.Missing("x.y")
    for use in (
        lambda: thing.z,
        lambda: thing(),
        lambda: thing[0],
        lambda: thing + 1,
        lambda: 1 + thing,
        lambda: divmod(thing, 2),
        lambda: [*thing],
        lambda: 1 in thing,
        lambda: bool(thing),
        lambda: int(thing),
        lambda: len(thing),
        lambda: thing < 1,
        lambda: f"{thing}",
        lambda: setattr(thing, "a", 1),
        lambda: -thing,
    ):
        with pytest.raises(passing.NotHere, match="x.y is not there while a notebook is graded"):
            use()
    assert repr(thing) == "<x.y: not there in grading>" and not hasattr(thing, "__wrapped__")


def test_lines_about_statements_are_short():
    (statement,) = ast.parse(f"x = {list(range(1_000))}").body
    assert len(passing.as_line(statement)) == passing.MAX_SHOWN
