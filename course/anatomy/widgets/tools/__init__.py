"""What the widgets share: the base classes, calling a learner's function, drawing, following checks, and the page."""
