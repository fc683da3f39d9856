"""Each unit in a real JupyterLab in a real browser: all cells run with solutions, in time; widgets react to keys.

This is the only run of solved notebooks, so all checks of their outputs are here. They run as for a learner: in an
environment with only the learner's lock, or in one with the wheel.
"""

import json
import zlib

import pytest

from autograder import ROOT, exercises
from autograder.notebooks.first_cell import FIRST_CELL
from tests.conftest import every_one
from tests.widgets.lab import run_all, wait_until_open, wait_until_run
from tests.widgets.page import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Processor time on an idle core. If another program takes half of the core, a learner waits twice as long: 20 s, two
# minutes. The slowness of the core during a test is measured, and 25 % added, because the measurement is inexact.
SECONDS_PER_NOTEBOOK, SECONDS_PER_CELL, INEXACT = 60, 10, 1.25

# As one string: Playwright takes seconds to hand over megabytes of outputs value by value.
CELLS = """() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
  .map((c, i) => ({ i, id: c.id, type: c.cell_type, count: c.execution_count, outputs: c.outputs || [] })))"""
WIDGET = "application/vnd.jupyter.widget-view+json"
SHOW = """(i) => { const book = window.jupyterapp.shell.currentWidget.content;
  book.activeCellIndex = i; book.scrollToItem(i, 'start'); }"""


OPEN = "(path) => window.jupyterapp.commands.execute('docmanager:open', { path })"
IS_OPEN = "(path) => window.jupyterapp.shell.currentWidget?.context?.path === path"
CLEAR = """async () => {
  await window.jupyterapp.restored;
  for (const widget of [...window.jupyterapp.shell.widgets('main')]) widget.dispose();
  await window.jupyterapp.serviceManager.sessions.shutdownAll();
}"""


@pytest.fixture(scope="module")
def loaded(context, lab):
    """A page with JupyterLab. Loading it costs six seconds of a core, so all tests of this module use one."""
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(f"{lab}/doc")
    yield page
    page.close()


@pytest.fixture
def page(loaded):
    """The page without an open notebook and without kernels."""
    loaded.wait_for_function("() => window.jupyterapp?.shell")
    loaded.evaluate(CLEAR)
    loaded.problems.clear()
    return loaded


def cells_of(page):
    """The cells of the open notebook, with their outputs."""
    return json.loads(page.evaluate(CELLS))


def open_here(page, path):
    """Opens a notebook as a click in the list of files does, and waits for its idle kernel."""
    page.evaluate(OPEN, path)
    page.wait_for_function(IS_OPEN, arg=path)
    wait_until_open(page)


def move(page, widget):
    """Unfolds a widget, focuses each control and presses a key; returns (those without effect, how many there are)."""
    still, slots = [], widget.locator("input[type=range]:visible, select:visible")
    following = widget.get_by_role("button", name="Next step")
    if not slots.count() and following.is_visible():  # they come with the second step of the story
        following.click()
        settle(page)
    for fold in widget.locator("button[aria-expanded=false]:visible").element_handles():
        fold.click()
    page.mouse.move(0, 0)  # a picture shows what the pointer rests on, not what its controls say
    controls = slots.element_handles()
    back = {"ArrowLeft": "ArrowRight", "ArrowRight": "ArrowLeft", "ArrowUp": "ArrowDown", "ArrowDown": "ArrowUp"}
    moved = []
    for control in controls:
        # A choice before has no use for it: choices are taken back, the last one first, until it is there.
        while not control.is_visible():
            earlier, key = moved.pop()
            earlier.focus()
            page.keyboard.press(back[key])
            settle(page)
        if not control.is_enabled():  # another choice enables it: β is only for swish
            continue
        control.focus()
        # Any key ends an opening that still plays; else what it shows may be just what the next key leads to.
        page.keyboard.press("Shift")
        settle(page)
        before = widget.get_attribute("data-key")
        at_end = control.evaluate("(n) => n.tagName === 'INPUT' ? n.value === n.max : n.selectedIndex === n.length - 1")
        first, last = ("ArrowRight", "ArrowLeft") if control.get_attribute("type") else ("ArrowDown", "ArrowUp")
        key = last if at_end else first
        page.keyboard.press(key)
        moved.append((control, key))
        try:
            page.wait_for_function(
                "([n, before]) => n.dataset.key !== before", arg=[widget.element_handle(), before], timeout=60_000
            )
        except Exception:
            still.append(control.evaluate("(n) => n.labels[0]?.textContent"))
    return still, len(controls)


