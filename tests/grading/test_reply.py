"""Replies of a hostile process: each is a failed answer with a sentence, never an exception or a hang."""

import json
import struct
import time

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from autograder import exercises
from autograder.judge.asked import answer as answer_parts
from autograder.judge.drawing import draw_record, student_key
from autograder.judge.reply import MalformedReply, parse_reply
from autograder.judge.trusted import judge_exercise
from autograder.sandbox import AskDied, AskTimeout, DeadSession, ReplyTooLarge, StudentError

EXERCISE = exercises.of_unit("00-start-here")[0]
KEY = student_key("secret", "ada", EXERCISE.unit)


class Scripted:
    """Answers each question with the same bytes, or with ``answer(payload)``, or raises ``answer``."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def ask(self, code, payload=b"", timeout=10.0, max_bytes=16 << 20):
        self.asked += 1
        answer = self.answer(payload) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer


def honest(payload, function=EXERCISE.reference):
    return answer_parts(payload, {EXERCISE.targets[0]: function}, [None] * len(parts(payload)))


def parts(data):
    found = []
    while data:
        size = int.from_bytes(data[:8], "little")
        found.append(data[8 : 8 + size])
        data = data[8 + size :]
    return found


def joined(replies):
    return b"".join(len(r).to_bytes(8, "little") + r for r in replies)


def forged(change):
    """The right reply with its lists of outcomes replaced by ``change(list)``."""

    def one(data):
        size = int.from_bytes(data[1:9], "little")
        header = json.loads(data[9 : 9 + size])
        header["__metadata__"]["reply"] = json.dumps(change(json.loads(header["__metadata__"]["reply"])))
        text = json.dumps(header).encode()
        return b"+" + struct.pack("<Q", len(text)) + text + data[9 + size :]

    return lambda payload: joined(one(d) for d in parts(honest(payload)))


def judged(answer):
    began = time.process_time()
    verdict = judge_exercise(EXERCISE, Scripted(answer), KEY)
    assert time.process_time() - began < 5
    assert verdict.max_score == EXERCISE.points and len(verdict.cases) in (0, len(EXERCISE.cases))
    assert ("Smallest failing case" in verdict.text()) is bool(verdict.cases and not verdict.passed)
    assert "0 of 0" not in verdict.html()
    return verdict


def test_the_honest_reply_passes():
    assert judged(honest).passed
    assert judged(forged(lambda outcomes: outcomes)).passed  # the change itself breaks nothing


def deep(n):
    return json.loads("[" * n + "]" * n) if n < 900 else None


BOMB = ["Pow", ["Rational", "9", "1"], ["Pow", ["Rational", "9", "1"], ["Rational", "9" * 29, "1"]]]
REPLACED = {
    "no results": lambda o: [],
    "not a list": lambda o: {"score": 5},
    "null": lambda o: None,
    "results missing": lambda o: [{}] * len(o),
    "strings": lambda o: ["passed"] * len(o),
    "too few steps": lambda o: [{**x, "results": []} for x in o],
    "step is a number": lambda o: [{**x, "results": [1]} for x in o],
    "value is a score": lambda o: [{**x, "results": [{"value": 1e9}]} for x in o],
    "unknown node": lambda o: [{**x, "results": [{"value": {"eval": "1+1"}}]} for x in o],
    "tensor that is not there": lambda o: [{**x, "results": [{"value": {"tensor": "gone"}}]} for x in o],
    "program node": lambda o: [{**x, "results": [{"value": {"ref": [0]}}]} for x in o],
    "nested deeply": lambda o: [{**x, "results": [{"value": {"list": [deep(500)]}}]} for x in o],
    "nan": lambda o: [{**x, "results": [{"value": float("nan")}]} for x in o],
    "many values": lambda o: [{**x, "results": [{"value": {"list": [0] * 100_000}}]} for x in o],
    "expression bomb": lambda o: [{**x, "results": [{"value": {"sympy": BOMB}}]} for x in o],
    "raises junk": lambda o: [{**x, "results": [{"raises": 7}]} for x in o],
    "raises a long text": lambda o: [{**x, "results": [{"raises": ["E" * 10**6] * 3}]} for x in o],
    "skipped from the start": lambda o: [{**x, "results": [{"skipped": True}]} for x in o],
    "missing junk": lambda o: [{"missing": {"a": 1}} for _ in o],
    "signature junk": lambda o: [{**x, "signature": "<script>alert(1)</script>"} for x in o],
}


@pytest.mark.parametrize("kind", REPLACED)
def test_forged_outcomes_earn_nothing(kind):
    verdict = judged(forged(REPLACED[kind]))
    assert not verdict.passed and verdict.score == 0 and verdict.mistakes
    assert "<script>" not in verdict.html()


def test_a_replys_own_sentence_is_said_to_be_the_submissions():
    forged_words = "everything is right, ask for full points"
    said = judged(forged(lambda o: [{**x, "signature": forged_words} for x in o])).mistakes[0].message
    assert said.lower().startswith("the submission says") and forged_words in said
    odd = judged(forged(lambda o: [{"missing": ["<img src=x>", "You passed", "softmax"]} for _ in o]))
    assert "softmax" in odd.mistakes[0].message and not {"img", "passed"} & set(odd.mistakes[0].message.split())


@pytest.mark.parametrize("whole", [True, False], ids=["as the reply", "as its parts"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 8,
        b"garbage that is no reply",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"\xff\xfe",
        save({"a": torch.zeros(1)}),
        save({"a": torch.zeros(1)}, {"reply": "["}),
        save({"a": torch.zeros(1)}, {"reply": "[" * 100_000}),
        save({"a": torch.zeros(1)}, {"reply": "9" * 100_000}),
    ],
    ids=range(10),
)
def test_bytes_that_are_no_reply_earn_nothing(data, whole):
    verdict = judged(data if whole else joined([b"+" + data] * 2))
    assert not verdict.passed and verdict.score == 0
    assert verdict.mistakes[0].name == "generic.malformed"


def test_an_exception_while_answering_is_named_without_its_text():
    verdict = judged(joined([b"-Memory<b>Error"] * 2))
    assert verdict.score == 0 and verdict.mistakes[0].name == "generic.unreadable"
    assert "Memory<b>" not in verdict.html()


def test_a_pickle_is_not_unpickled(tmp_path):
    import pickle

    class Attack:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    assert judged(pickle.dumps(Attack())).score == 0
    assert not (tmp_path / "ran").exists()


def test_shapes_that_no_machine_holds():
    header = json.dumps(
        {
            "0/o0": {"dtype": "F32", "shape": [2**40, 0, 2**40], "data_offsets": [0, 0]},
            "__metadata__": {
                "reply": json.dumps([{"results": [{"value": {"tensor": "o0"}}], "used": [], "mutated": []}] * 5)
            },
        }
    ).encode()
    assert judged(joined([b"+" + struct.pack("<Q", len(header)) + header] * 2)).score == 0


@pytest.mark.parametrize(
    "error, name",
    [
        (AskTimeout("no answer within 10 s"), "generic.timeout"),
        (AskDied("exit 3"), "generic.process_ended"),
        (ReplyTooLarge("big"), "generic.too_large"),
        (DeadSession("used up"), "generic.no_session"),
        (StudentError("MemoryError", ""), "generic.too_large"),
    ],
)
def test_a_process_that_does_not_answer(error, name):
    session = Scripted(error)
    verdict = judge_exercise(EXERCISE, session, KEY)
    assert verdict.score == 0 and verdict.mistakes[0].name == name and session.asked == 1
    assert verdict.mistakes[0].message.endswith((".", "?"))


def test_hidden_inputs_are_never_shown():
    """A function that is right on the public cases and reveals its inputs on all others."""
    public = {tuple(c.tensors["i0"].flatten().tolist()) for c in draw_record(EXERCISE, with_mutants=False).cases}

    def spy(values, weights):
        if tuple(values.flatten().tolist()) in public:
            return EXERCISE.reference(values, weights)
        raise ValueError(f"seen {values.tolist()} {weights.tolist()}")

    verdict = judged(lambda payload: honest(payload, spy))
    assert verdict.score == 0
    assert verdict.mistakes[0].name == "generic.only_examples"
    shown = verdict.text() + verdict.html() + json.dumps(verdict.to_dict())
    for case in draw_record(EXERCISE, KEY, with_mutants=False).cases[2:4]:
        for number in case.tensors["i0"].flatten().tolist():
            assert f"{number:.4g}" not in shown and str(number) not in shown


def test_examples_learned_by_heart_earn_nothing():
    answers = {
        tuple(c.tensors["i0"].flatten().tolist()): c.outcomes["expected"][1]["o0"]
        for c in draw_record(EXERCISE, with_mutants=False).cases
    }
    by_heart = lambda values, weights: answers.get(tuple(values.flatten().tolist()), torch.zeros(()))
    verdict = judged(lambda payload: honest(payload, by_heart))
    assert verdict.score == 0
    assert "generic.examples_alone" in [m.name for m in verdict.mistakes]


def test_a_known_mistake_on_hidden_inputs_only_is_named_without_numbers():
    public = [c.tensors["i0"] for c in draw_record(EXERCISE, with_mutants=False).cases]

    def sly(values, weights):
        known = any(values.shape == p.shape and torch.equal(values, p) for p in public)
        return EXERCISE.reference(values, weights) if known else weights @ values

    verdict = judged(lambda payload: honest(payload, sly))
    assert verdict.mistakes[0].name == "not_divided"
    assert verdict.mistakes[0].message.startswith("Your code passes the examples of the check but not other inputs")
    assert not any(c.expected or c.got for c in verdict.cases)


PROGRAMS = [c.program for c in draw_record(EXERCISE, with_mutants=False).cases]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "results",
                    "value",
                    "raises",
                    "list",
                    "dict",
                    "tensor",
                    "sympy",
                    "int",
                    "used",
                    "missing",
                    "signature",
                    "grads",
                    "complex",
                    "opaque",
                    "dtype",
                    "mutated",
                    "x",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(json_values, st.booleans())
def test_any_json_is_judged_without_an_exception(value, listed):
    verdict = judged(forged(lambda o: [value] * len(o) if listed else value))
    assert verdict.score == 0


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_parsed_or_refused(data):
    with pytest.raises(MalformedReply):
        parse_reply(data, PROGRAMS)


@pytest.mark.parametrize(
    "error, name",
    [
        (RuntimeError("DefaultCPUAllocator: can't allocate memory:."), b"MemoryError"),
        (RuntimeError("something else"), b"RuntimeError"),
        (KeyError("x"), b"KeyError"),
    ],
)
def test_torch_without_room_counts_as_out_of_memory(monkeypatch, error, name):
    from anatomy.program import runner

    def serve(request, space):
        raise error

    monkeypatch.setattr(runner, "serve", serve)
    reply = answer_parts((1).to_bytes(8, "little") + b"x", {}, [None])
    assert reply[8:] == b"-" + name
