"""Names for the types that all widgets use."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from torch import Tensor

Function = Callable[..., Any]  # a learner's function, with unknown arguments and result
Functions = Mapping[str, Function]  # under the names that the widget lists
Inputs = dict[str, Tensor]  # from the recording
Tables = dict[str, np.ndarray]


class Widget(Protocol):
    """The interface that a widget's helpers need; see ``base.TableWidget``."""

    keyed: ClassVar[bool]
    asked_by: ClassVar[Mapping[str, str]]
    controls: ClassVar[tuple[str, ...]]
    alt: str
    comm: Any

    def given(self) -> dict[str, Function]: ...
    def own(self, slot: str) -> bool: ...
    def follow(self, checked: Mapping[str, Function]) -> None: ...
    def png(self) -> bytes: ...
    def observe(self, handler: Callable[[Any], None], names: Any) -> None: ...
