"""What a notebook's cells call: checks, cases, predictions, quizzes, plots."""
