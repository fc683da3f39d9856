"""Exceptions with their reasons, as a spec writes them: a line with the reason, and below it, indented, what it is for.

what does not divide evenly has raised an error already
    ef3c826c4d solution, arithmetic: H // G rounded up
    7840e3cb01 solution, arithmetic: n_heads // n_kv_heads rounded up
"""

import textwrap

SHORTEST = 15  # characters of a reason


class BadReason(ValueError):
    """A block that cannot be read; the message quotes the line."""


def reasons(text: str) -> dict[str, str]:
    """Indented line → its reason.

    Raises BadReason where a line has no reason above it or comes twice, and where a reason is short or for nothing.
    """
    found: dict[str, str] = {}
    reason, used = "", True
    for line in [*filter(str.strip, textwrap.dedent(text).split("\n")), "the end of the block"]:
        if not line.startswith(" "):
            if not used:
                raise BadReason(f"{reason!r} is for nothing: no indented line follows it")
            reason, used = line.strip(), False
        elif len(reason) < SHORTEST:
            raise BadReason(f"{line.strip()!r} needs a reason of {SHORTEST} characters or more above it")
        elif line.strip() in found:
            raise BadReason(f"{line.strip()!r} comes twice")
        else:
            found[line.strip()], used = reason, True
    return found


def written(found: dict[str, str]) -> str:
    """The block for lines and their reasons, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for line, reason in found.items():
        by_reason.setdefault(reason, []).append(f"    {line}")
    return "".join(f"{reason}\n" + "\n".join(lines) + "\n" for reason, lines in by_reason.items())
