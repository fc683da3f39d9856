"""The first page: a sentence, a Transformer alive, and where to begin."""

from anatomy import units

TEXT = """# Transformer Anatomy

<p class="ta-lead">Build every part of a Transformer yourself, from one weighted average to a language model that writes
like Jane Austen, and see each part move.</p>

{{widget:anatomy}}

<p class="ta-note-below">A small Transformer that has read six novels. Text goes in at the bottom, its guess of the next
word comes out at the top. Point at anything; the blue bar tells a story.</p>

## The way through

<ol class="ta-way" start="0">
%(map)s
</ol>

Each unit has a core path of 60 to 100 minutes (the first: 15) and extensions that block nothing.

## Where to begin

- **You want to learn.** Begin with [unit 00](units/00-start-here.ipynb): fifteen minutes, one exercise. Read here, or
  work in your own copy: `anatomy lab` opens it, with instant checks that name the mistake.
- **You only want to see.** [The gallery](gallery/index.md) has all %(widgets)d widgets alive, with nothing to install.
- **You teach.** [For instructors](docs/instructors.md): a term, from handing out to grades.
"""
ITEM = '<li><a href="units/{name}.html">{title}</a> <span>{parts}</span></li>'


def pages() -> dict[str, str]:
    """The first page."""
    from anatomy.widgets import REGISTERED

    items = []
    for name in units.names():
        unit = units.load(name)
        core = [e for e in unit["exercises"] if not e["extension"]]
        parts = f"{len(core)} exercise{'s' * (len(core) != 1)}"
        items.append(ITEM.format(name=name, title=unit["title"], parts=parts))
    return {"index": TEXT % {"map": "\n".join(items), "widgets": len(REGISTERED)}}
