"""What a server of processes loads first, so that `import torch` in them means this package too."""

from . import install

install()
