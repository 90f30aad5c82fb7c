"""The name that `pullback.hub.load_state_dict_from_url` had once."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
