"""One submission: its cells run in a sandbox, its answers judged, in a process that may be lost."""
