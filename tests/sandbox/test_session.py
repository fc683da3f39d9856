"""What every session does, sandboxed or not. ``test_zygote.py`` runs the same tests through the sandbox."""

import pytest

from autograder.sandbox import (
    CELL_DIED,
    CELL_TIMEOUT,
    AskDied,
    AskTimeout,
    DeadSession,
    LocalSession,
    ReplyTooLarge,
    StudentError,
)


@pytest.fixture(scope="module")
def session():
    with LocalSession(preload=()) as s:
        yield s


def test_cells_share_a_namespace_and_print(session):
    assert session.execute("a = 20").ok
    result = session.execute("import sys\nprint(a + 1)\nprint('err', file=sys.stderr)\na + 2")
    assert result.ok and result.stdout == "21\nerr\n22\n" and not result.truncated


def test_error_is_reported_and_state_before_it_kept(session):
    result = session.execute("b = 5\ndef f(x):\n    return 1 / x\nf(0)")
    assert (result.error_name, result.error_text) == ("ZeroDivisionError", "division by zero")
    assert "return 1 / x" in result.traceback and "interactiveshell" not in result.traceback
    assert session.execute("b").stdout == "5\n"


@pytest.mark.parametrize("cell, name", [
    ("c = 'lost'\nwhile True: pass", CELL_TIMEOUT),
    ("c = 'lost'\nimport os; os._exit(3)", CELL_DIED),
    ("c = 'lost'\nimport os; os.kill(os.getpid(), 11)", CELL_DIED),
])
def test_hang_and_crash_return_to_the_state_before_the_cell(session, cell, name):
    session.execute("c = 'kept'")
    assert session.execute(cell, timeout=0.5).error_name == name
    assert session.execute("c").stdout == "'kept'\n"


def test_ask_computes_next_to_the_student_state(session):
    session.execute("def double(x): return 2 * x")
    assert session.ask("reply = bytes([student_ns['double'](payload[0])])", b"\x15") == b"\x2a"


def test_asks_do_not_see_each_other(session):
    session.execute("d = [1]")
    session.ask("student_ns['d'].append(2); reply = b''")
    assert session.ask("reply = repr(student_ns['d']).encode()") == b"[1]"


@pytest.mark.parametrize("code, error", [
    ("while True: pass", AskTimeout),
    ("import os; os._exit(4)", AskDied),
    ("reply = bytes(10_000_000)", ReplyTooLarge),
    ("reply = 'text'", StudentError),
    ("1 / 0", StudentError),
])
def test_failed_ask_raises_and_the_next_one_works(session, code, error):
    with pytest.raises(error):
        session.ask(code, timeout=0.5, max_bytes=1_000_000)
    assert session.ask("reply = payload", b"next") == b"next"


def test_ask_carries_megabytes(session):
    payload = bytes(range(256)) * 16384
    assert session.ask("reply = payload[::-1]", payload, max_bytes=len(payload)) == payload[::-1]


def test_session_whose_head_is_gone_says_so():
    with LocalSession(preload=()) as s:
        with pytest.raises(DeadSession):
            s.execute("import os, signal; os.kill(os.getppid(), signal.SIGKILL); os._exit(1)")
        assert not s.alive
        with pytest.raises(DeadSession, match="gone"):
            s.ask("reply = b''")
