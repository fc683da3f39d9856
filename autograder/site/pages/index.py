"""The first page: a sentence, a live Transformer, and where to begin."""

from anatomy.program import units
from anatomy.system.translation import said

from ..words import N_, _, lang, ngettext

LEAD = N_(
    "Build every part of a Transformer yourself, from one weighted average to a language model that writes\n"
    "like Jane Austen, and see each part move."
)
BELOW = N_(
    "A small Transformer that has read six novels. Text goes in at the bottom, its guess of the next\n"
    "word comes out at the top. Point at anything; the blue bar tells a story."
)
TIMES = N_("Each unit has a core path of about two hours (the first: half an hour) and extensions that block nothing.")
LEARN = N_(
    "**You want to learn.** Begin with [unit 00](units/00-start-here.ipynb): fifteen minutes, one exercise. Read here, "
    "or\n  work in your own copy: `anatomy lab` opens it, with instant checks that name the mistake."
)
SEE = N_(
    "**You only want to see.** [The gallery](gallery/index.md) has all {widgets} widgets alive, "
    "with nothing to install."
)
TEACH = N_("**You teach.** [For instructors](docs/instructors.md): a term, from handing out to grades.")
TEXT = """# Transformer Anatomy

<p class="ta-lead">{lead}</p>

{{{{widget:anatomy}}}}

<p class="ta-note-below">{below}</p>

## {way}

<ol class="ta-way" start="0">
{map}
</ol>

{times}

## {begin}

- {learn}
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
    text = TEXT.format(
        lead=_(LEAD),
        below=_(BELOW),
        way=_("The way through"),
        map="\n".join(items),
        times=_(TIMES),
        begin=_("Where to begin"),
        learn=_(LEARN),
        see=_(SEE).format(widgets=len(REGISTERED)),
        teach=_(TEACH),
    )
    return {"index": text}
