"""What is wrong with an answer, in words: comparing, naming the mistake, saying where."""
