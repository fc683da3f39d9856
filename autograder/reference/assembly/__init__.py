"""A whole model from a configuration: one dict of plain values determines its parts and their sizes.

The keys and their meanings are those of ``anatomy.models.config``; a key that a part does not read changes nothing.
The same wiring serves every family, and a variant is a small subclass. ``autograder.reference.models`` has each
family separately.
"""
