"""``python -m anatomy`` runs the command ``anatomy`` with the Python that it names."""

import sys

from .app.command import main

sys.exit(main())
