"""CPU seconds by file and by test: ``make test ARGS=--cpu``. Wall time tells how busy the machine was, this does not.

Counted is the pytest process (with xdist: the worker) and everything below it, dead or alive: kernels, sandboxes,
browsers, builds. What a module or session fixture costs stands with the test that first asked for it.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
TABLE = "build/cpu.tsv"  # every test, the dearest first
SHOWN = 40
LONG = 0.05  # seconds: to look at all processes takes milliseconds, which no shorter test is charged with


def pytest_addoption(parser):
    parser.addoption("--cpu", action="store_true", help=f"print CPU seconds by file and test; all of them: {TABLE}")


def pytest_configure(config):
    if config.getoption("cpu"):
        config.pluginmanager.register(Spent(config.rootpath))


class Spent:
    """Counts in each worker, adds up in the process that a person watches."""

    def __init__(self, root: Path):
        self.root = root
        self.seconds: Counter[str] = Counter()
        self.own, self.living = own_seconds(), living_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        """A report carries what its phase has cost; xdist hands plain attributes on."""
        report = yield
        own, living = own_seconds(), living_seconds() if report.duration > LONG else self.living
        report.cpu = own - self.own + living - self.living
        self.own, self.living = own, living
        return report

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += getattr(report, "cpu", 0)  # none from a worker that died

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
    """Of this process and its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def living_seconds() -> float:
    """Of the descendants that live: what they have spent is this process's own when they have ended."""
    parent, seconds = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(stat.parent.name)
        parent[pid], seconds[pid] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    below = {os.getpid()}
    while more := {pid for pid, above in parent.items() if above in below} - below:
        below |= more
    return sum(seconds[pid] for pid in below - {os.getpid()} if pid in seconds)
