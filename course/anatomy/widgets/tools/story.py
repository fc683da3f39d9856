"""A story: a few steps in which a widget says what to try and what to notice, and asks a question."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .words import _


@dataclass(frozen=True)
class Step:
    """One step of a widget's story.

    says: one or two short sentences: what to do, and what to notice
    asks: a question that the picture of this step answers
    choices: two or three answers, ``answer`` the index of the right one
    because: shown after the right answer; ``look`` after a wrong one: where in the picture to find the answer
    state: the scene: every trait that a control changes, with its value in this step
    moves: traits that the step invites to move: the question does not rest on them, so an answer leaves them alone
    """

    says: str
    asks: str
    choices: tuple[str, ...]
    answer: int
    because: str
    look: str
    state: Mapping[str, Any] = field(default_factory=dict)
    moves: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.answer < len(self.choices):
            raise ValueError(f"the answer of “{self.asks}” is number {self.answer} of {len(self.choices)} choices")
        if strange := set(self.moves) - set(self.state):
            raise ValueError(f"“{self.says}” lets {', '.join(sorted(strange))} move, which its state does not set")

    def described(self) -> dict[str, Any]:
        """The step as JSON for the page."""
        said = {name: _(getattr(self, name)) for name in ("says", "asks", "because", "look")}
        return {**asdict(self), **said, "choices": [_(c) for c in self.choices], "state": dict(self.state)}
