"""``parts.bring``: its code runs by itself, and nothing else in the cell is lost."""

import subprocess
import sys

import pytest
from anatomy import parts
from anatomy.notebook import session
from anatomy.parts import bringing
from anatomy.parts.statements import needed, read
from anatomy.parts.together import Piece, together
from IPython.core.interactiveshell import InteractiveShell

from autograder import ROOT

from .learners_folder import write_folder, write_unit
from .test_parts import HALF, NORM, RIGHT, RMS, ROPE, folder, passes, with_rms  # noqa: F401

CALL = f'parts.bring("{RMS}", "{HALF}")'


class Cell:
    """One cell of a notebook, in a program that can or cannot replace a cell's text."""

    def __init__(self, shell, monkeypatch):
        self.shell, self.source, self.shown, self.replaces = shell, "", [], True
        self.asked = 0
        monkeypatch.setattr("IPython.display.display", lambda data, **more: self.shown.append(data))
        monkeypatch.setattr(shell, "_showtraceback", lambda kind, error, lines: self.shown.append("\n".join(lines)))
        monkeypatch.setattr(shell, "set_next_input", self.replace)

    def replace(self, text, replace=False):
        assert replace
        self.asked += 1
        self.next = text

    def run(self, source=None, name="solve-assembly-parts"):
        """Runs the cell; returns its source afterwards."""
        self.source = self.source if source is None else source
        self.next, self.shown[:] = self.source, []
        self.error = self.shell.run_cell(self.source, store_history=True, cell_id=name).error_in_exec
        self.source = self.next if self.replaces else self.source
        return self.source

    @property
    def text(self):
        return "\n".join(s if isinstance(s, str) else s["text/plain"] for s in self.shown)


@pytest.fixture
def cell(monkeypatch):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.kernel = object()
    monkeypatch.setattr(session, "current", session.Session())
    session.install(shell, lambda name, source: None)
    monkeypatch.setattr(bringing, "_asked", set())
    made = Cell(shell, monkeypatch)
    made.run("from anatomy import check, parts")
    assert made.error is None
    yield made
    InteractiveShell.clear_instance()


def test_the_call_gives_way_to_code_that_stands_by_itself(folder, cell):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    before = {p: p.read_bytes() for p in folder.rglob("*.ipynb")}
    code = cell.run(CALL)
    assert cell.error is None
    assert "run the cell once more" in cell.text and "2 yours" in cell.text
    assert "rms_norm" not in cell.shell.user_ns, "what is used is what stands in the notebook"
    assert "bring" not in code and "02-normalization.ipynb" in code
    assert passes(code, RMS, HALF)
    cell.run()
    assert cell.error is None and cell.shown == [] and callable(cell.shell.user_ns["apply_rope_half"])
    assert {p: p.read_bytes() for p in folder.rglob("*.ipynb")} == before
    plain = "import sys; sys.modules['anatomy'] = None\n" + code  # runs without the course
    subprocess.run([sys.executable, "-c", plain], check=True, cwd=ROOT / "docs")


@pytest.mark.parametrize(
    "cell_source, kept",
    [
        (
            f"# mine\nx = 1  # one\n\n{CALL}\n\ny = '''a\n\n\n\nb'''\n",
            ["# mine\nx = 1  # one\n", "\ny = '''a\n\n\n\nb'''"],
        ),
        (f"x = 'é'; {CALL}; y = 2", ["x = 'é'\n", "\ny = 2"]),
        (f"{CALL}  # all that I need", ["\n# all that I need"]),
        (f"%precision 3\n{CALL}\n!true", ["%precision 3\n", "\n!true"]),
        (f'import anatomy\nparts.bring(\n    "{RMS}",\n    "{HALF}",\n)', ["import anatomy\n"]),
        (f"{CALL}\nparts.bring('cache.grouped')\n", ["parts.bring('cache.grouped')"]),
        (f"names = ['{RMS}', '{HALF}']\nparts.bring(*names)", [f"names = ['{RMS}', '{HALF}']\n"]),
    ],
)
def test_nothing_else_of_the_cell_is_lost(folder, cell, cell_source, kept):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    found = [bringing.look(i) for i in (RMS, HALF)]
    code = bringing.code_of(found)
    made = bringing.replaced(cell_source, (RMS, HALF), code, found)
    assert code in made and CALL not in made
    for text in kept:
        assert text in made
    assert made.replace(code, "").split() == [w for t in kept for w in t.split()]
    if "cache.grouped" not in made:
        cell.run(cell_source)
        assert cell.source == made


