"""Shows a model's text as it is generated, token by token, and saves the text as a card to keep.

Nothing here draws a token or runs a model: the learner's functions do both, and this module only watches. A tokenizer
has ``encode(text)``, which returns ids or an object with ``.ids``, and ``decode(ids)``, which turns a list into text.
"""

import html
import json
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..figures import pictured
from ..language.stand_in import StandIn
from ..system import files
from ..system.translation import ENGLISH, _, language, listed, listed_and, sentences, speaking
from . import one_thread

Pick = Callable[[Tensor], Tensor]
PAUSE = 0.05  # seconds between two updates of a growing text: a page can't show more
LINE = 'style="font: 1.15em/1.6 Georgia, serif; max-width: 42em; white-space: pre-wrap; overflow-wrap: anywhere"'


def encode(tokenizer: Any, text: str) -> list[int]:
    """Ids of a text, from the library's tokenizer or the learner's."""
    found = tokenizer.encode(text)
    return list(getattr(found, "ids", found))


def picker(distribution: Callable[..., Tensor], seed: int = 0, **settings: Any) -> Pick:
    """Returns a function that draws the next token: logits (B, V) → ids (B,) int64, the same for the same seed.

    distribution: ``(logits (B, V), **settings) → probabilities (B, V)``, the learner's. settings: its other arguments,
    such as temperature=0.7 or top_k=40.
    """
    generator = torch.Generator().manual_seed(seed)
    return lambda logits: torch.multinomial(distribution(logits, **settings), 1, generator=generator)[:, 0]


@one_thread
def speak(
    generate: Callable[..., Tensor],
    model: Any,
    tokenizer: Any,
    prompt: str,
    pick: Pick,
    n: int = 60,
    live: bool = True,
) -> str:
    """Writes ``n`` tokens after a prompt and shows each as soon as it is drawn; returns the written text.

    Args:
        generate: ``(model, ids (1, T), n, pick) → ids (1, T + n)``, the learner's.
        pick: logits (1, V) → ids (1,), as from ``picker``.
        live: False shows nothing.
    """
    ids = encode(tokenizer, prompt)
    page = Page(prompt) if live else None
    drawn: list[int] = []

    def watched(logits: Tensor) -> Tensor:
        token = pick(logits)
        drawn.append(int(token[0]))
        if page:
            page.show(readable(tokenizer, drawn))
        return token

    with torch.no_grad():
        whole = generate(model, torch.tensor([ids]), n, watched)
    written = readable(tokenizer, whole[0, len(ids) :].tolist(), whole=True)
    if page:
        page.show(written, last=True)
    return written


def readable(tokenizer: Any, ids: Sequence[int], whole: bool = False) -> str:
    """Text of ids. A character may span several tokens: unless ``whole``, an incomplete one at the end is left out."""
    text = tokenizer.decode(list(ids))
    return text if whole else text.rstrip("\ufffd")


class Page:
    """A growing paragraph of a notebook: the prompt in bold, then the written text."""

    def __init__(self, prompt: str):
        self.prompt, self.place, self.shown = prompt, None, 0.0

    def show(self, text: str, last: bool = False) -> None:
        """Shows ``text`` after the prompt, at most 20 times a second; the last text is always shown."""
        if not last and time.monotonic() < self.shown + PAUSE:
            return
        from IPython.display import display

        bundle = {"text/plain": self.prompt + text, "text/html": self.markup(text, last)}
        if self.place is None:
            self.place = display(bundle, raw=True, display_id=True)
        else:
            self.place.update(bundle, raw=True)
        self.shown = time.monotonic()

    def markup(self, text: str, last: bool = True) -> str:
        """HTML, with a cursor if more text will follow."""
        cursor = "" if last else '<span aria-hidden="true">▍</span>'
        return f"<div {LINE}><b>{html.escape(self.prompt)}</b>{html.escape(text)}{cursor}</div>"


@torch.no_grad()
def candidates(
    model: Any, tokenizer: Any, text: str, distribution: Callable[..., Tensor], n: int = 8, **settings: Any
) -> list[tuple[str, float]]:
    """Shows the ``n`` likeliest next tokens of a text with their probabilities, as bars.

    Args: distribution and settings as ``picker`` takes them; the model gives (logits (1, T, V), past).
    Returns: list of (token as text, probability), the likeliest first; tokens of probability 0 are left out.
    """
    logits, _past = model(torch.tensor([encode(tokenizer, text)]))
    p = distribution(logits[:, -1], **settings)[0]
    values, ids = p.topk(min(n, len(p)))
    found = [(tokenizer.decode([i]), v) for i, v in zip(ids.tolist(), values.tolist(), strict=True) if v > 0]
    _show_bars(text, found)
    return found


def _show_bars(text, found):
    """A table whose last column is a bar; the same numbers as plain text."""
    from IPython.display import display

    tail = text if len(text) <= 60 else "…" + text[-59:]
    rows = "".join(
        f'<tr><td style="text-align: left"><code>{html.escape(visible(token))}</code></td><td>{p:.1%}</td>'
        f'<td style="text-align: left; min-width: 12em"><div style="width: {max(100 * p, 0.5):.1f}%; height: 0.8em; '
        'background: #0072B2"></div></td></tr>'
        for token, p in found
    )
    plain = "\n".join(f"{visible(token):>14} {p:6.1%} {'█' * round(40 * p)}" for token, p in found)
    title = _("What may follow “{tail}”").format(tail=tail)
    markup = (
        f"<table><caption>{html.escape(title)}</caption>"
        f"<thead><tr><th>{_('token')}</th><th>{_('probability')}</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
    )
    display({"text/plain": f"{title}\n{plain}", "text/html": markup}, raw=True)


