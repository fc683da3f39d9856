"""The command ``anatomy``: JupyterLab, updates that keep answers, the doctor, the gallery."""
