"""Two processes share one import of torch: the zygote's memory at its fork, and what the other process gets back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.sandbox import launch

pytestmark = pytest.mark.skipif(not launch.available(), reason="needs Linux")
SECRET, ODD = "kept-from-students", b"odd \xff value"

# A student's cell that searches its memory for secrets. The needles are patterns that do not match themselves.
CELL = r"""
import json, os, re, sys
needles = {"secret": rb"kept-from-[s]tudents", "name": rb"ANATOMY_[S]ECRET", "argument": rb"submitted-[f]older",
           "reference": rb"autograder.[e]xercises", "control": rb"it-finds-[t]hings"}
control = "-".join(["it", "finds", "things"]).encode() * 3
found = {name: 0 for name in needles}
regions = 0
memory = os.open("/proc/self/mem", os.O_RDONLY)
for line in open("/proc/self/maps").readlines():  # all at once: what is read below changes the map
    span, rights, *_ = line.split()
    start, end = (int(n, 16) for n in span.split("-"))
    if rights.startswith("rw") and "[v" not in line:
        for at in range(start, end, 1 << 24):
            regions += 1
            try:
                text = os.pread(memory, min(1 << 24, end - at), at)
            except OSError:  # given back meanwhile
                continue
            for name, needle in needles.items():
                found[name] += len(re.findall(needle, text))
print(json.dumps({
    "found": found,
    "modules": sorted(m for m in sys.modules if m.split(".")[0] in ("autograder", "nbgrader", "sqlalchemy", "tests")),
    "environ": sorted([*os.environ, *open("/proc/self/environ").read().split("\0")]),
    "argv": sys.argv,
    "descriptors": [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")],
}))
"""

PROBE = """
import json, os, signal, sys, time

def main(arguments, zygote):
    import autograder.exercises, autograder.reference.attention, autograder.judge.trusted
    from autograder.sandbox import SandboxedSession
    with SandboxedSession(zygote) as session:
        result = session.execute(open(arguments[0]).read(), timeout=60)
        seen = json.loads(result.stdout) if result.ok else result.error_text
    os.kill(zygote.pid, signal.SIGKILL)
    with SandboxedSession(zygote) as session:
        again = session.execute("1 + 1").stdout
    zygote.close()
    print(json.dumps({
        "seen": seen, "again": again, "arguments": arguments, "environ": dict(os.environ), "path": sys.path,
        "encoding": [sys.stdout.encoding, sys.stdout.errors], "zone": time.tzname[0], "here": os.getcwd(),
        "bytecode": sys.dont_write_bytecode, "hidden": any("Students" in type(f).__name__ for f in sys.meta_path),
    }))
    return 5

if __name__ == "__main__":
    from autograder.sandbox import launch
    os.environb[b"ODD"] = b"odd \\xff value"
    print(json.dumps(sys.path), flush=True)
    launch.restart("probe", sys.argv[1:], ("numpy",), [sys.argv[3]])
    raise SystemExit("the system refused")
"""


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    """(the first process's output, the output after the fork, including what a student's cell saw)."""
    place = tmp_path_factory.mktemp("launched")
    (place / "probe.py").write_text(PROBE)
    (place / "cell").write_text(CELL)
    arguments = [str(place / "cell"), "submitted-folder", str(ROOT / "course")]
    environment = {
        "PATH": os.environ["PATH"],
        "ANATOMY_SECRET": SECRET,
        "PYTHONIOENCODING": "ascii:backslashreplace",
        "PYTHONPATH": str(place),
        "TZ": "Asia/Kathmandu",
    }
    done = subprocess.run(
        [sys.executable, str(place / "probe.py"), *arguments],
        cwd=place,
        env=environment,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 5, done.stderr.decode()
    first, second = map(json.loads, done.stdout.decode().splitlines())
    return place, arguments, first, second


def test_nothing_of_the_grader_is_in_memory_at_the_fork(launched):
    seen = launched[3]["seen"]
    assert isinstance(seen, dict), seen
    assert seen["found"].pop("control") > 0, "the search finds nothing at all"
    assert seen["found"] == {"secret": 0, "name": 0, "argument": 0, "reference": 0}
    assert {m for m in seen["modules"] if not m.startswith("autograder.sandbox")} <= {"autograder"}


def test_nothing_of_the_grader_is_in_its_environment_arguments_or_descriptors(launched):
    place, _, _, second = launched
    seen = second["seen"]
    assert not [name for name in seen["environ"] if "SECRET" in name or SECRET in name or name.startswith("TZ")]
    assert seen["argv"] == ["notebook"]
    assert not [d for d in seen["descriptors"] if str(place) in d or "memfd" in d]


def test_another_zygote_takes_the_place_of_one_that_died(launched):
    assert launched[3]["again"] == "2\n"


def test_the_grader_gets_back_what_the_zygote_may_not_have(launched):
    place, arguments, first, second = launched
    assert second["arguments"] == arguments and second["here"] == str(place)
    assert second["environ"]["ANATOMY_SECRET"] == SECRET and os.fsencode(second["environ"]["ODD"]) == ODD
    assert "PYTHONSAFEPATH" not in second["environ"]
    assert second["path"] == first
    assert second["encoding"] == ["ascii", "backslashreplace"] and second["zone"] not in ("UTC", "GMT")
    assert not second["bytecode"] and not second["hidden"]


def test_where_the_system_refuses_the_caller_goes_on(monkeypatch):
    folders = []

    def refuse(program, command, environment):
        folders.append(Path(command[4]))
        assert folders[0].is_dir()
        raise OSError("no")

    monkeypatch.setattr(os, "execve", refuse)
    before = len(os.listdir("/proc/self/fd"))
    assert launch.restart("probe", [], (), ()) is None
    assert not folders[0].exists() and len(os.listdir("/proc/self/fd")) == before
