"""Specs of unit 90: sampling."""
