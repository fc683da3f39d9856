"""The instant check is instant (benchmarks/instant_check.py prints the table)."""

import statistics
import time

import pytest

from autograder import exercises
from benchmarks.instant_check import seconds


@pytest.mark.parametrize("unit", exercises.units())
def test_a_typical_check_takes_less_than_200_ms(unit):
    """Of processor time: wall time would measure what else the machine is doing."""
    times = [seconds(e, e.reference, time.process_time) for e in exercises.of_unit(unit)]
    assert statistics.median(times) < 0.2, times
