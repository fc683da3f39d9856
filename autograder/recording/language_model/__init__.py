"""The small language model of unit 12: its text, its training, and the checkpoint that learners load.

``text`` cleans six novels and writes ``assets/text/austen``; ``training`` trains; ``checkpoint`` writes
``assets/models/austen`` in the format of ``transformers``. ``experiments/language_model.py`` runs everything.
"""
