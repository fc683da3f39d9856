"""What is kept of a class: the gradebook, attempts, tables, settings, the secret."""
