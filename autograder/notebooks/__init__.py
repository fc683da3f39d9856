"""What a notebook is made of: a unit's text as cells, its numbers and verdicts, the release that a learner gets."""
