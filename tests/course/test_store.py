"""A learner's stored progress survives trouble with the disk and with other notebooks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import filelock
import pytest
from anatomy import progress
from anatomy.system import files, store
from anatomy.system.store import home, read, update

from autograder import ROOT

from .units_folder import FIRST, SECOND, put, tried, write

COURSE = ROOT / "course"


@pytest.fixture(autouse=True)
def small_course(tmp_path, monkeypatch):
    folder = write(tmp_path / "assets")
    monkeypatch.setenv("ANATOMY_ASSETS", str(folder))
    monkeypatch.setattr(store, "_unsaved", {})
    return folder / "units"


def aside(name):
    return [p.read_bytes() for p in sorted(home().glob(f"{name}.damaged-*"))]


# ---- damaged, forbidden, full ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{broken", "[]", "3", "null", "", b"\xff\xfe\x00", "[" * 100_000])
def test_a_file_that_is_no_progress_is_set_aside_whole(text, capsys):
    path = put("progress", text)
    before = path.read_bytes()
    tried(FIRST, passed=True)
    assert "kept as progress.damaged-" in capsys.readouterr().out
    assert aside("progress") == [before] and list(json.loads(path.read_text())) == [FIRST]


def test_reading_a_damaged_file_keeps_it_too_and_names_never_collide(monkeypatch):
    monkeypatch.setattr(store.time, "time", lambda: 1000.0)
    for text in ("{one", "{two"):
        put("progress", text)
        assert read("progress") == {}
    assert aside("progress") == [b"{two", b"{one"]  # …-1000-1 sorts before …-1000


@pytest.mark.parametrize(
    "entry",
    [
        3,
        "x",
        [],
        None,
        {"tries": -1},
        {"tries": "many"},
        {"tries": 1.5},
        {"best": -2.0},
        {"best": float("nan")},
        {"passed_on_try": -3},
        {"passed_on_try": True},
    ],
)
def test_a_bad_entry_spoils_no_other_and_is_not_lost(entry):
    good = {"tries": 2, "best": 1.0, "passed_on_try": 2}
    path = put("progress", json.dumps({SECOND: good, FIRST: entry}))
    before = path.read_bytes()
    assert "0/1 exercises" in repr(progress()) and progress()._repr_html_() and path.read_bytes() == before
    assert tried(FIRST)["tries"] == 1
    assert read("progress")[SECOND] == good and aside("progress") == [before]
    tried(FIRST)
    assert len(aside("progress")) == 1, "once is enough"


def test_what_a_newer_version_added_to_an_entry_stays():
    put("progress", json.dumps({FIRST: {"tries": 1, "best": 0.0, "passed_on_try": None, "mood": "fine"}}))
    tried(FIRST, passed=True)
    assert read("progress")[FIRST]["mood"] == "fine" and not aside("progress")


@pytest.mark.parametrize("name", ["predictions", "quizzes", "claims"])
def test_bad_entries_of_the_other_files_stop_nothing(name):
    put(name, json.dumps({"rope.p1": [], "rope.p2": {"held": "maybe"}, "rope.q-1": {"first": 3}, "c1": {}, "c2": 1}))
    assert "06-rope" in progress()._repr_html_()
    assert "Rotary" in repr(progress("06-rope"))


def test_a_file_that_cannot_be_read_is_neither_moved_nor_written(monkeypatch, capsys):
    path = put("progress", json.dumps({FIRST: {"tries": 7, "best": 1.0, "passed_on_try": 7}}))
    before, readable = path.read_bytes(), Path.read_bytes

    def forbidden(self):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return readable(self)

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    assert read("progress") == {} and "Permission denied" in capsys.readouterr().out
    tried(FIRST)
    tried(SECOND, passed=True)
    assert "progress was not saved: Permission denied" in capsys.readouterr().out
    monkeypatch.setattr(Path, "read_bytes", readable)
    assert path.read_bytes() == before and [p.name for p in path.parent.glob("*.json")] == ["progress.json"]


def test_a_full_disk_costs_nothing_once_there_is_room(monkeypatch, capsys):
    tried(FIRST)

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert tried(FIRST)["tries"] == 2
        assert tried(SECOND, passed=True)["passed_on_try"] == 1
        assert "progress was not saved: No space left on device" in capsys.readouterr().out
        assert not list(home().glob(f".*{files.LEFTOVER}")) and read("progress")[FIRST]["tries"] == 2
    assert json.loads((home() / "progress.json").read_text())[FIRST]["tries"] == 1
    assert tried(FIRST)["tries"] == 3
    assert tried(FIRST, passed=True)["passed_on_try"] == 4, "what was kept is made once"
    assert json.loads((home() / "progress.json").read_text())[SECOND]["passed_on_try"] == 1


def busy(times, done=os.replace):
    """``os.replace`` as on Windows while another process reads the file: refused the first ``times`` times."""
    calls = []

    def refuse(*paths):
        calls.append(paths)
        if len(calls) <= times:
            raise PermissionError(13, "Access is denied")
        return done(*paths)

    refuse.calls = calls
    return refuse


@pytest.mark.parametrize("times, saved", [(1, True), (4, True), (5, False)])
def test_on_windows_a_file_that_is_being_read_is_waited_for(times, saved, monkeypatch, capsys):
    tried(FIRST)
    pauses, refuse = [], busy(times)
    monkeypatch.setattr(files.sys, "platform", "win32")
    monkeypatch.setattr(files.time, "sleep", pauses.append)
    monkeypatch.setattr(os, "replace", refuse)
    assert tried(FIRST)["tries"] == 2
    assert tuple(pauses) == files.PAUSES[:times] and len(refuse.calls) == min(times, 4) + 1
    assert json.loads((home() / "progress.json").read_text())[FIRST]["tries"] == 1 + saved
    assert ("was not saved: Access is denied" in capsys.readouterr().out) == (not saved)
    assert not list(home().glob(f".*{files.LEFTOVER}"))


def test_elsewhere_a_refusal_is_final_at_once(monkeypatch, capsys):
    tried(FIRST)
    refuse = busy(1)
    monkeypatch.setattr(files.sys, "platform", "linux")
    monkeypatch.setattr(files.time, "sleep", lambda pause: pytest.fail("waited"))
    monkeypatch.setattr(os, "replace", refuse)
    tried(FIRST)
    assert len(refuse.calls) == 1 and "was not saved" in capsys.readouterr().out


def test_what_a_killed_kernel_left_is_used_up_and_permissions_stay():
    tried(FIRST)
    path = home() / "progress.json"
    path.chmod(0o640)
    left = home() / f".progress.json{files.LEFTOVER}"
    left.write_text("{half")
    left.chmod(0o400)
    tried(FIRST)
    assert not list(home().glob(f".*{files.LEFTOVER}")) and path.stat().st_mode & 0o777 == 0o640
    assert json.loads(path.read_text())[FIRST]["tries"] == 2


def test_what_is_saved_is_on_the_disk_before_it_takes_its_place(monkeypatch):
    done, sync, move = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (done.append("sync"), sync(descriptor)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), move(*paths)))
    tried(FIRST)
    assert done[:2] == ["sync", "replace"]


def test_a_lock_that_cannot_be_had_is_one_line(monkeypatch, capsys):
    tried(FIRST, passed=True)
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    with filelock.FileLock(home() / ".progress.lock"):
        assert tried(SECOND)["tries"] == 1
        assert tried(FIRST)["passed_on_try"] == 1, "a pass stands even then"
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all("another notebook is holding the file" in line for line in lines)  # one for each
    assert tried(SECOND)["tries"] == 2


def test_a_file_system_without_locks_saves_all_the_same(monkeypatch):
    def unsupported(*args, **kwargs):
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", unsupported)
    tried(FIRST)
    assert json.loads((home() / "progress.json").read_text())[FIRST]["tries"] == 1
    assert not list(home().glob(f".*{files.LEFTOVER}"))


def test_an_error_in_a_change_writes_nothing():
    tried(FIRST)
    before = (home() / "progress.json").read_bytes()

    def change(data):
        data.clear()
        raise KeyError("no")

    with pytest.raises(KeyError):
        update("progress", change)
    assert (home() / "progress.json").read_bytes() == before and tried(FIRST)["tries"] == 2


# ---- several notebooks -----------------------------------------------------------------------------------

HAMMER = """
import sys
from anatomy.system.store import update
me, times = sys.argv[1], int(sys.argv[2])
def change(data):
    data["shared"] = data.get("shared", 0) + 1
    data[me] = data.get(me, 0) + 1
