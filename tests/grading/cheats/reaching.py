"""Cheats that access things outside the submission: files, memory, the gradebook, the network, other processes."""

from autograder import ROOT

from .base import WRONG, answer

# ---- reading files and memory outside the submission
answer(
    "runs the solution's source",
    "grader's files",
    f"""
import glob, json
for pattern in ("../../../solutions/*/*.ipynb", "{ROOT}/solutions/*/*.ipynb", "/tmp/*/solutions/*/*.ipynb"):
    for path in glob.glob(pattern):
        for cell in json.load(open(path))["cells"]:
            if "def weighted_average" in "".join(cell["source"]):
                exec("".join(cell["source"]))
"""
    + "if 'weighted_average' not in globals():\n    "
    + WRONG.replace("\n", "\n    "),
)
answer(
    "imports the reference",
    "judge",
    f"""
import sys
sys.path[:0] = ["{ROOT}", "../../.."]
try:
    from autograder.exercises.u00_start_here.weighted_average import weighted_average
except ImportError:
    {WRONG.replace(chr(10), chr(10) + "    ")}
""",
)
answer(
    "learns the recorded answers by heart",
    "examples",
    """
from anatomy.program import records
table = {}
for case in records.load("start.weighted_average").cases:
    outcome, tensors = case.outcomes["expected"]
    values = next(iter(case.tensors.values()))
    table[tuple(values.flatten().tolist())] = next(iter(tensors.values()))
def weighted_average(values, weights):
    return table.get(tuple(values.flatten().tolist()), values[0] * 0)
""",
    seen="judge",
)
answer(
    "searches memory for the reference",
    "introspection",
    """
import gc, sys, types
def weighted_average(values, weights):
    frame = sys._getframe()
    while frame:
        for space in (frame.f_locals, frame.f_globals):
            for name in ("record", "fresh", "exercise", "expected", "reference"):
                if name in space:
                    found = getattr(space[name], "reference", None) or getattr(space[name], "cases", None)
                    if callable(found):
                        return found(values, weights)
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__ in ("weighted_average", "by_loop", "by_einsum") \\
                and thing is not weighted_average:
            return thing(values, weights)
    return values[0] * 0
""",
)
answer(
    "reads the secret and /proc",
    "grader's files",
    f"""
import os, re
seen = []
for root in ("{ROOT}", ".", "..", "../.."):
    for name in (".secret", "gradebook.db", "nbgrader_config.py"):
        try:
            seen.append(open(os.path.join(root, name), "rb").read()[:80])
        except OSError:
            pass
for pid in os.listdir("/proc"):
    for name in ("environ", "cmdline", "maps"):
        try:
            text = open(f"/proc/{{pid}}/{{name}}", "rb").read()
            if b"ANATOMY_SECRET" in text or b"autograder.grading" in text or b"pytest" in text:
                seen.append(text[:80])
        except OSError:
            pass
secret = os.environ.get("ANATOMY_SECRET") or (seen and str(seen))
def weighted_average(values, weights):
    if secret:
        raise RuntimeError(f"found {{secret}}")
    return values[0] * 0
""",
)
answer(
    "reads other submissions",
    "grader's files",
    """
import os
found = None
for start in ("../../../submitted", "/tmp", "/root", "/home"):
    for root, folders, files in os.walk(start):
        for name in files:
            # nbgrader's own documentation holds folders of that name
            if name.endswith(".ipynb") and "submitted" in os.path.abspath(root) and "site-packages" not in root:
                found = os.path.join(root, name)
def weighted_average(values, weights):
    if found:
        raise RuntimeError(found)
    return values[0] * 0
""",
)

# ---- gradebook, network, processes
answer(
    "writes the gradebook",
    "grader's files",
    WRONG
    + f"""
import sqlite3, glob
for path in ["../../../gradebook.db", "{ROOT}/gradebook.db", *glob.glob("/tmp/*/*/*/gradebook.db")][:20]:
    try:
        db = sqlite3.connect(path)
        db.execute("UPDATE grade SET manual_score = 99, auto_score = 99")
        db.commit()
    except Exception as e:
        print(e)
""",
)
answer(
    "uses nbgrader's own gradebook",
    "judge",
    WRONG
    + """
try:
    from nbgrader.api import Gradebook
    with Gradebook("sqlite:///../../../gradebook.db") as gb:
        for s in gb.students:
            print(s)
except Exception as e:
    print(e)
""",
)
answer(
    "calls home",
    "network",
    """
import socket
reached = []
for host, port in (("127.0.0.1", @PORT@), ("localhost", 22), ("1.1.1.1", 53), ("::1", @PORT@)):
    try:
        socket.create_connection((host, port), timeout=1).sendall(b"hello")
        reached.append(host)
    except OSError:
        pass
def weighted_average(values, weights):
    if reached:
        raise RuntimeError(f"reached {reached}")
    return values[0] * 0
""",
)
answer(
    "thread that patches later",
    "processes",
    WRONG
    + """
import threading, time, torch
def later():
    while True:
        time.sleep(0.005)
        torch.equal = torch.allclose = lambda *a, **k: True
threading.Thread(target=later, daemon=True).start()
""",
)
answer(
    "leaves a process behind",
    "processes",
    WRONG
    + f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(2000):
            time.sleep(0.05)
            try:
                open("{ROOT}/.left-behind", "w").write("still here")
            except OSError:
                pass
    os._exit(0)
""",
)
answer(
    "startup files for later students",
    "grader's files",
    WRONG
    + f"""
import os, site
for folder in ("~/.ipython/profile_default/startup", "{ROOT}/course", site.getsitepackages()[0], "~/.config", "/tmp"):
    try:
        folder = os.path.expanduser(folder)
        os.makedirs(folder, exist_ok=True)
        for name in ("00-cheat.py", "usercustomize.py", "torch.py"):
            open(os.path.join(folder, name), "w").write("import torch; torch.equal = lambda *a: True")
    except OSError as e:
        print(e)
""",
)
answer(
    "atexit and destructors",
    "processes",
    WRONG
    + """
import atexit, os
atexit.register(lambda: print('{"passed": true}'))
class Last:
    def __del__(self): print("1.0")
last = Last()
""",
)
