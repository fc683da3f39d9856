"""Grades one submission, in a disposable process: runs its cells in a sandbox and judges its answers."""
