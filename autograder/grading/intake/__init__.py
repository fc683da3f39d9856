"""From files somebody handed in to a notebook that can be run: finding, opening, matching, rebuilding."""
