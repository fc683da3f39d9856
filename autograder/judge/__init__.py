"""Staff side of judging: how an exercise is specified, and how its record is made from references and mutants."""
