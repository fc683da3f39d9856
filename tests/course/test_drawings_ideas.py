"""Drawings of single ideas show what the computation does."""

import pytest
import torch
from anatomy import drawings


def query_and_keys(n):
    """The drawing for a query and n keys."""
    torch.manual_seed(n)
    q, k, v = torch.randn(2), torch.randn(n, 2), torch.randn(n, 2)
    weights = (k @ q).softmax(0)
    return drawings.one_query(q, k, v, [f"t{i}" for i in range(n)], k @ q, weights, weights @ v)


def boxes_of_kind(panel, kind):
    return [b for b in panel.boxes if b.kind == kind]


@pytest.mark.parametrize(
    "name, axes",
    [("BatchNorm", (0, 2, 3)), ("LayerNorm", (1, 2, 3)), ("InstanceNorm", (2, 3)), ("GroupNorm", (2, 3, 4))],
)
def test_norms_average_over_as_many_numbers_as_drawn(name, axes):
    sizes = (3, 2, 2, 2, 2) if name == "GroupNorm" else (3, 4, 2, 2)  # group norm: N, groups, C / groups, H, W
    wanted = torch.tensor([sizes[a] for a in axes]).prod().item()
    (panel,) = [p for p in drawings.norm_groups(3, 4, 2).panels if p.title.startswith(name)]
    assert len(boxes_of_kind(panel, "on")) == wanted and len(panel.boxes) == 3 * 4 * 4


@pytest.mark.parametrize("layers, window", [(1, 1), (2, 3), (4, 3), (3, 8)])
def test_the_cone_is_what_stacked_masks_reach(layers, window):
    length = 14
    mask = torch.ones(length, length, dtype=torch.bool).tril() & ~torch.ones(length, length).tril(-window).bool()
    reach = torch.linalg.matrix_power(mask.double(), layers)[-1] > 0
    panel = drawings.cone(layers, window, length).panels[0]
    rows = {b.y for b in panel.boxes}
    bottom = sorted((b.x, b.kind != "off") for b in panel.boxes if b.y == min(rows))
    assert [on for _, on in bottom] == reach.tolist()
    assert f"reaches {int(reach.sum()) - 1} tokens back" in panel.labels[-1].text


def test_a_layers_numbers_are_counted():
    plain, gated = drawings.feed_forward(12, 48, 32).panels
    assert "2 · 12 · 48 = 1,152 numbers" in {w.text for w in plain.labels}
    assert "3 · 12 · 32 = 1,152 numbers" in {w.text for w in gated.labels}


def test_a_querys_numbers_are_those_that_were_given():
    drawing = query_and_keys(3)
    torch.manual_seed(3)
    q, k, v = torch.randn(2), torch.randn(3, 2), torch.randn(3, 2)
    weights = (k @ q).softmax(0)
    shown = {b.text for b in drawing.panels[0].boxes}
    assert {f"{w:.2f}" for w in weights} <= shown
    out = weights @ v
    assert f"output ({out[0]:.3g}, {out[1]:.3g})" in shown
    with pytest.raises(ValueError, match="3 keys need 3"):
        drawings.one_query(q, k, v[:2], "abc", k @ q, weights, out)


def test_names_are_paired():
    drawing = drawings.renaming({"a.weight": "b.weight", "c": None})
    assert drawing.alt == "a.weight becomes b.weight; c is left out."
    with pytest.raises(ValueError, match="at least one name"):
        drawings.renaming({})
