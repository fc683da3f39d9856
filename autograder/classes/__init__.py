"""Where classes live: rosters, downloads of Moodle and Canvas, tables for them, and submissions that look alike."""
