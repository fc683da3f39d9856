"""A learner's first ten minutes, in the browser, as `make lab` starts it: stub, wrong, stale, hint, pass, next.

Each step saves a screenshot in build/screenshots/first-ten-minutes/ (light and dark) for people to look at.
"""

import json

import pytest
from anatomy.app import workspace
from anatomy.system.installation import place_in as at

from autograder import ROOT
from tests.widgets.lab import open_notebook, shut_down_kernel, start_lab
from tests.widgets.page import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("first-ten-minutes")]

UNIT = "00-start-here"
SOLVE, CHECK, HINT = (f"{kind}-start-weighted_average" for kind in ("solve", "check", "hint"))
RIGHT = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


@pytest.fixture
def work(tmp_path_factory):
    """The folder that `make lab` creates and serves."""
    root = tmp_path_factory.mktemp("course")
    (root / "course").symlink_to(ROOT / "course")
    assert workspace.start(at(root), say=lambda line: None) == 0
    return root / "work"


class Learner:
    """A learner using one notebook."""

    def __init__(self, page, url, theme):
        self.page, self.theme = page, theme
        self.folder = ROOT / "build" / "screenshots" / "first-ten-minutes"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0
        open_notebook(page, url, f"{UNIT}/{UNIT}.ipynb", where="lab")
        page.evaluate("(t) => window.jupyterapp.commands.execute('apputils:change-theme', { theme: t })", THEMES[theme])
        page.wait_for_function("(dark) => document.body.dataset.jpThemeLight === String(!dark)", arg=theme == "dark")

    def cell(self, name):
        """Scrolls a cell into view; returns its element."""
        self.page.evaluate(
            """async (id) => { const book = window.jupyterapp.shell.currentWidget.content;
          const i = [...book.model.cells].findIndex((c) => c.id === id);
          book.activeCellIndex = i; book.deselectAll(); await book.scrollToItem(i, 'auto', 0.2); }""",
            name,
        )
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell.jp-mod-active")

    def run(self, name):
        """Runs a cell, as Ctrl+Enter does; returns its element when it has run."""
        cell = self.cell(name)
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('notebook:run-cell') }")
        return cell

    def write(self, name, source):
        self.page.evaluate(
            """([id, text]) => { const book = window.jupyterapp.shell.currentWidget.content;
          for (const cell of book.model.cells) if (cell.id === id) cell.sharedModel.setSource(text); }""",
            [name, source],
        )

    def answer(self, source):
        """Writes an answer, runs its cell and the check; returns the check's element."""
        self.write(SOLVE, source)
        self.run(SOLVE)
        return self.run(CHECK)

    def look(self, name):
        """Saves a screenshot for people to look at."""
        self.count += 1
        settle(self.page)
        self.page.screenshot(path=self.folder / f"{self.theme}-{self.count:02}-{name}.png")


def ids(work):
    book = json.loads((work / UNIT / f"{UNIT}.ipynb").read_text(encoding="utf-8"))
    return [c["id"] for c in book["cells"]], [c["id"] for c in book["cells"] if c["cell_type"] == "code"]


