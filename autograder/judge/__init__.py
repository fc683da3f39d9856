"""Staff side of judging: specifies exercises and makes their records from references and mutants."""