def cheap_enough(file):
    """Checks the kernel's file (see ``seconds``): no cell and no notebook takes too long on an idle core."""
    spent = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    file.unlink()
    total = sum(seconds for _, seconds in spent)
    assert total < SECONDS_PER_NOTEBOOK * INEXACT, f"it took {total:.0f} s"
    slow = [(cell, round(seconds, 1)) for cell, seconds in spent if seconds > SECONDS_PER_CELL * INEXACT]
    assert not slow, slow


def run_and_move(page, course_copy, path):
    (course_copy / "seconds").unlink(missing_ok=True)
    open_here(page, path)
    run_all(page)
    wait_until_run(page)
    cells = cells_of(page)
    outputs = [(c["id"], o) for c in cells for o in c["outputs"]]
    errors = [(i, o["ename"], o["evalue"][:300]) for i, o in outputs if o["output_type"] == "error"]
    assert not errors, errors
    noisy = [(i, o["text"]) for i, o in outputs if o["output_type"] == "stream" and o["name"] == "stderr"]
    assert not noisy, f"cells that print warnings: {noisy}"
    lacking = [i for i, o in outputs if "n't installed" in (told := json.dumps(o)) or "No module named" in told]
    assert not lacking, f"cells that want what learners don't have: {lacking}"
    checks = [c for c in cells if c["type"] == "code" and c["id"].startswith("check-")]
    assert all("passed" in json.dumps(c["outputs"]) for c in checks)
    assert all(c["count"] for c in cells if c["type"] == "code")
    cheap_enough(course_copy / "seconds")
    found = [c for c in cells if any(WIDGET in o.get("data", {}) and "image/png" in o["data"] for o in c["outputs"])]
    moved = 0
    for cell in found:
        page.evaluate(SHOW, cell["i"])
        widget = page.locator(f".jp-Cell >> nth={cell['i']} >> .ta").first
        if not widget.count():
            widget = page.locator(".jp-mod-active .ta").first
        widget.wait_for(timeout=60_000)
        still, count = move(page, widget)
        assert not still, f"{cell['id']}: these controls move nothing: {still}"
        moved += count
    assert not [p for p in page.problems if "ResizeObserver" not in p], page.problems
    return len(found), moved


def environments(name, config):
    """The environments to test, lock and wheel. Both have the same libraries and files, so a usual run takes one of
    them; a change of the notebook may switch to the other."""
    if every_one(config):
        return ["lock", "wheel"]
    folder = "course" if name == "gallery" else "solutions"
    content = (ROOT / folder / name / f"{name}.ipynb").read_bytes()
    return ["lock", "wheel"][zlib.crc32(content) % 2 :][:1]


@pytest.mark.xdist_group("lab")
@pytest.mark.parametrize("unit", exercises.units())
def test_unit_runs_and_its_widgets_move(page, course_copy, unit, request):
    for environment in environments(unit, request.config):
        widgets, controls = run_and_move(page, course_copy, f"{environment}/{unit}/{unit}.ipynb")
        print(f"{unit}, {environment}: {widgets} widgets, {controls} controls")
        assert widgets >= 1 and controls >= 2


@pytest.mark.xdist_group("lab")
def test_gallery_runs_without_any_code_of_the_learner(page, course_copy, request):
    for environment in environments("gallery", request.config):
        folder = "course" if environment == "lock" else "wheel"
        widgets, controls = run_and_move(page, course_copy, f"{folder}/gallery/gallery.ipynb")
        assert widgets >= 5 and controls >= 12


def edit(page, cell_id, text):
    page.evaluate(
        """([id, text]) => { const book = window.jupyterapp.shell.currentWidget.content;
      for (const cell of book.model.cells) if (cell.id === id) cell.sharedModel.setSource(text); }""",
        [cell_id, text],
    )


def save(page):
    page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")


