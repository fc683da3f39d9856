"""Author's source (``solutions/NN-name.py``) → nbgrader's source notebooks → the released notebooks in ``course/``."""
