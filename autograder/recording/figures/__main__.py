"""``python -m autograder.recording.figures``."""

from autograder.recording.figures import write_all

for name, text in write_all().items():
    print(f"{name}.svg: {text}")
