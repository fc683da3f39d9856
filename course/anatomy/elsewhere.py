"""The setup that the first cell of a notebook calls on Colab and on Kaggle."""

from .system.hosted import settle as settle
