"""CPU seconds by file and by test: ``make test ARGS=--cpu``. Unlike wall time, they don't depend on other load.

Counts the pytest process (with xdist: the worker) and all its descendants, dead or alive: kernels, sandboxes,
browsers, builds. The cost of a module or session fixture counts for the test that used it first.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
TABLE = "build/cpu.tsv"  # all tests, the most expensive first
SHOWN = 40
LONG = 0.05  # seconds; reading all processes takes milliseconds, so it is not done after shorter tests


def pytest_addoption(parser):
    parser.addoption("--cpu", action="store_true", help=f"print CPU seconds by file and test; all of them: {TABLE}")


def pytest_configure(config):
    if config.getoption("cpu"):
        config.pluginmanager.register(Spent(config.rootpath))


class Spent:
    """Counts in each worker, and adds up in the main process."""

    def __init__(self, root: Path):
        self.root = root
        self.seconds: Counter[str] = Counter()
        self.own, self.living = own_seconds(), living_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        """Adds the cost of its phase to a report; xdist passes plain attributes on to the main process."""
        report = yield
        own, living = own_seconds(), living_seconds() if report.duration > LONG else self.living
        report.cpu = own - self.own + living - self.living
        self.own, self.living = own, living
        return report

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += getattr(report, "cpu", 0)  # missing from a worker that died

    def pytest_terminal_summary(self, terminalreporter):
        files: Counter[str] = Counter()
        tests: Counter[str] = Counter()
        for nodeid, seconds in self.seconds.items():
            files[nodeid.split("::")[0]] += seconds
            tests[nodeid.split("[")[0]] += seconds
        table = self.root / TABLE
        table.parent.mkdir(exist_ok=True)
        table.write_text("".join(f"{s:.2f}\t{n}\n" for n, s in self.seconds.most_common()), encoding="utf-8")
        terminalreporter.section(f"CPU seconds: {sum(files.values()):.0f}, each test in {TABLE}")
        for counts in (files, tests):
            for name, seconds in counts.most_common(SHOWN):
                terminalreporter.write_line(f"{seconds:8.1f}  {name}")
            terminalreporter.write_line("")


def own_seconds() -> float:
    """CPU seconds of this process and its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def living_seconds() -> float:
    """CPU seconds of living descendants; after they end, ``own_seconds`` includes them."""
    parent, seconds = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            fields = []
        if len(fields) < 15:  # the process has just ended: its file is gone, or empty
            continue
        pid = int(stat.parent.name)
        parent[pid], seconds[pid] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    below = {os.getpid()}
    while more := {pid for pid, above in parent.items() if above in below} - below:
        below |= more
    return sum(seconds[pid] for pid in below - {os.getpid()} if pid in seconds)
