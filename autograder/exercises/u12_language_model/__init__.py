"""Specs of unit 12: a model that counts, byte-pair encoding, generation, and the head that copies."""
