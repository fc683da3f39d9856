"""One command for an author: it begins an exercise, says what it lacks, then records, builds and tests it."""
