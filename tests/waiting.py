"""How long a test waits for what another process does. A busy machine takes ten times as long as a quiet one."""

import time
from collections.abc import Callable

PATIENCE = 60.0  # seconds; only what is broken waits that long


def wait_until(condition: Callable[[], object], otherwise: str = "it did not happen in time") -> None:
    """Asks until the answer is true; fails with ``otherwise`` after PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)
