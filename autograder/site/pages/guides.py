"""Start pages for learners, instructors and contributors, from ``docs/`` and CONTRIBUTING.md."""

import posixpath
import re

from autograder import ROOT
from autograder.languages import documents
from autograder.site import links

from ..words import N_, _, written

LEARNERS = {
    "learners": N_("how a unit works, how a check talks, what to do when stuck, how answers are kept"),
    "students": N_("installing on Linux, macOS, Windows, with conda, in Colab; updates; when something fails"),
    "mirrors": N_("where downloads are slow: package mirrors, and hosts that run notebooks"),
}
INSTRUCTORS = {
    "instructors": N_("a term from the roster to the grades, each command tested"),
    "jupyterhub": N_("the course on a hub, with nbgrader's exchange and several graders"),
    "on-push": N_("the check in repositories of the students', on a public host, at each push"),
    "threat-model": N_("what grading may be relied on for when notebooks come from strangers, and what not"),
}
TO_LEARNERS = N_(
    "You build a Transformer from one weighted average up: [the map]({map}) shows the way, and unit 00 takes half an "
    "hour. Everything on this site can be read as it is, and every picture moves. To write and to be checked, open a "
    "unit in your own JupyterLab or in Colab."
)
TO_INSTRUCTORS = N_(
    "Notebooks go out, notebooks come back, and points, pages that explain them and a table for the gradebook are made "
    "from them: on fresh inputs, in a sandbox, with nbgrader. The units, with minutes and points, are on "
    "[the map]({map}). [How the checks are checked]({checked}) has the measured rates of right answers refused, wrong "
    "ones passed, and cheats paid."
)


def pages() -> dict[str, str]:
    """The pages ``learners``, ``instructors`` and ``contributors``."""
    there = {name: links.page("learners", name) for name in ("map", "checked", "glossary", "notation")}
    words = _("Words: the [glossary]({glossary}) and the [notation]({notation}).").format(**there)
    learners = [f"# {_('For learners')}", _(TO_LEARNERS).format(**there), _listed("learners", LEARNERS), words]
    instructors = [
        f"# {_('For instructors')}",
        _(TO_INSTRUCTORS).format(**there),
        _listed("instructors", INSTRUCTORS),
    ]
    return {
        "learners": "\n\n".join(learners) + "\n",
        "instructors": "\n\n".join(instructors) + "\n",
        "contributors": contributing(),
    }


def english() -> set[str]:
    """Pages that are in English only."""
    return {"contributors"}


def _link(here: str, there: str, words: str) -> str:
    return f"[{words}]({links.page(here, there)})"


def _listed(here: str, guides: dict[str, str]) -> str:
    return "\n".join(
        _("- {page}: {what}").format(page=_link(here, f"docs/{name}", title(name)), what=_(what))
        for name, what in guides.items()
    )


def title(name: str) -> str:
    """The heading of ``docs/NAME.md``, in the current language if the page is in it."""
    english = documents.source(name).split("\n", 1)[0].removeprefix("# ")
    return written(documents.context(name), english)


def contributing() -> str:
    """CONTRIBUTING.md as a page; links to files that are not on the site are shown as code."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^\]]+)\]\((?!#|https?:)([^)]+)\)", _to_page, text)


def _to_page(link: re.Match[str]) -> str:
    words, path = link[1], link[2]
    found = re.fullmatch(r"docs/((?:contributing/)?[\w-]+)\.md(#.*)?", posixpath.normpath(path))
    if found:
        return f"[{words}]({links.page('contributors', f'docs/{found[1]}', (found[2] or '#')[1:])})"
    return words if words.startswith("`") else f"{words} (`{path}`)"
