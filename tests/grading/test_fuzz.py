"""Everything after a reply is parsed: no reply stops the judge, slows it down, fills its memory or misleads readers.

10,000 replies, the same in each run. To try more or different ones:
``FUZZ_REPLIES=100000 FUZZ_SEED=7 python -m pytest tests/grading/test_fuzz.py``. The message describes the failing
reply. Replies are judged in a forked process: the kernel ends one that hangs, and the test fails as for any other.
"""

import gc
import html
import json
import mmap
import os
import re
import resource
import signal
import time
import unicodedata
from functools import cache

import pytest
import sympy
import torch
from anatomy.judge import compare, judging, verdict
from anatomy.program import codec, symbolic
from anatomy.system import texts
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from autograder import exercises
from autograder.judge.drawing import draw_record
from autograder.judge.reply import MalformedReply, parse_reply

from . import replies
from .replies import TOWER, ZERO, Drawn, number

REPLIES = int(os.environ.get("FUZZ_REPLIES", 10_000))
SEED = int(os.environ.get("FUZZ_SEED", 13))
SHARES = 5
SECONDS = 1.0  # processor time for one reply
QUIET_SECONDS = 0.1  # time of ``slowness`` when nothing else runs
MEGABYTES = 100
JSON, TEXT, PAGE = 40_000, 8_000, 64_000  # characters of a verdict in its three forms
TAGS = {"div", "b", "code", "p", "table", "tr", "th", "td", "details", "summary", "ul", "li", "span"}


@cache
def misleading() -> frozenset[str]:
    """Invisible characters, and those that turn the reading direction; chosen apart from anatomy.system.texts."""
    turning = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    found = {
        c
        for c in map(chr, range(0x11_0000))
        if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(c) in turning
    }
    return frozenset(found - {"\n", "\t"} | set("\u200b\u200e\u200f\u061c\ufeff\u2060\xad\U000e0041"))


@pytest.fixture(scope="module")
def records():
    return {name: replies.record(name) for name in replies.IDS}


def judged(record, data):
    """The Verdict on a reply, None if it has no readable form; asserts all promises about its texts."""
    try:
        outcomes = parse_reply(data, [c.program for c in record.cases])
    except MalformedReply as error:
        assert len(str(error)) < 200
        return None
    found = judging.judge(record, outcomes)
    text, page, written = found.text(), found.html(), json.dumps(found.to_dict())
    assert len(written) <= JSON and len(text) <= TEXT and len(page) <= PAGE, (len(written), len(text), len(page))
    told = [m.message for m in found.mistakes] + [f for c in found.cases for f in (c.sentence, c.expected, c.got)]
    assert not set("".join([text, page, *told])) & misleading()
    bare = page.replace("<span>$</span>", "").replace("<span>\\</span>", "")
    assert "$" not in bare and "\\" not in bare, "a sign that TeX begins with"
    assert {t.lower() for t in re.findall(r"<\s*/?([^\s>]*)", page)} <= TAGS
    return found


def within_limits(record, data, slower=None):
    """``judged`` with a time limit that nothing in it can escape; slower: by which factor the limit may be exceeded.

    (A Python signal handler would not do: it never runs during one long operation.)
    """
    # On a busy machine the same work may take twice the time, but not every time. And CPython keeps frames in chunks of
    # 16 KiB: a loop whose calls cross the end of a chunk maps and unmaps memory at each call, unless the depth changes.
    for deeper in (0, 40, 80):
        signal.setitimer(signal.ITIMER_PROF, 20 * SECONDS)  # for a hang; slow replies are found below
        began = time.process_time()
        found = below(deeper, lambda: judged(record, data))
        took = time.process_time() - began
        signal.setitimer(signal.ITIMER_PROF, 0)
        if took < SECONDS or took < SECONDS * (slower or slowness()):
            return found
    raise AssertionError(f"{took:.1f} s")


def below(frames, work):
    """``work()``, called that many frames deeper in the stack."""
    return below(frames - 1, work) if frames else work()


def slowness():
    """How many times as long work takes now as on a quiet machine, at least 1."""

    def work():
        began = time.process_time()
        assert {str(i): [i] for i in range(200_000)}
        return time.process_time() - began

    return max(1.0, min(work() for _ in range(3)) / QUIET_SECONDS)


