"""Text from outside is printable, short and inert wherever it is shown."""

from html.parser import HTMLParser

import pytest
from anatomy.judge.verdict import LEFT_OUT, CaseResult, Mistake, Verdict
from anatomy.system import texts
from nbconvert.filters.strings import clean_html

TEX = [
    *("$x$", "$$x$$", "a $ b", "\\(x\\)", "\\[x\\]", "\\begin{x}y\\end{x}", "\\$5", "\\\\(x\\\\)", "\\ref{a}", "$`x`$"),
    *("$\\href{javascript:alert(1)}{x}$", "<b>$</b>$", "&#36;x&#36;", "$\n$", "C:\\dir costs $5", "\\", "$"),
]


class Pieces(HTMLParser):
    """The text pieces of a page; MathJax and KaTeX look for delimiters in each piece separately."""

    def __init__(self, page):
        super().__init__()
        self.found = [""]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append("")

    handle_endtag = lambda self, tag: self.found.append("")

    def handle_data(self, data):
        self.found[-1] += data


@pytest.mark.parametrize("change", [str, clean_html], ids=["as it is", "through nbconvert's sanitizer"])
@pytest.mark.parametrize("text", TEX)
def test_no_delimiter_of_tex_is_left_and_the_text_reads_the_same(text, change):
    pieces = Pieces(change(f"<div>{texts.escaped(text)}</div>")).found
    assert "".join(pieces) == text
    assert all(piece in ("$", "\\") for piece in pieces if "$" in piece or "\\" in piece)


def test_code_between_backticks_is_set_as_code_and_stays_inert():
    assert texts.with_code("reads `a[:, <0]`, and `b") == "reads <code>a[:, &lt;0]</code>, and `b"
    assert texts.with_code("`$x$`") == "<code><span>$</span>x<span>$</span></code>"
    told = Verdict("x.y", False, 0.0, 1.0, [Mistake("m", "one `a // b` too many")], [])
    assert "<code>a // b</code>" in told.html() and "`a // b`" in told.text()


def test_a_page_says_everything_of_a_verdict_without_tex_or_markup():
    text = "$\\href{javascript:alert(1)}{x}$ <script>alert(1)</script> \\(y\\)"
    case = CaseResult(
        "n", "shows", False, 0.0, 1.0, f"sentence {text}", f"call {text}", f"expected {text}", f"got {text}"
    )
    mistakes = [Mistake("generic.values", f"first {text}"), Mistake("generic.where", f"second {text}")]
    verdict = Verdict("x.y", False, 0.0, 1.0, mistakes, [case])
    pieces = Pieces(verdict.html()).found
    assert "".join(pieces).count(text) == 6
    assert all(piece in ("$", "\\") for piece in pieces if "$" in piece or "\\" in piece)


def test_what_scripts_are_spelled_with_stays():
    text = "tab\tline\nübung 数据 می\u200cخواهم 👩\u200d💻 $5 \\n"
    assert texts.printable(text) == text


@pytest.mark.parametrize(
    "odd", "\x00 \x1b \x7f \x9b \xad \u061c \u200b \u200e \u202e \u2028 \u2067 \ufeff \ud800 \U000e0041".split(" ")
)
def test_what_misleads_is_gone_from_every_verdict(odd):
    case = CaseResult("n", "s", False, 0.0, 1.0, f"a{odd}b", f"a{odd}b", f"a{odd}b", f"a{odd}b")
    verdict = Verdict("x.y", False, 0.0, 1.0, [Mistake("m", f"a{odd}b")], [case])
    assert odd not in verdict.text() + verdict.html() and verdict.mistakes[0].message == case.sentence == "ab"
    assert (
        Verdict.from_dict(verdict.to_dict() | {"mistakes": [{"name": "m", "message": f"a{odd}b"}]}).text()
        == verdict.text()
    )


def test_long_texts_are_cut_and_many_are_left_out_but_the_first():
    cases = [CaseResult("n", "s", False, 0.0, 1.0, "x" * 9_000, "y" * 9_000, "", "") for _ in range(11)]
    verdict = Verdict("x.y", False, 0.0, 1.0, [Mistake("m", "z" * 9_000)], cases)
    assert len(verdict.mistakes[0].message) < 2_000 and verdict.mistakes[0].message.endswith("z…")
    assert cases[0].sentence.startswith("xxx") and cases[-1].sentence == LEFT_OUT and not cases[-1].call
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_a_writer_ends_after_so_many_characters_and_so_many_steps():
    def endless(out, text):
        while True:
            out.put(text)

    assert texts.written(lambda out: endless(out, "ab"), 5) == "ababa…"
    assert texts.written(lambda out: endless(out, ""), 5) == "…"
    assert texts.written(lambda out: out.put("abcde"), 5) == "abcde"
    assert texts.short("abcdef", 5) == "abcd…" and texts.short("abcde", 5) == "abcde"
