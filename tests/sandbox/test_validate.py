"""nbgrader's Validate in a sandboxed kernel: floods and hangs end in bounded time and memory, with a message."""

import json
import sys

import nbformat
import pytest

from autograder import ROOT
from autograder.sandbox import clients, kernelspec
from tests.waiting import PATIENCE, finished

pytestmark = pytest.mark.slow

# Arguments: notebook, kernel. Prints Validate's output, then a line with seconds and peak memory in MiB.
VALIDATE = """
import os, sys, time
from importlib.metadata import EntryPoint
from jupyter_client.provisioning import KernelProvisionerFactory
from nbgrader.validator import Validator
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader
factory = KernelProvisionerFactory.instance()
for name, cls in {"anatomy-bwrap": "BubblewrapProvisioner", "anatomy-zygote": "ZygoteProvisioner"}.items():
    factory.provisioners[name] = EntryPoint(name, f"autograder.sandbox.provisioner:{cls}", factory.GROUP_NAME)
config = Config()
config.merge(PyFileConfigLoader("nbgrader_config.py", os.getcwd()).load_config())
config.ExecutePreprocessor.kernel_name = sys.argv[2]
config.Execute.timeout = 4
config.BubblewrapProvisioner.limits = {"wall_seconds": 40}
began = time.monotonic()
Validator(config=config).validate_and_print(sys.argv[1])
# (Not ru_maxrss: that begins with the peak of the process which started this one.)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM:"))
print(time.monotonic() - began, peak)
"""


def check_cell(source):
    marks = {"grade": True, "solution": False, "locked": True, "points": 1, "schema_version": 3, "task": False}
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": marks | {"grade_id": "check", "cell_type": "code"}})


@pytest.fixture
def validate(tmp_path):
    """validate(*sources, kernel) -> (output, seconds, MiB). The last source is the graded cell."""

    def run(*sources, kernel="anatomy-zygote"):
        kernelspec.install(tmp_path / "prefix")
        cells = [nbformat.v4.new_code_cell(source) for source in sources[:-1]] + [check_cell(sources[-1])]
        file = tmp_path / "work.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
        done = finished(
            [sys.executable, "-c", VALIDATE, str(file), kernel],
            2 * PATIENCE,
            text=True,
            cwd=ROOT,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "JUPYTER_PATH": str(tmp_path / "prefix/share/jupyter"),
            },
        )
        assert done.returncode == 0, done.stderr[-3000:]
        *printed, figures = done.stdout.strip().splitlines()
        return "\n".join(printed), *map(float, figures.split())

    return run


def test_an_honest_notebook_passes(validate):
    printed, _, _ = validate("x = 6 * 7", "print('y' * 100_000)", "assert x == 42", kernel="anatomy-bwrap")
    assert "Success" in printed


def test_a_flood_is_cut_and_said(validate):
    flood = "while True: print('z' * 100_000)"
    printed, seconds, mebibytes = validate(flood, "assert False, 'after the flood'")
    assert "after the flood" in printed  # the first cell timed out, and the next one ran
    assert seconds < 60
    assert mebibytes < 500  # without a bound, it gets there in two seconds


def test_a_flood_in_the_graded_cell_names_the_time(validate):
    printed, seconds, _ = validate("while True: print('z' * 100_000)")
    assert "VALIDATION FAILED" in printed and "CellTimeoutError" in printed
    assert seconds < 60


def test_a_hanging_cell_that_ignores_interrupts_ends(validate):
    hang = (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    )
    printed, seconds, _ = validate("1", hang)
    assert "CellTimeoutError" in printed and seconds < 60


# ---- the channel by itself -------------------------------------------------------------------------------------------
@pytest.fixture
def channel():
    from jupyter_client.session import Session

    class Sent(clients.BoundedChannel):
        def __init__(self):
            self.session, self.socket = Session(key=b"k"), None
            self._kept, self._total, self._told = clients.defaultdict(int), 0, set()

        def send(self, kind, content, parent="a"):
            session = Session(key=b"k")
            parts = session.serialize(session.msg(kind, content, parent={"msg_id": parent, "session": "s"}))
            return self._kept_of(parts)

    return Sent()


def test_each_cell_has_its_own_bounds(channel):
    text = {"name": "stdout", "text": "x" * (clients.CELL_BYTES // 4)}
    kept = [channel.send("stream", text) for _ in range(10)]
    assert [m and m["content"]["text"][:20] for m in kept[:3]] == ["x" * 20] * 3
    assert kept[3]["content"]["text"] == clients.CUT and kept[3]["parent_header"]["msg_id"] == "a"
    assert kept[4:] == [None] * 6
    assert channel.send("status", {"execution_state": "idle"})["content"] == {"execution_state": "idle"}
    assert channel.send("stream", text, parent="b")["content"] == text


def test_many_cells_have_bounds_together(channel):
    text = {"name": "stdout", "text": "x" * (clients.CELL_BYTES // 2)}
    kept = [channel.send("stream", text, parent=str(n)) for n in range(60)]
    whole = [m for m in kept if m["content"] == text]
    assert 20 < len(whole) * len(text["text"]) / clients.MIB < clients.NOTEBOOK_BYTES / clients.MIB + 1
    assert kept[-1]["content"]["text"] == clients.CUT


def test_many_small_messages_are_a_flood_too(channel):
    sent = [channel.send("display_data", {"data": {}, "metadata": {}}) for _ in range(12_000)]
    assert None in sent and json.dumps(clients.CUT) not in str(sent[0])