for i in range(times):
    _, saved = update("claims", change)
    if saved:  # on a busy machine another may hold the file for longer than one waits: the next save brings it along
        print(i + 1, flush=True)
while not saved:
    _, saved = update("claims", lambda data: None)
"""


def hammer(name, times):
    return subprocess.Popen(
        [sys.executable, "-c", HAMMER, name, str(times)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(COURSE)},
    )


def test_notebooks_that_save_at_once_lose_nothing_of_one_another():
    runs = [hammer(f"n{i}", 60) for i in range(4)]
    assert [run.wait(120) for run in runs] == [0] * 4
    assert read("claims") == {"shared": 240, **{f"n{i}": 60 for i in range(4)}}


def test_a_kernel_killed_while_saving_leaves_a_whole_file():
    """Everything that a process reported as saved is there, and the next process can save at once."""
    reported = 0
    for moment in range(8):
        run = hammer("one", 100_000)
        lines = [run.stdout.readline()]
        time.sleep(0.003 * moment)
        run.kill() if sys.platform == "win32" else run.send_signal(signal.SIGKILL)
        lines += run.stdout.read().splitlines()
        run.wait()
        reported += max(int(line) for line in lines if line.strip().isdigit())
        data = json.loads((home() / "claims.json").read_text())
        assert reported <= data["one"] == data["shared"] <= reported + 1
        reported = data["one"]
    start = time.monotonic()
    update("claims", lambda data: data.update(done=True))
    assert time.monotonic() - start < 1 and not aside("claims") and not list(home().glob(f".*{files.LEFTOVER}"))


@pytest.mark.parametrize("entry", ["[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900])
def test_what_is_nested_too_deeply_costs_its_entry_alone(entry, capsys):
    put("progress", f'{{"x": {entry}, "rope.apply_rope": {{"passed": true, "tries": 2}}}}')
    assert "x" not in read("progress")
    entries, saved = update("progress", lambda data: data.setdefault("rope.rotate_half", {"tries": 1}))
    assert saved and set(entries) == {"rope.apply_rope", "rope.rotate_half"} and aside("progress")


def test_a_number_that_no_float_holds_is_taken_back():
    put("progress", '{"rope.apply_rope": {"passed": true, "tries": 2, "best": 1' + "0" * 400 + "}}")
    assert read("progress")["rope.apply_rope"]["best"] < 2
    progress()


def test_a_pipe_in_the_place_of_a_file_stops_nothing(capsys):
    home().mkdir(parents=True, exist_ok=True)
    os.mkfifo(home() / "progress.json")
    assert read("progress") == {} and "cannot be read" in capsys.readouterr().out
