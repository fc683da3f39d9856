"""Names for what goes through every widget."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from torch import Tensor

Function = Callable[..., Any]  # a learner's: nothing is known of what it takes or returns
Functions = Mapping[str, Function]  # under the names that a widget of several knows
Inputs = dict[str, Tensor]  # from the recording
Tables = dict[str, np.ndarray]


class Widget(Protocol):
    """What a widget's helpers need of it; see ``base.TableWidget``."""

    keyed: ClassVar[bool]
    controls: ClassVar[tuple[str, ...]]
    alt: str
    comm: Any

    def given(self) -> dict[str, Function]: ...
    def own(self, slot: str) -> bool: ...
    def follow(self, checked: Mapping[str, Function]) -> None: ...
    def png(self) -> bytes: ...
    def observe(self, handler: Callable[[Any], None], names: Any) -> None: ...
