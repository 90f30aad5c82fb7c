"""What functorch has under this name."""

from __future__ import annotations

from ..func import functionalize as functionalize
from ..func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_

__all__ = ["functionalize", "replace_all_batch_norm_modules_"]
