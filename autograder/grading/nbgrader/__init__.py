"""nbgrader's own commands with the course's steps in them."""
