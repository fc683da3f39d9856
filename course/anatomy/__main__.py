"""``python -m anatomy`` is the command ``anatomy``, by the Python that is meant."""

import sys

from .app.command import main

sys.exit(main())
