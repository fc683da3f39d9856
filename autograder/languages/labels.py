"""Finds the words that code puts together: labels of plots, texts of drawings, results of predictions.

A plot's labels are the texts that its cell writes as titles, axes, legends and names of lines, with values left out.
Names that a cell only hands on, from a list, a recording or the package, stand in ``NAMES``. Drawings are drawn, and
read.
"""

import ast
import html
import re
from collections.abc import Iterable, Iterator

import nbformat
import torch
from anatomy import drawings
from anatomy.atlas import configuration, lacking, models
from anatomy.drawings.__main__ import STORED
from anatomy.system.labels import CONTEXT, parts, pattern

from autograder import ROOT, exercises

from .words import Entry, Found, is_words

# Keywords of Matplotlib's calls that hold words, and functions whose arguments do.
KEYWORDS = {"label", "title", "xlabel", "ylabel", "xticklabels", "yticklabels"}
CALLS = {"xlabel", "ylabel", "title", "suptitle", "legend", "annotate", "text", "xticks", "yticks"}
CALLS |= {f"set_{name}" for name in ("xlabel", "ylabel", "title", "xticks", "yticks", "xticklabels", "yticklabels")}
_TEXT = re.compile(r"<(?:text|title)\b[^>]*>([^<]+)<")
# Separated by ·, which no label has.
NAMES = {
    "00-start-here": "unit 12 · units 01 to 04",
    "01-attention": (
        "last state · largest of 16 weights · summed slope Σ w(1−w) · divided · not divided · small start · no "
        "positions · vector per place · causal mask · no positions 0 to 1 · vector per place 0 to 1 · causal mask "
        "0 to 1 · softmax of that · encoder-only, reads 512 · decoder-only, 512 + 128 · encoder–decoder, 6 + 6"
    ),
    "02-normalization": (
        "in the plane · height above it · from the side · onto the plane of mean 0 · from above · token · onto a "
        "circle of radius √3 · mean subtracted · after the norm · copy · times 2 · fused LayerNorm · RMSNorm by "
        "steps · LayerNorm by steps · moves by 0.1 · 3.0 times as long · weight and bias"
    ),
    "03-norm-placement": "recorded (cpu) · warm-up · last losses 2.7 · norm · norm kind · layers",
    "04-ffn-and-gating": "bilinear · both activated · gated twice · lowest mean",
    "05-position-encodings": (
        "color of the twin · color three positions back · T5 bias · bucket 1 copied into 2 to 3 · no projection · "
        "random W_Q · looks 3 back · positions · score factor · bias after scaling · "
        "EMD: h + p as queries · learned bias per distance · relative vectors"
    ),
    "06-rope": (
        "recipe from the notes · place in the row · wrong half · sinusoidal · RoPE + window of 64 · Color of the "
        "twin (anywhere) · Color 3 positions back · "
        "DeBERTa, every distance · DeBERTa, far rows drawn · Shaw, every distance · Shaw, far rows drawn"
    ),
    "07-masks-and-objectives": (
        "causal 1% right · bidirectional 1% right · mask after the softmax · reads nothing · before · after 200 steps "
        "· encoder stacks · decoder stacks · cross attention modules · sees future · real tokens counted · all columns "
        "counted · the lowest float, twice"
    ),
    "08-kv-cache-and-gqa": (
        "without a past · with a past · 8 key heads · decode · prefill of 512 · one large channel · heads · kv heads · "
        "published · counted · with 8 kv heads · with mha"
    ),
    "09-sparse-attention": (
        "dense · gathered · full causal · no mask · masked · window · blocks · MB held · million pairs scored · "
        "near and far, stride √n · near and far, stride 8"
    ),
    "10-stability": (
        "score 1 and 2 · gradient 1 and 2 · log Z 1 and 2 · nothing · a tenth of the rate · clipping · soft cap on "
        "logits · soft cap on scores · alarms without remedy and with QK-norm · of 8 runs each · "
        "decay on gains too · decay on matrices"
    ),
    "11-assembly": "vocabulary · norms · wrong base · wrong base 0.7 · all that both have · the table alone",
    "12-language-model": (
        "loss on held-out text (nats per token) · whole · rotated backward · no rotation · no residual · "
        "key-value heads swapped · no norms · place in the text · as trained · interpolated · NTK-aware base · "
        "from Mansfield Park · the model · whole 2.79 · no mask 3.61 · rotated backward 4.13 · no rotation 4.7 · "
        "key-value heads swapped 8.47 · no residual 8.41 · no norms 4.03e+18"
    ),
    "13-scale-and-cost": (
        "renamed 1 at rank 2 · farther 1 at rank 2 · trained base · random base · your Embeddings · your tables · "
        "your attention · your norms · your Decoder · your softmax · your distribution"
    ),
    "14-cheaper-attention": "all 48 layers full · every fourth full · none full · all scores at once",
}


