"""What of a student's text may stand in a terminal, a report or a page."""


def printable(text: str) -> str:
    """The text without any character that could mislead a reader: what ``texts.printable`` leaves of it."""
    from anatomy.system import texts  # at the top it would bring torch to whatever starts a sandbox

    return texts.printable(text)
