"""Where the course is installed, how it reads and writes files, and how it words and prints things. No torch here."""
