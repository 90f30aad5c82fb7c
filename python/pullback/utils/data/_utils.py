"""What programs find under this name in PyTorch: how batches are put together, and what workers do."""

from . import collate as collate
from . import worker as worker
