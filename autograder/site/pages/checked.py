"""How the checks are checked: what ``make bench-judge`` measured, the command of each figure, what it can't show."""

from collections.abc import Iterable, Mapping, Sequence

from anatomy.program import units

from autograder import measured
from autograder.measured import Entry

from .. import links
from ..words import N_, _, ngettext, unit_title

HERE = "checked"
LEAD = N_(
    "A check that refuses a right answer costs you an evening, and one that passes a wrong answer teaches you "
    "something false. So the checks are tried like anything else in this course. Every figure on this page, except "
    "the dated first trials, comes from a file that a command writes. The command stands below its table, and the "
    "table at the end says when and on what machine it ran."
)
LISTED = N_(
    "For each exercise its authors wrote down the mistakes that people make, each with the sentence that names it. "
    "Each of these mistakes has to fail and has to get its own sentence. The solution, and the right answers that go "
    "another way, have to pass, on the examples and on fresh inputs."
)
ANSWERS = N_(
    "A list of mistakes proves nothing about the mistakes that are not in it. So right and wrong answers were written "
    "from the text of a notebook alone, without its solution, its list and its tests. What a set of them says is worth "
    "most when it is tried for the first time, because the checks are mended afterwards. That is also why the figures "
    "of a first trial can't be measured again: the date says when they were taken. The same answers can be tried on "
    "the checks of today, and these are the columns *today*."
)
FIRST = N_("The first set is not a trial: the checks were made with it.")
DASH = N_("A dash under *today* means that not all answers of the set have been tried since.")
SLIPS = N_(
    "No set is free of slips of its own, for example a right answer that uses a function that is not allowed. Texts "
    "were sharpened, too, so an answer that was right may lack what its text asks today. "
    "`make bench-answers` lists each answer that is refused or passes, so that people can read it."
)
ANSWERS_BELOW = N_(
    "*Named* means that the check says which mistake it is. Of the other wrong answers, most are told what is wrong "
    "with their result, for example a dtype, an error or a cost. A wrong answer that passes is worse than one without "
    "a name, and a right answer that is refused is the worst."
)
MUTANTS = N_(
    "A machine changes right answers in one place each: another sign, another axis, one step more or fewer. Every "
    "such change has to fail, unless it makes no difference. It may be one that can't make any, such as naming a "
    "default value; or a person has read it and written down why it is no mistake. What is left would be a hole."
)
HOSTILE = N_(
    "Submissions that want points without an answer forge a score, look for the expected results, let a library do "
    "the exercise, fill the disk or never end. They are graded as a class is. *Paid* is how many get a point that they "
    "did not earn. nbgrader alone runs the check in the same process as the submission, and it doesn't ask whether a "
    "library did the work, which explains its row."
)
LIMITS = (
    N_("Mistakes that nobody has thought of, neither an author nor a writer of answers nor the machine."),
    N_("How often real students make each mistake: the answers were written to be wrong in many ways, not by a class."),
    N_("Whether a sentence that names a mistake helps the person who reads it. Only a class can show that."),
    N_("Attacks that nobody has tried. That none of these gets a point does not mean that none can."),
    N_("Anything about a later version of the checks. If what a figure counts has changed, a test fails."),
)
REPORT = N_("If a check refuses your right answer, or passes a wrong one, please report it: it becomes a test.")


def pages() -> dict[str, str]:
    """The page ``checked``; without measurements none."""
    known = measured.read()
    if not any(known.values()):
        return {}
    parts = [
        f"# {_('How the checks are checked')}\n\n{_(LEAD)}",
        f"## {_('Mistakes that are listed')}\n\n{_(LISTED)}\n\n{_listed(known)}\n\n{command('listed')}",
        f"## {_('Answers that the checks had never seen')}\n\n{_(ANSWERS)}\n\n{_answers(known['answers'])}\n\n"
        f"{_(FIRST)} {_(SLIPS)}\n\n{_(ANSWERS_BELOW)}\n\n{command('answers')}",
        f"## {_('Changes that a machine makes')}\n\n{_(MUTANTS)}\n\n{_mutants(known['mutants'])}\n\n"
        f"{command('mutants')}",
        f"## {_('Submissions that cheat')}\n\n{_(HOSTILE)}\n\n{_hostile(known)}\n\n{command('hostile', 'stock')}",
        f"## {_('What these numbers cannot show')}\n\n" + "\n".join(f"- {_(limit)}" for limit in LIMITS),
        _(REPORT),
        f"## {_('Where and when')}\n\n{_places(known)}",
    ]
    return {HERE: "\n\n".join(parts) + "\n"}


def command(*parts: str) -> str:
    """The commands that measure these parts, as a sentence."""
    made = ", ".join(f"`make bench-judge PART={part}`" for part in parts)
    return _("Measured by {command}.").format(command=made)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, numbers on the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def of(some: float, all_: float) -> str:
    """``4,823 of 4,823``."""
    return _("{some} of {all}").format(some=f"{some:,.0f}", all=f"{all_:,.0f}")


def percent(some: float, all_: float) -> str:
    """``75 %`` for 3 of 4."""
    return f"{100 * some / max(all_, 1):.0f} %"


def covers(entries: Mapping[str, Entry]) -> str:
    """Says which units are not measured yet, or ""."""
    missing = [name[:2] for name in units.names() if not any(key.endswith(name) for key in entries)]
    if not missing:
        return ""
    one = ngettext("Not measured yet: unit {names}.", "Not measured yet: units {names}.", len(missing))
    return f"\n\n{one.format(names=', '.join(missing))}"


