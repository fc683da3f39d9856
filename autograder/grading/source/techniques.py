"""The kinds of signs that ``signs.py`` finds, and what a sign is. Tables and pages need no more of them than this."""

from dataclasses import dataclass

from anatomy.system.translation import N_

# Techniques that can hide the use of forbidden built-ins.
EVASIONS = ("ban", "judge", "patching", "introspection", "dynamic code", "processes")


@dataclass(frozen=True)
class Sign:
    """A sign. technique: a key of WORDS. evidence: the line, cut to 160 characters. where: cell id and line."""

    technique: str
    evidence: str
    where: str


WORDS = {
    "patching": N_("replaces functions of a library or of Python itself"),
    "judge": N_("reaches for the course's checking code"),
    "ban": N_("calls torch's internals, below the functions that an exercise may forbid"),
    "introspection": N_("looks into the interpreter: frames, globals of others, live objects"),
    "dynamic code": N_("builds code from text at run time"),
    "notebook machinery": N_("reaches into IPython: hooks, transformers, display, output streams"),
    "grader's files": N_("names files or variables of the grader"),
    "network": N_("opens network connections"),
    "processes": N_("starts processes or threads, sends signals, or ends the interpreter"),
    "comparison": N_("defines objects that decide themselves what they are equal to, or tensor subclasses"),
    "examples": N_("right on the examples of the check, wrong on every other input"),
    "forgery": N_("changed marks, check cells or stored scores"),
    "resources": N_("ran into the limits on time, memory or output"),
    "reply": N_("answered the grader in a form that no honest answer has"),
}
