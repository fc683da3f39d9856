"""Drawings agree with the references' shapes, wirings, masks and heads; each drawing has a text description."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from anatomy import drawings
from anatomy.atlas import configuration, lacking, models
from anatomy.drawings import __main__ as stored
from anatomy.drawings.sheet import Panel, side_by_side, width_of
from anatomy.drawings.stacks import seen
from anatomy.drawings.theme import DARK, LIGHT, STYLE
from anatomy.models import config

from autograder import ROOT
from autograder.reference.assembly.block import Block
from autograder.reference.gqa import heads, repeat_kv
from autograder.reference.masks import causal_mask
from autograder.reference.mla import LatentAttention

from .test_drawings_ideas import query_and_keys

LATENT = {"attention": "latent", "kv_rank": 24, "rope_dim": 4, "v_dim": 10, "q_rank": 12}
CONFIGURATIONS = {r.name: configuration(r.name) for r in models() if not lacking(r)} | {
    f"{placement} {kind}": config(placement=placement, kind=kind, **more)
    for placement in ("pre", "post", "both", "inside", "parallel")
    for kind, more in (("decoder", {}), ("encoder", {"gated": False}), ("decoder", LATENT))
}


def every_panel():
    """Yields (name, panel) for all drawings to test."""
    for name, draw in stored.STORED.items():
        yield from ((name, p) for p in draw().panels)
    for name, c in CONFIGURATIONS.items():
        yield f"block {name}", drawings.block(c).panels[0]
        yield from ((f"stacks {name}", p) for p in drawings.stacks(c).panels)
        if c["kind"] == "decoder":
            yield f"path {name}", drawings.token_path(c).panels[0]
        if c["kind"] != "encoder" and c["attention"] == "grouped":
            yield f"cache {name}", drawings.cache(c).panels[0]
    for n in (1, 2, 3, 4, 5, 32, 128):
        yield f"heads {n}", drawings.split_and_merge(128 * n, n).panels[0]
        yield from ((f"kv {n}", p) for p in drawings.key_value_heads(n, 1, 64).panels)
    for step in (lambda x, F, norm: F(norm(x)), lambda x, F, norm: norm(x) + F(x), lambda x, F, a, b: a(b(x + F(x)))):
        yield "a step", drawings.wiring_of(step, "mine").panels[0]
    for n in (1, 2, 5):
        yield from ((f"norms {n}", p) for p in drawings.norm_groups(n, 2 * n, n).panels)
        yield f"cone {n}", drawings.cone(n, 2 * n, 12).panels[0]
        yield from ((f"gate {n}", p) for p in drawings.feed_forward(512 * n, 2048 * n, 1365 * n).panels)
        yield f"query {n}", query_and_keys(n).panels[0]
    yield "positions", drawings.position_map().panels[0]
    yield "names", drawings.renaming({"model.layers.0.self_attn.q_proj.weight": "q_proj.weight", "x": None}).panels[0]


PANELS = list(every_panel())


def inside(box, x, y, shrink=0.5):
    return abs(x - box.x) < box.width / 2 - shrink and abs(y - box.y) < box.height / 2 - shrink


def segments(wire):
    return list(zip(wire.points, wire.points[1:], strict=False))


def on_wire(wire, label):
    """Whether the label is on the wire."""
    return any(
        min(x1, x2) - 1 <= label.x <= max(x1, x2) + 1 and min(y1, y2) - 1 <= label.y <= max(y1, y2) + 1
        for (x1, y1), (x2, y2) in segments(wire)
    )


def leaving(panel, box):
    """Shapes on the wires that begin at the top of a box."""
    wires = [w for w in panel.wires if w.points[0] == box.top]
    return [label.text for w in wires for label in panel.labels if label.kind == "shape" and on_wire(w, label)]


def box_of(panel, text):
    (found,) = [b for b in panel.boxes if b.text.split("\n")[0] == text]
    return found


# ---- wires, words and their room --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "panel"), PANELS, ids=[n for n, _ in PANELS])
def test_no_wire_crosses_a_box(name, panel):
    cells = ("on", "off", "new", "old", "frame", "band0", "band1", "band2", "band3")
    for wire in panel.wires:
        for (x1, y1), (x2, y2) in segments(wire):
            for step in range(1, 60):
                x, y = x1 + (x2 - x1) * step / 60, y1 + (y2 - y1) * step / 60
                crossed = [b.text for b in panel.boxes if b.kind not in cells and inside(b, x, y, 1)]
                assert not crossed, f"a wire at ({x:.0f}, {y:.0f}) crosses {crossed}"


def extents(label):
    width = width_of(label.text)
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return left, left + width, label.y - 6, label.y + 6


@pytest.mark.parametrize(("name", "panel"), PANELS, ids=[n for n, _ in PANELS])
def test_words_keep_clear_of_each_other_and_of_boxes(name, panel):
    """Uses estimated widths; ``test_drawings_browser`` measures the stored drawings."""
    placed = [(label.text, extents(label)) for label in panel.labels]
    for i, (text, (x1, x2, y1, y2)) in enumerate(placed):
        assert x1 >= 0 and x2 <= panel.width + 8, f"{text!r} leaves the picture"
        for other, (a1, a2, b1, b2) in placed[i + 1 :]:
            # Estimates assume the widest font and may exceed a shape's width by an eighth.
            assert not (x1 + 6 < a2 - 6 and a1 + 6 < x2 - 6 and y1 < b2 and b1 < y2), f"{text!r} meets {other!r}"
        for box in panel.boxes:
            if box.text:
                apart = x1 + 6 >= box.right[0] or x2 - 6 <= box.left[0] or y1 >= box.top[1] or y2 <= box.bottom[1]
                assert apart, f"{text!r} meets the box {box.text!r}"
    for box in panel.boxes:
        assert max(map(width_of, box.text.split("\n"))) <= box.width + 8, box.text
        assert box.left[0] >= 0 and box.right[0] <= panel.width, box.text


def test_a_crossing_would_be_found():
    panel = Panel("x")
    panel.box(50, 50, "in the way")
    panel.wire((50, 0), (50, 100))
    with pytest.raises(AssertionError, match="crosses"):
        test_no_wire_crosses_a_box("x", panel)
    panel.label(60, 50, "words")
    with pytest.raises(AssertionError, match="meets the box"):
        test_words_keep_clear_of_each_other_and_of_boxes("x", panel)


# ---- shapes at edges, as the references' modules give them -------------------------------------------------------


def outputs(module, run):
    """dict submodule's name → shape of its last output during ``run``."""
    found = {}
    hooks = [
        m.register_forward_hook(
            lambda _m, _i, out, n=n: found.update({n: tuple((out[0] if isinstance(out, tuple) else out).shape)})
        )
        for n, m in module.named_modules()
    ]
    run()
    for hook in hooks:
        hook.remove()
    return found