def of_course() -> list[Entry]:
    """Entries of ``labels.po``."""
    found = Found()
    for unit in exercises.units():
        book = nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4)
        for cell in book.cells:
            if cell.cell_type != "code":
                continue
            where = f"{unit}#{cell['id']}"
            for text in (*of_cell(cell.source), *told(cell.source)):
                _add(found, parts(text), where)
            _add(found, results(cell.source), where)
        _add(found, parts_of_names(unit), unit)
    for text in of_drawings():
        _add(found, parts(text), "drawings")
    return list(found.entries.values())


def parts_of_names(unit: str) -> list[str]:
    """The parts of the labels in ``NAMES``."""
    return [part for name in NAMES.get(unit, "").split(" · ") for part in parts(name)]


def _add(found: Found, labels: Iterable[str], where: str) -> None:
    for label in labels:
        key = pattern(label.strip())[0]
        if is_words(key):
            found.add(CONTEXT, key, where, "", True)


def of_cell(source: str) -> Iterator[str]:
    """Labels that a cell's code writes, with 0 for each value."""
    for name, call in _calls(source):
        for value in call.args if name in CALLS else ():
            yield from _literals(value)
        for keyword in call.keywords:
            if keyword.arg in KEYWORDS:
                yield from _literals(keyword.value)


def results(source: str) -> Iterator[str]:
    """Texts that the results of predictions are put together from."""
    for name, call in _calls(source):
        if name == "reveal" and len(call.args) > 1:
            inner = [n for n in ast.walk(call.args[1]) if isinstance(n, ast.JoinedStr)]
            within = {id(part) for text in inner for piece in text.values for part in ast.walk(piece)}
            for text in inner:
                if id(text) not in within:
                    yield "".join(map(_written, text.values))


def told(source: str) -> Iterator[str]:
    """Texts that the values in a plot's description are put together from."""
    calls = list(_calls(source))
    if not any(name == "described" for name, _call in calls):
        return
    elsewhere = {id(n) for name, call in calls if name in ("print", "reveal") or name in CALLS for n in ast.walk(call)}
    elsewhere |= {id(n) for _name, call in calls for k in call.keywords if k.arg in KEYWORDS for n in ast.walk(k)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr) and id(node) not in elsewhere:
            yield "".join(map(_written, node.values))


def _calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with magics
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""), node


def _literals(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=pieces):
            yield "".join(map(_written, pieces))
            for piece in pieces:
                if isinstance(piece, ast.FormattedValue):
                    yield from _literals(piece.value)
        case ast.BinOp(left=left, op=ast.Add()):
            yield from _literals(left)
        case ast.IfExp(body=yes, orelse=no):
            yield from _literals(yes)
            yield from _literals(no)
        case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Dict(values=several):
            for each in several:
                yield from _literals(each)
        case ast.Call(func=ast.Attribute(value=ast.Dict() as names)):  # {"score": "largest |score|"}.get(curve)
            yield from _literals(names)


def _written(piece: ast.expr) -> str:
    """A piece of an f-string as it may be shown: 0 for a value, "0%" for a share."""
    match piece:
        case ast.Constant(value=text):
            return str(text)
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=str(form))])) if "%" in form:
            return "0%"
    return "0"


def of_drawings() -> Iterator[str]:
    """Texts of all kinds of drawings, of all models of the atlas."""
    configurations = [configuration(row.name) for row in models() if not lacking(row)]
    made = [draw() for draw in STORED.values()]
    made += [drawings.block(c) for c in configurations]
    made += [drawings.token_path(c) for c in configurations if c["kind"] == "decoder"]
    made += [drawings.feed_forward(8, 32, 16), drawings.norm_groups(3, 4, 2), drawings.position_map()]
    made += [drawings.cone(4, 3), drawings.renaming({"wte": "embedding", "mask": None})]
    one = torch.ones(1)
    made += [drawings.one_query(one, one[None], one[None], ["a"], one, one, one)]
    for drawing in made:
        for text in _TEXT.findall(drawing.svg()):
            yield html.unescape(text)
        yield drawing.alt
        for panel in drawing.panels:
            yield from (panel.title, panel.says)
