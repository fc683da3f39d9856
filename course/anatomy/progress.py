"""Progress: which exercises are done, kept on disk, so that it survives a kernel restart.

One JSON file in the user's data folder (or ``ANATOMY_HOME``), written atomically. Nothing here ever stops a
check: a full or read-only disk costs the record, with one line that says so.
"""

import html
import json
import os
import sys
import time
from pathlib import Path

from . import records


def home():
    """Folder that holds progress and predictions."""
    if os.environ.get("ANATOMY_HOME"):
        return Path(os.environ["ANATOMY_HOME"])
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home())
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "transformer-anatomy"


def read(name):
    """Contents of ``<home>/<name>.json`` as a dict; {} where there is none. A damaged file is set aside."""
    path = home() / f"{name}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return data if isinstance(data, dict) else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        try:
            kept = path.with_name(f"{name}.damaged-{int(time.time())}.json")
            path.rename(kept)
            print(f"(your {name} file could not be read; it was kept as {kept.name} and a new one started)")
        except OSError:
            pass
        return {}


def write(name, data):
    """Replaces ``<home>/<name>.json`` atomically. Returns False, after one printed line, where that is impossible."""
    path = home() / f"{name}.json"
    temporary = path.with_name(f".{name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(temporary, path)
        return True
    except OSError as error:
        print(f"({name} was not saved: {error.strerror}. The check itself is unaffected.)")
        try:
            temporary.unlink()
        except OSError:
            pass
        return False


def note(verdict):
    """Adds one try of an exercise. A pass is never taken back by a later failure."""
    data = read("progress")
    entry = data.setdefault(verdict.exercise, {"tries": 0, "best": 0.0, "passed_on_try": None})
    entry["tries"] += 1
    entry["best"] = max(entry["best"], verdict.score)
    if verdict.passed and entry["passed_on_try"] is None:
        entry["passed_on_try"] = entry["tries"]
    write("progress", data)
    return data


def summary():
    """List of ``(unit, done, exercises, points, max_points)`` over the course, in course order."""
    data, units = read("progress"), {}
    for exercise in records.known_exercises():
        unit, points, _ = records.points_of(exercise)
        row = units.setdefault(unit, [0, 0, 0.0, 0.0])
        entry = data.get(exercise, {})
        row[0] += entry.get("passed_on_try") is not None
        row[1] += 1
        row[2] += min(entry.get("best", 0.0), points)
        row[3] += points
    return [(unit, *row) for unit, row in sorted(units.items())]


class Progress:
    """What ``progress()`` displays: a bar per unit, and the exercises of one unit if asked for."""

    def __init__(self, unit=None):
        self.unit = unit
        self.rows = [r for r in summary() if unit in (None, r[0])]
        if not self.rows:
            units = ", ".join(sorted({r[0] for r in summary()}))
            raise ValueError(f"There is no unit {unit!r}. Units: {units}")

    def __repr__(self):
        lines = [f"{u:28} {'█' * d}{'░' * (n - d)} {d}/{n} exercises, {round(p, 1):g}/{m:g} points"
                 for u, d, n, p, m in self.rows]
        done, count = sum(r[1] for r in self.rows), sum(r[2] for r in self.rows)
        return "\n".join([*lines, f"{'total':28} {done}/{count} exercises"])

    def _repr_html_(self):
        cells = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(u)}</th>'
            f'<td><progress max="{n}" value="{d}" aria-label="{html.escape(u)}: {d} of {n} exercises"></progress></td>'
            f"<td>{d}/{n} exercises</td><td>{round(p, 1):g}/{m:g} points</td></tr>" for u, d, n, p, m in self.rows)
        table = f"<table>{cells}</table>"
        if self.unit:
            data = read("progress")
            items = []
            for e in records.known_exercises(self.unit):
                entry = data.get(e, {})
                state = ("✓ passed on try " + str(entry["passed_on_try"]) if entry.get("passed_on_try")
                         else f"{entry['tries']} tries so far" if entry else "not tried yet")
                items.append(f"<li><code>{e}</code> {state}</li>")
            table += f"<ul>{''.join(items)}</ul>"
        return table


def progress(unit=None):
    """Shows how far you are: over the course, or within one unit such as ``"06-rope"``.

    Raises ValueError for an unknown unit, naming the known ones.
    """
    return Progress(unit)
