"""Turns submitted files into runnable notebooks: finding, opening, matching, rebuilding."""
