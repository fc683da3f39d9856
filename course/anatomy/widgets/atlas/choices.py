"""The choices in ModelAtlas: its rows, their years, and the values of each filter."""

from ...atlas import models
from ...atlas.words import UNKNOWN, families
from .page import FILTERS

ROWS = tuple(models())
YEARS = tuple(range(ROWS[0].year, ROWS[-1].year + 1))
INDEX = {row.name: i for i, row in enumerate(ROWS)}
ANY = "any"
CHOICES = {name: (ANY, *sorted({families(row)[name] for row in ROWS} - {UNKNOWN}), UNKNOWN) for name in FILTERS}
