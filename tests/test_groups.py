"""The marks that keep tests on one worker have an effect (pytest 9.1 and 9.2 ignore those of pytest-xdist 3.8)."""

import pytest


@pytest.mark.xdist_group("kept-together")
def test_a_group_mark_reaches_the_scheduler(request):
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("only under -n with --dist loadgroup")
    assert request.node.nodeid.endswith("@kept-together"), "pytest and pytest-xdist do not fit together: pin them"
