"""A site with the outputs of two units, built once; with --all, of all units."""

import os

import pytest
from anatomy.program import units

from autograder.site.build import Site
from autograder.site.checks import files

from ..conftest import every_one

CHINESE = "zh_CN"
FEW = ["00-start-here", "02-normalization"]  # two short ones, with different widgets


@pytest.fixture(scope="session")
def run(request):
    """Units whose outputs the site shows."""
    return units.names() if every_one(request.config) else FEW


@pytest.fixture(scope="session")
def site(tmp_path_factory, run):
    """Folder of the built site."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    out = tmp_path_factory.mktemp("site") / "html"
    Site(out, run=run).build()
    return out


@pytest.fixture(scope="session")
def chinese_site(tmp_path_factory):
    """Folder of the site in Chinese, with the outputs of one unit."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    out = tmp_path_factory.mktemp("chinese") / "html"
    Site(out, language=CHINESE, run=FEW[:1]).build()
    return out


@pytest.fixture(scope="session")
def pages(site):
    """All its pages, read once."""
    return files.Pages(site)


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook
def pytest_collection_modifyitems(items):
    """Lets a single process build and check each site."""
    for item in items:
        asks = getattr(item, "fixturenames", ()) if "tests/site/" in item.nodeid else ()
        for name in ("site", "chinese_site"):
            if name in asks:
                item.add_marker(pytest.mark.xdist_group(name))
