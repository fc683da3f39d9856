"""The small language model of unit 12: its text (``corpus``), the trained one (``shipped``), and ``training`` live."""
