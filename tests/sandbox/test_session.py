"""What every session does, with and without a sandbox."""

import os
import resource
from contextlib import ExitStack

import pytest

from autograder.sandbox import (
    CELL_DIED,
    CELL_TIMEOUT,
    AskDied,
    AskTimeout,
    DeadSession,
    Limits,
    ReplyTooLarge,
    StudentError,
)
from tests.waiting import PATIENCE

KINDS = ["local", "bubblewrap", "zygote"]


@pytest.fixture(scope="module", params=KINDS)
def session(request, open_sandbox):
    with open_sandbox(request.param) as s:
        yield s


@pytest.fixture(params=KINDS)
def fresh(request, open_sandbox):
    return lambda *args, **options: open_sandbox(request.param, *args, **options)


def test_cells_share_a_namespace_and_print(session):
    assert session.execute("a = 20").ok
    result = session.execute("import sys\nprint(a + 1)\nprint('err', file=sys.stderr)\na + 2")
    assert result.ok and result.stdout == "21\nerr\n22\n" and not result.truncated


def test_a_grader_may_have_a_thousand_files_open(fresh):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 1200:
        pytest.skip("this machine allows fewer open files (ulimit -n)")
    with ExitStack() as held:
        for _ in range(1100):
            held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        with fresh() as session:
            assert session.execute("6 * 7").stdout == "42\n"


def test_output_of_other_programs_is_captured_in_order(session):
    result = session.execute("import os\nprint('one')\n!echo two\nos.write(1, b'three\\n'); print('four')")
    assert result.stdout == "one\ntwo\nthree\nfour\n"


def test_error_is_reported_and_state_before_it_kept(session):
    result = session.execute("b = 5\ndef f(x):\n    return 1 / x\nf(0)")
    assert (result.error_name, result.error_text) == ("ZeroDivisionError", "division by zero")
    assert "return 1 / x" in result.traceback and "interactiveshell" not in result.traceback
    assert result.stdout == ""
    assert session.execute("b").stdout == "5\n"


