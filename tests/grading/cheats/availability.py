"""Submissions that are hard to read or to end: files, cells and processes that would hang, flood or exhaust the class.

``replies.py`` has answers that do the same.
"""

import json

from .base import CHECK, SOLVE, WRONG, answer, code_cell, find, insert_before, notebook, sent, wrong

# ---- sources: parsing them must not kill the grader
_SOURCES = {
    "two hundred thousand parentheses": "x = " + "(" * 99_000 + ")" * 99_000,
    "an attribute of an attribute, a hundred thousand times": "x = a" + ".a" * 99_000,
    "a hundred thousand minus signs": "x = " + "-" * 100_000 + "1",
    "functions in functions in functions": "x = " + "lambda: " * 20_000 + "1",
    "a sum of fifty thousand terms": "x = " + "1+" * 60_000 + "1",
    "a hundred elses in each other": "".join(" " * i + "if a:\n" for i in range(99)) + " " * 99 + "pass",
    "twenty thousand decorators": "@a\n" * 20_000 + "class A: pass",
    "a name of a hundred thousand letters": "x" * 100_000 + " = getattr(__import__('o' + 's'), 'x' * 10**9)",
    "names that look like others": "def weighted_average(v\u0430lues, weights): return __import__\u202e('os')\x0c\x00",
    "a number to the power of a number, to be folded": "x = 9**9**9 if False else 'ab' * (1 << 40) if False else 0",
    "half a character in the source": "x = '\ud800'",
}
for _name, _source in _SOURCES.items():
    answer(_name, "sources", WRONG + _source + "\n", seen=None)


@notebook("a cell id of a million letters", "files", seen=None)
def _long_ids(book):
    for number, cell in enumerate(book["cells"]):
        cell["id"] = f"{number}" + "x" * 100_000
    insert_before(book, CHECK, code_cell("pass") | {"id": "\x1b[2J<script>" + "y" * 1_000_000})


@notebook("outputs and metadata of odd kinds", "files", seen=None)
def _odd_kinds(book):
    for number, cell in enumerate(book["cells"]):
        cell["outputs"] = [None, 1, [], {}, {"output_type": "stream", "text": {}}, {"output_type": ["a"]}][number % 6 :]
        cell["execution_count"] = [10**18, "x", -1, {}, None, 1.5][number % 6]
        cell["attachments"] = {"../../x": {"text/html": "<script>"}}
    find(book, CHECK)["outputs"] = [
        {"output_type": "display_data", "data": {}, "metadata": {"anatomy": {"exercise": "start.x", "tries": 10**18}}}
    ] * 5000
    book["metadata"] = {"kernelspec": {"name": "../../../bin/sh"}, "language_info": {"codemirror_mode": [[[]]]}}
    book["nbformat_minor"] = 10**9


@sent("ten thousand cells", "files")
def _many_cells():
    return json.dumps(wrong(lambda b: b["cells"].extend(code_cell(f"x{i} = {i}") for i in range(10_000)))).encode()


@sent("five hundred cells of two hundred kilobytes", "files", slow=True)
def _large_cells():
    source = "x = [" + "1, " * 66_000 + "]"
    return json.dumps(wrong(lambda b: b["cells"].extend(code_cell(source) for _ in range(500)))).encode()


@sent("two hundred cells that take long to parse", "files", slow=True)
def _slow_cells():
    source = "".join(f"a{i} = lambda x{i}=lambda y: y: [z for z in (x{i},)]\n" for i in range(4_000))
    return json.dumps(wrong(lambda b: b["cells"].extend(code_cell(source) for _ in range(200)))).encode()


@sent("fifty megabytes of output", "files")
def _large_outputs():
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["x" * 1000] * 1000}] * 50
    return json.dumps(wrong(lambda b: find(b, SOLVE).update(outputs=outputs))).encode()


@sent("a million empty outputs", "files")
def _many_outputs():
    return json.dumps(wrong(lambda b: find(b, CHECK).update(outputs=[{}] * 1_000_000))).encode()


@sent("JSON of a million brackets", "files")
def _deep():
    return b"[" * 1_000_000


@sent("a notebook whose metadata are deep", "files")
def _deep_inside():
    text = json.dumps(wrong(lambda b: b["metadata"].update(deep="@")))
    return text.replace('"@"', '{"a":' * 900 + "1" + "}" * 900).encode()


@sent("JSON with each key twice", "files")
def _twice():
    """A parser that keeps the first duplicate key and one that keeps the last see two different notebooks."""
    text = json.dumps(wrong())
    again = json.dumps([code_cell("def weighted_average(values, weights):\n    return 0")] * 3)
    return (text[:-1] + f', "cells": {again}, "cells": {text[text.index("[") :]}').encode()


