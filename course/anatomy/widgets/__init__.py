"""Widgets that draw a learner's own function: ``from anatomy.widgets import RopeExplorer``."""

from pathlib import Path

from .activation import ActivationExplorer
from .attention import AttentionExplorer
from .base import TableWidget
from .cache import CacheCalculator
from .calls import WrongOutput
from .gradient import GradientFlowExplorer
from .mask import MaskExplorer
from .mix import MixExplorer
from .norm import NormExplorer
from .objective import ObjectiveLab
from .permutation import PermutationExplorer
from .position import PositionExplorer
from .rope import RopeExplorer
from .sparse import SparseExplorer
from .stability import SoftmaxStabilityExplorer
from .stepper import CacheStepper
from .wavelength import WavelengthExplorer

# nbconvert's lab template drops alt text; --template=course with this folder as a base directory keeps it.
TEMPLATES = Path(__file__).parent / "templates"

__all__ = [
    "TEMPLATES",
    "ActivationExplorer",
    "AttentionExplorer",
    "CacheCalculator",
    "CacheStepper",
    "GradientFlowExplorer",
    "MaskExplorer",
    "MixExplorer",
    "NormExplorer",
    "ObjectiveLab",
    "PermutationExplorer",
    "PositionExplorer",
    "RopeExplorer",
    "SoftmaxStabilityExplorer",
    "SparseExplorer",
    "TableWidget",
    "WavelengthExplorer",
    "WrongOutput",
]
