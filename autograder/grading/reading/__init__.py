"""Reads a student's source without running it: what answers call, and what could change what that means."""