@pytest.mark.parametrize(
    "cell, name",
    [
        ("1 +", "SyntaxError"),
        ("raise EOFError('mine')", "EOFError"),
        ("exit()", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_odd_endings_are_errors_like_others(session, cell, name):
    assert session.execute(cell).error_name == name
    assert session.execute("1").ok


@pytest.mark.parametrize(
    "cell, name",
    [
        ("c = 'lost'\nwhile True: pass", CELL_TIMEOUT),
        ("c = 'lost'\nprint('x', flush=True)\nsum(range(10**12))", CELL_TIMEOUT),
        ("c = 'lost'\nimport os; os._exit(3)", CELL_DIED),
        ("c = 'lost'\nimport os; os.kill(os.getpid(), 11)", CELL_DIED),
    ],
)
def test_hang_and_crash_return_to_the_state_before_the_cell(session, cell, name):
    session.execute("c = 'kept'")
    assert session.execute(cell, timeout=0.5 if name == CELL_TIMEOUT else PATIENCE).error_name == name
    assert session.execute("c").stdout == "'kept'\n"


def test_tracebacks_count_the_cells(fresh):
    with fresh() as s:
        assert 'File "<cell 1>", line 1' in s.execute("1 / 0").traceback
        s.execute("while True: pass", timeout=0.3)
        assert 'File "<cell 2>", line 2' in s.execute("x = 1\n1 / 0").traceback


def test_shell_commands_see_python_names(session):
    assert session.execute("word = 'hello'\n!echo $word {1 + 1}\nlines = !echo a; echo b\nlines[1]").stdout == (
        "hello 2\n'b'\n"
    )


def test_printed_output_survives_a_timeout(session):
    result = session.execute("print('so far')\nwhile True: pass", timeout=2)
    assert (result.stdout, result.error_name) == ("so far\n", CELL_TIMEOUT)


def test_how_a_process_died_is_told(session):
    assert "exit code 3" in session.execute("import os; os._exit(3)").error_text
    assert "SIGSEGV" in session.execute("import os; os.kill(os.getpid(), 11)").error_text


def test_flood_of_output_is_cut(session):
    result = session.execute("for _ in range(200):\n    print('x' * 10**6)", timeout=PATIENCE)
    assert result.ok and result.truncated and len(result.stdout) == Limits().output_bytes
    result = session.execute("import os\nwhile True: os.write(1, b'y' * 65536)", timeout=2)
    assert result.error_name == CELL_TIMEOUT and result.truncated and len(result.stdout) == Limits().output_bytes


def test_text_is_cleaned(session):
    result = session.execute(
        r"import os; os.write(1, b'\xff\x1b[31mred\x1b[0m\x00\x07\xe2\x80\xae'); raise ValueError('\x1b]0;t\x07' * 9)"
    )
    assert "red" in result.stdout
    assert not set(result.stdout + result.error_text + result.traceback) & set("\x00\x07\x1b\u202e")


def test_huge_error_text_is_cut(session):
    result = session.execute("raise ValueError('z' * 10**7)", timeout=PATIENCE)
    assert result.error_name == "ValueError" and len(result.error_text) < 100_000


def test_exception_that_cannot_be_printed(session):
    result = session.execute("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E")
    assert result.error_name == "E" and result.error_text


def test_displays_widgets_and_figures_are_inert(session):
    assert session.execute("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()").ok
    result = session.execute(
        "import ipywidgets\nfrom IPython.display import HTML, display\n"
        "display(HTML('<b>x</b>'))\nipywidgets.interact(lambda x: print('got', x), x=3)\nipywidgets.IntSlider(4)"
    )
    assert result.ok and "got 3" in result.stdout and "IntSlider" in result.stdout
    assert session.execute("import matplotlib; matplotlib.get_backend().lower()").stdout == "'agg'\n"


def test_ask_computes_next_to_the_student_state(session):
    session.execute("def double(x): return 2 * x")
    assert session.ask("reply = bytes([student_ns['double'](payload[0])])", b"\x15") == b"\x2a"


def test_ask_sees_a_fresh_namespace(session):
    session.execute("e = 1")
    names = session.ask("reply = ' '.join(sorted(globals())).encode()").decode().split()
    assert names == ["__builtins__", "__name__", "payload", "reply", "student_ns"]


def test_asks_do_not_see_each_other(session):
    session.execute("d = [1]")
    session.ask("student_ns['d'].append(2); reply = b''")
    assert session.ask("reply = repr(student_ns['d']).encode()") == b"[1]"
    assert session.execute("d").stdout == "[1]\n"


@pytest.mark.parametrize(
    "code, error",
    [
        ("while True: pass", AskTimeout),
        ("import os; os._exit(4)", AskDied),
        ("reply = bytes(10_000_000)", ReplyTooLarge),
        ("reply = 'text'", StudentError),
        ("1 / 0", StudentError),
        ("raise SystemExit", StudentError),
    ],
)
def test_failed_ask_raises_and_the_next_one_works(session, code, error):
    with pytest.raises(error):
        session.ask(code, timeout=0.5 if error is AskTimeout else PATIENCE, max_bytes=1_000_000)
    assert session.ask("reply = payload", b"next") == b"next"


def test_ask_carries_megabytes(session):
    payload = bytes(range(256)) * 16384
    assert session.ask("reply = payload[::-1]", payload, max_bytes=len(payload)) == payload[::-1]


def test_ask_that_does_not_read_its_payload(session):
    code = "import os, time; os.kill(os.getpid(), 19)"
    with pytest.raises(AskTimeout):
        session.ask(code, bytes(1 << 22), timeout=0.5)
    assert session.ask("reply = b'ok'") == b"ok"


def test_forged_answers_are_errors_not_crashes(session):
    # The process that should reply writes arbitrary bytes on every socket that it has, then dies.
    forge = "import os\nfor fd in range(3, 64):\n    try: os.write(fd, payload)\n    except OSError: pass\nos._exit(0)"
    for payload in (
        b"",
        b"R",
        b"R" + b"\xff" * 8,
        b"C" + bytes(8),
        b"D" * 40,
        b"Z" + (5).to_bytes(8, "big") + b"abcde",
    ):
        try:
            session.ask(forge, payload, timeout=2)
        except (AskDied, ReplyTooLarge, StudentError, AskTimeout) as e:
            assert str(e)
        except Exception as e:
            assert type(e).__name__ == "AskFailed", e
        assert session.ask("reply = b'ok'") == b"ok"


def test_cell_that_forks_leaves_one_session(session):
    assert session.execute("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)").ok
    assert session.execute("pid > 0").stdout == "True\n"


def test_session_whose_head_is_gone_says_so(fresh):
    with fresh() as s:
        s.execute("a = 1")  # after this, the head is no longer the session's first process
        cell = "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os._exit(1)"
        with pytest.raises(DeadSession):
            s.execute(cell, timeout=PATIENCE)
            s.execute("a", timeout=PATIENCE)
        assert not s.alive
        with pytest.raises(DeadSession, match="gone|told"):
            s.ask("reply = b''")


def test_time_of_a_submission_is_bounded(fresh):
    with fresh(Limits(wall_seconds=1)) as s:
        result = s.execute("while True: pass", timeout=2 * PATIENCE)
        assert result.error_name == CELL_TIMEOUT and result.seconds < PATIENCE
        assert "left for this submission" in result.error_text
        with pytest.raises(DeadSession, match="used up"):
            s.execute("1")


def test_closed_session_says_so(fresh):
    s = fresh()
    s.close()
    s.close()
    with pytest.raises(DeadSession, match="closed"):
        s.execute("1")


def test_files_of_the_submission_are_copied(fresh, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("1,2\n")
    (tmp_path / "helper.py").write_text("value = 7\n")
    (tmp_path / "torch.py").write_text("raise RuntimeError('shadowed')\n")
    (tmp_path / "link").symlink_to("/etc/hostname")
    with fresh(workdir=tmp_path) as s:
        assert s.execute("open('data/x.csv').read()").stdout == "'1,2\\n'\n"
        assert s.execute("import helper; helper.value").stdout == "7\n"
        assert s.execute("import torch; torch.tensor(1).item()", timeout=PATIENCE).stdout == "1\n"
        assert s.execute("open('data/x.csv', 'w').write('3')").ok
    assert (tmp_path / "data" / "x.csv").read_text() == "1,2\n"


def test_files_of_the_submission_are_bounded(fresh, tmp_path):
    with open(tmp_path / "big", "wb") as f:
        f.truncate(Limits().tmpfs_bytes + 1)
    with pytest.raises(ValueError, match="bytes"):
        fresh(workdir=tmp_path)


def test_generators_are_seeded(fresh):
    cell = "import random, numpy; (random.random(), numpy.random.rand())"
    drawn = []
    for seed in (None, None, 5, 5):
        with fresh(seed=seed) as s:
            drawn.append(s.execute(cell).stdout)
    assert drawn[0] != drawn[1] and drawn[2] == drawn[3] != drawn[0]


def test_a_seed_set_in_one_cell_holds_in_the_next(session):
    draws = []
    for _ in range(2):
        session.execute("import random, numpy; random.seed(7); numpy.random.seed(7)")
        draws.append(session.execute("(random.random(), numpy.random.rand())").stdout)
    assert draws[0] == draws[1]


def test_environment_of_the_grader_is_not_handed_on(fresh, monkeypatch):
    monkeypatch.setenv("GRADER_SECRET", "s3cret")
    with fresh() as s:
        assert "s3cret" not in s.execute("import os; dict(os.environ)").stdout


@pytest.mark.parametrize("field", ["memory_bytes", "wall_seconds", "output_bytes"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_limits_are_positive_integers(field, value):
    with pytest.raises(ValueError, match=field):
        Limits(**{field: value})
