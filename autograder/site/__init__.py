"""The course's pages on the web."""
