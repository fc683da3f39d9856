"""Widgets that draw a learner's own function: ``from anatomy.widgets import RopeExplorer``.

Each widget has its own folder and one line here that registers it; ``tools`` holds the shared code.
"""

from pathlib import Path

from .activation import ActivationExplorer as ActivationExplorer
from .anatomy import AnatomyView as AnatomyView
from .atlas import ModelAtlas as ModelAtlas
from .attention import AttentionExplorer as AttentionExplorer
from .cache import CacheCalculator as CacheCalculator
from .experts import ExpertsExplorer as ExpertsExplorer
from .gradient import GradientFlowExplorer as GradientFlowExplorer
from .mask import MaskExplorer as MaskExplorer
from .memory import MemoryExplorer as MemoryExplorer
from .merge import MergeExplorer as MergeExplorer
from .mix import MixExplorer as MixExplorer
from .norm import NormExplorer as NormExplorer
from .objective import ObjectiveLab as ObjectiveLab
from .permutation import PermutationExplorer as PermutationExplorer
from .position import PositionExplorer as PositionExplorer
from .rope import RopeExplorer as RopeExplorer
from .rope.frequencies import WavelengthExplorer as WavelengthExplorer
from .sampling import SamplingExplorer as SamplingExplorer
from .sparse import SparseExplorer as SparseExplorer
from .stability import SoftmaxStabilityExplorer as SoftmaxStabilityExplorer
from .stepper import CacheStepper as CacheStepper
from .tiles import TilesExplorer as TilesExplorer
from .tools.base import TableWidget
from .tools.calls import WrongOutput

# folder → widget
REGISTERED: dict[str, type[TableWidget]] = {
    kind.recording: kind
    for kind in list(vars().values())
    if isinstance(kind, type) and issubclass(kind, TableWidget) and kind is not TableWidget
}

# nbconvert's lab template drops alt text; --template=course with this folder as a base directory keeps it.
TEMPLATES = Path(__file__).parent / "tools" / "templates"

__all__ = [
    "TEMPLATES",
    "TableWidget",
    "WavelengthExplorer",
    "WrongOutput",
    *sorted(kind.__name__ for kind in REGISTERED.values()),
]
