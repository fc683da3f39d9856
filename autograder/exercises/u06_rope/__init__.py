"""Specs of unit 06: rotary positions, from the turn of a plane to stretched contexts."""