def written(shape):
    """A shape computed with B = 2 and T = 5, written with the letters B and T again."""
    return "(" + ", ".join(["B", "T", *map(str, shape[2:])]) + ")"


@pytest.mark.parametrize("placement_", ["pre", "post", "both", "inside"])
@pytest.mark.parametrize("gated", [True, False])
def test_the_blocks_shapes_are_those_of_the_reference(placement_, gated):
    c = config(d_model=24, n_heads=6, n_kv_heads=2, head_dim=8, d_ff=40, gated=gated, placement=placement_)
    block, x = Block(c), torch.randn(2, 5, 24)
    mask, places = causal_mask(5), torch.arange(5)
    got = outputs(block, lambda: block(x, mask, places))
    (panel,) = drawings.block(c).panels
    for name in ("gate_proj", "up_proj", "down_proj") if gated else ("up_proj", "down_proj"):
        assert leaving(panel, box_of(panel, name)) == [written(got[f"ffn.{name}"])]
    for name in ("q_proj", "k_proj", "v_proj"):
        cut = heads(torch.empty(got[f"attention.{name}"]), got[f"attention.{name}"][2] // 8)
        assert leaving(panel, box_of(panel, name)) == [f"(B, {cut.shape[1]}, T, {cut.shape[3]})"]
    assert leaving(panel, box_of(panel, "join heads, o_proj")) == [written(got["attention.o_proj"])]
    norms = [n for n in got if "norm" in n]
    assert sum(b.kind == "norm" for b in panel.boxes) == len(norms)


def test_the_latents_shapes_are_those_of_the_reference():
    c = config(d_model=24, n_heads=6, head_dim=8, **LATENT)
    layer = LatentAttention(24, 6, 12, 24, 8, 4, 10)
    got = outputs(layer, lambda: layer(torch.randn(2, 5, 24), causal_mask(5), torch.arange(5)))
    (panel,) = drawings.latent(c).panels
    assert leaving(panel, box_of(panel, "q_down")) == [written(got["q_down"])]
    both = leaving(panel, box_of(panel, "kv_down"))
    assert both == ["(B, T, 24)", "(B, T, 4)"] and got["kv_down"][2] == 24 + 4
    assert leaving(panel, box_of(panel, "q_up")) == [f"(B, 6, T, {got['q_up'][2] // 6})"]
    made = [re.search(r"(\d+)\)$", label.text)[1] for label in panel.labels if label.text[:2] in ("k ", "v ")]
    assert sum(map(int, made)) * 6 == got["kv_up"][2]
    assert leaving(panel, box_of(panel, "join heads, o_proj")) == [written(got["o_proj"])]
    said = " ".join(label.text for label in panel.labels)
    assert "per token and layer (dotted): 24 + 4 = 28" in said
    assert "√12)" in box_of(panel, next(b.text for b in panel.boxes if b.text.startswith("softmax"))).text
    assert layer.scale == pytest.approx(12**-0.5)


def test_a_head_is_split_and_merged_as_tensors_are():
    x = torch.zeros(2, 5, 12)
    cut = x.reshape(2, 5, 3, 4)
    apart = cut.transpose(1, 2)
    (panel,) = drawings.split_and_merge(12, 3, 2, 5).panels
    shapes = [re.search(r"\(.*\)", w.text)[0] for w in sorted(panel.labels, key=lambda w: w.y) if w.kind == "shape"]
    way = [x, cut, apart, apart, apart.transpose(1, 2), x]
    assert shapes == [str(tuple(t.shape)) for t in way]


# ---- masks and heads ----------------------------------------------------------------------------------------------


def test_the_small_masks_are_the_references():
    assert seen("causal") == causal_mask(4).tolist()
    assert all(all(row) for row in seen("all"))
    (panel,) = drawings.stacks(config()).panels
    cells = [b for b in panel.boxes if b.kind in ("on", "off")]
    rows = sorted({b.y for b in cells}, reverse=True)
    drawn = [[b.kind == "on" for b in sorted(cells, key=lambda b: b.x) if b.y == y] for y in rows]
    assert drawn == causal_mask(4).tolist()


@pytest.mark.parametrize(("H", "G"), [(8, 2), (4, 4), (6, 3), (8, 1)])
def test_query_heads_read_the_key_heads_that_repeat_kv_gives_them(H, G):
    read = repeat_kv(torch.arange(G).reshape(1, G, 1, 1), H // G).flatten().tolist()
    panel = next(p for p in drawings.key_value_heads(H, G, 64).panels if f"G = {G}" in p.title)
    keys = sorted(b.x for b in panel.boxes if b.kind == "new")
    queries = sorted(b.x for b in panel.boxes if b.kind == "on")
    assert len(keys) == G and len(queries) == H
    fan = sorted(panel.wires, key=lambda w: w.points[0][0])
    assert [keys.index(w.points[1][0]) for w in fan] == read
    assert [w.points[0][0] for w in fan] == queries


def test_what_is_stored_is_counted():
    assert [p.title for p in drawings.key_value_heads(8, 2, 64).panels] == ["MHA, G = 8", "GQA, G = 2", "MQA, G = 1"]
    assert [p.title for p in drawings.key_value_heads(8, 8, 64).panels] == ["MHA, G = 8", "MQA, G = 1"]
    assert "= 256 numbers" in drawings.key_value_heads(8, 2, 64).panels[1].says
    assert "= 2048 numbers" in drawings.cache(configuration("llama-3-8b")).alt


# ---- what cannot be drawn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: drawings.block(config(d_model=64) | {"d_model": 0}), "d_model is a whole number above 0, not 0"),
        (lambda: drawings.block({"d_model": 64.0}), "d_model is a whole number above 0, not 64.0"),
        (lambda: drawings.block({"n_layers": True}), "n_layers is a whole number"),
        (lambda: drawings.block({"width": 64}), "no configuration has 'width'"),
        (lambda: drawings.block({"norm": "batch"}), "norm is one of"),
        (lambda: drawings.block({"n_heads": 5}), "5 heads do not divide"),
        (lambda: drawings.block({"n_heads": 4, "n_kv_heads": 3}), "cannot share 3 key-value heads"),
        (lambda: drawings.block("llama"), "made of a configuration"),
        (lambda: drawings.split_and_merge(10, 3), "n_heads = 3 does not divide d_model = 10"),
        (lambda: drawings.split_and_merge(12, 0), "n_heads is a whole number above 0"),
        (lambda: drawings.split_and_merge(12, 3, 0), "batch is a whole number above 0"),
        (lambda: drawings.key_value_heads(8, 3, 64), "n_kv_heads = 3 does not divide n_heads = 8"),
        (lambda: drawings.key_value_heads(8, 16, 64), "n_kv_heads = 16 does not divide n_heads = 8"),
        (lambda: drawings.wiring("prenorm"), "no wiring is named 'prenorm'; there are Post-LN"),
        (lambda: drawings.wiring_of("pre"), "drawn from a function, not from str"),
        (lambda: drawings.wiring_of(lambda x: x), "takes 1 arguments"),
        (lambda: drawings.wiring_of(lambda x, F, norm: x.mean()), "asks for .mean of a tensor"),
        (lambda: drawings.wiring_of(lambda x, F, norm: x + F(x) * 2), "multiplied by 2"),
        (lambda: drawings.wiring_of(lambda x, F, norm: x + x + F(x)), "adds the stream itself 2 times"),
        (lambda: drawings.wiring_of(lambda x, F, norm: norm(x)), "calls 0 sublayers"),
        (lambda: drawings.wiring_of(lambda x, F, norm: x + F(x + norm(x))), "a sum stands inside"),
        (lambda: drawings.wiring_of(lambda x, F, norm: None), "returns NoneType"),
        (lambda: drawings.wiring_of(lambda x, F, norm: norm(torch.stack([x, F(x)]))), "a sum stands inside"),
        (lambda: drawings.wiring_of(lambda x, F, norm: x + F(x).sum(0)), "sums the numbers of a tensor"),
        (lambda: drawings.stacks(), "at least one configuration"),
        (lambda: drawings.cache(config(kind="encoder")), "cache draws a decoder"),
        (lambda: drawings.cache(config(**LATENT)), "latent(c) draws"),
        (lambda: drawings.latent(config()), "latent draws attention='latent', not 'grouped'"),
        (lambda: drawings.latent(config(attention="latent")), "kv_rank is a whole number above 0, not 0"),
        (lambda: drawings.token_path(config(kind="encoder")), "leads through a decoder, not an encoder"),
        (lambda: drawings.token_path(config(), met={"attic": "unit 20"}), "no station is named 'attic'"),
        (lambda: side_by_side(), "at least one drawing"),
        (lambda: drawings.wirings().svg(0), "one column or more, not in 0"),
    ],
)
def test_what_cannot_be_drawn_is_one_clear_sentence(draw, says):
    with pytest.raises(ValueError) as error:
        draw()
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_steps_own_error_is_its_own():
    def stub(x, sublayer, norm):
        raise NotImplementedError("placement.post_and_pre: your code goes here")

    with pytest.raises(NotImplementedError, match="your code goes here"):
        drawings.wiring_of(stub)


