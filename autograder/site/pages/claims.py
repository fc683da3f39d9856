"""All claims on trial: the claim, the verdict, and the kind of evidence."""

import re

from autograder.notebooks import facts
from autograder.site import links

HERE = "claims"
KINDS = {
    "exact": "computed: the cells before the verdict compute it, nothing is trained or timed",
    "recorded": "recorded: trainings with at least three seeds of each setting, and a control",
    "measured": "measured: recorded times or bytes, on a named device",
    "models": "published: configurations of released models, run or counted",
    "cited": "cited: a source that the text names, where no run can decide",
    "argued": "argued: an argument, beside a part that tests it",
}


def pages() -> dict[str, str]:
    """The page ``claims``."""
    by_unit = {name: facts.claims(name) for name in facts.names()}
    every = [claim for found in by_unit.values() for claim in found]
    counts = {kind: sum(kind in c.kinds for c in every) for kind in KINDS}
    legend = "\n".join(
        f"- **{text.split(':')[0]}** ({counts[kind]}):{text.split(':')[1]}"
        for kind, text in KINDS.items()
        if counts[kind]
    )
    text = f"""# Claims on trial

{len(every)} statements that are often made about Transformers, each put to a test in the unit that it belongs to. The
verdicts are short here; the unit shows the cells that decide, and says where the verdict ends.

What they rest on (a verdict can rest on several):

{legend}

{chr(10).join(_of(name, found) for name, found in by_unit.items() if found)}"""
    return {HERE: text}


def _of(name: str, found: list[facts.Claim]) -> str:
    rows = "\n".join(
        f"{quoted(c.claim)}\n\n[{verdict(c.verdict)}]({links.unit(HERE, name, c.verdict_cell)}) "
        f"{_evidence(c)} ([the trial]({links.unit(HERE, name, c.claim_cell)}))\n"
        for c in found
    )
    return f"## {name[:2]} {facts.title_of(name)}\n\n{rows}"


def _evidence(claim: facts.Claim) -> str:
    words = claim.evidence.removeprefix("Evidence: ").replace("computed above", "computed in the unit")
    words = words.replace("the argument above", "an argument")
    return words[:1].upper() + words[1:]


def quoted(claim: str) -> str:
    """The claim as a quotation in Markdown. Its text has lost the asterisks at its ends, but not those inside."""
    text = f"*{claim}" if claim.startswith('"') else claim
    return f"> {text}{'*' * (text.count('*') % 2)}"


def verdict(says: str) -> str:
    """The verdict's text, without the word "Verdict"."""
    words = re.sub(r"^Verdict: ", "", says)
    return words[:1].upper() + words[1:]
