"""Long measurements that survive an interruption: each row is saved as soon as it is measured."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from anatomy.system import files

from autograder.recording.references import device_facts

OUT_OF_TIME = 75  # exit status: stopped cleanly, the next call continues


class Rows:
    """Rows of one experiment, measured one after the other; ``<out>/<name>.partial`` holds those done so far.

    Saved rows are reused only if device, torch and ``setting`` are the same: a table with rows from two machines would
    be labeled wrongly. ``total`` is used for the printed progress. With ``options.minutes``, the process exits with
    status 75 before a row that would probably not finish in time.
    """

    def __init__(self, name: str, options: argparse.Namespace, setting: object, total: int):
        self.name, self.path, self.options = name, options.out / f"{name}.partial", options
        self.rows: dict[str, Any] = {}
        self.fresh: list[float] = []  # seconds of the rows that this process measured
        self.total, self.done, self.start = total, 0, time.monotonic()
        options.seconds = 0.0
        head = json.dumps([device_facts(options.device), torch.__version__, setting], sort_keys=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        kept = []
        if lines and lines[0] == head:
            for line in lines[1:]:
                try:
                    key, row, seconds = json.loads(line)
                except ValueError:  # cut off in the middle of a line
                    break
                self.rows[key] = row
                options.seconds += seconds
                kept.append(line)
            print(f"{len(self.rows)} of {total} rows are there already: {self.path.name}", flush=True)
        # Rewrite the file, so that a truncated last line does not spoil the next one.
        files.replace(self.path, ("\n".join([head, *kept]) + "\n").encode())

    def row(self, key: str, measure: Callable[[], Any]) -> Any:
        """The row of ``key`` (text): the saved one, or the result of ``measure()``, a JSON-ready value."""
        self.done += 1
        if key not in self.rows:
            self._stop_in_time()
            start = time.perf_counter()
            self.rows[key] = json.loads(json.dumps(measure()))
            seconds = time.perf_counter() - start
            self.fresh.append(seconds)
            self.options.seconds += seconds
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self.rows[key], round(seconds, 3)]) + "\n")
            left = sum(self.fresh) / len(self.fresh) * (self.total - self.done)
            print(f"{self.name} [{self.done}/{self.total}] {key}  {seconds:.1f} s, about {left:.0f} s left", flush=True)
        return self.rows[key]

    def _stop_in_time(self):
        if getattr(self.options, "minutes", None) is None:
            return
        # Rows differ in duration; the last one is the best estimate for the next.
        left = 60 * self.options.minutes - (time.monotonic() - self.start)
        if left < (1.5 * self.fresh[-1] if self.fresh else 0):
            print(
                f"{self.name}: out of time with {len(self.rows)} of {self.total} rows; the next call goes on.",
                flush=True,
            )
            sys.exit(OUT_OF_TIME)

    def finish(self) -> None:
        """Removes the partial file; call it after the experiment's file is written."""
        self.path.unlink()
