"""Shannon's guessing game: letter by letter on pages that no player has read, you beside your models.

The game is that of Shannon 1951, "Prediction and Entropy of Printed English", with one guess per letter.
"""

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..system.translation import _
from . import one_thread
from .speaking import encode

LEAST = 1e-5  # ways to spell a word that are less likely are left out
Guess = Callable[[str], str]  # text → one letter, the guess what comes next
SHOWN, LETTERS, READ = 240, 20, 340  # characters shown first, to guess, and before them that a model reads at most


@dataclass(frozen=True)
class Game:
    """One passage: what is shown, what was before that (models may read it), and the letters to guess."""

    before: str
    shown: str
    hidden: str

    def play(self, guesses: str = "", **players: Guess) -> None:
        """Prints how the guesses so far did, and after the last letter what the other players would have guessed.

        guesses: one character per letter, capital or small. players: name → function of the text so far.
        """
        told = min(len(guesses), len(self.hidden))
        print(textwrap.fill(self.shown + self.hidden[:told] + "▁", 100))
        yours = right(guesses, self.hidden)
        self._row(_("you"), guesses[:told], yours)
        if told < len(self.hidden):
            print(
                _("{told} of {all} letters. Add your next guess to the text and run the cell again.").format(
                    told=told, all=len(self.hidden)
                )
            )
            return
        for name, guess in players.items():
            theirs = self.guesses(guess)
            self._row(name, theirs, right(theirs, self.hidden))

    def guesses(self, guess: Guess) -> str:
        """What a player guesses for each hidden letter, given all letters before it."""
        text = self.before + self.shown + self.hidden
        first = len(text) - len(self.hidden)
        return "".join(guess(text[:at]) for at in range(first, len(text)))

    def _row(self, name: str, guesses: str, hits: list[bool]) -> None:
        marks = " ".join(c.replace(" ", "␣") + ("✓" if hit else "✗") for c, hit in zip(guesses, hits, strict=False))
        print(f"{name:>16}: {sum(hits):2} ✓  {marks}")


def right(guesses: str, truth: str) -> list[bool]:
    """Which guesses are the letters of the page, capital or small; guesses beyond the last letter don't count."""
    return [a.lower() == b.lower() for a, b in zip(guesses, truth, strict=False)]


def passage(pages: str, seed: int = 0, letters: int = LETTERS) -> Game:
    """Draws a passage inside one paragraph of ``pages``; its hidden letters begin inside a sentence.

    Raises ValueError if no paragraph is long enough.
    """
    starts = []
    for begin, end in _paragraphs(pages):
        starts += [i for i in range(begin + SHOWN, end - letters) if pages[i - 1] == " " and pages[i].islower()]
    if not starts:
        raise ValueError(f"no paragraph has {SHOWN + letters} characters with a word that begins behind them")
    at = random.Random(seed).choice(starts)
    first = pages.index(" ", at - SHOWN) + 1
    return Game(pages[max(0, at - READ) : first], pages[first:at], pages[at : at + letters])


def _paragraphs(pages):
    """First and last position of each line that isn't empty."""
    at = 0
    for line in pages.split("\n"):
        yield at, at + len(line)
        at += len(line) + 1


@one_thread
@torch.no_grad()
def next_letters(model: Any, tokenizer: Any, text: str) -> dict[str, float]:
    """Letter → its probability after ``text``, for a model of tokens.

    A text may end inside a token: for a model that knows *happy* as one token, *hap* is not its beginning. So the last
    word is taken off, and every way counts in which tokens can spell it and go on.
    """
    cut = text.rfind(" ")
    found: dict[str, float] = {}
    if cut > 0:
        _spell(model, tokenizer, encode(tokenizer, text[:cut]), text[cut:], 1.0, found)
    if not found:  # no tokens spell the begun word, as with half of a character that takes several bytes
        _spell(model, tokenizer, encode(tokenizer, text), "", 1.0, found)
    total = sum(found.values())
    return {letter: p / total for letter, p in sorted(found.items(), key=lambda pair: -pair[1])}


def _spell(model, tokenizer, ids, begun, weight, found):
    """Adds to ``found`` the letters that follow ``begun``, over all tokens that spell it; ``weight``: their product."""
    p = torch.softmax(model(torch.tensor([ids]))[0][0, -1].double(), -1).tolist()
    pieces = _pieces(tokenizer, len(p))
    for i, piece in enumerate(pieces):
        if len(piece) > len(begun) and piece.startswith(begun):
            letter = piece[len(begun)]
            found[letter] = found.get(letter, 0.0) + weight * p[i]
        elif piece and begun.startswith(piece) and weight * p[i] > LEAST:
            _spell(model, tokenizer, [*ids, i], begun[len(piece) :], weight * p[i], found)


_READ: dict[int, tuple[Any, list[str]]] = {}


def _pieces(tokenizer, vocabulary):
    """Text of each token, read once per tokenizer; "" for half a character."""
    kept = _READ.get(id(tokenizer))
    if kept is None or kept[0] is not tokenizer or len(kept[1]) != vocabulary:
        texts = [tokenizer.decode([i]) for i in range(vocabulary)]
        kept = _READ[id(tokenizer)] = (tokenizer, ["" if "\ufffd" in t else t for t in texts])
    return kept[1]


def likeliest(model: Any, tokenizer: Any, text: str) -> str:
    """The letter that a model of tokens finds likeliest after ``text``."""
    return next(iter(next_letters(model, tokenizer, text)))
