"""Recap questions with instant answers, as plain HTML: they work without a kernel and with the keyboard."""

import html


class Quiz:
    """One recap question: each choice unfolds into its answer."""

    def __init__(self, question, choices):
        right = [c for c, (ok, _) in choices.items() if ok]
        if len(right) != 1:
            raise ValueError(f"a question needs exactly one right choice, this one has {len(right)}: {question}")
        self.question, self.choices = question, choices

    def __repr__(self):
        lines = [self.question]
        for choice, (ok, why) in self.choices.items():
            lines.append(f"  - {choice}\n      {'Right.' if ok else 'Not quite.'} {why}")
        return "\n".join(lines)

    def _repr_html_(self):
        rows = "".join(
            f'<details style="margin:.2em 0 .2em 1em"><summary>{html.escape(choice)}</summary>'
            f'<div style="margin-left:1.2em"><b>{"✓ Right." if ok else "✗ Not quite."}</b> {html.escape(why)}</div>'
            f"</details>" for choice, (ok, why) in self.choices.items())
        return f"<div><p><b>{html.escape(self.question)}</b></p>{rows}</div>"


def quiz(question, choices):
    """A question whose choices unfold into their answers.

    Args:
        question: one sentence.
        choices: dict choice → (is it right, why), exactly one of them right.
    """
    return Quiz(question, choices)
