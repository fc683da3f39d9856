"""Installation, files, and how the course translates and prints what it says. No torch here."""
