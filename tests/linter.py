"""What ``make lint`` finds in a text, as if it were in a file of the repository."""

import json
import subprocess

from autograder import ROOT


def found_in(text: str, path: str) -> set[tuple[int, str]]:
    """{(line, rule)} of ruff's findings with the repository's settings. path: from the root; nothing is written."""
    line = [ROOT / ".venv" / "bin" / "ruff", "check", "--output-format", "json", "--stdin-filename", path, "-"]
    done = subprocess.run(line, cwd=ROOT, input=text, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return {(one["location"]["row"], one["code"]) for one in json.loads(done.stdout)}
