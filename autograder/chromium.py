"""Where Chromium is, for tests, stills and checks of the site."""

import shutil

# The headless shell is the same browser without windows: a test costs a fifth less time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")


def program() -> str:
    """Chromium's path. Raises RuntimeError, which says how to install it."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise RuntimeError("Chromium is not on the PATH. On Debian, install it as root: make system-packages")
    return found
