"""``python -m autograder.site`` (make site)."""

import sys

from .build import main

sys.exit(main())
