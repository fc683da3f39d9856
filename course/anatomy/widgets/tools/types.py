"""Names for what goes through every widget."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

Function = Callable[..., Any]  # a learner's: nothing is known of what it takes or returns
Functions = Mapping[str, Function]  # under the names that a widget of several knows
Inputs = dict[str, Tensor]  # from the recording
Tables = dict[str, np.ndarray]