@pytest.mark.parametrize("theme", THEMES)
def test_the_first_ten_minutes(browser, work, theme, tmp_path, monkeypatch):
    monkeypatch.delenv("ANATOMY_RUN_ALL", raising=False)
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "home"))
    _, code = ids(work)
    with start_lab(work) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        context.set_default_timeout(60_000)
        page = context.new_page()
        learner = Learner(page, url, theme)
        learner.look("the-page")
        assert page.locator(".jp-toast, .Toastify__toast, .jp-Dialog").count() == 0, "something asks"
        menus = page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
        assert not {"Nbgrader", "Formgrader"} & set(menus), menus

        for name in code[:2]:  # the first is for other hosts, and does nothing here
            learner.run(name)
        asked = learner.run("predict-start-p1")
        # Next to the control is the hidden text that a later session shows.
        asked.get_by_role("radio", name="is 10 times larger").check()
        asked.get_by_role("button", name="Keep my prediction").click()
        asked.locator(".ta-ask").get_by_text("Kept: is 10 times larger.", exact=True).wait_for()
        for name in code[2 : code.index("predict-start-p1")]:
            learner.run(name)
        learner.run("reveal-start-p1").get_by_text("It came out differently.").wait_for()
        learner.look("a-prediction")

        learner.run(SOLVE)
        learner.run(CHECK).get_by_text("is not written yet").first.wait_for()
        learner.look("the-stub")

        wrong = learner.answer("def weighted_average(values, weights):\n    return weights @ values")
        wrong.get_by_text("Divide it by the sum of the weights.").first.wait_for()
        assert wrong.get_by_text("Divide it by the sum of the weights.").count() == 1, "the mistake stands there twice"
        bar = wrong.locator("[data-mime-type='application/vnd.jupyter.stderr']")
        assert bar.inner_text().strip() == "start.weighted_average: not yet"
        assert wrong.get_by_role("link", name="Hint 1: a nudge").count() == 1
        learner.look("a-named-mistake")

        hints = learner.cell(HINT)
        second = hints.locator("summary", has_text="Hint 2: a plan")
        assert not second.is_visible(), "the second hint waits inside the first"
        wrong = learner.cell(CHECK)
        wrong.get_by_role("link", name="Hint 1: a nudge").click()
        hints = learner.cell(HINT)
        hints.locator("summary", has_text="Hint 1: a nudge").click()
        second.wait_for(state="visible")
        assert not hints.locator("summary", has_text="Hint 3: nearly code").is_visible()
        learner.look("a-hint")

        widget = learner.run(next(c for c in code[code.index(CHECK) :] if c.startswith("c-")))
        widget.locator(".ta").wait_for()
        widget.get_by_text("Divide it by the sum of the weights.").wait_for()
        before = widget.locator(".ta").get_attribute("data-key")
        learner.look("the-mistake-in-the-picture")

        stale = learner.answer("def weighted_average(values, weights)\n    return weights @ values / weights.sum()")
        stale.get_by_text("Not checked: the cell of weighted_average did not run.").wait_for()
        stale.get_by_text("expected ':'").wait_for()
        learner.look("stale")

        # A right answer is written and saved, but not run: the earlier one is still in memory.
        learner.answer("def weighted_average(values, weights):\n    return values.mean(0)")
        learner.write(SOLVE, RIGHT)
        page.wait_for_timeout(1100)
        page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")
        learner.run(CHECK).get_by_text("was changed after it was run").wait_for()
        learner.look("changed-and-not-run")

        passed = learner.answer(RIGHT)
        passed.get_by_text("Worth knowing.").wait_for()
        passed.get_by_text("Start here: 1 of 1 exercises.").wait_for()
        assert passed.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
        learner.look("passed")
        widget = learner.cell(next(c for c in code[code.index(CHECK) :] if c.startswith("c-")))
        page.wait_for_function(
            "([n, before]) => n.dataset.key !== before", arg=[widget.locator(".ta").element_handle(), before]
        )
        assert widget.get_by_text("Divide it by the sum of the weights.").filter(visible=True).count() == 0
        learner.look("the-picture-follows")

        quiz = learner.run("quiz")
        quiz.get_by_role("radio", name="the smallest case that fails").check()
        quiz.get_by_role("button", name="Answer").first.click()
        quiz.locator(".ta-ask").get_by_text("That way you can work it by hand.").wait_for()
        learner.look("a-question")
        shown = learner.run(next(c for c in code if c.startswith("c-") and code.index(c) > code.index(CHECK) + 1))
        shown.get_by_text("1 of 1").first.wait_for()
        learner.look("progress")

        learner.cell(CHECK).get_by_role("link", name="Attention", exact=True).click()
        page.wait_for_function("() => window.jupyterapp.shell.currentWidget?.context?.path.startsWith('01-attention')")
        page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) h1", has_text="Attention").wait_for()
        learner.look("the-next-unit")
        shut_down_kernel(page)
        context.close()
