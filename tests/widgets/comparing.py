"""Pictures of widgets, and how much two of them differ.

A picture shows the widget on a bare stage, without its words: otherwise other fonts would move pixels. The words are
stored next to it, each with its position. ``python -m tests.widgets.comparing`` (make pictures) draws and stores all
pictures anew; look at them before you commit them.

Two pictures are the same if their pixels are equal, or if pixelmatch (YIQ distance 0.1, anti-aliasing ignored) counts
at most 8 that differ: a lost arrow head is 21, lost dashes of a short arrow are 14, and a share of the whole picture
would hide them. Across the processors and Chromium versions tried so far, no pixels differed.
"""

import argparse
import json
import re
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops
from pixelmatch.contrib.PIL import pixelmatch

from .cases import CASES
from .lab import chromium
from .stages import CALM, Stages

STORED = Path(__file__).parent / "pictures"
SCHEMES, WIDTHS = ("light", "dark"), (390, 820, 1400)
THRESHOLD, MOST = 0.1, 8  # pixelmatch's color distance; pixels
NEAR = 2  # pixels by which a word may move: less than half a line of text
# One font, so that lines break alike on each machine with fonts-dejavu-core; transparent letters keep their space.
WORDLESS = f"""{CALM}
.ta, .ta * {{ font-family: "DejaVu Sans" !important; font-variant-ligatures: none !important;
  -webkit-text-fill-color: transparent !important; text-shadow: none !important; }}
.ta svg text, .ta svg tspan {{ fill: transparent !important; stroke: transparent !important; }}
.ta ::marker {{ color: transparent !important; }}
"""
# All words of a drawing, with their anchor points; of other texts only the visible ones, in order.
WORDS = """() => {
  const root = document.querySelector('.ta');
  const origin = root.getBoundingClientRect();
  const seen = (e) => e.checkVisibility({visibilityProperty: true});
  const drawn = [...root.querySelectorAll('svg text')].filter((t) => t.textContent.trim() && seen(t)).map((t) => {
    const at = t.ownerSVGElement.createSVGPoint();
    [at.x, at.y] = ['x', 'y'].map((a) => t[a].baseVal.numberOfItems ? t[a].baseVal.getItem(0).value : 0);
    const p = at.matrixTransform(t.getScreenCTM());
    return [t.textContent.trim(), Math.round(p.x - origin.x), Math.round(p.y - origin.y)];
  });
  const said = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const text = node.data.replace(/\\s+/g, ' ').trim();
    if (text && !node.parentElement.closest('svg, option') && seen(node.parentElement)) said.push(text);
  }
  return {drawn, said};
}"""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[−+]?\d+)?")
NOISE = 1e-5  # float32 noise instead of zero; it differs between processors


def file_of(name, scheme, width):
    """Path of a stored picture."""
    return STORED / f"{name}-{scheme}-{width}.png"


def words_of(name):
    """Path of the stored words of a widget's pictures."""
    return STORED / f"{name}.json"


def shown(stages, name, scheme, width):
    """The page of which that picture is taken."""
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    return stages.showing(CASES[name].usual, WORDLESS, **options)


def photograph(page):
    """The widget as an RGB image."""
    data = page.locator(".ta").screenshot(animations="disabled", caret="hide")
    return Image.open(BytesIO(data)).convert("RGB")


def words(page):
    """{"drawn": [[text, x, y], …], "said": [text, …]} of the page."""
    return page.evaluate(WORDS)


def packed(image):
    """Lossless PNG bytes of the image, with a palette if 256 colors are enough."""
    colors = image.getcolors(256)
    if colors:
        palette = sorted(color for _, color in colors)
        table = Image.new("P", (1, 1))
        table.putpalette([v for color in palette for v in color])
        indexed = image.quantize(palette=table, dither=Image.Dither.NONE)
        image = indexed if ImageChops.difference(indexed.convert("RGB"), image).getbbox() is None else image
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def differing(expected, got):
    """(number of pixels that differ, image that shows them). pixelmatch compares only the part that is not equal, with
    a margin for its neighbors."""
    if expected.size != got.size:
        size = tuple(map(max, expected.size, got.size))
        expected, got = (_on_paper(image, size) for image in (expected, got))
    box = ImageChops.difference(expected, got).getbbox()
    if box is None:
        return 0, None
    box = (max(box[0] - 3, 0), max(box[1] - 3, 0), min(box[2] + 3, got.width), min(box[3] + 3, got.height))
    mark = Image.new("RGBA", (box[2] - box[0], box[3] - box[1]))
    count = pixelmatch(expected.crop(box), got.crop(box), mark, threshold=THRESHOLD)
    whole = Image.blend(got, Image.new("RGB", got.size, "white"), 0.8)
    whole.paste(mark.convert("RGB"), box[:2])
    return count, whole


def _on_paper(image, size):
    # No widget contains magenta: where only one of the pictures has pixels, they all differ.
    paper = Image.new("RGB", size, "#ff00ff")
    paper.paste(image)
    return paper


