"""Cuts the site's math font out of Latin Modern Math: ``python -m autograder.site.math_font latinmodern-math.otf``.

The source is in Debian's package fonts-lmodern, and on CTAN in lm-math. Its license requires a different name for
derived fonts: the cut is called Anatomy Math.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

FONT = Path(__file__).parent / "vendor" / "anatomy-math.woff2"
FAMILY = "Anatomy Math"
# Letters used in formulas (upright, italic, bold, calligraphic, blackboard; a browser replaces a single x with an
# italic letter from another block), Greek, operators, arrows, growing brackets, accents, primes, spaces.
RANGES = (
    (0x20, 0x7E),
    (0x391, 0x3C9),
    (0x2009, 0x200B),
    (0x2010, 0x201D),
    (0x2032, 0x2033),
    (0x2061, 0x2064),
    (0x2190, 0x2194),
    (0x2200, 0x2213),
    (0x2217, 0x222B),
    (0x2308, 0x230B),
    (0x1D434, 0x1D467),  # italic
    (0x1D6FC, 0x1D71B),  # Greek, italic
)
SINGLE = (
    *(0xA0, 0xAC, 0xB0, 0xB1, 0xB7, 0xD7, 0xF7, 0x2026),
    *(0x302, 0x303, 0x304, 0x305, 0x307, 0x20D7, 0x2C6, 0x2DC, 0x203E),  # accents
    *(0x210E, 0x2102, 0x2112, 0x211D, 0x2115, 0x2124, 0x2131, 0x1D53C, 0x1D7CF, 0x1D7D9, 0x1D49C, 0x1D4A9, 0x1D4AA),
    *(0x21A6, 0x21D2, 0x21D4, 0x27E8, 0x27E9, 0x23DE, 0x23DF, 0x2A7D, 0x2A7E),
    *(0x223C, 0x2243, 0x2248, 0x2260, 0x2261, 0x2264, 0x2265, 0x226A, 0x226B),
    *(0x2282, 0x2286, 0x2295, 0x2299, 0x22A4, 0x22A5, 0x22C5, 0x22EE, 0x22EF, 0x22F1),
)


def cut(source: Path, target: Path = FONT) -> int:
    """Writes the reduced font; returns its size in bytes."""
    font = TTFont(source)
    options = subset.Options()
    options.flavor = "woff2"
    options.layout_features = ["ssty", "dtls"]  # small forms for indices; dotless letters under accents
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]
    options.notdef_outline = True
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[*SINGLE, *(code for low, high in RANGES for code in range(low, high + 1))])
    cutter.subset(font)
    names = font["name"]
    for record in list(names.names):
        if record.nameID in (1, 4):
            names.setName(FAMILY, record.nameID, record.platformID, record.platEncID, record.langID)
        elif record.nameID == 6:
            names.setName(FAMILY.replace(" ", ""), 6, record.platformID, record.platEncID, record.langID)
    font["CFF "].cff.fontNames = [FAMILY.replace(" ", "")]
    font.recalcTimestamp = False  # the same source gives the same bytes
    subset.save_font(font, str(target), options)
    return target.stat().st_size


def characters(font: Path = FONT) -> set[int]:
    """Code points that the font has."""
    return set(TTFont(font).getBestCmap())


if __name__ == "__main__":
    print(f"{FONT.name}: {cut(Path(sys.argv[1])):,} bytes")
