"""Checks a built site: ``files`` reads the pages; ``looking``, ``ways`` and ``budgets`` open them in a real browser.

``python -m autograder.site.checks build/site/html`` (make site-check) prints each measurement with its limit.
"""

from dataclasses import dataclass, field


@dataclass
class Finding:
    """One line of the report: what was checked, what was measured, and a list of problems (empty if all is well)."""

    name: str
    measured: str
    limit: str = ""
    wrong: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """True if there is no problem."""
        return not self.wrong


def table(findings: list[Finding]) -> str:
    """The report as text: a line for each finding, followed by its first problems, if any."""
    width = max(58, *(len(f.name) for f in findings))
    lines = []
    for f in findings:
        limit = f"  (limit {f.limit})" if f.limit else ""
        lines.append(f"{'ok ' if f.good else 'NOT'}  {f.name:<{width}}  {f.measured}{limit}")
        lines += [f"       {problem}" for problem in f.wrong[:12]]
        if len(f.wrong) > 12:
            lines.append(f"       and {len(f.wrong) - 12} more")
    return "\n".join(lines)
