"""Draws every recorded experiment but tables: ``assets/figures/<name>.svg`` from ``assets/experiments/<name>.json``.

``python -m autograder.recording.figures`` draws all and writes ``alt.json``, the alternative texts. The same data and
matplotlib give the same bytes. Each drawing is a function of an experiment's data that returns (figure, alternative
text); numbers in the text are computed from the data.
"""

import io
import json

import matplotlib as mpl
from anatomy import files, plots

from autograder import ROOT
from autograder.recording.figures import attention, buckets, depth, lengths, machine, training

DRAWINGS = {
    function.__name__: function
    for function in (
        attention.bottleneck,
        attention.root_d,
        buckets.trained_length,
        depth.effective_depth,
        depth.gradient_flow,
        depth.residuals,
        depth.warmup,
        lengths.length,
        machine.decode,
        machine.norm_bandwidth,
        machine.roofline,
        machine.sparse_attention,
        training.ffn_variants,
        training.leak,
        training.loss_spike,
        training.unit_health,
        training.word_order,
    )
}

TABLES = ("named_models",)  # notebooks print rows of these


def draw(name, data, format="svg"):
    """(bytes of the picture, alternative text) of one experiment; the title's last words say where it was measured."""
    # SVG ids come from this salt and not from a random one; text stays text, which readers can select.
    with mpl.rc_context({**plots.STYLE, "svg.hashsalt": name, "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure, alt = DRAWINGS[name](data)
        place, seeds = where(data), len(data["made"]["seeds"])
        figure.suptitle(f"{figure.get_suptitle()} ({place}{f', {seeds} seeds' if seeds > 1 else ''})", fontsize=11)
        buffer = io.BytesIO()
        metadata = {"Date": None} if format == "svg" else None
        figure.savefig(buffer, format=format, bbox_inches="tight", metadata=metadata)
    return buffer.getvalue(), f"{alt} {place[0].upper()}{place[1:]}."


def where(data):
    """``measured on a CPU``, or the name of the GPU."""
    made = data["made"]
    return "measured on a CPU" if made["device"] == "cpu" else f"measured on {made['name']}"


def write(experiments=ROOT / "assets" / "experiments", out=ROOT / "assets" / "figures"):
    """Draws every experiment in the folder; returns name → alternative text. A file without a drawing is an error."""
    out.mkdir(parents=True, exist_ok=True)
    alts = {}
    for path in sorted(p for p in experiments.glob("*.json") if p.stem not in TABLES):
        picture, alts[path.stem] = draw(path.stem, json.loads(path.read_text(encoding="utf-8")))
        files.replace(out / f"{path.stem}.svg", picture)
    files.replace(out / "alt.json", (json.dumps(alts, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode())
    return alts


def write_all(experiments=ROOT / "assets" / "experiments", out=ROOT / "assets" / "figures"):
    """Draws both settings: those of a laptop, and those of a GPU (in the subfolder ``large``) where there are any."""
    alts = write(experiments, out)
    if any((experiments / "large").glob("*.json")):
        alts |= {f"large/{name}": alt for name, alt in write(experiments / "large", out / "large").items()}
    return alts