def test_two_calls_in_one_cell(folder, cell):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    cell.run(f'parts.bring("{RMS}")\nx = 3\nparts.bring("{HALF}")')
    while "parts.bring" in cell.source:
        cell.run()
    assert passes(cell.source, RMS, HALF) and "x = 3" in cell.source


@pytest.mark.parametrize(
    "source", [f"x = {CALL}", f"if True:\n    {CALL}", f"for i in '{RMS}', '{HALF}':\n    parts.bring(i)"]
)
def test_a_call_inside_of_something_shows_the_code_to_copy(folder, cell, source):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    assert cell.run(source) == source and cell.asked == 0
    assert "Copy the code from here" in cell.text and "def rms_norm(" in cell.text


def test_a_program_that_replaces_nothing_shows_the_code(folder, cell):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    cell.replaces = False
    cell.run(f"x = 1\n{CALL}")
    assert "def rms_norm(" not in cell.text
    cell.run()
    code = cell.text[cell.text.index("x = 1") :]
    assert "put the following in place" in cell.text and passes(code, RMS, HALF)


def test_colab_shows_the_code_at_once(folder, cell, monkeypatch):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    cell.run(CALL)
    assert "put the following in place" in cell.text and "def rms_norm(" in cell.text


def test_what_is_still_to_do_comes_as_a_stub_and_is_brought_when_it_passes(folder, cell):  # noqa: F811
    write_unit(folder, NORM, {})
    write_folder(folder, [ROPE], rope_apply_rope_half=None)
    first = cell.run(f"x = 1\n{CALL}\nz = 3")
    assert "torch.nn.functional.rms_norm" in first and "torch's own. Once yours passes" in first
    assert f'parts.bring("{HALF}")' in first and first.startswith("x = 1\n") and first.endswith("\nz = 3")
    assert cell.run() == first and cell.error is None and "still to do" in cell.text and cell.asked == 1
    names = cell.shell.user_ns
    with pytest.raises(NotImplementedError, match=rf"{HALF}: still to do, in .*06-rope.ipynb"):
        names["apply_rope_half"](1, 2)
    said = parts.judged.evaluate(HALF, names["apply_rope_half"]).mistakes[0].message
    assert "not written yet" in said
    write_folder(folder, [NORM, ROPE])
    second = cell.run()
    assert passes(second, HALF) and "still to do" not in second and "NotImplementedError" not in second
    assert second.startswith("x = 1\n") and second.endswith("\nz = 3") and "torch's own" in second
    third = cell.run(f'{second}\nparts.bring("{RMS}")')
    assert "torch's own" not in third and "functional.rms_norm" not in third and passes(third, RMS, HALF)


def test_stubs_name_the_exercise_whatever_is_asked_for(folder, cell):  # noqa: F811
    missing = ("cache.grouped", "ffn.gated", "position.t5_bias")
    stubs = cell.run(f"parts.bring({', '.join(map(repr, missing))})")
    names = {"parts": parts}
    exec(stubs.partition("parts.bring")[0], names)
    takes = {"repeat_kv": 2, "grouped_attention": 3, "GatedFeedForward": 3, "t5_bias": 3, "t5_attention": 3}
    for name, count in takes.items():
        with pytest.raises(NotImplementedError, match=r"^\w+\.\w+: still to do, in .*\.ipynb$"):
            names[name](*range(count))
    assert isinstance(names["GatedFeedForward"], type)
    assert stubs.endswith('parts.bring("cache.grouped", "ffn.gated", "position.t5_bias")')


