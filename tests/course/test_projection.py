"""The picture of LayerNorm as a projection: its coordinates, and what it draws of a given norm."""

import matplotlib.pyplot as plt
import torch
from anatomy.experiments import projection
from torch.nn import functional as F


def test_coordinates_are_a_rotation_of_space():
    x = torch.randn(20, 3)
    torch.testing.assert_close(projection.seen(x).norm(dim=-1), x.norm(dim=-1))
    assert projection.seen(x - x.mean(-1, keepdim=True))[:, 2].abs().max() < 1e-6


def drawn(norm):
    projection.draw(norm)
    _, above = plt.gcf().axes
    after = torch.tensor(above.collections[-1].get_offsets())
    plt.close("all")
    return after


def test_it_draws_the_norm_that_it_is_given():
    radius = drawn(lambda x: F.layer_norm(x, (3,))).norm(dim=-1)
    torch.testing.assert_close(radius, torch.full_like(radius, 3**0.5), rtol=1e-3, atol=0)
    assert drawn(lambda x: x).norm(dim=-1).std() > 0.3
