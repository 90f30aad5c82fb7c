"""Numbers without a pattern that are the same in every library, for data and for first weights."""

import json
import math

import torch

torch.set_default_dtype(torch.float64)


def numbers(*shape, phase=0.0, scale=1.0):
    flat = [scale * math.sin(12.9898 * (i + 1) + 78.233 * phase) for i in range(math.prod(shape))]
    return torch.tensor(flat).reshape(shape)


def filled(module):
    """The module, with weights of the usual size."""
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            fan_in = p.shape[1:].numel() if p.dim() > 1 else p.numel()
            p.copy_(numbers(*p.shape, phase=k, scale=1 / math.sqrt(max(1, fan_in))))
    return module


def plain(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def report(**results):
    """What the program found, as JSON on a line."""
    print(json.dumps(plain(results)))