def test_a_stub_that_somebody_changed_stays(folder, cell):  # noqa: F811
    write_unit(folder, ROPE, {})
    first = cell.run(f'parts.bring("{HALF}")')
    changed = first.replace("    raise", "    print(x)\n    raise")
    write_folder(folder, [ROPE])
    second = cell.run(changed)
    assert "    print(x)\n    raise" in second and passes(second, HALF)


def test_what_is_wrong_is_not_brought(folder, cell):  # noqa: F811
    wrong = RIGHT.replace("+ eps", "+ 2 * eps")
    with_rms(folder, wrong)
    code = cell.run(f'parts.bring("{RMS}")')
    assert "2 * eps" not in code and "torch's own" in code
    assert "does not pass" in cell.text


def test_two_cells_of_a_notebook_keep_out_of_each_others_way(folder, cell):  # noqa: F811
    """Two cells bring helpers of the same name; the second does so after the first has run."""
    helped = "def root(x):\n    return x.rsqrt()\n" + RIGHT.replace(" * (", " * root(", 1).replace(".rsqrt()", "", 1)
    with_rms(folder, helped.replace("root(x.square", "root((x.square").replace("+ eps)", "+ eps))"))
    other = "def root(x):\n    return x / 2\n"
    other += "def post_ln(x, sublayer, norm):\n    return norm(2 * root(x) + sublayer(x))\n"
    other += "def pre_ln(x, sublayer, norm):\n    return 2 * root(x) + sublayer(norm(x))"
    write_unit(folder, "03-norm-placement", {"placement.post_and_pre": other})
    cell.run("import torch\nroot = 5", "own")
    cell.run(f'parts.bring("{RMS}")')
    first = cell.run()
    cell.run('parts.bring("placement.post_and_pre")', "solve-assembly-wirings")
    second = cell.run(None, "solve-assembly-wirings")
    assert "root_02" in first and "root_03" in second
    whole = f"{first}\n{second}"
    assert passes(whole, RMS, "placement.post_and_pre") and cell.shell.user_ns["root"] == 5


def test_an_unknown_exercise_changes_nothing(folder, cell):  # noqa: F811
    source = 'parts.bring("norm.rmsnorm")'
    assert cell.run(source) == source and "Did you mean" in str(cell.error)


# ---- where no notebook is open -----------------------------------------------------------------------------


def test_in_grading_nothing_happens(folder, cell, monkeypatch, capsys):  # noqa: F811
    write_folder(folder, [NORM, ROPE])
    source = f"{CALL}\nx = 5"
    for name in ("NBGRADER_EXECUTION", "NBGRADER_VALIDATING"):
        monkeypatch.setenv(name, "1")
        assert cell.run(source) == source and cell.error is None and cell.shown == []
        monkeypatch.delenv(name)
    del cell.shell.kernel
    assert cell.run(source) == source and cell.error is None and cell.asked == 0
    assert cell.shell.user_ns["x"] == 5 and "rms_norm" not in cell.shell.user_ns
    assert capsys.readouterr().out.count("nothing is done") == 3


def test_in_the_sandbox_nothing_happens():
    from autograder.grading.judging import sessions
    from autograder.sandbox import sandbox_available

    if not sandbox_available():
        pytest.skip(sandbox_available().reason)
    with sessions.sandboxed() as student:
        result = student.execute(f"from anatomy import parts\n{CALL}\nprint('went on')", timeout=60)
    assert not result.error_name, result.traceback
    assert "nothing is done" in result.stdout and "went on" in result.stdout


# ---- names -------------------------------------------------------------------------------------------------


def piece(unit, source, *targets):
    return Piece(f"# {unit}", unit, targets, needed([read(source)], targets, 0))


def run(source):
    names = {}
    exec(source, names)
    return names


