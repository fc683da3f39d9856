"""Lays out the page of what was built: HTML that prints on A4 and Letter and needs no script, and plain text."""

from dataclasses import dataclass

from ..system.texts import escaped
from ..system.translation import N_, _, listed, ngettext, sentences, tag

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #555; --line: #bbb; --paper: #fff; --mark: #00618f; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --soft: #b4b4b4; --line: #555; --paper: #181818; --mark: #74c0e8; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.45 Georgia, "Times New Roman", serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 1.4rem 0 .2rem; break-after: avoid; }
p { margin: .3rem 0; }
.who { font-size: 1.35rem; margin: .8rem 0; }
.line { display: inline-block; min-width: 14rem; border-bottom: 1px solid var(--ink); }
.honest { border-left: 3px solid var(--mark); padding-left: .8rem; margin: 1rem 0; break-inside: avoid; }
.soft { color: var(--soft); }
svg { display: block; width: 100%; max-width: 30rem; height: auto; margin: 1rem 0; color: var(--mark); }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; padding: .15rem .6rem .15rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: normal; color: var(--soft); }
td:nth-child(2), th:nth-child(2) { text-align: right; white-space: nowrap; }
td:nth-child(3), th:nth-child(3) { width: 8.5rem; padding-right: 0; }
tr, .unit p { break-inside: avoid; }
thead { display: table-header-group; }
@media print { body { font-size: 11pt; } main { max-width: none; padding: 0; } @page { margin: 18mm; } }
@media (max-width: 480px) { td:nth-child(3), th:nth-child(3) { width: 6.2rem; } }
"""
NO_DATE = N_("date not kept")


@dataclass(frozen=True)
class Built:
    """An exercise that was passed; on: the day, "" if it was not stored; looked_up: its answer was seen before."""

    title: str
    points: float
    extension: bool
    on: str
    looked_up: bool = False


@dataclass(frozen=True)
class Work:
    """A unit: what was built in it, out of how many exercises and points on the core path; claims: (decided, all)."""

    number: str
    title: str
    built: tuple[Built, ...]
    core: int
    possible: float
    claims: tuple[int, int]

    @property
    def done(self) -> int:
        """Exercises of the core path that were passed."""
        return sum(not b.extension for b in self.built)

    @property
    def extensions(self) -> int:
        """Extensions that were passed."""
        return sum(b.extension for b in self.built)

    @property
    def points(self) -> float:
        """Points of the core path's exercises that were passed."""
        return sum(b.points for b in self.built if not b.extension)

    @property
    def extra(self) -> float:
        """Points of the extensions that were passed."""
        return sum(b.points for b in self.built if b.extension)


@dataclass(frozen=True)
class Sheet:
    """Everything on the page. name: "" for a line to write on; version: "" where unknown."""

    name: str
    made: str
    version: str
    works: tuple[Work, ...]

    @property
    def shown(self) -> list[Work]:
        """The units in which something was passed."""
        return [w for w in self.works if w.built]


def summary(sheet: Sheet) -> str:
    """All units in a sentence or two."""
    works = sheet.works
    done, core = sum(w.done for w in works), sum(w.core for w in works)
    complete = sum(w.done == w.core for w in works if w.core)
    extensions, extra = sum(w.extensions for w in works), sum(w.extra for w in works)
    claims = sum(w.claims[0] for w in works)
    seen = sum(b.looked_up for w in works for b in w.built)
    points, possible = sum(w.points for w in works), sum(w.possible for w in works)
    first = _("{done} of {exercises} of the core path, {points:g} of {possible}.").format(
        done=done, exercises=_exercises(core), points=points, possible=points_of(possible)
    )
    units = ngettext(
        "The core path is complete in {n} of {all} unit.",
        "The core path is complete in {n} of {all} units.",
        len(works),
    )
    more = _("{extensions} beyond it, for {points} more.")
    decided = ngettext(
        "The cells that decide {n} claim on trial were run.",
        "The cells that decide {n} claims on trial were run.",
        claims,
    )
    seen_first = ngettext(
        "In {n} of them a whole answer was looked up before the pass.",
        "In {n} of them whole answers were looked up before the pass.",
        seen,
    )
    return sentences(
        first,
        units.format(n=complete, all=len(works)) if complete else "",
        more.format(extensions=_extensions(extensions), points=points_of(extra)) if extensions else "",
        seen_first.format(n=seen) if seen else "",
        decided.format(n=claims) if claims else "",
    )


def honest(sheet: Sheet) -> str:
    """Says how this page was made, and what it is not."""
    course = "Transformer Anatomy"
    if sheet.version:
        course = _("Transformer Anatomy, version {version}").format(version=sheet.version)
    return _(
        "Made on {date} on the learner's own computer, from the checks that ran there ({course}). Nobody supervised, "
        "nobody looked at the code, and the record that this page was made from lies in the learner's hands. It is a "
        "list of what passed, not an examination."
    ).format(date=sheet.made, course=course)


def points_of(points: float) -> str:
    """``3 points``."""
    return ngettext("{n:g} point", "{n:g} points", points).format(n=points)