def visible(token: str) -> str:
    """A token with its spaces and line ends made visible."""
    return token.replace(" ", "␣").replace("\n", "⏎")


STYLE = """
  body { margin: 0; display: grid; place-items: center; min-height: 100vh; background: #f3efe6; color: #222; }
  figure { margin: 2rem; padding: 2.5rem 3rem; max-width: 38rem; background: #fffdf8; border-radius: 10px;
    box-shadow: 0 2px 14px #0003; font: 1.2rem/1.65 Georgia, serif; }
  blockquote { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
  b { color: #0a5a8a; }
  figcaption { margin-top: 1.6rem; padding-top: 1rem; border-top: 1px solid #8886; font: 0.85rem/1.5 sans-serif; }
  @media (prefers-color-scheme: dark) {
    body { background: #16181c; color: #e8e6e1; } figure { background: #22252b; } b { color: #7cc4f0; }
  }
"""


def card(
    prompt: str,
    text: str,
    settings: Mapping[str, Any],
    folder: Path | str = ".",
    name: str = "my-card",
    model: Any = None,
) -> list[Path]:
    """Saves a prompt and the model's text as a standalone page and as a picture, and shows the picture.

    Args:
        settings: the caption's contents, such as ``{"temperature": 0.7, "seed": 1}``.
        folder: the notebook's own by default.
        model: the one that wrote, so that the card says whose it is; None for one of the learner's parts.

    Returns: paths of ``my-card.html`` and ``my-card.png``. An existing file is never overwritten: the next pair is
    ``my-card-2``, and so on.
    """
    of_ours = isinstance(model, StandIn)
    with speaking(language() if pictured.font() else ENGLISH):
        picture = _picture(prompt, text, _caption(of_ours, settings))
    contents = {".html": _page(prompt, text, _caption(of_ours, settings)).encode(), ".png": picture}
    number = 1
    while True:
        stem = name if number == 1 else f"{name}-{number}"
        paths = {ending: Path(folder) / (stem + ending) for ending in contents}
        if not any(path.exists() for path in paths.values()) and all(
            files.write_new(path, contents[ending]) for ending, path in paths.items()
        ):
            break
        number += 1
    _show_card(contents[".png"], prompt + text, list(paths.values()))
    return list(paths.values())


def _caption(of_ours, settings):
    if of_ours:
        whose = _("Written by a small model of the course's parts and my own loop.")
    else:
        whose = _("Written by a small model of my own parts.")
    return sentences(whose, listed(f"{key} {value}" for key, value in settings.items()))


def _page(prompt, text, caption):
    """The whole HTML page, which needs no other file."""
    title = html.escape(prompt.strip() or "A card")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
        f"<body><figure><blockquote><b>{html.escape(prompt)}</b>{html.escape(text)}</blockquote>\n"
        f"<figcaption>{html.escape(caption)}</figcaption></figure></body>"
        "</html>\n"
    )


def _picture(prompt, text, caption):
    """The same as a PNG, with the prompt above the text, since a line of a picture has one color."""
    import io

    from matplotlib.figure import Figure

    wrap = lambda s, width: "\n".join(textwrap.fill(line, width) for line in s.strip().splitlines()) or " "
    blocks = [(wrap(prompt, 58), "#0a5a8a", 15, "serif"), (wrap(text, 58), "#222222", 15, "serif")]
    blocks.append((wrap(caption, 84), "#555555", 10, ["sans-serif", *filter(None, [pictured.font()])]))
    heights = [size * 1.6 * (words.count("\n") + 1) / 72 for words, _color, size, _family in blocks]
    height = sum(heights) + 1.5
    figure = Figure(figsize=(8.2, height), facecolor="#fffdf8")
    top = height - 0.5
    for (words, color, size, family), block in zip(blocks, heights, strict=True):
        # The text is the model's: a dollar sign in it is literal and doesn't start a formula.
        figure.text(
            0.07,
            top / height,
            words,
            color=color,
            fontsize=size,
            family=family,
            va="top",
            linespacing=1.4,
            parse_math=False,
        )
        top -= block + 0.2
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()


def _show_card(picture, words, paths):
    """Shows the picture with its text as alt text, and says where the files are."""
    import base64

    from IPython.display import display

    saved = _("Saved beside this notebook: {places}")
    places = listed_and(path.name for path in paths)
    alt = html.escape(json.dumps(words, ensure_ascii=False)[1:-1], quote=True)
    source = base64.b64encode(picture).decode()
    display(
        {
            "text/plain": f"{words}\n{saved.format(places=places)}",
            "text/html": (
                f'<img src="data:image/png;base64,{source}" alt="{alt}" style="max-width: 100%; width: 41em">'
                f"<p>{html.escape(saved.format(places=places))}</p>"
            ),
        },
        raw=True,
    )
