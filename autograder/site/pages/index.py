"""The first page: what the course promises, a check at work, a first question, a live Transformer, where to begin."""

import html

from anatomy.program import units
from anatomy.system.translation import said

from autograder.notebooks import facts

from .. import texts
from ..open_in_links import begin
from ..panel import panel
from ..words import N_, _, lang, ngettext

PROMISE = N_("Build every part of a Transformer yourself, and be told exactly what is wrong.")
FIRST = "00-start-here"
# (what a row is about, what it says)
FACTS = (
    (N_("For whom"), N_("You want to know GPT, LLaMA or DeepSeek line by line.")),
    (N_("You know"), N_("Python, the matrix product, what a derivative is.")),
    (
        N_("It takes"),
        N_(
            "Half an hour for unit 00, about two hours for each further one: {hours} hours in all, "
            "extensions not counted."
        ),
    ),
    (N_("You need"), N_("Any computer. No GPU; no network once it is installed.")),
)
QUESTION = N_(
    "A first question. The word “cat” carries the number 1, “sat” carries 5 and “mat” carries 9. A machine takes "
    "a weighted average of the three, and its answer is 7.4. Which word does it listen to most?"
)
# (answer, whether it is right, why)
CHOICES = (
    (
        N_("cat"),
        False,
        N_("If no word counted more than “cat”, the answer could not exceed 5, halfway between 1 and 9."),
    ),
    (
        N_("sat"),
        False,
        N_("If “mat” counted no more than “sat”, the answer could not exceed 7, halfway between 5 and 9."),
    ),
    (
        N_("mat"),
        True,
        N_(
            "Without “mat” no average exceeds 5, and for 7.4 at least six tenths of the weight must be on it. An "
            "attention head is such a machine, and unit 00 builds it."
        ),
    ),
)
BELOW = N_(
    "A small Transformer that has read six novels. Text goes in at the bottom, its guess of the next\n"
    "word comes out at the top. Point at anything; the blue bar tells a story."
)
SEE = N_(
    "**You only want to see.** [The gallery](gallery/index.md) has all {widgets} widgets alive, "
    "with nothing to install."
)
TEACH = N_("**You teach.** [For instructors](docs/instructors.md): a term, from handing out to grades.")
TEXT = """# Transformer Anatomy

<div class="ta-front">
<div class="ta-front-say">
<p class="ta-promise">{promise}</p>
<p><a class="ta-begin" href="units/{first}.html">{button}</a></p>
<p class="ta-front-how">{begin}</p>
</div>
{panel}
<dl class="ta-front-facts">
{facts}
</dl>
</div>

<div class="ta-first-question">
{question}
</div>

{{{{widget:anatomy}}}}

<p class="ta-note-below">{below}</p>

## {way}

<ol class="ta-way" start="0">
{map}
</ol>

- {see}
- {teach}
"""
ITEM = '<li><a{lang} href="units/{name}.html">{title}</a> <span>{parts}</span></li>'


def pages() -> dict[str, str]:
    """The first page."""
    from anatomy.widgets import REGISTERED

    items = []
    for name in units.names():
        unit = units.load(name)
        core = sum(not e["extension"] for e in unit["exercises"])
        parts = ngettext("{n} exercise", "{n} exercises", core).format(n=core)
        title = said(name, unit["title"])
        items.append(ITEM.format(lang=lang(unit["title"], title), name=name, title=title, parts=parts))
    hours = round(sum(facts.unit(name).core_minutes for name in units.names()) / 60)
    rows = (f"<dt>{_(about)}</dt><dd>{html.escape(_(says).format(hours=hours))}</dd>" for about, says in FACTS)
    text = TEXT.format(
        promise=html.escape(_(PROMISE)),
        first=FIRST,
        button=_("Begin with unit 00"),
        begin=begin(FIRST, ""),
        facts="\n".join(rows),
        panel=panel(),
        question=texts.quiz([_question()]),
        below=_(BELOW),
        way=_("The way through"),
        map="\n".join(items),
        see=_(SEE).format(widgets=len(REGISTERED)),
        teach=_(TEACH),
    )
    # The theme's column with a page's contents would take the room of the first screen.
    return {"index": f"---\nhide-toc: true\n---\n\n{text}"}


def _question() -> dict[str, object]:
    choices = [{"text": _(text), "right": right, "why": _(why)} for text, right, why in CHOICES]
    return {"question": _(QUESTION), "choices": choices}
