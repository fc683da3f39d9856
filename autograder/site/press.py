"""Checks to press on a page: written answers, the package's own verdict on each, and the widget that it moves.

Nothing of this is stored: whenever the site is built, the real check judges the code exactly as the page shows it, and
the widget follows as it does in a notebook. So no verdict here can be older than the check, and one that no longer
names its mistake stops the build.
"""

import ast
import html
import inspect
import linecache
import math
import re
import string
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import anatomy
import torch
from anatomy.judge.verdict import Verdict
from anatomy.program import units
from anatomy.widgets import AttentionExplorer, MaskExplorer, MergeExplorer, MixExplorer, RopeExplorer, TableWidget
from anatomy.widgets.tools import following
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder import exercises
from autograder.reference import attention, rope
from autograder.reference.language import bpe

from .live import Shelf
from .words import N_, _

Function = Callable[..., Any]
_HEAD = re.compile(r"\A###.*\n(?:`.*\n)?\s*")
FOLDER = "press"  # of the site: a page for each exercise
RECORDED = N_(
    "Recorded with the package's check (version {version}, PyTorch {torch}) when this page was made. Nothing runs here."
)


class NotAsListed(ValueError):
    """The check says something else about an answer than its spec: it passes a mistake, or names another one."""


@dataclass(frozen=True)
class Chosen:
    """An exercise with such a page.

    widget: makes the widget that shows the learner's function. answers: names of listed mistakes and of right
    alternatives, in the order of the page. edits: (pattern, replacement) pairs that turn the spec's own names into
    those of a notebook. given: right answers to earlier exercises, which an answer may call.
    """

    id: str
    widget: Callable[[Function], TableWidget]
    answers: tuple[str, ...]
    edits: tuple[tuple[str, str], ...] = ()
    given: Mapping[str, Function] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """Path of its page, without suffix; the sidebar shows pages in this order."""
        return f"{FOLDER}/{self.unit[:2]}-{self.id.partition('.')[2]}"

    @property
    def unit(self) -> str:
        """The unit that asks for it."""
        return exercises.get(self.id).unit

    @property
    def target(self) -> str:
        """Name of the function that it asks for."""
        return exercises.get(self.id).targets[0]


# The first exercise of each unit that a widget shows. The steps of an answer in unit 12 must not be the solution's,
# which most listed mistakes there repeat.
CHOSEN = (
    Chosen(
        "start.weighted_average",
        MixExplorer,
        ("plain_mean", "wrong_axis", "not_divided", "by_loop", "softmax_weights", "weights_along_columns")
        + ("last_row_missing", "by_einsum", "detached"),
    ),
    Chosen(
        "attention.scaled_dot_product",
        AttentionExplorer,
        ("no_scale", "over_queries", "by_einsum", "inverted_mask", "all_axes", "mask_after"),
        edits=((r"-INF", "-math.inf"), (r"\bref\.", "")),
        given={"softmax": attention.softmax},
    ),
    Chosen(
        "rope.apply_rope",
        RopeExplorer,
        ("clockwise", "halves_paired", "both_plus", "rope_by_tables", "one_ahead", "pairs_left", "ids_ignored"),
        edits=(
            (
                r"( *)cos, sin = (.*) for t in tables\(.*\)\)",
                r"\1frequencies = rope_frequencies(x.shape[-1], base, dtype=R.angle_dtype(x))" + "\n"
                r"\1angle = position_ids[..., None] * frequencies" + "\n"
                r"\1angle = angle.unsqueeze(1) if position_ids.dim() == 2 else angle" + "\n"
                r"\1cos, sin = \2 for t in (angle.cos(), angle.sin()))",
            ),
            (r"( *)(position_ids = .*?); ", r"\1\2" + "\n" + r"\1"),
            (
                r"( *)frequencies = (?:R\.)?(.*), dtype=R.*",
                r"\1frequencies = \2)" + "\n"
                r"\1frequencies = frequencies.to(torch.promote_types(x.dtype, torch.float32))",
            ),
            (r": Tensor| -> Tensor", ""),
            (r": float = ", "="),
        ),
        given={"rope_frequencies": rope.rope_frequencies},
    ),
    Chosen(
        "mask.rectangular",
        lambda function: MaskExplorer({"causal_mask": function}, mask=1, size=2),
        ("no_offset", "one_too_many", "last_rows", "upside_down", "transposed", "later_keys", "unchecked"),
        edits=((r" *if False:\n.*\n", ""),),
    ),
    Chosen(
        "bpe.encode",
        lambda function: MergeExplorer(function, done=12),
        ("backwards", "longest_token", "encode_in_order", "stops_early", "first_pair_only", "single_from_left"),
        edits=((r"\bmerged\(", "merge("), (r"\ba, b\b", "left, right")),
        given={"merge": bpe.merged},
    ),
)


def of(exercise_id: str) -> Chosen:
    """The chosen exercise with that id. Raises KeyError for one without a page."""
    return {c.id: c for c in CHOSEN}[exercise_id]


