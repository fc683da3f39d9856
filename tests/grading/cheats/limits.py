"""Cheats that end, block or exhaust the process that grades them. The sandbox limits the damage of all of them."""

from .base import WRONG, answer

# ---- code that ends the process
answer(
    "ends its process",
    "processes",
    """
import os
def weighted_average(values, weights):
    os._exit(0)
""",
)
answer("ends its process while the cell runs", "processes", WRONG + "import os\nos._exit(0)\n")
answer(
    "kills its parents",
    "processes",
    """
import os, signal
def weighted_average(values, weights):
    for pid in (os.getppid(), 1, -1):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    return values[0] * 0
""",
)
answer(
    "raises SystemExit and KeyboardInterrupt",
    "processes",
    """
def weighted_average(values, weights):
    raise (SystemExit if len(weights) == 2 else KeyboardInterrupt)(0)
""",
    seen=None,
)
answer(
    "ignores signals and sleeps",
    "processes",
    """
import signal, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGXCPU):
    signal.signal(s, signal.SIG_IGN)
def weighted_average(values, weights):
    time.sleep(1000)
""",
    slow=True,
)

# ---- bombs (limited by the sandbox)
answer(
    "endless loop in the answer",
    "resources",
    """
def weighted_average(values, weights):
    while True:
        pass
""",
    slow=True,
)
answer("endless loop in the cell", "resources", WRONG + "while True:\n    pass\n", slow=True, seen=None)
answer(
    "memory bomb",
    "resources",
    """
import torch
def weighted_average(values, weights):
    kept = []
    while True:
        kept.append(torch.ones(64 << 20))
""",
    slow=True,
    seen=None,
)
answer(
    "process bomb",
    "processes",
    WRONG
    + """
import os, time
for _ in range(400):
    try:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
    except OSError:
        break
""",
    slow=True,
)
answer("output flood", "resources", WRONG + "for _ in range(3000):\n    print('x' * 100_000)\n", slow=True, seen=None)
answer(
    "disk bomb",
    "resources",
    WRONG
    + """
import os
for folder in ("/tmp", "/dev/shm", os.path.expanduser("~"), "."):
    try:
        with open(os.path.join(folder, "big"), "wb") as f:
            for _ in range(500):
                f.write(b"0" * (1 << 20))
    except OSError:
        pass
""",
    slow=True,
    seen=None,
)
answer(
    "huge reply",
    "resources",
    """
import torch
def weighted_average(values, weights):
    return torch.zeros(1 << 26)
""",
    slow=True,
)
answer(
    "deep recursion and nested replies",
    "resources",
    """
def weighted_average(values, weights):
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested
""",
    seen=None,
)
