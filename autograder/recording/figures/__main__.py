"""Command line: ``python -m autograder.recording.figures``."""

import sys

from autograder.recording.figures import NoDrawing, write_all

try:
    for name, text in write_all().items():
        print(f"{name}.svg: {text}")
except NoDrawing as error:
    sys.exit(str(error))
