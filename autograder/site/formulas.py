"""Converts formulas to MathML during the build: Temml runs in QuickJS, so neither Node.js nor a browser is needed."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import quickjs
from docutils import nodes
from sphinx.application import Sphinx

_TEMML = Path(__file__).parent / "vendor" / "temml.min.js"


class BadFormula(ValueError):
    """Temml does not understand a formula; the message quotes it and says why."""


@cache
def mathml(tex: str, display: bool = False) -> str:
    """A formula as MathML, its source kept in an annotation. Raises BadFormula."""
    # "tex" breaks a long formula where TeX would break it, because on a phone few fit on one line.
    options = json.dumps({"displayMode": display, "annotate": True, "wrap": "none" if display else "tex"})
    call = f"temml.renderToString({json.dumps(tex.strip())}, Object.assign({options}, {{throwOnError: true}}))"
    try:
        return str(_context().eval(call))
    except quickjs.JSException as error:
        raise BadFormula(f"{tex.strip()!r}: {str(error).splitlines()[0]}") from error


@cache
def _context() -> Any:
    context = quickjs.Context()
    context.eval(_TEMML.read_text(encoding="utf-8") + ";globalThis.temml = temml;")
    return context


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    anchor = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    translator.body.append(f'<div class="ta-formula-block"{anchor}>{mathml(node.astext(), True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
