"""Text cells of a released notebook as a page shows them: with styles for exercises, predictions, hints and verdicts.

A cell's id tells its kind (``autograder/build``); nothing here depends on words, except the one in every verdict.
"""

import html
import re
from typing import Any

from anatomy.system.translation import ENGLISH, language, said
from nbformat import NotebookNode

from .words import _

_LEADING_BOLD = re.compile(r"^\*\*[^*]+\*\* *")
_WIDE = "[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_BREAK = re.compile(rf"(?<={_WIDE})\n(?={_WIDE})")  # a browser would show a space there
_META = re.compile(r"^`[^`]+` · .*$", re.M)


def shown(cell: NotebookNode) -> str:
    """MyST Markdown of a text cell; "" if the page shows nothing."""
    name, source = cell.get("id", ""), cell.source
    if "```" not in source:
        source = _BREAK.sub("", source)
    if name.startswith(("written-", "questions")):
        return ""
    if name.startswith("ask-"):
        return _prediction(source)
    if name.startswith(("say-written-", "say-")):
        return _statement(source)
    if name.startswith(("hint-", "compare-written-")):
        return _box("ta-hints", source)
    if _verdict_of(source):
        return _verdict(source)
    return source


def _box(kind: str, source: str) -> str:
    # More colons than any nested box has.
    return f"::::::{{container}} {kind}\n{source}\n::::::"


def _statement(source: str) -> str:
    """The heading, and below it a box with the exercise's text; difficulty, minutes and points are in one line."""
    heading, _blank, body = source.partition("\n")
    meta = _META.search(body)
    if meta and not body[: meta.start()].strip():
        signs = "".join(f"<span>{_sign(part)}</span>" for part in meta[0].split(" · "))
        body = f'\n<p class="ta-signs-line">{signs}</p>\n\n' + body[meta.end() :].lstrip("\n")
    return f"{heading}\n\n{_box('ta-statement', body.strip())}"


def _sign(part: str) -> str:
    if part.startswith("`"):
        return f"<code>{html.escape(part.strip('`'))}</code>"
    # A screen reader would read five dots one by one, so give it a number.
    dots = part.count("●")
    if not dots:
        return html.escape(part)
    word = part.partition("●")[0].strip()
    return (
        f'{html.escape(word)} <span aria-hidden="true">{"●" * dots}{"○" * part.count("○")}</span>'
        f'<span class="ta-unseen">{dots} / {dots + part.count("○")}</span>'
    )


def _prediction(source: str) -> str:
    """A question with its options as a list."""
    *above, last = source.strip().split("\n\n")
    are_options = re.fullmatch(r"\*[^*].*\*", last, re.S)
    options = last[1:-1].split("* · *") if are_options else []
    title = re.match(r"\*\*([^*]+?)[.。]?\*\*", source)
    body = "\n\n".join(above if options else [*above, last])
    body = _LEADING_BOLD.sub("", body)
    listed = "".join(f"- {option}\n" for option in options)
    called = title[1] if title else _("Predict first")
    return f":::::{{admonition}} {called}\n:class: ta-predict\n{body}\n\n{listed}:::::"


def _verdict_of(source: str) -> re.Match[str] | None:
    """The bold words at the start of a verdict: "Verdict: it helps.". Other languages may have the word inside."""
    word, before = re.escape(_("Verdict")), "" if language() == ENGLISH else r"[^*\n]*?"
    return re.search(rf"^\*\*({before}{word}[^*]*)\*\* *", source, re.M)


def _verdict(source: str) -> str:
    """A verdict as an admonition; text before it, or after it under a new heading, stays outside."""
    found = _verdict_of(source)
    assert found
    before, body = source[: found.start()], source[found.end() :]
    heading = re.search(r"^#+ ", body, re.M)
    inside, after = (body[: heading.start()], body[heading.start() :]) if heading else (body, "")
    title = found[1].strip().rstrip(".:。：")
    return f"{before}:::::{{admonition}} {title}\n:class: ta-verdict\n{inside.strip()}\n:::::\n\n{after}"


def quiz(quizzes: list[dict[str, Any]], unit: str = "") -> str:
    """HTML of a unit's recap questions: each choice unfolds to say whether it is right, and why. It needs no script.

    unit: the unit whose translations are used.
    """
    right, wrong = html.escape(_("Right.")), html.escape(_("Not quite."))
    parts = []
    for number, question in enumerate(quizzes, 1):
        choices = "".join(
            f"<details><summary>{html.escape(said(unit, choice['text']))}</summary>"
            f'<p data-right="{str(choice["right"]).lower()}"><strong>{right if choice["right"] else wrong}'
            f"</strong> {html.escape(said(unit, choice['why']))}</p></details>"
            for choice in question["choices"]
        )
        parts.append(
            f'<div class="ta-quiz" role="group" aria-labelledby="quiz-{number}">'
            f'<p id="quiz-{number}">{html.escape(said(unit, question["question"]))}</p>{choices}</div>'
        )
    return "\n".join(parts)