def test_helpers_of_the_same_name_are_told_apart():
    first = piece("02", "def pairs(x):\n    return x + 1\ndef f(x):\n    return pairs(x)", "f")
    second = piece(
        "06",
        "BASE = 10\n\n# how\ndef pairs(x, pairs=None):\n    return x * BASE\n\n\n"
        "class Turn:\n    pairs = 3\n\n    def __call__(self, x, *, BASE=0):\n"
        "        total = [pairs for pairs in range(2)]\n"
        "        return pairs(x, pairs=self.pairs) + len(total) + BASE  # pairs\n\n"
        "def g(x):\n    def inner(pairs):\n        return pairs\n    turn = Turn()\n    return inner(turn(x))",
        "g",
    )
    third = piece(
        "07", "def pairs(x):\n\n    return x + 1  # as in 02\ndef h(x):\n    return pairs(x) + BASE\nBASE = 1", "h"
    )
    source = together([first, second, third])
    names = run(source)
    assert (names["f"](1), names["g"](1), names["h"](1)) == (2, 12, 3)
    assert source.count("def pairs(x):") == 1, "what is the same stands once"
    assert "# how\ndef pairs_06(x, pairs=None):" in source and "return pairs_06(x, pairs=self.pairs)" in source
    assert "BASE_07 = 1" in source and "# pairs" in source


def test_a_helper_gives_way_to_a_part_and_to_the_notebooks_own_names():
    first = piece("07", "def softmax(x):\n    return 7\ndef causal(x):\n    return f'{softmax(x)}'", "causal")
    second = piece("01", "def softmax(x):\n    return 1", "softmax")
    names = run(together([first, second]))
    assert names["causal"](0) == "7" and names["softmax"](0) == 1
    course = {"check": frozenset("a"), "check_03": frozenset("b")}
    own = together([piece("03", "import math as check\ndef f():\n    return check.pi > 3", "f")], course)
    assert run(own)["f"]() and "import math as check_03_" in own


@pytest.mark.parametrize(
    "helper",
    [
        "try:\n    import no_such as pick\nexcept ImportError:\n    from operator import {0} as pick",
        "def begin():\n    global pick\n    from operator import {0}\n    pick = {0}\n    return pick\npick = begin()",
        "import operator\nif True:\n    pick = lambda a, b: (lambda pick: pick(a, b))(operator.{0})",
        "from operator import {0}\nclass pick:\n    def __new__(cls, a, b, pick={0}):\n        return pick(a, b)",
        "from operator import {0}\ntry:\n    raise KeyError\nexcept KeyError as pick:\n    pass\npick = {0}",
        "from operator import {0}\nasync def pick(): pass\nfor pick in [{0}]:\n    pass",
    ],
)
def test_helpers_bound_in_every_way_are_told_apart(helper):
    answer = "\ndef {1}(a, b):\n    return pick(a, b), [pick(a, b) for pick in [max]], f'{{pick(a, b)}}'"
    made = together(
        [piece("01", (helper + answer).format("add", "f"), "f"), piece("02", (helper + answer).format("mul", "g"), "g")]
    )
    assert "pick_02" in made
    names = run(made)
    assert [names["f"](3, 4)[i] for i in (0, 2)] == [7, "7"] and [names["g"](3, 4)[i] for i in (0, 2)] == [12, "12"]


def test_the_same_name_with_another_meaning_behind_it():
    source = "def root(x):\n    return scale(x)\ndef {0}(x):\n    return root(x)\ndef scale(x):\n    return x * {1}"
    names = run(together([piece("01", source.format("f", 2), "f"), piece("02", source.format("g", 3), "g")]))
    assert (names["f"](1), names["g"](1)) == (2, 3)


def test_imports_stand_once_and_clash_only_where_they_differ():
    first = piece(
        "01",
        "import torch\nfrom torch import nn\nimport torch.nn.functional as F\nf = lambda: (F.relu, nn, torch)",
        "f",
    )
    second = piece("02", "import torch.nn as nn\nfrom torch.nn import functional as F\ng = lambda: (F.relu, nn)", "g")
    third = piece("03", "import math as F\nh = lambda: F.pi", "h")
    source = together([first, second, third])
    names = run(source)
    assert names["f"]()[:2] == names["g"]() and names["h"]() > 3
    assert source.count("import torch\n") == 1 and "import math as F_03" in source
    assert source.count("functional") == 1, "two spellings of one import"