def verdict(name, scheme, width, got, folder, expected=None):
    """One sentence if the picture differs from the stored one, else "".

    In that case, writes expected, got and difference to ``folder``, which the sentence names.
    """
    stored = file_of(name, scheme, width)
    if expected is None:
        if not stored.exists():
            return f"{stored.name} is not stored: run `make pictures`, and look at it."
        expected = Image.open(stored).convert("RGB")
    if expected.size == got.size and expected.tobytes() == got.tobytes():
        return ""
    count, difference = differing(expected, got)
    if count <= MOST and expected.size == got.size:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, image in (("expected", expected), ("got", got), ("difference", difference)):
        image.save(folder / f"{stored.stem}-{kind}.png")
    sizes = (
        "" if expected.size == got.size else f", {got.width} × {got.height} for {expected.width} × {expected.height}"
    )
    return (
        f"{stored.stem}: {count} pixels differ (at most {MOST}){sizes}. See {folder}/{stored.stem}-*.png; "
        "if the new picture is right: `make pictures`."
    )


def other_words(expected, got):
    """Sentences on words that are missing, new, or moved. A number may differ by one in its last digit."""
    found = []
    for kind in ("drawn", "said"):
        before, now = (_texts(side[kind]) for side in (expected, got))
        if [_without_numbers(t) for t in before] != [_without_numbers(t) for t in now]:
            gone, new = _less(before, now), _less(now, before)
            found.append(f"{kind}: missing {gone}, new {new}" if gone or new else f"{kind}: in another order")
            continue
        found += [f"{kind}: “{b}” for “{a}”" for a, b in zip(before, now, strict=True) if not _alike(a, b)]
    if not found:
        found = [
            f"“{a[0]}” stands at {b[1:]} instead of {a[1:]}"
            for a, b in zip(expected["drawn"], got["drawn"], strict=True)
            if max(abs(a[1] - b[1]), abs(a[2] - b[2])) > NEAR
        ]
    return found


def _texts(items):
    return [item if isinstance(item, str) else item[0] for item in items]


def _less(some, others):
    """Removes each of ``others`` from ``some``: the same text if present, else one that differs only in numbers."""
    left, spare = list(some), []
    for text in others:
        left.remove(text) if text in left else spare.append(_without_numbers(text))
    out = []
    for text in left:
        bare = _without_numbers(text)
        spare.remove(bare) if bare in spare else out.append(text)
    return out


def _without_numbers(text):
    return NUMBER.sub("#", text)


def _alike(one, other):
    for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
        if a != b and abs(_value(a) - _value(b)) > max(NOISE, 1.01 * min(_step(a), _step(b))):
            return False
    return True


def _step(text):
    """One unit in the last digit shown; 0 for whole numbers, which are counts."""
    digits, _, power = text.partition("e")
    decimals = digits.partition(".")[2]
    return 10.0 ** (int(power.replace("−", "-") or 0) - len(decimals)) if decimals else 0.0


def _value(text):
    return float(text.replace(",", "").replace("−", "-"))


def renew(stages, names):
    """Stores the pictures and the words of these widgets; yields (name, number of files, bytes)."""
    STORED.mkdir(exist_ok=True)
    for name in names:
        kept, total = {}, 0
        for scheme in SCHEMES:
            for width in WIDTHS:
                with shown(stages, name, scheme, width) as page:
                    data = packed(photograph(page))
                    if scheme == SCHEMES[0]:
                        kept[str(width)] = words(page)
                path = file_of(name, scheme, width)
                # Keep the bytes of an equal picture: another version of the library may pack it differently.
                same = path.exists() and Image.open(path).convert("RGB").tobytes() == _pixels(data)
                if not same:
                    path.write_bytes(data)
                total += path.stat().st_size
        lines = json.dumps(kept, ensure_ascii=False, indent=None, separators=(",", ":"))
        words_of(name).write_text(lines.replace("],[", "],\n[") + "\n", encoding="utf-8")
        yield name, len(SCHEMES) * len(WIDTHS), total


def _pixels(data):
    return Image.open(BytesIO(data)).convert("RGB").tobytes()


def abandoned():
    """Stored files that belong to no widget."""
    known = {file_of(n, s, w).name for n in CASES for s in SCHEMES for w in WIDTHS} | {words_of(n).name for n in CASES}
    return sorted(path for path in STORED.glob("*") if path.name not in known)


def main():
    """Command line; returns an exit status."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description="Store the pictures of all widgets, or of those named, anew.")
    parser.add_argument("names", nargs="*", metavar="WIDGET", help="such as RopeExplorer")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in CASES]:
        print(f"There is no widget {unknown[0]}; there are {', '.join(CASES)}.", file=sys.stderr)
        return 2
    total = 0
    with sync_playwright() as pw:
        browser = pw.chromium.launch(**chromium())
        for name, count, size in renew(Stages(browser), names or CASES):
            print(f"{name:<22} {count} pictures, {size / 1000:6.1f} kB")
            total += size
        browser.close()
    for path in abandoned() if not names else ():
        path.unlink()
        print(f"removed {path.name}: no widget has it")
    print(f"{total / 1e6:.2f} MB in {STORED.name}/. Look at what changed before you commit it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
