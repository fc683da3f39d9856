"""Long measurements that survive an interruption: each row is kept as soon as it is there."""

import json
import time

import torch

from autograder.recording.record import device_facts


class Rows:
    """Rows of one experiment, measured one after the other; ``<out>/<name>.partial`` holds those done so far.

    Rows are taken up again only if device, torch and ``setting`` are the same: a table whose rows come from two
    machines would be labeled wrongly. ``total`` is for the progress that is printed.
    """

    def __init__(self, name, options, setting, total):
        self.path = options.out / f"{name}.partial"
        self.rows, self.total, self.done = {}, total, 0
        head = json.dumps([device_facts(options.device), torch.__version__, setting], sort_keys=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        if lines and lines[0] == head:
            for line in lines[1:]:
                try:
                    key, row = json.loads(line)
                except ValueError:  # cut off in the middle of a line
                    break
                self.rows[key] = row
            print(f"{len(self.rows)} of {total} rows are there already: {self.path.name}", flush=True)
        options.out.mkdir(parents=True, exist_ok=True)
        # Written anew, so that a line cut off at the end does not spoil the next one.
        kept = [json.dumps(item) for item in self.rows.items()]
        self.path.write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")

    def row(self, key, measure):
        """The row of ``key`` (text): kept from before, or ``measure()``, a JSON-ready value."""
        self.done += 1
        if key not in self.rows:
            start = time.perf_counter()
            self.rows[key] = json.loads(json.dumps(measure()))
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self.rows[key]]) + "\n")
            print(f"[{self.done}/{self.total}] {key}  {time.perf_counter() - start:.1f} s", flush=True)
        return self.rows[key]

    def finish(self):
        """To be called when the experiment's file is written."""
        self.path.unlink()
