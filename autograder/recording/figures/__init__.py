"""Draws recorded experiments, except tables: ``assets/figures/<name>.svg`` from ``assets/experiments/<name>.json``.

``python -m autograder.recording.figures`` draws them all and writes ``alt.json``, the alternative texts, and
``tables.json``, the plotted numbers. The same data and matplotlib give the same bytes. Each drawing is a function of an
experiment's data that returns (figure, alternative text); numbers in the text are computed from the data.
"""

import importlib
import io
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from anatomy.figures.reading import tables
from anatomy.figures.tables import Table
from anatomy.figures.themes import themed
from anatomy.notebook import plots
from anatomy.system import files
from matplotlib.figure import Figure

from autograder import ROOT
from autograder.recording import experiments

RECORDED, FIGURES = ROOT / "assets" / "experiments", ROOT / "assets" / "figures"
Drawing = Callable[[experiments.Data], tuple[Figure, str]]


class NoDrawing(KeyError):
    """A recorded experiment has no drawing; one sentence says what is missing."""

    def __str__(self) -> str:
        return self.args[0]


def drawings() -> dict[str, Drawing]:
    """Name of an experiment → its drawing: the public functions of all modules here except ``parts``."""
    found: dict[str, Drawing] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name not in ("__main__", "parts"):
            here = importlib.import_module(f"{__name__}.{module.name}")
            for name, value in vars(here).items():
                if not name.startswith("_") and callable(value) and value.__module__ == here.__name__:
                    found[name] = value
    return found


DRAWINGS = drawings()
TABLES = tuple(name for name, about in experiments.found().items() if about.read)  # notebooks print rows of these


def draw(name: str, data: experiments.Data) -> tuple[bytes, str]:
    """(SVG, alternative text) of one experiment; the title ends with the device of the measurement.

    The picture follows the theme of the page that shows it. Raises NoDrawing if no drawing has that name.
    """
    return drawn(name, data)[:2]


def drawn(name: str, data: experiments.Data) -> tuple[bytes, str, list[Table]]:
    """(SVG, alternative text, tables of the numbers) of one experiment. Raises NoDrawing."""
    if name not in DRAWINGS:
        raise NoDrawing(
            f"{name} has been measured, but nothing draws it: write {name}(data) in a module of "
            "autograder/recording/figures, which returns (figure, alternative text)."
        )
    # SVG ids come from this salt instead of a random one; text stays text, at any page size.
    with mpl.rc_context({**plots.STYLE, "svg.hashsalt": name, "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure, alt = DRAWINGS[name](data)
        place, seeds = where(data), len(data["made"]["seeds"])
        figure.suptitle(f"{figure.get_suptitle()} ({place}{f', {seeds} seeds' if seeds > 1 else ''})", fontsize=11)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
        numbers = tables(figure)
    alt = f"{alt} {place[0].upper()}{place[1:]}."
    return themed(buffer.getvalue(), alt).encode(), alt, numbers


def where(data: experiments.Data) -> str:
    """``measured on a CPU``, or the name of the GPU."""
    made = data["made"]
    return "measured on a CPU" if made["device"] == "cpu" else f"measured on {made['name']}"


def write(source: Path = RECORDED, out: Path = FIGURES) -> dict[str, str]:
    """Draws every experiment in a folder; returns name → alternative text. Raises NoDrawing."""
    out.mkdir(parents=True, exist_ok=True)
    alts: dict[str, str] = {}
    numbers: dict[str, list[dict[str, object]]] = {}
    for path in sorted(p for p in source.glob("*.json") if p.stem not in TABLES):
        picture, alts[path.stem], found = drawn(path.stem, json.loads(path.read_text(encoding="utf-8")))
        numbers[path.stem] = [table.kept() for table in found]
        files.replace(out / f"{path.stem}.svg", picture)
    for name, content in (("alt.json", alts), ("tables.json", numbers)):
        files.replace(out / name, (json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode())
    return alts


def write_all(source: Path = RECORDED, out: Path = FIGURES) -> dict[str, str]:
    """Draws both settings: those of a laptop, and those of a GPU (in the subfolder ``large``) if there are any."""
    alts = write(source, out)
    if any((source / "large").glob("*.json")):
        alts |= {f"large/{name}": alt for name, alt in write(source / "large", out / "large").items()}
    return alts
