"""The containment tests again, for a grader who is not root."""

import os
import re
import sys

import pytest

HERE = "tests/sandbox/"
# Storms use every core: two at a time on two cores would delay a watcher, and it would measure both.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("storms")]


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests already run as an ordinary user")
@pytest.mark.parametrize("file", ["test_containment.py", "test_provisioner.py", "test_usage.py"])
def test_as_an_ordinary_user(as_nobody, file):
    done = as_nobody([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE + file], timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"\d\d passed", done.stdout) and "skipped" not in done.stdout


def test_the_ordinary_user_is_one(as_nobody):
    done = as_nobody([sys.executable, "-c", "import os; print(os.geteuid(), open('/proc/self/status').read())"])
    assert not done.stdout.startswith("0 ") and re.search(r"CapEff:\s*0+\n", done.stdout), done.stderr
