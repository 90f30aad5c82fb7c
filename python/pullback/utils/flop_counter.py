"""`FlopCounterMode`, which programs name; nothing is counted here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FlopCounterMode"]


class FlopCounterMode:
    """A mode that counts floating-point operations in PyTorch. It can be made and asked for its counts, none.

    Args:
        mods: modules to count by; they are found by themselves.
        depth: how many levels of modules a table shows.
        display: whether a table is printed in the end.
        custom_mapping: formulas for further operators.
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        self.depth, self.display, self.mods = depth, display, mods

    def get_total_flops(self) -> int:
        """0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """No counts."""
        return {"Global": {}}

    def __enter__(self) -> FlopCounterMode:
        raise NotImplementedError(
            "FlopCounterMode: operations are not counted; profiler.profile measures how long operators take"
        )

    def __exit__(self, *error: object) -> None:
        return None
