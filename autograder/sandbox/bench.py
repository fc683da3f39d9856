"""``python -m autograder.sandbox.bench``: time from start until a submission's first cell has used torch.

Prints the median, minimum and maximum of N starts for each kind of session, and of each call of a sandboxed session.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from .bubblewrap import BubblewrapSession
from .local import LocalSession
from .session import Session
from .zygote import SandboxedSession, Zygote

CELL = "import torch\nx = torch.randn(64, 64)\n(x @ x).sum()"


def measure(step: Callable[[], object], repeat: int) -> list[float]:
    """Run ``step`` ``repeat`` times; returns the wall times in milliseconds."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        step()
        times.append((time.perf_counter() - began) * 1000)
    return times


def first_cell(make: Callable[[], Session]) -> Callable[[], None]:
    def step() -> None:
        with make() as session:
            result = session.execute(CELL, timeout=60)
        if not result.ok:
            raise RuntimeError(f"{result.error_name}: {result.error_text}")

    return step


def line(what: str, times: list[float]) -> str:
    return f"{what:44s} {statistics.median(times):8.1f} {min(times):8.1f} {max(times):8.1f} {len(times):5d}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Latency of sessions.")
    parser.add_argument("--repeat", type=int, default=20, help="sandboxed sessions to start (default 20)")
    repeat = parser.parse_args().repeat
    few = max(3, repeat // 7)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'milliseconds':44s} {'median':>8s} {'min':>8s} {'max':>8s} {'n':>5s}")
    python = [sys.executable, "-c", CELL]
    print(line("python -c, no session", measure(lambda: subprocess.run(python, check=True), few)), flush=True)
    print(line("LocalSession, start to end", measure(first_cell(LocalSession), few)), flush=True)
    print(line("BubblewrapSession, start to end", measure(first_cell(BubblewrapSession), few)), flush=True)
    began = time.perf_counter()
    with Zygote() as zygote:
        print(line("Zygote, once", [(time.perf_counter() - began) * 1000]), flush=True)
        make = lambda: SandboxedSession(zygote)
        print(line("SandboxedSession, start to end", measure(first_cell(make), repeat)), flush=True)
        print(line("  of it: start and close", measure(lambda: make().close(), repeat)))
        with make() as session:
            session.execute(CELL)
            print(line("  each further cell", measure(lambda: session.execute("y = 1"), repeat)))
            print(line("  each question", measure(lambda: session.ask("reply = payload", b"x" * 4096), repeat)))
            megabyte = bytes(1 << 20)
            print(
                line(
                    "  each question with 1 MiB there and back",
                    measure(lambda: session.ask("reply = payload", megabyte), repeat),
                )
            )


if __name__ == "__main__":
    main()
