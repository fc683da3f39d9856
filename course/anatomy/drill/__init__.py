"""The command ``anatomy drill``: what to write again and when, in notebooks of their own."""