@dataclass(frozen=True)
class Answer:
    """A written answer as a page shows it, with the check's verdict on it."""

    source: str
    function: Function
    verdict: Verdict


def answer(chosen: Chosen, name: str) -> Answer:
    """Runs the check on one answer. Raises NotAsListed."""
    exercise = exercises.get(chosen.id)
    mistakes = {m.name: m for m in exercise.mutants}
    right = {f.__name__: f for f in exercise.alternatives if not isinstance(f, tuple)}
    source = _written(right[name] if name in right else mistakes[name].fn, chosen)
    function = run(chosen, source)
    verdict = anatomy.evaluate(chosen.id, function)
    named = [m.name for m in verdict.mistakes]
    if verdict.passed != (name in right) or (name in mistakes and name not in named):
        told = "passes" if verdict.passed else f"is refused as {named}"
        raise NotAsListed(f"{chosen.id}, {name}: as the page shows it, this answer {told}\n{source}")
    return Answer(source, function, verdict)


def _written(function: Any, chosen: Chosen) -> str:
    """An answer of the spec as a learner writes it: under the exercise's own name, and without a docstring."""
    source = textwrap.dedent(inspect.getsource(function)).rstrip()
    source = re.sub(rf"\b{function.__name__}\b", chosen.target, source)
    for pattern, replacement in chosen.edits:
        source = re.sub(pattern, replacement, source)
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    first, lines = definition.body[0], source.splitlines()
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(line.rstrip() for line in lines)


def run(chosen: Chosen, source: str) -> Function:
    """The function that a cell with this code defines in the unit's notebook."""
    file = f"<{chosen.id}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # verdicts quote its lines
    space: dict[str, Any] = {"torch": torch, "math": math, **chosen.given}
    exec(compile(source, file, "exec"), space)
    return space[chosen.target]


def asked(chosen: Chosen, released: NotebookNode) -> str:
    """What the exercise asks for, in Markdown, from its unit's released notebook: without heading and points."""
    return f"::::::{{container}} ta-statement\n{_HEAD.sub('', _cell(chosen, released, 'say'))}\n::::::"


def _cell(chosen: Chosen, released: NotebookNode, kind: str) -> str:
    return next(cell.source for cell in released.cells if cell["id"] == units.cell_id(kind, chosen.id))


def box(chosen: Chosen, released: NotebookNode, shelf: Shelf, root: str) -> str:
    """HTML of the answers, the button and the widget, in the current language.

    released: the unit's notebook; until something is checked, the widget shows its empty function. shelf: keeps the
    widget's states. root: relative address of the site's root. Raises NotAsListed.
    """
    widget = chosen.widget(run(chosen, _cell(chosen, released, "solve")))
    live = shelf.of(widget, root)
    found, states = [answer(chosen, name) for name in chosen.answers], []
    for one in found:
        following.after_check(one.verdict, {chosen.target: one.function})
        states.append(shelf.change(widget))
    call = _code(f'check("{chosen.id}", {chosen.target})')
    good, bad = html.escape(_("passed")), html.escape(_("not yet"))
    last = html.escape(_("The widget shows answer {name}, which was checked last."))
    button = (
        f'<div class="ta-press-call" hidden>{call}'
        f'<button type="button" data-passed="{good}" data-failed="{bad}">{_("Check")}</button></div>'
    )
    said = (
        f'<div class="ta-press-said" role="status" hidden><p>{_("Not checked yet.")} '
        f'<span hidden data-says="{last}"></span></p></div>'
    )
    return _framed(chosen, found, button + said, live, states)


def _framed(chosen: Chosen, answers: list[Answer], below: str, live: str, states: Sequence[str]) -> str:
    """Without its script the page lists all answers, each with its verdict folded below."""
    choices, listed = [], []
    for at, (one, name) in enumerate(zip(answers, string.ascii_uppercase, strict=False)):
        choices.append(
            f'<label><input type="radio" name="{chosen.id}" value="{name}"{" checked" * (at == 0)}> {name}'
            '<span class="ta-press-mark"></span></label>'
        )
        label = html.escape(_("Answer: {name}").format(name=name))
        listed.append(
            f'<div class="ta-press-answer" role="group" aria-label="{label}" data-state="{states[at]}" '
            f'data-passed="{str(one.verdict.passed).lower()}">{_code(one.source)}'
            f"<details><summary>{_('What the check says')}</summary>{one.verdict.html()}</details></div>"
        )
    note = _(RECORDED).format(version=anatomy.__version__, torch=version("torch").partition("+")[0])
    made = (
        f'<div class="ta-press"><fieldset class="ta-press-choice" hidden><legend>{_("Answer")}</legend>'
        f'{"".join(choices)}</fieldset>{"".join(listed)}{below}<p class="ta-note-below">{note}</p>{live}</div>'
    )
    return made.replace("\n\n", "\n&#10;")  # Markdown ends a block of HTML at an empty line


def _code(source: str) -> str:
    """HTML of Python code in the site's colors."""
    return highlight(source, PythonLexer(), HtmlFormatter()).strip()
