"""The name that `pullback.hub.load_state_dict_from_url` had once."""

from .. import hub
from ..hub import load_state_dict_from_url as load_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["load_url"]


def __getattr__(name: str) -> "Any":
    if name == "tqdm":
        return hub.tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
