"""Reads a submission's source without running it: finds what it calls, defines and hides."""
