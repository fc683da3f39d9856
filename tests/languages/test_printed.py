"""What cells print is in the language in use; the values, the code and whatever is no text of a print stay."""

import ast
import contextlib
import io

import pytest
from anatomy.experiments import named_models
from anatomy.notebook import printing
from anatomy.system import translation
from anatomy.system.columns import aligned, columns

from autograder import exercises
from autograder.languages import catalogues, words

KNOWN = {
    "loss {a} of {b}": "共 {b}，损失 {a}",
    "loss": "损失",
    "way        right": "方式   正确",
    "frozen": "冻结",
    "broken": "{z} 坏了",
    "also broken": "{a",
}
LABELS = {"last state": "最后状态", "frozen {a}": "冻结 {a}"}


@pytest.fixture
def chinese(monkeypatch):
    """A language with the words of KNOWN and LABELS."""
    said = lambda context, text: (KNOWN if context == printing.CONTEXT else LABELS).get(text, text)
    for module in (printing, printing.label.__globals__):
        put = monkeypatch.setitem if isinstance(module, dict) else monkeypatch.setattr
        put(module, "said", said)
        put(module, "language", lambda: "zh_CN")


def shown(source, **values):
    """What a cell prints after its tree has gone through ``Printing``."""
    tree = printing.Printing().visit(ast.parse(source))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, "cell", "exec"), values)
    return out.getvalue()


@pytest.mark.parametrize(
    "source, says",
    [
        ("print(f'loss {x:.1f} of {n}')", "共 3，损失 0.2\n"),  # another order, each with its own format
        ("print(f'  loss {x} of {n}\\n')", "  共 3，损失 0.25\n\n"),
        ("print('loss', {'loss': 1}['loss'], 'loss' in ['loss'])", "损失 1 True\n"),  # a key is no text
        ("print('loss      |', 'loss      ', '|')", "loss      | 损失       |\n"),  # the column stays as wide
        ("print(', '.join(f'loss {a} of {b}' for a, b in [(1, 2), (3, 4)]))", "共 2，损失 1, 共 4，损失 3\n"),
        ("print('loss' if n else 'none', *('loss', 'other'))", "损失 损失 other\n"),
        ("print(f'{n}{\"frozen\" * bool(n)}' + 'loss')", "3冻结损失\n"),
        ("def f():\n    print('loss')\nf()", "损失\n"),
        ("print(f'{name:12}|{name:>12}|')", "最后状态    |    最后状态|\n"),
        ("print(f'{\"loss\":>6}|{x:6}|{name!r}')", "  损失|  0.25|'last state'\n"),
        ("print('broken', f'loss {{{x}}}', 'also broken')", "broken loss {0.25} also broken\n"),  # cannot be filled in
        ("y = 'loss'\nprint(y, repr('loss'))", "loss 'loss'\n"),  # not a text of this call
        ("f'loss {x}'\n'loss'\nd = {'loss': 1}\nprint(*d)", "loss\n"),  # a key that code uses
    ],
)
def test_texts_are_replaced_and_nothing_else(chinese, source, says):
    assert shown(source, x=0.25, n=3, name="last state") == says


def test_a_cells_last_line_is_shown_too(chinese):
    for line, value in (("f'loss {x} of {n}'", "共 3，损失 0.25"), ("{'loss': n, **{}}", {"损失": 3})):
        tree = printing.Printing().visit(ast.parse(f"f'loss {{x}} of {{n}}'\n{line}"))
        assert eval(compile(ast.Expression(tree.body[-1].value), "cell", "eval"), {"x": 0.25, "n": 3}) == value
        assert "共" not in ast.unparse(tree.body[0]), "only the last one is shown"


def test_in_english_a_cell_is_left_alone():
    tree = ast.parse("print(f'loss {x} of {n}')")
    assert printing.Printing().visit(tree) is tree


def test_an_error_names_the_line_of_the_cell(chinese):
    tree = printing.Printing().visit(ast.parse("x = 1\nprint(f'loss {x} of {1 / 0}')"))
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile(tree, "cell", "exec"), {})
    assert caught.traceback[-1].lineno == 1  # counted from 0


def test_ipython_asks_for_each_cell(monkeypatch, chinese):
    from anatomy.notebook import session
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    session.install(shell, lambda name, source: None)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        shell.run_cell("n = 3\nprint(f'loss {0.5} of {n}')")
    assert out.getvalue() == "共 3，损失 0.5\n"


@pytest.mark.parametrize("unit", exercises.units())
def test_a_heading_is_as_wide_as_in_english(unit):
    """Numbers stand below it: a line whose parts are apart by spaces keeps its columns."""
    for message in catalogues.messages(catalogues.read(catalogues.path_of("zh_CN", unit))):
        if message.context == printing.CONTEXT and "   " in message.id and "{b}" not in message.id:
            assert abs(columns(message.id) - columns(message.string)) <= 1, message.id


def test_only_texts_of_prints_with_words_are_translated():
    source = "print('loss', 'W_Q', f'{x:.2f}', 3, d['key'])\nplt.title('a title')\nreveal('a', 'b c')"
    assert list(words.printed(source)) == ["loss"]
    assert list(words.printed("x = f'one {n}'\nf'two {n}'")) == ["two {a}"]
    assert list(words.printed("{'three': 'four', **more}")) == ["three"]
    assert list(words.printed("%matplotlib inline\nprint('loss')")) == []


def test_tables_of_models_have_chinese_headings():
    english = named_models.table(["gpt2", "llama-3-8b"], ["norm", "layers"])
    with translation.speaking("zh_CN"):
        spoken = named_models.table(["gpt2", "llama-3-8b"], ["norm", "layers"])
    assert spoken[0].startswith("模型") and "层数" in spoken[0] and english[0].startswith("model")
    assert len({columns(line) for line in spoken}) == 1, "the numbers end at the same place"


def test_wide_letters_take_two_columns():
    assert aligned([["词元", "1"], ["x", "20"]], [False, True]) == ["词元   1", "x     20"]
    assert aligned([["a", "b"], ["词", ""]]) == ["a   b", "词"]