# ---- files, words, colors -----------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def test_stored_drawings_are_what_the_code_draws(capsys, tmp_path):
    folder = ROOT / "assets" / "drawings"
    assert {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*")} == stored.files()
    assert stored.main(["--out", str(folder), "--check"]) == 0
    assert stored.main(["--out", str(tmp_path)]) == 0 and stored.main(["--out", str(tmp_path), "--check"]) == 0
    (tmp_path / "latent.svg").write_text("<svg/>")
    (tmp_path / "gone.svg").write_text("<svg/>")
    assert stored.main(["--out", str(tmp_path), "--check"]) == 1
    told = capsys.readouterr().err
    assert "latent.svg" in told and "gone.svg" in told
    assert stored.main(["--out", str(tmp_path)]) == 0 and not (tmp_path / "gone.svg").exists()


@pytest.mark.parametrize("name", stored.files())
def test_a_file_has_a_role_a_name_and_a_description(name):
    root = ET.fromstring(stored.files()[name])
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    title, says = root[0], root[1]
    assert title.tag == f"{SVG}title" and says.tag == f"{SVG}desc" and title.text
    assert len(says.text.split()) >= 20, says.text
    assert "href" not in stored.files()[name] and "url(" not in stored.files()[name]


def test_the_description_speaks_of_this_configuration():
    a, b = (drawings.block(config(d_model=64, n_kv_heads=g, placement=p)) for g, p in ((4, "pre"), (2, "post")))
    assert "4 key-value heads" in a.alt and "2 key-value heads" in b.alt
    assert a.alt.count("a norm reads the stream") == 2 and b.alt.count("a norm follows") == 2
    assert all(p.says in drawings.wirings().alt for p in drawings.wirings().panels)


def test_a_notebook_gets_a_page_and_words():
    bundle = drawings.wirings()._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/html"].count("<svg") == 8 and bundle["text/html"].count("<style>") == 1
    assert bundle["text/html"].count('role="img"') == 8 and 'aria-label="Residual wirings"' in bundle["text/html"]
    assert "Post-LN: the new stream is norm(x + F(x))" in bundle["text/plain"]


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_and_lines_stand_out_in_both_themes(theme):
    papers = [theme["paper"], "#ffffff" if theme is LIGHT else "#111111"]  # the course's and JupyterLab's
    for paper in papers:
        assert contrast(theme["ink"], paper) >= 7 and contrast(theme["soft"], paper) >= 4.5
        assert all(contrast(theme[line], paper) >= 3 for line in ("rule", "one", "two", "good"))
    assert contrast(theme["ink"], theme["box"]) >= 7
    assert all(contrast(theme[line], theme["box"]) >= 3 for line in ("rule", "one", "two", "good"))


def test_every_kind_has_a_style():
    kinds = {b.kind for _, p in PANELS for b in p.boxes} | {w.kind for _, p in PANELS for w in p.wires}
    missing = [k for k in kinds if not re.search(rf"\.ad \.{k}\b", STYLE)]
    assert not missing
