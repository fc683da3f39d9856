"""A kernel extension that records the cost of each cell, in processor seconds of an idle core.

Wall time would also measure what else the machine is doing. While a long cell runs, how slow the core is is measured
every few seconds; after it the neighbors may be others.
"""

import json
import os
import threading
import time
from importlib import import_module

FILE = "TESTS_SECONDS"  # environment variable with the path of the file to write
EVERY = 2.0  # seconds between two looks at the core; a cell that ends before the first one is short


class Looks(threading.Thread):
    """Measures the core's slowness while ``running`` is set."""

    def __init__(self):
        super().__init__(daemon=True)
        self.running, self.paces, self.own = threading.Event(), [], 0.0

    def run(self):
        pace = import_module("yardstick").pace  # next to this file: there are no tests here
        import_module("torch").set_num_threads(1)  # of this thread alone: the time of helpers would count for the cell
        while self.running.wait():
            time.sleep(EVERY)
            if self.running.is_set():
                begun = time.thread_time()
                self.paces.append(pace())
                self.own += time.thread_time() - begun


def load_ipython_extension(shell):
    cell, begun = "", 0.0
    looks = Looks()
    looks.start()

    def begin(info):
        nonlocal cell, begun
        cell, begun = info.cell_id, time.process_time()
        looks.paces, looks.own = [], 0.0
        looks.running.set()

    def end(result):
        looks.running.clear()
        seconds, paces = time.process_time() - begun - looks.own, looks.paces
        pace = max(1.0, sum(paces) / len(paces)) if paces else 1.0
        with open(os.environ[FILE], "a", encoding="utf-8") as sink:
            sink.write(json.dumps([cell, seconds / pace]) + "\n")

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)
