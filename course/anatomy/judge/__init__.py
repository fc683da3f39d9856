"""Explains what is wrong with an answer: compares results, names the mistake, says where it is."""
