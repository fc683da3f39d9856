"""Writes the files that a widget needs to run without a kernel: its script, state and tables, and a picture until then.

Scripts, states and tables are classic scripts, because a page opened from disk may load neither modules nor data. They
are in separate files, and those of states and tables are named by their contents: pages share equal files, and nothing
is loaded before the reader scrolls to the widget.
"""

import base64
import gzip
import hashlib
import html
import io
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from anatomy.system import files
from anatomy.widgets import REGISTERED, TableWidget
from anatomy.widgets.tools import base, page
from PIL import Image

FOLDER = "live"  # under the site's static files
_NAMED = re.compile(r"^(?:async )?(?:const|let|function|class) +([A-Za-z_$][\w$]*)", re.M)
# Traits of every Jupyter widget that our scripts don't read, and the tables, which are stored separately.
_NOT_OURS = ("layout", "tabbable", "tooltip", "tables")


def widget_of(model: dict[str, Any]) -> type[TableWidget] | None:
    """The class of a widget in a notebook's saved state; None if it is not one of our drawing widgets."""
    name = model["state"].get("_anywidget_id", "").rpartition(".")[2]
    return next((kind for kind in REGISTERED.values() if kind.__name__ == name), None)


class Shelf:
    """Collects the widget instances of all pages; ``write`` writes each of their files once.

    static: the site's folder of static files.
    """

    def __init__(self, static: Path) -> None:
        self._folder = static / FOLDER
        self._states: dict[str, dict[str, Any]] = {}  # name → state, its tables as hashes
        self._tables: dict[str, str] = {}  # hash → base64
        self._parcels: dict[str, str] = {}  # file → hash of what only some readers need

    def box(self, model: dict[str, Any], png: str, alt: str, root: str, eager: bool = False) -> str:
        """HTML of one instance: the picture, which the widget later replaces.

        Args:
            model: the model in the notebook's saved state.
            png: the picture, base64.
            alt: the picture's alt text.
            root: relative address of the site's root, "../" or "".
            eager: True at the top of a page, where the picture should load at once.
        """
        kind = widget_of(model)
        assert kind is not None
        state = {k: v for k, v in model["state"].items() if not k.startswith("_") and k not in _NOT_OURS}
        tables = {}
        for buffer in model.get("buffers", ()):
            where, name = buffer["path"]
            if where != "tables":
                raise ValueError(f"{kind.__name__} keeps bytes in {where}, and only its tables are known here")
            tables[name] = self._keep(buffer["data"])
        return self._framed(kind, state, tables, base64.b64decode(png), alt, root, eager)

    def of(self, widget: TableWidget, root: str) -> str:
        """HTML of an instance that this process holds, as it is now. root: as for ``box``."""
        with widget.for_others():
            names = ("spec", "notice", "mistake", "step", *widget.controls)
            state = {name: getattr(widget, name) for name in names}
            return self._framed(type(widget), state, self._tables_of(widget), widget.png(), widget.alt, root)

    def change(self, widget: TableWidget) -> str:
        """Name of the file that turns an instance on a page (``of``) into what the widget shows now (``TA.turn``)."""
        with widget.for_others():
            state = {"notice": widget.notice, "mistake": widget.mistake, "tables": self._tables_of(widget)}
        return self._state(type(widget), state)

    def _framed(
        self,
        kind: type[TableWidget],
        state: dict[str, Any],
        tables: dict[str, str],
        png: bytes,
        alt: str,
        root: str,
        eager: bool = False,
    ) -> str:
        parcels = {name: self._parcel(data) for name, data in kind.parcels().items()}
        name = self._state(kind, page.outside(kind, state) | {"tables": tables, "parcels": parcels})
        picture, width, height = self._picture(png)
        loading = "" if eager else ' loading="lazy"'
        return (
            f'<div class="ta-live" data-widget="{kind.recording}" data-state="{name}">'
            f'<img src="{root}_static/{FOLDER}/{picture}" width="{width}" height="{height}"{loading} decoding="async" '
            f'alt="{html.escape(alt, quote=True)}"></div>'
        )

    def _state(self, kind: type[TableWidget], state: dict[str, Any]) -> str:
        told = json.dumps(state, sort_keys=True)
        name = f"{kind.recording}-{hashlib.sha256(told.encode()).hexdigest()[:10]}"
        self._states[name] = state
        return name

    def _tables_of(self, widget: TableWidget) -> dict[str, str]:
        return {name: self._keep(base64.b64encode(data).decode()) for name, data in widget.tables.items()}

    def _keep(self, data: str) -> str:
        name = hashlib.sha256(data.encode()).hexdigest()[:12]
        self._tables[name] = data
        return name

    def _parcel(self, data: bytes) -> str:
        """The name of the parcel's own file, which is loaded when somebody asks for it."""
        kept = self._keep(base64.b64encode(data).decode())
        self._parcels[f"parcel-{kept}"] = kept
        return f"parcel-{kept}"

    def _picture(self, png: bytes) -> tuple[str, int, int]:
        """(file name, width, height in CSS pixels)."""
        image = Image.open(io.BytesIO(png)).convert("RGB")
        out = io.BytesIO()
        image.save(out, "WEBP", lossless=True, quality=80, method=4)
        name = f"{hashlib.sha256(png).hexdigest()[:12]}.webp"
        files.replace(self._folder / name, out.getvalue())
        return name, *image.size

    def write(self) -> None:
        """Writes scripts, styles, states and tables."""
        files.replace(self._folder / "core.js", core().encode())
        files.replace(self._folder / "widgets.css", styles().encode())
        packs = self._packed()
        for name, kept in self._parcels.items():
            files.replace(self._folder / f"{name}.js", self._pack(name, [kept]))
        for kind in {name.rpartition("-")[0] for name in self._states}:
            files.replace(self._folder / f"{kind}.js", own_script(REGISTERED[kind]).encode())
        for name, state in self._states.items():
            wanted = sorted({packs[table] for table in state["tables"].values()})
            text = json.dumps({**state, "packs": wanted}, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            files.replace(self._folder / f"{name}.js", f"TA.states[{json.dumps(name)}]={text};\n".encode())

    def _packed(self) -> dict[str, str]:
        """Writes the tables; returns table → its file. Tables used by the same instances share a file: each table is in
        one file, and no instance loads tables that it doesn't use."""
        users: dict[str, set[str]] = defaultdict(set)
        for name, state in self._states.items():
            for table in state["tables"].values():
                users[table].add(name)
        together: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for table, names in sorted(users.items()):
            together[tuple(sorted(names))].append(table)
        found: dict[str, str] = {}
        for tables in together.values():
            name = f"tables-{hashlib.sha256(''.join(tables).encode()).hexdigest()[:10]}"
            found |= dict.fromkeys(tables, name)
            files.replace(self._folder / f"{name}.js", self._pack(name, tables))
        return found

    def _pack(self, name: str, tables: list[str]) -> bytes:
        # Compressed here, so that it is also small on disk and on hosts that don't compress.
        raw = [base64.b64decode(self._tables[table]) for table in tables]
        text = base64.b64encode(gzip.compress(b"".join(raw), 9, mtime=0)).decode()
        index = [[table, len(data)] for table, data in zip(tables, raw, strict=True)]
        return f"TA.packs[{json.dumps(name)}]={json.dumps({'index': index, 'gzip': text})};\n".encode()


def core() -> str:
    """The code that all widgets share and the loader that starts them, as one classic script."""
    shared = _shared()
    loader = (Path(__file__).parent / "static" / "live.js").read_text(encoding="utf-8")
    names = ",".join(_NAMED.findall(shared))
    return (
        "window.TA={widgets:{},states:{},packs:{}};\n"
        f'(function(){{"use strict";\n{shared}\nTA.common={{{names}}};\n}})();\n{loader}'
    )


def own_script(kind: type[TableWidget]) -> str:
    """A widget's own script, which finds the shared code in ``TA.common``."""
    shared = _shared()
    if not kind._esm.startswith(shared):
        raise ValueError(f"The script of {kind.__name__} does not begin with what all widgets share")
    own, count = re.subn(
        r"^export default (\w+);",
        f"TA.widgets[{json.dumps(kind.recording)}]=\\1;",
        kind._esm[len(shared) :],
        flags=re.M,
    )
    if count != 1:
        raise ValueError(f"The script of {kind.__name__} has {count} default exports, and needs one")
    names = ",".join(_NAMED.findall(shared))
    return f'(function(){{"use strict";\nconst {{{names}}}=TA.common;\n{own}\n}})();\n'


def styles() -> str:
    """The styles of all widgets, with the common part only once."""
    common = base._source("widgets.css")
    return common + "".join(sorted({kind._css.removeprefix(common) for kind in REGISTERED.values()}))


def _shared() -> str:
    return "".join(map(base._source, base.SCRIPTS))
