"""Stores everything about a class: the gradebook, attempts, tables, settings, the secret."""
