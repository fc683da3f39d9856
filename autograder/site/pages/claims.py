"""All claims on trial as a table: unit, claim, verdict, what it rests on. A script lets readers filter it."""

import html
import re
from functools import reduce

from anatomy.system.translation import listed, said

from autograder.notebooks import facts
from autograder.notebooks.facts import Claim
from autograder.site import links

from .. import translated
from ..words import N_, _

HERE = "claims"
# kind of evidence → (its name, what it means)
KINDS = {
    "exact": (N_("computed"), N_("the cells before the verdict compute it, nothing is trained or timed")),
    "recorded": (N_("recorded"), N_("trainings with at least three seeds of each setting, and a control")),
    "measured": (N_("measured"), N_("recorded times or bytes, on a named device")),
    "models": (N_("published"), N_("configurations of released models, run or counted")),
    "cited": (N_("cited"), N_("a source that the text names, where no run can decide")),
    "argued": (N_("argued"), N_("an argument, beside a part that tests it")),
}
LEAD = N_(
    "{n} statements that are often made about Transformers, each put to a test in the unit that it belongs to. The "
    "verdicts are short here; the unit shows the cells that decide, and says where the verdict ends."
)
_NO_MORE = re.compile("computed above|the argument above|the sources? cited")
_KIND = re.compile("^(recorded runs|measured|the published) ")
# Without a script the form stays hidden, and the whole table is there.
FILTER = """<form class="ta-filter" hidden>
<label>{unit} <select name="unit"><option value="">{all}</option>{units}</select></label>
<label>{rests} <select name="kind"><option value="">{anything}</option>{kinds}</select></label>
<label>{words} <input type="search" name="words" autocomplete="off"></label>
<output aria-live="polite" data-says="{says}"></output>
</form>"""
TABLE = """:::::{{list-table}}
:header-rows: 1
:class: ta-claims
:widths: 6 42 32 20

* - {unit}
  - {claim}
  - {verdict}
  - {rests}
{rows}
:::::"""


def pages() -> dict[str, str]:
    """The page ``claims``."""
    by_unit = {name: found for name in facts.names() if (found := facts.claims(name))}
    every = [claim for found in by_unit.values() for claim in found]
    shown = [claim for name in by_unit for claim in translated.claims(name)]
    counts = {kind: sum(kind in c.kinds for c in every) for kind in KINDS}
    used = [kind for kind in KINDS if counts[kind]]
    names = {"unit": _("Unit"), "rests": _("Rests on"), "claim": _("Claim"), "verdict": _("Verdict")}
    form = FILTER.format(
        all=_("all"),
        anything=_("anything"),
        words=_("Words"),
        units="".join(map(_option_of_unit, by_unit)),
        kinds="".join(f'<option value="{word(kind)}">{word(kind)} ({counts[kind]})</option>' for kind in used),
        says=_("{{n}} of {count} claims").format(count=len(every)),
        **names,
    )
    parts = [
        f"# {_('Claims on trial')}",
        _(LEAD).format(n=len(every)),
        form,
        TABLE.format(rows="\n".join(map(_row, every, shown)), **names),
        _("A verdict can rest on several things:"),
        "\n".join(
            _("- **{kind}** ({n}): {means}").format(kind=word(kind), n=counts[kind], means=_(KINDS[kind][1]))
            for kind in used
        ),
        '<script src="_static/site.filter.js"></script>',
    ]
    return {HERE: "\n\n".join(parts) + "\n"}


def _option_of_unit(name: str) -> str:
    title = html.escape(said(name, facts.title_of(name)))
    return f'<option value="{name[:2]}">{name[:2]} {title}</option>'


def word(kind: str) -> str:
    """What a kind of evidence is called on the page."""
    return _(KINDS[kind][0])


def _row(english: Claim, claim: Claim) -> str:
    trial = f"[{_('the trial')}]({links.unit(HERE, claim.unit, claim.claim_cell)})"
    cells = (
        f"[{claim.unit[:2]}]({links.unit(HERE, claim.unit)})",
        _("{claim} ({trial})").format(claim=quoted(claim.claim), trial=trial),
        f"[{verdict(claim.verdict)}]({links.unit(HERE, claim.unit, claim.verdict_cell)})",
        f"*{listed(map(word, dict.fromkeys(claim.kinds)))}*{_source(english, claim)}",
    )
    return "* " + "\n  ".join(f"- {cell}" for cell in cells)


def _source(english: Claim, claim: Claim) -> str:
    """What the evidence says beyond its kind: ": on the CPU, 3 seeds per setting, control: learning rate"."""
    known = english.evidence.removeprefix("Evidence: ").rstrip(".").split("; ")
    if claim.evidence == english.evidence:
        more = [_KIND.sub("", part) for part in known if not _NO_MORE.fullmatch(part)]
    else:
        parts = re.split("[;；] ?", re.sub("^[^:：]+[:：] ?", "", claim.evidence).rstrip(".。"))
        same = len(parts) == len(known)
        more = [part for n, part in enumerate(parts) if not (same and _NO_MORE.fullmatch(known[n]))]
    return _(": {more}").format(more=reduce(lambda a, b: _("{a}; {b}").format(a=a, b=b), more)) if more else ""


def quoted(claim: str) -> str:
    """The claim as Markdown. Its text has lost the asterisks at its ends, but not those inside."""
    text = f"*{claim}" if claim.startswith(('"', "“")) else claim
    return f"{text}{'*' * (text.count('*') % 2)}"


def verdict(says: str) -> str:
    """The verdict's text, without the word "Verdict"."""
    words = re.sub(rf"^{re.escape(_('Verdict'))}[:：] ?", "", says)
    return words[:1].upper() + words[1:]
