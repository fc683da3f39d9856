"""The small language model of unit 12: text (``corpus``), trained model (``shipped``), and live ``training``."""
