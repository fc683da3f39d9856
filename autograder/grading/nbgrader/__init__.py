"""Adapts nbgrader's own commands: they use the course's grading steps."""
