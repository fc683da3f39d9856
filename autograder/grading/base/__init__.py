"""What every room of grading needs: the trusted notebooks, names and words."""
