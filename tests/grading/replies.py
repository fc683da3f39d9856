"""Replies that a hostile or faulty process may send, as hypothesis strategies.

A reply is drawn as plain data (``Drawn``); ``packed`` turns it into bytes. Some contain anything that JSON and tensors
can express, others are close to a right answer: these reach the parts of the judge that look for mistakes.
"""

import json
from dataclasses import dataclass, replace

import torch
from anatomy.program.records import ExerciseRecord
from hypothesis import strategies as st

from autograder import exercises
from autograder.judge.drawing import draw_record
from autograder.judge.reply import MAX_HEADER

# One number, tensors of all kinds, tuples, lists, dictionaries, modules, gradients, several calls, errors, expressions.
IDS = (
    *("start.weighted_average", "attention.softmax", "attention.masked_softmax", "attention.multi_head"),
    *(
        "norm.axes",
        "placement.deepnorm_init",
        "ffn.matched_width",
        "position.relative_shift",
        "rope.apply_rope_complex",
    ),
    *("rope.relative_rotation", "rope.expanded_score", "rope.squared_lengths", "objective.next_token", "cache.rolling"),
)
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "U16": 2}
SIZES |= {"U32": 4, "U64": 8, "F8_E4M3": 1, "F8_E5M2": 1}
_SENT = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}
_SENT |= {torch.bool: "BOOL", torch.int32: "I32"}
HOSTILE = (
    *("\x00", "\x07", "\x1b[2J", "\x7f", "\x85", "\u061c", "\u200b", "\u200f", "\u202e", "\u2066", "\u2028", "\ufeff"),
    *("\ud800", "\udfff", "\U000e0041", "\U0010ffff", "\n", "\r", "\t", "{}", "%s", "{1}", "'", '"', "&amp;", "<b>"),
    *(
        "$x$",
        "$$",
        "$\\href{javascript:alert(1)}{x}$",
        "\\(",
        "\\)",
        "\\[x\\]",
        "\\begin{x}",
        "\\\\",
        "\\$",
        "\\ref{a}",
    ),
    *("<script>alert(1)</script>", "](javascript:x)", "nan", "__class__", "(at: x)", "size mismatch for a: shape "),
)
OPERATORS = ("Add", "Mul", "Pow", "cos", "sin", "tan", "exp", "log", "conjugate", "re", "im", "Abs")
LARGEST = 8 << 20  # characters of JSON, estimated: larger replies are not even written


def pick(values):
    """Draws one of the values. (st.sampled_from writes all of them into its error messages; some are megabytes.)"""
    return st.integers(0, len(values) - 1).map(values.__getitem__)


def number(n, d="1"):
    return ["Rational", str(n), str(d)]


TOWER = ["Pow", number(9), ["Pow", number(9), number("9" * 29)]]
ZERO = ["Mul", number(0), number(16)]


def record(name: str) -> ExerciseRecord:
    """An exercise's public record with its known mistakes, cut to its first and last case so that judging is fast."""
    spec = next(e for e in exercises.all_exercises() if e.id == name)
    drawn = draw_record(spec)
    return replace(drawn, cases=[drawn.cases[0], drawn.cases[-1]])


@dataclass
class Drawn:
    """A reply before it is packed into bytes.

    outcomes: the entries of its list. tensors: for each case name → (dtype, shape, one byte or all of them).
    broken: the way in which the format of the whole reply is damaged, or 0.
    """

    exercise: str
    outcomes: list
    tensors: list
    broken: int = 0

    def __repr__(self):
        text = f"{self.exercise} {self.tensors!r:.300} {self.outcomes!r:.1500}"
        return text.encode("ascii", "backslashreplace").decode()


