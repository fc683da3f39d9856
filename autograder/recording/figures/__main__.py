"""``python -m autograder.recording.figures``."""

from autograder.recording.figures import write

for name, text in write().items():
    print(f"{name}.svg: {text}")
