"""Pages of the units: the released notebook with the outputs of the solved notebook, without any solution."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from anatomy.figures import STYLE
from anatomy.program import units
from anatomy.system import files
from anatomy.widgets.tools.next_day import NAME as NEXT_DAY
from bs4 import BeautifulSoup
from nbformat import NotebookNode

from autograder.languages.notebooks import SPEAK
from autograder.notebooks.first_cell import OPEN_IN

from . import press, texts
from .live import Shelf, widget_of
from .open_in_links import opening
from .words import _

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
# Calls whose output is about one learner's computer, progress or answers.
PRIVATE = re.compile(r"^(environment_report|progress|parts\.show)\(", re.M)
LONG = 18  # characters: a shorter line of a solution is too common to be secret
_REGION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.S)


class Leak(RuntimeError):
    """A page contains a line of a solution; the message says where."""


class Unit:
    """One unit's page.

    Args:
        released: the notebook that learners get.
        executed: the solved notebook, with outputs.
        facts: the unit's data in ``assets/units``.
        static: the site's folder of static files.
        shelf: collects the widgets.
    """

    def __init__(
        self, released: NotebookNode, executed: NotebookNode, facts: dict[str, Any], static: Path, shelf: Shelf
    ) -> None:
        self.name = str(facts["unit"])
        self._released, self._facts, self._static, self._shelf = released, facts, static, shelf
        self._outputs = {c["id"]: c.get("outputs", []) for c in executed.cells if c.cell_type == "code"}
        self._models = executed.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        self._secrets = secret_lines(executed, released)

    def page(self) -> NotebookNode:
        """The notebook that becomes the page. Raises Leak."""
        cells: list[NotebookNode] = []
        for cell in self._released.cells:
            if cell["id"] in (SPEAK, OPEN_IN):
                continue  # the first sets the kernel's language; for the second the page has a line of its own
            new = self._text(cell) if cell.cell_type == "markdown" else self._code(cell)
            if new and cells:  # so that other pages can link to a cell; nothing may come before the first cell
                anchor = f'<div class="ta-anchor" id="{cell["id"]}"></div>'
                cells.append(nbformat.v4.new_markdown_cell(anchor))
            cells += new
        first = cells[0].source
        title, _, rest = first.partition("\n")
        cells[0].source = f"{title}\n\n{opening(self.name)}\n{rest}"
        for number, cell in enumerate(cells):
            cell["id"] = f"c{number}"
        book = nbformat.v4.new_notebook(cells=cells, metadata=dict(self._released.metadata))
        book.metadata.pop("anatomy", None)
        for line in self._secrets:
            if line in _all_text(book):
                raise Leak(f"The page of {self.name} would show a line of a solution: {line!r}")
        return book

    def _text(self, cell: NotebookNode) -> list[NotebookNode]:
        source = texts.shown(cell)
        return [nbformat.v4.new_markdown_cell(source)] if source.strip() else []

    def _code(self, cell: NotebookNode) -> list[NotebookNode]:
        name, source = cell["id"], cell.source
        if name.startswith("predict-"):
            return []  # the question is in the cell above
        if name == "quiz":
            return [nbformat.v4.new_markdown_cell(texts.quiz(self._facts["quizzes"], self.name))]
        if name.startswith("reveal-"):
            return [nbformat.v4.new_markdown_cell(h) for h in map(_revealed, self._outputs[name]) if h]
        about, tags = cell.metadata.get("nbgrader", {}), []
        outputs = []
        if about.get("solution") or about.get("grade"):
            tags.append("ta-stub" if about.get("solution") else "ta-check")
        elif not PRIVATE.search(source):
            outputs = [shown for o in self._outputs[name] if (shown := self._output(o)) is not None]
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            tags.append("remove-input")
        new = nbformat.v4.new_code_cell(source, outputs=outputs)
        new.metadata["tags"] = tags
        return [new, *(nbformat.v4.new_markdown_cell(text) for text in self._elsewhere(name))]

    def _elsewhere(self, name: str) -> list[str]:
        """The line under a check that can be pressed on a page of the site."""
        pages = [c.page for c in press.CHOSEN if name == units.cell_id("check", c.id)]
        said = _("Nothing installed? [Press this check]({page}) on answers that others have written.")
        return [said.format(page=f"../{page}.md") for page in pages]

    def _output(self, output: NotebookNode) -> NotebookNode | None:
        """An output in the form for a page; None for a control that needs a kernel."""
        if output.output_type == "stream":
            return nbformat.v4.new_output("stream", name=output.name, text=output.text)
        data = output.get("data", {})
        if VIEW in data:
            model = self._models[data[VIEW]["model_id"]]
            if widget_of(model) is None:
                return None
            return _html(self._shelf.box(model, data["image/png"], data["text/plain"], "../"))
        if "text/latex" in data:
            return nbformat.v4.new_output("display_data", data={"text/latex": data["text/latex"]})
        if NEXT_DAY in data.get("text/html", ""):
            return None  # a fallback picture, which only JupyterLab needs
        if "text/html" in data:
            return _html(self._with_files(data["text/html"]))
        if "image/png" in data:
            alt = output.get("metadata", {}).get("image/png", {}).get("alt") or data.get("text/plain", "")
            return _html(
                f'<img src="{self._file(base64.b64decode(data["image/png"]), "png")}" alt="{html.escape(alt)}">'
            )
        if "text/plain" in data:
            return nbformat.v4.new_output("display_data", data={"text/plain": data["text/plain"]})
        raise ValueError(f"An output of {self.name} is of no kind that a page can show: {sorted(data)}")

    def _with_files(self, text: str) -> str:
        """The HTML of an output with its pictures as separate files, and without the style that all figures share."""

        def as_file(found: re.Match[str]) -> str:
            ending = "svg" if found[1].startswith("svg") else found[1]
            return f'src="{self._file(base64.b64decode(found[2]), ending)}" loading="lazy"'

        text = text.replace(STYLE, "")
        # Alone, a figure's table of numbers is a landmark; in a unit, forty of them would drown out the others.
        text = text.replace('class="ta-numbers" role="region"', 'class="ta-numbers" role="group"')
        text = re.sub(r'src="data:image/([\w+]+);base64,([^"]+)"', as_file, text)
        return text.replace("<th></th>", "<td></td>")  # an empty cell is not a header

    def _file(self, data: bytes, ending: str) -> str:
        name = f"{hashlib.sha256(data).hexdigest()[:12]}.{ending}"
        files.replace(self._static / "figures" / name, data)
        return f"../_static/figures/{name}"


def _html(text: str) -> NotebookNode:
    return nbformat.v4.new_output("display_data", data={"text/html": text})


def _revealed(output: NotebookNode) -> str:
    """The result of a prediction, folded, because the reader has not predicted yet; without the row for the reader's
    own prediction."""
    page = BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser")
    rows = page.find_all("tr")
    if len(rows) != 2:
        return ""
    head, cell = rows[1].find("th"), rows[1].find("td")
    if head is None or cell is None:
        return ""
    summary = html.escape(head.get_text())
    because = "".join(f"<p>{p.decode_contents()}</p>" for p in page.find_all("p"))
    return (
        f'<details class="ta-came-out"><summary>{summary} …</summary>'
        f"<p><strong>{cell.decode_contents()}</strong></p>{because}</details>"
    )


def secret_lines(solved: NotebookNode, released: NotebookNode) -> set[str]:
    """Lines of the solutions that the released notebook doesn't show itself."""
    public = {line.strip() for cell in released.cells for line in cell.source.splitlines()}
    shown = "\n".join(cell.source for cell in released.cells)
    found = set()
    for cell in solved.cells:
        for region in _REGION.findall(cell.source + "\n"):
            lines = {line.strip() for line in region.splitlines()}
            found |= {line for line in lines if len(line) >= LONG and line not in public and line not in shown}
    return found


def _all_text(book: NotebookNode) -> str:
    parts: list[str] = []
    for cell in book.cells:
        parts.append(cell.source)
        for output in cell.get("outputs", []):
            parts += [output.get("text", ""), *map(_as_text, output.get("data", {}).values())]
    return "\n".join([*parts, html.unescape("\n".join(parts))])


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def facts_of(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """dict unit → its data in ``assets/units``."""
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}
