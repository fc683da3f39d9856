"""Grades many submissions in parallel: in processes on this machine, or on a Dask cluster."""