def failure(work):
    """How ``work(note)`` fails in a forked copy of this process, or "". ``work`` calls note(text) before each step."""
    said = mmap.mmap(-1, 1 << 14)

    def note(text):
        said.seek(0)
        said.write(text.encode("utf-8", "backslashreplace")[: len(said) - 1] + b"\0")

    pid = os.fork()
    if not pid:
        status = 1
        try:
            torch.set_num_threads(1)
            gc.freeze()  # spares the judge the garbage collection of earlier tests' many objects
            signal.alarm(900)  # for a process that waits without using the processor
            resource.setrlimit(resource.RLIMIT_AS, (_mapped() + (1 << 30), resource.RLIM_INFINITY))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            work(note)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
            assert grown < MEGABYTES, f"memory grew by {grown} MB"
            status = 0
        except BaseException as error:
            with_notes = [str(error), *getattr(error, "__notes__", [])]
            note(f"{type(error).__name__}: " + "\n".join(with_notes)[-8_000:])
        finally:
            os._exit(status)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name} at {_read(said)}"
    return _read(said) if status else ""


def _read(said):
    return said[:].split(b"\0")[0].decode("utf-8", "replace")


def _mapped():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def fuzz(records, count, which, note):
    """Judges ``count`` replies, each as the answer to two exercises in turn; ``which`` is the random seed."""
    tried = dict.fromkeys(("judged", "refused", "too large"), 0)
    following = dict(zip(records, [*list(records)[1:], *records], strict=False))

    @seed(which)
    @settings(
        max_examples=count // 2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(replies.replies(records))
    def one(drawn):
        try:
            data = replies.packed(drawn)
        except OverflowError:
            tried["too large"] += 2
            return
        for name in (drawn.exercise, following[drawn.exercise]):
            note(f"{name}: {drawn!r}")
            found = within_limits(records[name], data)
            tried["judged" if found else "refused"] += 1
            assert not (found and found.passed), f"a wrong reply passes: {name}: {drawn!r}"

    one()
    assert tried["judged"] > 0.85 * count, tried


@pytest.mark.parametrize("share", range(SHARES))
def test_no_reply_stops_slows_or_misleads(records, share):
    assert not failure(lambda note: fuzz(records, REPLIES // SHARES, SEED * SHARES + share, note))


def test_right_answers_pass_in_the_same_form(records):
    for record in records.values():
        assert judged(record, replies.packed(replies.close(record, "none at all", "expected"))).passed


# ---- regressions: found earlier --------------------------------------------------------------------------------------
ALL = ("start.weighted_average", "rope.relative_rotation", "rope.squared_lengths", "norm.axes")
SHORT = {"tensor": "o0"}
FOUND = {
    "a sum of towers": {"sympy": ["Add", TOWER, TOWER, ["Mul", number(-1), TOWER]]},
    "600 products with zero": {"sympy": ["Add", *[ZERO] * 600]},
    "a nest of 50 sums": {"sympy": replies.nested("Add", ["Symbol", "x"], 50, [ZERO] * 20)},
    "a matrix of towers": {"sympy": ["Matrix", 20, 20, *[["Mul", TOWER, ["Symbol", "z"]]] * 400]},
    "900 symbols": {"sympy": ["Add", *[["Mul", ["Symbol", f"x{i}"], ZERO] for i in range(900)]]},
    "a symbol of 100,000 characters": {"sympy": ["Symbol", "x" * 100_000]},
    "a power without exponent": {"sympy": ["Pow", ["Symbol", "x"]]},
    "4,096 tensors in lists": replies.towers(SHORT, 8, 4),
    "15,000 keys": {"dict": [[f"key {i}", i] for i in range(15_000)]},
    "490 long keys": {"dict": [["k" * 200 + str(i), i] for i in range(490)]},
    "keys that collide": {"dict": [[{"int": str(i * (2**61 - 1))}, 0] for i in range(9_000)]},
    "20,000 numbers": {"list": [0.1] * 19_000},
    "a type named by control characters": {"opaque": "\x1b[2J\u202eobject\ud800"},
    "a type named by TeX": {"opaque": "$\\href{javascript:alert(1)}{x}$"},
    "an integer of 400 digits": {"int": "9" * 400},
    "a list in place of a value": [[]] * 100_000,
}


@pytest.mark.parametrize("kind", FOUND)
def test_what_was_found_once_is_judged_at_once(kind):
    def work(note):
        for name in ALL:
            record = whole(name)
            n = len(record.cases)
            for place in ({"value": FOUND[kind]}, {"value": {"tuple": [FOUND[kind]] * 2}}):
                fits = max(1, min(n, 400_000 // replies.size(place)))  # as many as there is room for
                listed = [{"results": [place]}] * fits + [{"results": []}] * (n - fits)
                note(f"{name} {kind}")
                data = replies.packed(Drawn(name, listed, [{"o0": ("F32", [2], 63)}] * n))
                found = within_limits(record, data)
                assert found is None or not found.passed and found.mistakes

    assert not failure(work)


@pytest.mark.parametrize("shape", [[10**5, 0], [10**9, 0], [0, 10**9], [1000, 1000, 0], [1] * 12])
@pytest.mark.parametrize("dtype", ["F32", "BOOL", "F8_E4M3", "BF16", "I64"])
def test_tensors_without_entries_are_shown_by_their_shape(shape, dtype):
    def work(note):
        for name in ALL:
            record = whole(name)
            listed = [{"results": [{"value": {"list": [SHORT] * 8}}, {"value": SHORT}]}] * len(record.cases)
            sent = [{"o0": (dtype, shape, 1)}] * len(record.cases)
            note(f"{name} {shape} {dtype}")
            assert not within_limits(record, replies.packed(Drawn(name, listed, sent))).passed

    assert not failure(work)
    empty = torch.empty(10**6, 0)
    assert compare.show([empty, empty]) == "[" + ", ".join(["tensor of shape (1000000, 0), float32"] * 2) + "]"


REPEATED = {"TeX": "$x$ \\(y\\) " * 40, "wide": "\U0001f600" * 400, "unseen": "\x1b\u202e<b>" * 80, "plain": "a" * 400}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_text_repeated_in_every_case_does_not_add_up(kind):
    record, text = longest(), REPEATED[kind]
    for outcome in ({"results": [], "signature": text}, {"results": [{"raises": [text, text * 2, text]}]}):
        found = judged(
            record, replies.packed(Drawn(record.id, [outcome] * len(record.cases), [{}] * len(record.cases)))
        )
        assert not found.passed and len(json.dumps(found.to_dict())) <= JSON


def longest():
    """The record of the exercise with the most cases."""
    return draw_record(max(exercises.all_exercises(), key=lambda e: len(e.cases)))


def whole(name):
    return draw_record(next(e for e in exercises.all_exercises() if e.id == name))


# ---- the fuzzer must find faults that are put in on purpose ----------------------------------------------------------
def as_sympy_prints(tree):
    with sympy.evaluate(False):
        return str(symbolic.Expression(tree).to_sympy())


def without_bounds(write, characters):
    class Writer:
        def __init__(self):
            self.parts = []

        def put(self, text):
            self.parts.append(text)

        def step(self):
            pass

    out = Writer()
    write(out)
    return "".join(out.parts)


def all_at_once(value, limit, out):
    out.put(str(value.tolist()) if isinstance(value, torch.Tensor) and value.numel() <= limit else repr(value))


def cut(text, limit):
    return text[:limit]


# Faults put in on purpose: each a list of (module, name, replacement).
UNBOUNDED = [(compare, "written", without_bounds), (compare, "_show", all_at_once), (verdict, "short", lambda t, n: t)]
FAULTS = {
    "a printer that asks SymPy": [(symbolic, "text_of", as_sympy_prints)],
    "printers without a bound": [*UNBOUNDED, (verdict, "MAX_BYTES", 10**9)],
    "texts as they come": [(texts, "_MISLEADING", re.compile("(?!)"))],
    "TeX as it comes": [(verdict, "escaped", html.escape)],
}
RARE = {
    "words of any length": ([(verdict, "MAX_BYTES", 10**9)], {"results": [], "signature": REPEATED["wide"]}),
    "any number of keys": (
        [(codec, "MAX_KEYS", 10**9), (codec, "MAX_NODES", 10**9)],
        {"results": [{"value": {"dict": [[{"int": str(i * (2**61 - 1))}, 0] for i in range(19_000)]}}]},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fuzzer_finds_a_fault(records, fault, monkeypatch):
    for module, name, worse in FAULTS[fault]:
        monkeypatch.setattr(module, name, worse)
    assert failure(lambda note: fuzz(records, 1_000, SEED, note))


@pytest.mark.parametrize("fault", RARE)
def test_an_example_finds_a_fault(fault, monkeypatch):
    patches, outcome = RARE[fault]
    record = longest()
    n = len(record.cases)
    data = replies.packed(Drawn(record.id, [outcome, *[{**outcome, "results": []}] * (n - 1)], [{}] * n))
    assert not failure(lambda note: within_limits(record, data, slower=1))
    for module, name, worse in patches:
        monkeypatch.setattr(module, name, worse)
    assert failure(lambda note: within_limits(record, data, slower=1))
