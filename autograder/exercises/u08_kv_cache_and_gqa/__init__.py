"""Specs of unit 08: what decoding stores, how heads share it, what it costs, and how it is kept small."""