def _exercises(n: int) -> str:
    return ngettext("{n} exercise", "{n} exercises", n).format(n=n)


def _extensions(n: int) -> str:
    return ngettext("{n} extension", "{n} extensions", n).format(n=n)


def of_unit(work: Work) -> str:
    """One unit in a line."""
    done = _("{done} of {exercises} of the core path")
    parts = [done.format(done=work.done, exercises=_exercises(work.core))]
    if work.possible:
        points = _("{points:g} of {possible}")
        parts.append(points.format(points=work.points, possible=points_of(work.possible)))
    if work.extensions:
        extra = _("{extensions} ({points} extra)")
        parts.append(extra.format(extensions=_extensions(work.extensions), points=points_of(work.extra)))
    if work.claims[0]:
        decided, there = work.claims
        claims = ngettext("{n} of {all} claim decided", "{n} of {all} claims decided", there)
        parts.append(claims.format(n=decided, all=there))
    return listed(parts)


def plain(sheet: Sheet) -> str:
    """The page as plain text."""
    title = _("What {name} built").format(name=sheet.name) if sheet.name else _("What you built")
    lines = [title, "", summary(sheet), honest(sheet)]
    for work in sheet.shown:
        line = _("{unit}: {what}")
        lines += ["", line.format(unit=f"{work.number} {work.title}", what=of_unit(work))]
        lines += [f"  {line.format(unit=_title(b), what=b.on or _(NO_DATE))}" for b in work.built]
    return "\n".join(lines)


def _title(built: Built) -> str:
    title = _("{title} (extension)").format(title=built.title) if built.extension else built.title
    return _("{title} (answer looked up first)").format(title=title) if built.looked_up else title


def page(sheet: Sheet) -> str:
    """The page as HTML. Names and stored data appear on it as text only."""
    name = escaped(sheet.name) if sheet.name else '<span class="line">&nbsp;</span>'
    title = _("Transformer Anatomy: what I built")
    if sheet.name:
        title = _("Transformer Anatomy: what {name} built").format(name=sheet.name)
    rest = [w for w in sheet.works if not w.built]
    nothing = _("Nothing passed yet in {n} of the {all} units: {units}.").format(
        n=len(rest),
        all=len(sheet.works),
        units=_("{a}; {b}").format(a="", b="").join(f"{w.number} {w.title}" for w in rest),
    )
    left = f'<p class="soft">{escaped(nothing)}</p>' if rest else ""
    who = name.join(map(escaped, _("Built by {name}").split("{name}")))
    return f"""<!doctype html>
<html lang="{tag()}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped_plain(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Transformer Anatomy</h1>
<p>{escaped(_("A course in which every part of a Transformer is built by hand."))}</p>
<p class="who">{who}</p>
<p>{escaped(summary(sheet))}</p>
{_strip(sheet)}
<p class="honest">{escaped(honest(sheet))}</p>
{"".join(_unit(w) for w in sheet.shown)}
{left}
</main>
</body>
</html>
"""


def escaped_plain(text: str) -> str:
    """Text for a place that allows no elements, such as a title."""
    return escaped(text).replace("<span>", "").replace("</span>", "")


def _unit(work: Work) -> str:
    rows = "".join(
        f"<tr><td>{escaped(_title(b))}</td><td>{b.points:g}</td><td>{escaped(b.on or _(NO_DATE))}</td></tr>"
        for b in work.built
    )
    heads = "".join(f'<th scope="col">{escaped(head)}</th>' for head in (_("exercise"), _("points"), _("passed")))
    return (
        f'<section class="unit"><h2>{escaped(f"{work.number} {work.title}")}</h2><p>{escaped(of_unit(work))}</p>'
        f"<table><thead><tr>{heads}</tr>"
        f"</thead><tbody>{rows}</tbody></table></section>\n"
    )


def _strip(sheet: Sheet) -> str:
    """A column for each unit, filled as far as its core path is done; the same in words for screen readers."""
    wide, high = 24, 60
    each = _("{unit}: {done} of {core}")
    said = listed(each.format(unit=w.number, done=w.done, core=w.core) for w in sheet.works)
    columns = "".join(
        f'<rect x="{i * wide + 2}" y="2" width="{wide - 6}" height="{high}" fill="none" stroke="currentColor"/>'
        f'<rect x="{i * wide + 2}" y="{2 + high * (1 - _share(w)):.1f}" width="{wide - 6}" '
        f'height="{high * _share(w):.1f}" fill="currentColor"/>'
        f'<text x="{i * wide + wide / 2 - 1}" y="{high + 15}" font-size="10" text-anchor="middle" '
        f'fill="currentColor">{escaped_plain(w.number)}</text>'
        for i, w in enumerate(sheet.works)
    )
    label = _("Exercises of the core path that were passed, by unit. {units}.").format(units=said)
    label = escaped_plain(label).replace('"', "&quot;")
    return f'<svg viewBox="0 0 {wide * len(sheet.works)} {high + 20}" role="img" aria-label="{label}">{columns}</svg>'


def _share(work: Work) -> float:
    return work.done / work.core if work.core else 0.0
