"""Functions for the cells of notebooks: checks, cases, predictions, quizzes, plots."""