def _linked(name: str) -> str:
    return f"[{name[:2]} {unit_title(name)}]({links.unit('checked', name)})"


def _day(date: str) -> str:
    """A date that stays in one line."""
    return date.replace("-", "\N{NON-BREAKING HYPHEN}")


def _listed(known: Mapping[str, Mapping[str, Entry]]) -> str:
    entries = known["listed"]
    head = [_("unit"), _("listed mistakes caught"), _("called by their own name"), _("right answers passed")]
    rows = [[_linked(n), *_of_listed(entries[n].figures)] for n in units.names() if n in entries]
    rows.append([f"**{_('all')}**", *_of_listed(measured.total(entries))])
    return table(head, rows) + covers(entries)


def _of_listed(f: Mapping[str, float]) -> list[str]:
    return [of(f["caught"], f["mistakes"]), of(f["named"], f["mistakes"]), of(f["accepted"], f["right"])]


def _answers(entries: Mapping[str, Entry]) -> str:
    head = [
        *(_("set"), _("first trial"), _("wrong answers: named"), _("passed"), _("right answers: refused")),
        *(_("today: named"), _("passed today"), _("refused today")),
    ]
    rows, first = [], measured.trials()
    for name in ("first", *first):
        trial, found = first.get(name), measured.of_set(entries, name)
        today = measured.total(found)
        then = ["–"] * 4
        if trial:
            then = [
                _day(trial.date),
                f"{trial.named:.0f} %",
                of(trial.passed, trial.wrong),
                of(trial.refused, trial.right),
            ]
        now = ["–"] * 3
        if len(found) == len(units.names()):
            wrong = today["wrong"] - today["cell"]
            now = [percent(today["named"], wrong), of(today["passed"], wrong), of(today["refused"], today["right"])]
        rows.append([_(SETS.get(name, name)), *then, *now])
    complete = all(row[-1] != "–" for row in rows)
    return table(head, rows) + ("" if complete else f"\n\n{_(DASH)}")


SETS = {"first": N_("first"), "second": N_("second"), "third": N_("third"), "fourth": N_("fourth")}


def _mutants(entries: Mapping[str, Entry]) -> str:
    head = [_("unit"), _("changes"), _("fail"), _("change nothing"), _("explained"), _("left")]
    rows = [[_linked(n), *_of_mutants(entries[n].figures)] for n in units.names() if n in entries]
    rows.append([f"**{_('all')}**", *_of_mutants(measured.total(entries))])
    return table(head, rows) + covers(entries)


def _of_mutants(f: Mapping[str, float]) -> list[str]:
    return [f"{f[name]:,.0f}" for name in ("mutants", "killed", "without_effect", "explained", "left")]


def _hostile(known: Mapping[str, Mapping[str, Entry]]) -> str:
    rows, hostile = [], known["hostile"]
    if "submissions" in hostile:
        f = hostile["submissions"].figures
        most = _("at most {seconds} s of the grader's own processor time").format(seconds=f"{f['worst_cpu']:g}")
        what = _("hostile submissions of {n} kinds, graded by this course").format(n=int(f["techniques"]))
        rows.append([what, of(f["paid"], f["tried"]), most])
    stock = _("those of them that want points, graded by nbgrader alone")
    if not known["stock"]:
        rows.append([stock, "–", _("not measured yet")])
    else:
        alone = measured.total(known["stock"])
        lost = _("{n} end without any result").format(n=int(alone["no_result"]))
        paid = of(alone["paid"], alone["tried"])
        rows.append([stock, paid, lost])
    if "evasions" in hostile:
        f = hostile["evasions"].figures
        seen = _("{seen} seen from their source; {held} right answers or trials beside one suspected").format(
            seen=of(f["seen"], f["tried"]), held=of(f["held"], f["right"])
        )
        rows.append([_("answers that let a library do the exercise"), "–", seen])
    if "folders" in hostile:
        f = hostile["folders"].figures
        hidden = _("{n} hide an honest submission beside them").format(n=of(f["hidden"], f["tried"]))
        rows.append([_("odd or hostile entries in a class's folder"), "–", hidden])
    return table([_("what was tried"), _("paid"), _("besides")], rows)


def _places(known: Mapping[str, Mapping[str, Entry]]) -> str:
    head = [_("measurement"), _("date"), _("commit"), _("checks"), _("machine")]
    rows = []
    for part, name in PARTS.items():
        runs: dict[tuple[str, str, str], set[str]] = {}
        for entry in known[part].values():
            runs.setdefault((entry.date, entry.checks, entry.machine), set()).add(entry.commit)
        for (date, digest, machine), commits in sorted(runs.items()):
            made = ", ".join(f"`{commit}`" for commit in sorted(commits))
            rows.append([f"`{part}`: {_(name)}", _day(date), made, f"`{digest}`", machine])
    below = _(
        "*Checks* is a digest of the code and the recordings that decide: figures with the same one can be compared."
    )
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{below}"


PARTS = {
    "listed": N_("listed mistakes"),
    "answers": N_("written answers"),
    "mutants": N_("changes by a machine"),
    "hostile": N_("submissions that cheat"),
    "stock": N_("the same in nbgrader alone"),
}
