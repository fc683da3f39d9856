"""Many submissions: processes on this machine, or a Dask cluster."""