def run_cell(page, cell_id):
    """Runs one cell through JupyterLab's own command; returns its outputs."""
    page.evaluate(
        """async (id) => { const book = window.jupyterapp.shell.currentWidget.content;
      const i = [...book.model.cells].findIndex((c) => c.id === id); book.activeCellIndex = i; book.deselectAll();
      await window.jupyterapp.commands.execute('notebook:run-cell'); }""",
        cell_id,
    )
    return next(c["outputs"] for c in cells_of(page) if c["id"] == cell_id)


@pytest.mark.xdist_group("lab")
def test_the_students_loop(page, course_copy):
    """Stub, wrong answer, right answer: what a student sees in the browser at 11 pm."""
    (course_copy / "home" / "progress.json").unlink(missing_ok=True)  # the solved unit may have run before
    open_here(page, "course/00-start-here/00-start-here.ipynb")
    cells = cells_of(page)
    setup = next(c["id"] for c in cells if c["type"] == "code" and c["id"] != FIRST_CELL)
    solve, check = "solve-start-weighted_average", "check-start-weighted_average"
    for cell in (setup, solve):
        assert not [o for o in run_cell(page, cell) if o["output_type"] == "error"]
    first = run_cell(page, check)
    assert "is not written yet" in json.dumps(first)
    edit(page, solve, "def weighted_average(values, weights):\n    return weights @ values")
    run_cell(page, solve)
    outputs = run_cell(page, check)
    assert "Divide it by the sum of the weights." in json.dumps(outputs)
    page.get_by_text("Divide it by the sum of the weights.").first.wait_for()
    assert page.locator("text=/site-packages|judging.py|checks.py/").count() == 0, "a traceback of the package is shown"
    edit(page, solve, "def weighted_average(values, weights):\n    return weights @ values / weights.sum()")
    run_cell(page, solve)
    outputs = run_cell(page, check)
    assert not [o for o in outputs if o["output_type"] == "error"]
    tried = [next(o["metadata"]["anatomy"]["tries"] for o in out if o.get("metadata")) for out in (first, outputs)]
    assert tried == [1, 3], "make report counts tries by this"
    page.get_by_text("things tried").first.wait_for()
    shown = json.dumps(
        [run_cell(page, c["id"]) for c in cells if c["type"] == "code" and c["id"] not in (setup, solve, check)]
    )
    assert "1/1 exercises" in shown


@pytest.mark.xdist_group("lab")
def test_an_edit_that_was_not_run_is_known_once_it_is_saved(page, course_copy):
    """The check then detects that the code on the screen is not the code in memory."""
    path = course_copy / "course" / "00-start-here" / "00-start-here.ipynb"
    open_here(page, "course/00-start-here/00-start-here.ipynb")
    cells = cells_of(page)
    setup = next(c["id"] for c in cells if c["type"] == "code" and c["id"] != FIRST_CELL)
    solve, check = "solve-start-weighted_average", "check-start-weighted_average"
    edit(page, solve, "def weighted_average(values, weights):\n    return weights @ values / weights.sum()")
    for cell in (setup, solve):
        run_cell(page, cell)
    assert "things tried" in json.dumps(run_cell(page, check))
    edit(page, solve, "def weighted_average(values, weights):\n    return values.mean(0)  # not run")
    save(page)
    assert "# not run" in path.read_text(encoding="utf-8")
    assert "was changed after it was run" in json.dumps(run_cell(page, check))
    edit(page, solve, "# nothing here any more")
    save(page)
    run_cell(page, solve)
    assert "no cell defines" in json.dumps(run_cell(page, check))


@pytest.mark.xdist_group("lab")
def test_an_open_exercise_keeps_nothing_below_it_from_running(page, course_copy):
    """Run All Cells, and so also Run All Above, which messages and docs recommend after a restart."""
    open_here(page, "course/00-start-here/00-start-here.ipynb")
    edit(page, "solve-start-weighted_average", "def weighted_average(values, weights):\n    raise NotImplementedError")
    run_all(page)
    page.wait_for_function(
        "() => [...window.jupyterapp.shell.currentWidget.content.model.cells].every("
        "(c) => c.type !== 'code' || c.executionCount || !c.sharedModel.getSource().trim())",
        timeout=300_000,
        polling=250,
    )
    outputs = {c["id"]: c["outputs"] for c in cells_of(page)}
    assert "is not written yet" in json.dumps(outputs["check-start-weighted_average"])
