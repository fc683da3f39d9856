"""The output that each widget leaves in a notebook and in a page of its own, read without a browser."""

import base64
import io
import re

import matplotlib as mpl
import pytest
from anatomy.notebook import plots
from PIL import Image

from .cases import CASES

EACH = pytest.mark.parametrize("name", CASES)
# Text that would load something from elsewhere; url(#…) names a shape of the same drawing.
REACHES = re.compile(r"""https?:|src=["']?//|@import|integrity=|url\((?!#)""")


@EACH
@pytest.mark.parametrize("crowded", [0, -1])
def test_bundle_has_view_picture_and_words(name, crowded):
    case = CASES[name]
    made = case.make(**case.crowded[crowded])
    data, metadata = made._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).width > 600
    assert data["text/plain"] == made.alt == metadata["image/png"]["alt"] and len(made.alt) > 100
    picture = made.png()
    with mpl.rc_context(plots.STYLE):  # what a unit's first cell may have set
        assert made.png() == picture


@EACH
def test_exported_page_reaches_for_nothing(tmp_path, name):
    page = CASES[name].usual.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not REACHES.findall(page)
    assert page.count("<script") == 2 and '<img alt="' in page


@EACH
def test_script_loads_no_module(name):
    assert not [line for line in CASES[name].widget._esm.splitlines() if line.lstrip().startswith("import ")]


def test_template_keeps_the_alt_text(tmp_path):
    import nbformat
    from anatomy.widgets import TEMPLATES
    from bs4 import BeautifulSoup
    from nbconvert import HTMLExporter

    output = nbformat.v4.new_output(
        "display_data",
        {"image/png": "aGk=", "text/plain": "words"},
        metadata={"image/png": {"alt": 'a "curve" that <falls>'}},
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("w", outputs=[output])])
    exporter = HTMLExporter(template_name="course", extra_template_basedirs=[str(TEMPLATES)])
    page, _ = exporter.from_notebook_node(book)
    assert BeautifulSoup(page, "html.parser").img["alt"] == 'a "curve" that <falls>'
    plain, _ = HTMLExporter(template_name="lab").from_notebook_node(book)
    assert "falls" not in plain  # once this fails, nbconvert keeps the text itself and the template can go
