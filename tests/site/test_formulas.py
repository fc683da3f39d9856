"""Formulas: MathML at build time, with a font that has the required tables and glyphs."""

import json

import pytest

from autograder import ROOT
from autograder.site import math_font
from autograder.site.formulas import BadFormula, mathml


def test_a_formula_is_mathml_and_keeps_its_source():
    shown = mathml(r"\frac{a_1}{\sqrt{d}}")
    assert shown.startswith("<math") and "<mfrac>" in shown and r"\frac{a_1}{\sqrt{d}}" in shown
    assert 'display="block"' in mathml("x", True) and 'display="block"' not in mathml("x")


def test_a_formula_that_is_none_is_quoted():
    with pytest.raises(BadFormula, match=r"\\frac\{1\}"):
        mathml(r"\frac{1}")


def test_vendored_files_have_their_licenses():
    vendor = ROOT / "autograder" / "site" / "vendor"
    assert "MIT" in (vendor / "temml-LICENSE.txt").read_text()
    license = (vendor / "latin-modern-LICENSE.txt").read_text()
    assert "GUST Font License" in license and math_font.FONT.name in license and math_font.FAMILY in license


def test_on_the_site_the_font_has_its_license_beside_it(site):
    (font,) = site.rglob("*.woff2")
    assert "GUST Font License" in (font.parent / "latin-modern-LICENSE.txt").read_text()


def test_the_font_is_small_and_is_named_anew():
    from fontTools.ttLib import TTFont

    font = TTFont(math_font.FONT)
    assert math_font.FONT.stat().st_size < 110_000
    assert font["name"].getDebugName(1) == math_font.FAMILY and "MATH" in font
    assert {ord(c) for c in "xyz√∑∞≤ℝ𝑥𝜃"} <= math_font.characters()


def test_dependencies_are_pinned():
    locked = (ROOT / "requirements-staff.lock").read_text()
    for name in ("sphinx==9.0.4", "myst-nb==1.4.0", "furo==2025.12.19", "quickjs==1.19.4"):
        assert f"\n{name}\n" in locked


def test_every_formula_of_every_unit_is_understood():
    import re

    found = 0
    for path in sorted((ROOT / "course").glob("*/*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] != "markdown":
                continue
            for tex in re.findall(r"\$\$(.+?)\$\$", "".join(cell["source"]), re.S):
                assert "<math" in mathml(tex, True)
                found += 1
    assert found > 40
