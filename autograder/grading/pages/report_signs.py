"""The report's section about signs of cheating, and about what is unusual and bears on no points."""

import html
from collections.abc import Callable, Iterable, Sequence

from anatomy.system.texts import escaped
from anatomy.system.translation import N_, _, listed

from ..base.words import amount, number
from ..book.stored import Result
from ..source.techniques import WORDS, Sign

Link = Callable[[Result], str]  # the address of a submission's feedback page, or ""

ANSWER = "solve-"  # with which the id of an answer's cell begins
# Signs that bear on points wherever they stand. Those of ELSEWHERE do so in an answer; in a cell of the student's own
# they are mostly a plot, a download, an experiment, which no answer hangs on, so they have a list of their own.
STRONG = (N_("judge"), N_("ban"), N_("forgery"), N_("examples"), N_("reply"))
ELSEWHERE = (
    N_("patching"),
    N_("notebook machinery"),
    N_("introspection"),
    N_("comparison"),
    N_("network"),
    N_("dynamic code"),
    N_("grader's files"),
    N_("processes"),
)


def suspicious(results: Iterable[Result]) -> list[tuple[Result, list[Sign]]]:
    """(result, its signs that bear on points), most telling first."""
    return _with_signs(results, _bears)


def unusual(results: Iterable[Result]) -> list[tuple[Result, list[Sign]]]:
    """(result, its signs in cells of the student's own that bear on no points), most kinds first."""
    return _with_signs(results, lambda s: s.technique in ELSEWHERE and not _bears(s))


def _bears(sign: Sign) -> bool:
    return sign.technique in STRONG or (sign.technique in ELSEWHERE and sign.where.startswith(ANSWER))


def _with_signs(results: Iterable[Result], which: Callable[[Sign], bool]) -> list[tuple[Result, list[Sign]]]:
    found = [(r, [s for s in r["signs"] if which(s)]) for r in results]
    return sorted(((r, s) for r, s in found if s), key=lambda p: (-len({x.technique for x in p[1]}), p[0]["student"]))


def signs(results: Sequence[Result], link: Link) -> list[str]:
    """The section as HTML."""
    with_signs = suspicious(results)
    title = _("Signs of cheating ({submissions})").format(submissions=amount(len(with_signs), "submission"))
    text = _(
        "A sign is evidence to look at, not a verdict: scores come from inputs that nobody had seen, and are right "
        "whatever is listed here. That a submission is not listed means that nothing was found in it, no more."
    )
    out = [f"<h2>{title}</h2><p>{text}</p>"]
    for result, found in with_signs:
        out.append(_listed(result, found, link))
    if others := unusual(results):
        title = _("Unusual in cells of their own, and mostly harmless ({submissions})")
        title = title.format(submissions=amount(len(others), "submission"))
        text = _(
            "No answer stands in these cells, so they bear on no points: downloads, settings of a host, plots, "
            "experiments. They are no reason to suspect anybody."
        )
        out.append(f"<details><summary>{title}</summary><p>{text}</p>")
        out += [_listed(result, found, link) for result, found in others]
        out.append("</details>")
    return out


def _listed(result: Result, signs: Sequence[Sign], link: Link) -> str:
    """One submission with its signs, folded."""
    total, most = result["standing"].score, result["standing"].max_score
    items = "".join(
        f"<li>{escaped(_(WORDS.get(s.technique, s.technique)))} ({escaped(place_of(s.where))}): "
        f"<code>{escaped(s.evidence)}</code></li>"
        for s in signs[:20]
    )
    title = _("{student}, {unit} ({n} of {points}): {techniques}").format(
        student=f"<b>{escaped(result['student'])}</b>",
        unit=escaped(result["unit"]),
        n=number(total),
        points=amount(most, "point"),
        techniques=escaped(listed(map(_, _techniques(signs)))),
    )
    return f"<details><summary>{title}</summary>{_page_of(result, link)}<ul>{items}</ul></details>"


def place_of(where: str) -> str:
    """The place of a sign or of held points, which is stored in English, in the language in use."""
    cell, found, line = where.rpartition(", line ")
    return _("{cell}, line {line}").format(cell=cell, line=line) if found else _(where)


def _techniques(signs: Iterable[Sign]) -> list[str]:
    return list(dict.fromkeys(s.technique for s in signs))


def _page_of(result: Result, link: Link) -> str:
    """A link to the feedback page, for places where the name can't be a link because a click unfolds the details."""
    address = link(result)
    title = _("Feedback page of {student}").format(student=escaped(result["student"]))
    return f'<p><a href="{html.escape(address)}">{title}</a></p>' if address else ""