@sent("JSON with a number of ten million digits", "files")
def _long_number():
    return json.dumps(wrong()).replace('"nbformat": 4', '"nbformat": 4, "x": ' + "9" * 10_000_000).encode()


@sent("JSON with numbers that are none", "files")
def _no_numbers():
    return json.dumps(wrong(lambda b: b.update(nbformat=float("nan"), nbformat_minor=float("-inf")))).encode()


@sent("UTF-16, with a mark", "files")
def _utf16():
    return json.dumps(wrong()).encode("utf-16")


@sent("a file of nothing but zeros", "files")
def _zeros():
    return bytes(20_000_000)


@sent("a source in a million pieces", "files")
def _pieces():
    return json.dumps(wrong(lambda b: b["cells"].append(code_cell("#") | {"source": ["#"] * 1_000_000}))).encode()


# ---- processes: all that the code starts must end with it and cost the other submissions nothing
_PROCESSES = {
    "sixty-four processes that spin": """
import os
for _ in range(64):
    try:
        if os.fork() == 0:
            while True:
                pass
    except OSError:
        break
while True:
    pass
""",
    "a thousand threads that spin": """
import threading
def spin():
    while True:
        pass
for _ in range(1000):
    try:
        threading.Thread(target=spin, daemon=True).start()
    except RuntimeError:
        break
""",
    "children that live for a moment, without end": """
import os
while True:
    try:
        if os.fork() == 0:
            os.fork()
            os._exit(0)
    except OSError:
        pass
""",
    "crashes that want to leave a core": """
import ctypes, os, resource
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
except (ValueError, OSError):
    pass
keep = bytearray(200 << 20)
for _ in range(20):
    if os.fork() == 0:
        ctypes.string_at(0)
ctypes.string_at(0)
""",
    "stops itself, and whoever listens": """
import os, signal
os.kill(0, signal.SIGSTOP)
""",
    "closes everything": """
import os
os.closerange(0, 4096)
""",
    "files without end, held open": """
import os, socket, tempfile
kept = []
while True:
    try:
        kept += [os.pipe(), socket.socketpair(), tempfile.TemporaryFile()]
    except OSError:
        break
""",
    "locks the memory, and a file of a million names": """
import ctypes, mmap, os
ctypes.CDLL(None).mlockall(3)
kept = []
for i in range(20_000):
    try:
        open(f"/tmp/{i:0200}", "w").close()
        kept.append(mmap.mmap(-1, 1 << 20))
    except (OSError, ValueError):
        break
os.nice(-20)
""",
}
_SLOW = {
    "sixty-four processes that spin",
    "children that live for a moment, without end",
    "a thousand threads that spin",
}
for _name, _source in _PROCESSES.items():
    answer(_name, "ending", WRONG + _source, slow=_name in _SLOW or "stops" in _name, seen=None)

_ENDINGS = {
    "sleeps when it is thrown away": """
import time
class Sleeper:
    def __del__(self):
        time.sleep(1000)
kept = [Sleeper()]
def weighted_average(values, weights):
    sleeper = Sleeper()
    return values[0] * 0
""",
    "sleeps at the end, in every way to end": """
import atexit, sys, threading, time
atexit.register(time.sleep, 1000)
threading._register_atexit(time.sleep, 1000)
sys.excepthook = lambda *a: time.sleep(1000)
threading.Thread(target=time.sleep, args=(1000,)).start()
def weighted_average(values, weights):
    return values[0] * 0
""",
    "closes its output, and replaces it by an endless one": """
import os, sys
class Endless:
    def write(self, text):
        while True:
            pass
    flush = write
sys.stdout.close()
sys.stdout = sys.__stdout__ = sys.stderr = Endless()
def weighted_average(values, weights):
    print("x")
    return values[0] * 0
""",
    "answers byte by byte on every descriptor": """
import os, time
def weighted_average(values, weights):
    while True:
        for fd in range(3, 256):
            try:
                os.write(fd, b"+")
            except OSError:
                pass
        time.sleep(0.2)
""",
    "announces a reply of a terabyte": """
import os, struct
def weighted_average(values, weights):
    for fd in range(3, 256):
        for form in ("<Q", ">Q", "<I", ">I"):
            try:
                os.write(fd, struct.pack(form, (1 << 40) % (1 << 32) if form[1] == "I" else 1 << 40))
            except OSError:
                pass
    os._exit(0)
""",
}
for _name, _source in _ENDINGS.items():
    _endless = "output" not in _name and "announces" not in _name
    answer(_name, "ending", _source, slow=_endless, seen=None)
