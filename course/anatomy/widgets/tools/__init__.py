"""Code that the widgets share: base classes, calling a learner's function, drawing, following checks, and the page."""
