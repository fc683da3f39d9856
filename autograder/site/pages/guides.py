"""Start pages for learners, instructors and contributors, from ``docs/`` and CONTRIBUTING.md."""

import posixpath
import re

from autograder import ROOT
from autograder.site import links

LEARNERS = {
    "learners": "how a unit works, how a check talks, what to do when stuck, how answers are kept",
    "students": "installing on Linux, macOS, Windows, with conda, in Colab; updates; when something fails",
}
INSTRUCTORS = {
    "instructors": "a term from the roster to the grades, each command tested",
    "jupyterhub": "the course on a hub, with nbgrader's exchange and several graders",
    "threat-model": "what grading may be relied on for when notebooks come from strangers, and what not",
}


def pages() -> dict[str, str]:
    """The pages ``learners``, ``instructors`` and ``contributors``."""
    return {
        "learners": f"""# For learners

You build a Transformer from one weighted average up: {_link("learners", "map", "the map")} shows the way,
and unit 00 takes half an hour. Everything on this site can be read as it is, and every picture moves. To write
and to be checked, open a unit in your own JupyterLab or in Colab.

{_listed("learners", LEARNERS)}

Words: the {_link("learners", "glossary", "glossary")} and the {_link("learners", "notation", "notation")}.
""",
        "instructors": f"""# For instructors

Notebooks go out, notebooks come back, and points, pages that explain them and a table for the gradebook are made from
them: on fresh inputs, in a sandbox, with nbgrader. The units, with minutes and points, are on
{_link("instructors", "map", "the map")}.

{_listed("instructors", INSTRUCTORS)}
""",
        "contributors": contributing(),
    }


def _link(here: str, there: str, words: str) -> str:
    return f"[{words}]({links.page(here, there)})"


def _listed(here: str, documents: dict[str, str]) -> str:
    return "\n".join(f"- {_link(here, f'docs/{name}', title(name))}: {what}" for name, what in documents.items())


def title(name: str) -> str:
    """The heading of ``docs/NAME.md``."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")


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