def packed(drawn: Drawn) -> bytes:
    """The bytes of a reply. Raises OverflowError if they are more than a grader reads."""
    header, body, at = {}, [], 0
    for i, tensors in enumerate(drawn.tensors):
        for name, (dtype, shape, fill) in tensors.items():
            count = SIZES[dtype]
            for n in shape:
                count *= n
            data = fill if isinstance(fill, bytes) else bytes([fill]) * (count if count <= 1 << 21 else 0)
            header[f"{i}/{name}"] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
            body.append(data)
            at += len(data)
    if size(drawn.outcomes) > LARGEST:
        raise OverflowError
    header["__metadata__"] = {"reply": json.dumps(drawn.outcomes)}
    text = json.dumps(header, ensure_ascii=False).encode()
    if len(text) > MAX_HEADER:
        raise OverflowError
    text = {1: text[: len(text) // 2], 2: text.replace(b"dtype", b"dtyp"), 3: b"[" * 99_999}.get(drawn.broken, text)
    return len(text).to_bytes(8, "little") + text + b"".join(body)


def size(value, known=None):
    """Estimated length of a value as JSON; shared parts are counted each time but visited only once."""
    known = {} if known is None else known
    if isinstance(value, str):
        return 3 + 6 * len(value)
    if not isinstance(value, list | tuple | dict):
        return 22
    if id(value) not in known:
        parts = value if isinstance(value, list | tuple) else [x for pair in value.items() for x in pair]
        known[id(value)] = 2 + sum(size(part, known) for part in parts)
    return known[id(value)]


def nested(op, node, count, more):
    for _ in range(count):
        node = [op, node, *more]
    return node


def towers(value, wide, deep):
    for _ in range(deep):
        value = {"list": [value] * wide}
    return value


texts = st.one_of(
    pick(HOSTILE),
    st.lists(pick(HOSTILE), min_size=2, max_size=3).map("".join),
    pick(HOSTILE).map(lambda s: (s * 4_000)[:4_000]),
    st.text(max_size=4),
    pick(("x", "theta", "a", "k0")),
)
numbers = st.one_of(
    st.integers(-3, 3),
    pick([2**31, 2**53, 10**19, -(10**19), 1e308, -1e308, 5e-324, 0.5, float("nan"), float("inf"), -0.0]),
)
digits = pick(["0", "1", "-3", "16", "9" * 30, "-" + "9" * 29, "9" * 31, "", "abc", "1_0", " 7", "٣", "²"])
names = pick([f"o{i}" for i in range(4)])
shapes = st.one_of(
    st.lists(st.integers(0, 3), max_size=4),
    pick(
        [
            *([10**3, 0], [10**6, 0], [10**9, 0], [2**31, 0], [2**40, 0, 2**40], [0, 10**6], [50, 50, 0], [1] * 12),
            *([1] * 13, [100, 100], [10**4], [24], [25], [1000, 0, 1000, 0], [2] * 12, [10**6]),
        ]
    ),
)
tensors = st.dictionaries(
    names, st.tuples(pick(list(SIZES)), shapes, pick([0, 1, 63, 127, 255])), min_size=1, max_size=2
)
_small = st.one_of(
    texts.map(lambda s: ["Symbol", s]),
    st.builds(lambda a, b: ["Rational", a, b], digits, digits),
    numbers.map(lambda n: ["Float", n]),
    pick(
        [
            *(["Pi"], ["ImaginaryUnit"], ["Exp1"], ["?", "zoo"], ["?", "\x1b<b>$"], ["Float", None], ["Infinity"], []),
            *(
                ZERO,
                TOWER,
                ["Add", TOWER, TOWER, ["Mul", number(-1), TOWER]],
                ["Pow", ["Symbol", "x"]],
                ["Symbol", "x" * 9_999],
            ),
        ]
    ),
)
formulas = st.one_of(
    _small,
    pick([["Add", TOWER, TOWER, ["Mul", number(-1), TOWER]], ["Add", *[ZERO] * 600], ["Matrix", 1, 2, TOWER, TOWER]]),
    st.builds(lambda op, parts: [op, *parts], pick(OPERATORS), st.lists(_small, min_size=1, max_size=3)),
    st.builds(
        nested,
        pick(OPERATORS),
        _small,
        pick([1, 1, 2, 2, 3, 50, 58, 62, 900]),
        pick([[], [number(2)], [["Symbol", "x"]], [ZERO] * 20]),
    ),
    st.builds(lambda op, x, n: [op, *[x] * n], pick(("Add", "Mul")), _small, pick([2, 3, 5, 30, 600, 3_900])),
    st.builds(lambda n: ["Add", *[["Mul", ["Symbol", f"x{i}"], ZERO] for i in range(n)]], pick([50, 900])),
    st.builds(
        lambda rows, columns, x: ["Matrix", rows, columns, *[x] * min(rows * columns, 3_500)],
        pick([-1, 1, 2, 2, 60]),
        pick([-1, 0, 1, 2, 2, 58]),
        _small,
    ),
)
leaves = st.one_of(
    pick([None, True, False, {"int": "9" * 400}, {"ref": [0]}, {"fn": "relu"}, {"a": 1, "b": 2}, [], {}]),
    numbers,
    texts,
    names.map(lambda n: {"tensor": n}),
    names.map(lambda n: {"complex_tensor": n}),
    pick(["float16", "bool", "qint8", 3]).map(lambda d: {"dtype": d}),
    digits.map(lambda d: {"int": d}),
    pick(["nan", "inf", "-inf", "1", 1]).map(lambda f: {"float": f}),
    texts.map(lambda t: {"opaque": t}),
    st.tuples(numbers, st.one_of(numbers, texts)).map(lambda p: {"complex": list(p)}),
    formulas.map(lambda f: {"sympy": f}),
)
trees = st.one_of(
    leaves,
    st.builds(lambda kind, parts: {kind: parts}, pick(("list", "tuple")), st.lists(leaves, max_size=4)),
    st.builds(lambda x, n: {"list": [x] * n}, leaves, pick([1, 8, 9, 9, 50, 100, 100, 300, 15_000, 21_000])),
    st.builds(towers, leaves, pick([1, 2, 8]), pick([2, 3, 4, 13])),
    st.lists(st.tuples(leaves, leaves).map(list), max_size=3).map(lambda pairs: {"dict": pairs}),
    st.builds(
        lambda t, n, x: {"dict": [[f"{t[:40]}{i}", x] for i in range(n)]},
        texts,
        pick([2, 3, 5, 30, 490, 15_000]),
        leaves,
    ),
    pick([{"dict": [[{"int": str(i * (2**61 - 1))}, 0] for i in range(n)]} for n in (490, 9_000)]),
    pick([{"dict": [[{"list": []}, 1]]}, {"dict": [1]}, {"dict": [[{"tuple": [1, "a"]}, 1]]}, {"dict": 3}]),
)
steps = st.one_of(
    trees.map(lambda t: {"value": t}),
    trees.map(lambda t: {"value": t}),
    st.tuples(trees, trees).map(lambda p: {"value": p[0], "grads": p[1]}),
    st.tuples(texts, texts, texts).map(lambda p: {"raises": list(p)}),
    pick([{"raises": [1, 2, 3]}, {"raises": []}, {"skipped": True}, {}, None, 3, {"grads": 1}]),
)
outcomes = st.one_of(
    st.builds(
        lambda listed, used, changed, signature: {
            "results": listed,
            "used": used,
            "mutated": changed,
            "signature": signature,
        },
        st.lists(steps, min_size=1, max_size=2),
        st.lists(texts, max_size=1),
        st.lists(texts, max_size=1),
        st.integers(0, 29).flatmap(lambda n: texts if n == 0 else st.none()),
    ),
    st.builds(
        lambda step, n, names: {"results": [step] * 2} | ({"missing": names} if n == 0 else {}),
        steps,
        st.integers(0, 9),
        st.lists(texts, max_size=2),
    ),
    pick([None, 3, "passed", {}, {"results": 3}, {"results": [1, 2]}, {"results": [], "missing": {"a": 1}}]),
)
# Changes to the floats of an answer; each but the first makes all of it wrong.
CHANGES = {
    "none at all": lambda t: t,
    "scaled": lambda t: t * 3 + 1,
    "negative": lambda t: -t - 1,
    "not a number": lambda t: t * float("nan"),
    "infinite": lambda t: t + float("inf"),
    "huge": lambda t: t * 1e30 + 1e30,
    "zero": lambda t: t * 0 + 9,
    "other type": lambda t: t.to(torch.float16) if t.dtype != torch.float16 else t.float(),
    "integers": lambda t: t.long(),
    "one axis more": lambda t: t[None],
    "flat": lambda t: torch.cat([t.flatten(), t.flatten()]),
    "turned": lambda t: (t + 1).transpose(0, -1) if t.ndim else t + 1,
    "none": lambda t: t.flatten()[:0].reshape(0, 7),
    "a little": lambda t: t * 1.01 + 0.01,
}


def close(record: ExerciseRecord, change: str, source: str) -> Drawn:
    """The reply of a right answer (or of the known mistake ``source``) with its tensors changed."""
    listed, all_tensors = [], []
    for case in record.cases:
        outcome, found = case.outcomes.get(source, case.outcomes["expected"])
        listed.append({**outcome, "results": list(outcome["results"])})
        all_tensors.append({n: _sent(CHANGES[change](t) if t.is_floating_point() else t) for n, t in found.items()})
    return Drawn(record.id, listed, all_tensors)


def _sent(t):
    plain = t.contiguous().clone().reshape(-1)
    return _SENT[t.dtype], list(t.shape), plain.view(torch.uint8).numpy().tobytes() if t.numel() else b""


def spoiled(record: ExerciseRecord, tree, where: int) -> Drawn:
    """The reply of a right answer with one part of its value (or of its gradients) replaced by ``tree``."""
    right = close(record, "none at all", "expected")
    for outcome in right.outcomes:
        result = outcome["results"][-1]
        part = "grads" if "grads" in result and where % 2 else "value"
        outcome["results"][-1] = result | {part: _with(result.get(part), tree, where // 2)}
    return right


def _with(value, tree, where):
    kind = next(iter(value)) if isinstance(value, dict) else ""
    if kind not in ("list", "tuple", "dict") or not value[kind] or where % 5 == 0:
        return {"tuple": [tree]}  # not the tree itself, which may happen to be right
    parts = list(value[kind])
    i = where % len(parts)
    parts[i] = [parts[i][0], {"list": [tree]}] if kind == "dict" else {"tuple": [tree]}
    return {kind: parts}


def replies(records: dict[str, ExerciseRecord]) -> st.SearchStrategy[Drawn]:
    """Replies to the programs of these records."""

    def anything(name, several, one, sent, broken):
        count = len(records[name].cases)
        listed = [several[0]] * count if one else [several[i % len(several)] for i in range(count)]
        return Drawn(name, listed, [sent] * count, broken)

    def formula(name, node):
        listed = [{"results": [{"value": {"sympy": node}}]}] * len(records[name].cases)
        return Drawn(name, listed, [{} for _ in listed])

    sources = {name: ["expected", *r.mistakes] for name, r in records.items()}
    return st.one_of(
        st.builds(
            anything,
            pick(list(records)),
            st.lists(outcomes, min_size=1, max_size=2),
            st.booleans(),
            tensors,
            pick([0] * 40 + [1, 2, 3]),
        ),
        st.builds(
            lambda name, change, i: close(records[name], change, sources[name][i % len(sources[name])]),
            pick([n for n, r in records.items() if _has_floats(r)]),
            pick([c for c in CHANGES if c != "none at all"]),
            st.integers(0, 6),
        ),
        st.builds(
            lambda name, tree, n: spoiled(records[name], tree, n), pick(list(records)), trees, st.integers(0, 19)
        ),
        st.builds(
            formula, pick([*records, *(n for n in records if n.startswith("rope.") for _ in range(3))]), formulas
        ),
    )


def _has_floats(record):
    return all(any(t.is_floating_point() for t in c.outcomes["expected"][1].values()) for c in record.cases)
