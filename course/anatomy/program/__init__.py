"""What is run and recorded: cases as programs, values as JSON and tensors, cost, distributions, recordings."""
