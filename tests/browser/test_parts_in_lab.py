"""``parts.bring`` in a real JupyterLab: the cell gets the learner's code, and nothing else changes."""

import nbformat
import pytest

from tests.course.learners_folder import write_folder
from tests.widgets.lab import open_notebook, shut_down_kernel

from .test_units_in_lab import cells_of, run_cell

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SOURCES = """() => Object.fromEntries([...window.jupyterapp.shell.currentWidget.content.model.cells]
  .map((c) => [c.id, c.sharedModel.getSource()]))"""
IS_DIRTY = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
CALL = 'parts.bring("norm.rms_norm", "cache.grouped", "rope.apply_rope_half")'
CELLS_OF_MINE = {
    "setup": "from anatomy import parts",
    "show": "parts.show('norm.rms_norm', 'rope.apply_rope_half')",
    "bring": f"# my own remark\n{CALL}\nmine = 'stays'",
    "use": "print(mine, rms_norm.__name__, repeat_kv.__name__)",
}


@pytest.fixture
def mine(course_copy):
    """A learner's folder with a notebook of whole models; units 02 and 08 are solved, unit 06 lacks one answer."""
    folder = course_copy / "mine"
    write_folder(folder, ["02-normalization", "08-kv-cache-and-gqa", "06-rope"], rope_apply_rope_half=None)
    book = nbformat.v4.new_notebook(metadata=nbformat.read(course_copy / "course/gallery/gallery.ipynb", 4).metadata)
    book.cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS_OF_MINE.items()]
    path = folder / "11-whole" / "11-whole.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)
    return folder


def files(*folders):
    return {
        p: p.read_bytes() for f in folders for p in f.rglob("*") if p.is_file() and ".ipynb_checkpoints" not in p.parts
    }


def text_of(outputs):
    return "\n".join(o.get("text", "") + o.get("data", {}).get("text/plain", "") + o.get("evalue", "") for o in outputs)


@pytest.mark.xdist_group("lab")
def test_the_cell_gets_the_code_and_nothing_else_changes(page, lab, course_copy, mine):
    before = files(mine, course_copy / "home") if (course_copy / "home").exists() else files(mine)
    open_notebook(page, lab, "mine/11-whole/11-whole.ipynb")
    assert not [o for o in run_cell(page, "setup") if o["output_type"] == "error"]
    said = text_of(run_cell(page, "bring"))
    assert "Your code stands in this cell now" in said and "2 yours, 1 still to do" in said
    now = page.evaluate(SOURCES)
    code = now.pop("bring")
    assert now == {k: v for k, v in CELLS_OF_MINE.items() if k != "bring"}
    assert code.startswith("# my own remark\n") and code.endswith("\nmine = 'stays'") and CALL not in code
    assert "def rms_norm(" in code and "def grouped_attention(" in code
    assert "../02-normalization/02-normalization.ipynb" in code and 'parts.bring("rope.apply_rope_half")' in code
    page.get_by_text("run the cell once more").first.wait_for()
    assert page.evaluate(IS_DIRTY), "saving is left to the learner"
    assert files(*{p.parent for p in before}) | before == before, "no notebook was written, and no progress"

    said = text_of(run_cell(page, "bring"))
    assert "Nothing new to bring" in said and page.evaluate(SOURCES)["bring"] == code
    outputs = run_cell(page, "use")
    assert "stays rms_norm repeat_kv" in text_of(outputs)

    write_folder(mine, ["06-rope"])  # solved and saved in the meantime
    run_cell(page, "bring")
    whole = page.evaluate(SOURCES)["bring"]
    assert "bring" not in whole and "NotImplementedError" not in whole and whole.endswith("\nmine = 'stays'")
    run_cell(page, "bring")
    assert not next(c for c in cells_of(page) if c["id"] == "bring")["outputs"]
    shut_down_kernel(page)


@pytest.mark.xdist_group("lab")
def test_the_links_of_the_table_lead_to_the_exercises(page, lab, course_copy, mine):
    open_notebook(page, lab, "mine/11-whole/11-whole.ipynb", where="lab")
    run_cell(page, "setup")
    assert "yours" in text_of(run_cell(page, "show"))
    page.get_by_role("link", name="RoPE as LLaMA code writes it").first.click()
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.context?.path.endsWith('06-rope/06-rope.ipynb')"
    )
    shut_down_kernel(page)
