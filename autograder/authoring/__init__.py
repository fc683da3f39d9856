"""One command for authors: it begins an exercise, says what is missing, then records, builds and tests it."""
