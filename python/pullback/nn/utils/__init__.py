"""Tools for parameters and modules."""

# Files and functions of one name: who imports the file later finds the function here all the same.
from .spectral_norm import remove_spectral_norm as remove_spectral_norm
from .spectral_norm import spectral_norm as spectral_norm
from .weight_norm import remove_weight_norm as remove_weight_norm
from .weight_norm import weight_norm as weight_norm

_FILES = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}
_SUBMODULES = (
    *("clip_grad", "convert_parameters", "fusion", "init", "memory_format", "parametrizations", "parametrize"),
    *("prune", "rnn", "stateless"),
)
_CONTENTS = {name: file for file, names in _FILES.items() for name in names.split()}
_NORMS = ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm")
__all__ = sorted([*_SUBMODULES, *_CONTENTS, *_NORMS])

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import clip_grad as clip_grad
    from . import convert_parameters as convert_parameters
    from . import fusion as fusion
    from . import init as init
    from . import parametrizations as parametrizations
    from . import parametrize as parametrize
    from . import prune as prune
    from . import rnn as rnn
    from . import stateless as stateless
    from .clip_grad import clip_grad_norm as clip_grad_norm
    from .clip_grad import clip_grad_norm_ as clip_grad_norm_
    from .clip_grad import clip_grad_value_ as clip_grad_value_
    from .clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
    from .clip_grad import get_total_norm as get_total_norm
    from .convert_parameters import parameters_to_vector as parameters_to_vector
    from .convert_parameters import vector_to_parameters as vector_to_parameters
    from .fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
    from .fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
    from .fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
    from .fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
    from .init import skip_init as skip_init
    from .memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
    from .memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format


def __getattr__(name: "str") -> "Any":
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    holder = _CONTENTS.get(name)
    if holder is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{holder}"), name)
    globals()[name] = found
    return found
