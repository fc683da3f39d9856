"""A story: a few steps in which a widget says what to try and what to notice, and asks a question."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .words import _

# Read-outs that can wait for an answer: the line below the controls, the signs below the picture, and what a widget
# marks as its numbers (``data-readout``): tiles, verdicts, notes.
READOUTS = ("line", "signs", "numbers")


@dataclass(frozen=True)
class Step:
    """One step of a widget's story.

    says: one or two short sentences: what to do, and what to notice
    asks: a question that the picture of this step answers
    choices: two or three answers, ``answer`` the index of the right one
    because: shown after the right answer; ``look`` after a wrong one: where in the picture to find the answer
    state: the scene: every trait that a control changes, with its value in this step
    moves: traits that the step invites to move: the question does not rest on them, so an answer leaves them alone
    show: what “Show me” does, from the scene on: states that each name what changes, traits or what is pointed at.
        Where it ends, the answer can be read off the picture, and only what may move has moved
    waits: read-outs, of READOUTS, that would give the answer away. While the scene stands, they are seen and heard only
        after an answer, or after “Reveal”, which also says why
    without: what comes with a later step and would only be in the way here: names of traits, whose controls are hidden,
        and of parts that a widget marks (``data-part``; ``data-of`` is the trait that one belongs to). A trait that
        stands elsewhere keeps them. All this only where a page shows the reference alone, whose first step goes
        without checks, too; a notebook's text may speak of any control
    """

    says: str
    asks: str
    choices: tuple[str, ...]
    answer: int
    because: str
    look: str
    state: Mapping[str, Any] = field(default_factory=dict)
    moves: tuple[str, ...] = ()
    show: tuple[Mapping[str, Any], ...] = ()
    waits: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.answer < len(self.choices):
            raise ValueError(f"the answer of “{self.asks}” is number {self.answer} of {len(self.choices)} choices")
        if strange := set(self.moves) - set(self.state):
            raise ValueError(f"“{self.says}” lets {', '.join(sorted(strange))} move, which its state does not set")
        if strange := set(self.waits) - set(READOUTS):
            raise ValueError(f"“{self.asks}” lets {', '.join(sorted(strange))} wait; it can be {', '.join(READOUTS)}")
        end = {name: value for state in self.show for name, value in state.items() if name in self.state}
        if left := sorted(name for name in set(end) - set(self.moves) if end[name] != self.state[name]):
            raise ValueError(f"“Show me” of “{self.asks}” ends with another {', '.join(left)}, which may not move")

    @property
    def asks_for_function(self) -> bool:
        """Whether the step asks for a function of the learner's, which only a notebook can give to the widget."""
        return "give the widget" in self.says

    def described(self) -> dict[str, Any]:
        """The step as JSON for the page."""
        said = {name: _(getattr(self, name)) for name in ("says", "asks", "because", "look")}
        return {**asdict(self), **said, "choices": [_(c) for c in self.choices], "state": dict(self.state)}
