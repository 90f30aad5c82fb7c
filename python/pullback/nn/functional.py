"""Layers and losses as plain functions."""

from .._members import members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core_nn_functional import *  # noqa: F403
    from ._composites.activations import celu as celu
    from ._composites.activations import celu_ as celu_
    from ._composites.activations import elu_ as elu_
    from ._composites.activations import gumbel_softmax as gumbel_softmax
    from ._composites.activations import hardshrink as hardshrink
    from ._composites.activations import hardsigmoid as hardsigmoid
    from ._composites.activations import hardswish as hardswish
    from ._composites.activations import hardtanh_ as hardtanh_
    from ._composites.activations import leaky_relu_ as leaky_relu_
    from ._composites.activations import prelu as prelu
    from ._composites.activations import relu_ as relu_
    from ._composites.activations import rrelu as rrelu
    from ._composites.activations import rrelu_ as rrelu_
    from ._composites.activations import selu as selu
    from ._composites.activations import selu_ as selu_
    from ._composites.activations import softmin as softmin
    from ._composites.activations import softshrink as softshrink
    from ._composites.activations import tanhshrink as tanhshrink
    from ._composites.activations import threshold as threshold
    from ._composites.activations import threshold_ as threshold_
    from ._composites.attention import multi_head_attention_forward as multi_head_attention_forward
    from ._composites.bags import embedding_bag as embedding_bag
    from ._composites.grids import affine_grid as affine_grid
    from ._composites.losses import cosine_embedding_loss as cosine_embedding_loss
    from ._composites.losses import gaussian_nll_loss as gaussian_nll_loss
    from ._composites.losses import hinge_embedding_loss as hinge_embedding_loss
    from ._composites.losses import margin_ranking_loss as margin_ranking_loss
    from ._composites.losses import multi_margin_loss as multi_margin_loss
    from ._composites.losses import multilabel_margin_loss as multilabel_margin_loss
    from ._composites.losses import multilabel_soft_margin_loss as multilabel_soft_margin_loss
    from ._composites.losses import poisson_nll_loss as poisson_nll_loss
    from ._composites.losses import smooth_l1_loss as smooth_l1_loss
    from ._composites.losses import soft_margin_loss as soft_margin_loss
    from ._composites.losses import triplet_margin_loss as triplet_margin_loss
    from ._composites.losses import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
    from ._composites.norms import alpha_dropout as alpha_dropout
    from ._composites.norms import dropout1d as dropout1d
    from ._composites.norms import dropout2d as dropout2d
    from ._composites.norms import dropout3d as dropout3d
    from ._composites.norms import feature_alpha_dropout as feature_alpha_dropout
    from ._composites.norms import instance_norm as instance_norm
    from ._composites.pools import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
    from ._composites.pools import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
    from ._composites.pools import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
    from ._composites.pools import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
    from ._composites.pools import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
    from ._composites.projected import linear_cross_entropy as linear_cross_entropy
    from ._composites.resizing import upsample as upsample
    from ._composites.resizing import upsample_bilinear as upsample_bilinear
    from ._composites.resizing import upsample_nearest as upsample_nearest
    from ._composites.shapes import bilinear as bilinear
    from ._composites.shapes import channel_shuffle as channel_shuffle
    from ._composites.shapes import conv_tbc as conv_tbc
    from ._composites.shapes import cosine_similarity as cosine_similarity
    from ._composites.shapes import local_response_norm as local_response_norm
    from ._composites.shapes import lp_pool1d as lp_pool1d
    from ._composites.shapes import lp_pool2d as lp_pool2d
    from ._composites.shapes import lp_pool3d as lp_pool3d
    from ._composites.shapes import native_channel_shuffle as native_channel_shuffle
    from ._composites.shapes import normalize as normalize
    from ._composites.shapes import pairwise_distance as pairwise_distance
    from ._composites.shapes import pixel_shuffle as pixel_shuffle
    from ._composites.shapes import pixel_unshuffle as pixel_unshuffle

# Functions written in operators of the table, by file; an operator of the table of the same name comes first.
_FILES = {
    "activations": "celu celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_ "
    "gumbel_softmax hardshrink hardsigmoid hardswish prelu rrelu selu softmin softshrink "
    "tanhshrink "
    "threshold",
    "attention": "multi_head_attention_forward",
    "bags": "embedding_bag",
    "grids": "affine_grid",
    "losses": "cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss "
    "multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss smooth_l1_loss soft_margin_loss "
    "triplet_margin_loss triplet_margin_with_distance_loss",
    "norms": "alpha_dropout dropout1d dropout2d dropout3d feature_alpha_dropout instance_norm",
    "pools": "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices "
    "fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices",
    "projected": "linear_cross_entropy",
    "resizing": "upsample upsample_bilinear upsample_nearest",
    "shapes": "bilinear channel_shuffle conv_tbc cosine_similarity local_response_norm lp_pool1d lp_pool2d lp_pool3d "
    "native_channel_shuffle normalize pairwise_distance pixel_shuffle pixel_unshuffle",
}
_COMPOSITES = {name: file for file, names in _FILES.items() for name in names.split()}

# The numbers by which `grid_sampler` knows the words of `grid_sample`.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

globals().update(members("nn.functional"))
__all__ = sorted({*members("nn.functional"), *_COMPOSITES})

if not TYPE_CHECKING:

    def __getattr__(name: "str") -> "Any":
        file = _COMPOSITES.get(name)
        if file is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from ._overriding import shown

        found = globals()[name] = shown(getattr(import_module(f"{__package__}._composites.{file}"), name))
        return found
