"""Attention of several heads."""

from __future__ import annotations

import math
import warnings

from ... import Tensor, baddbmm, bmm, cat, where, zeros
from ... import bool as boolean
from .. import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_additive(mask: Tensor | None, name: str, other: Tensor | None, other_name: str, like: Tensor) -> Tensor | None:
    """A mask to be added to scores: that of booleans is -inf where it is True.

    Raises AssertionError for a mask of integers.
    """
    if mask is None:
        return None
    if mask.dtype != boolean and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return where(mask, float("-inf"), zeros(mask.shape, dtype=like.dtype))  # type: ignore[no-any-return]


def _check_dims(query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, n: int) -> bool:
    """Whether there is a batch. Raises AssertionError for numbers of dimensions that do not fit."""
    d = query.dim()
    if d not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {d}-D query tensor")
    kind = f"For {'batched (3-D)' if d == 3 else 'unbatched (2-D)'} `query`"
    if key.dim() != d or value.dim() != d:
        raise AssertionError(
            f"{kind}, expected `key` and `value` to be {d}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if padding is not None and padding.dim() != d - 1:
        raise AssertionError(
            f"{kind}, expected `key_padding_mask` to be `None` or {d - 1}-D but found {padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"{kind}, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    if mask is not None and d == 2 and mask.dim() == 3 and mask.shape != (n, query.shape[0], key.shape[0]):
        expected = (n, query.shape[0], key.shape[0])
        raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return d == 3


def _projected(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> list[Tensor]:
    """Queries, keys and values by one matrix, in as few products as their being the same allows."""
    e = query.size(-1)
    if key is value and query is key:
        return list(F.linear(query, weight, bias).chunk(3, -1))
    if key is value:
        bq, bkv = (None, None) if bias is None else bias.split([e, 2 * e])
        wq, wkv = weight.split([e, 2 * e])
        return [F.linear(query, wq, bq), *F.linear(key, wkv, bkv).chunk(2, -1)]
    biases: Any = (None, None, None) if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True)]


def _separately(
    inputs: tuple[Tensor, Tensor, Tensor], weights: tuple[Any, Any, Any], bias: Tensor | None
) -> list[Tensor]:
    for name, w in zip("qkv", weights, strict=True):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases: Any = (None, None, None) if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _check_mask(mask: Tensor, batch: int, heads: int, target: int, source: int) -> Tensor:
    expected = (target, source) if mask.dim() == 2 else (batch * heads, target, source)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {tuple(mask.shape)}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _static(name: str, t: Tensor, rows: int, width: int) -> Tensor:
    if t.size(0) != rows or t.size(2) != width:
        raise AssertionError(
            f"expecting {name}.size(0) of {rows} and {name}.size(2) of {width}, but got {t.size(0)} and {t.size(2)}"
        )
    return t


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads: queries (L, N, E), keys and values (S, N, E), or without the batch N.

    Gives (L, N, E), and the weights (N, L, S), or (N, heads, L, S) if they are not averaged, unless `need_weights` is
    False.

    Raises:
        AssertionError: for dimensions that do not fit.
        RuntimeError: for a mask of another shape, or `is_causal` without `attn_mask`.
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same, pair = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same else key.unsqueeze(1)
        value = key if pair else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, width = query.shape
    padding = as_additive(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and padding is None and not need_weights:
        attn_mask = None  # said by the flag
    else:
        attn_mask = as_additive(attn_mask, "attn_mask", None, "", query)
        is_causal = is_causal and padding is None
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _separately((query, key, value), weights, in_proj_bias)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _check_mask(attn_mask, batch, num_heads, target, k.shape[0])
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, padding = (None if m is None else F.pad(m, (0, 1)) for m in (attn_mask, padding))
    rows = batch * num_heads
    q = q.reshape(target, rows, head).transpose(0, 1)
    k = (
        k.reshape(k.shape[0], rows, head).transpose(0, 1)
        if static_k is None
        else _static("static_k", static_k, rows, head)
    )
    v = (
        v.reshape(v.shape[0], rows, head).transpose(0, 1)
        if static_v is None
        else _static("static_v", static_v, rows, head)
    )
    if add_zero_attn:
        k, v = (cat([t, t.new_zeros((rows, 1, head))], 1) for t in (k, v))
        attn_mask, padding = (None if m is None else F.pad(m, (0, 1)) for m in (attn_mask, padding))
    if padding is not None:
        attn_mask = _merged(padding, attn_mask, batch, num_heads, k.size(1))
    return _attended(
        (q, k, v), attn_mask, (target, batch, num_heads), out_proj_weight, out_proj_bias,
        dropout_p if training else 0.0, need_weights, average_attn_weights, is_causal, batched,
    )  # fmt: skip


def _merged(padding: Tensor, mask: Tensor | None, batch: int, heads: int, source: int) -> Tensor:
    if tuple(padding.shape) != (batch, source):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, source)}, but got {tuple(padding.shape)}")
    spread = padding.reshape(batch, 1, 1, source).expand(-1, heads, -1, -1).reshape(batch * heads, 1, source)
    return spread if mask is None else mask + spread


def _attended(
    qkv: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None,
    sizes: tuple[int, int, int],
    out_weight: Tensor,
    out_bias: Tensor | None,
    dropout: float,
    need_weights: bool,
    average: bool,
    is_causal: bool,
    batched: bool,
) -> tuple[Tensor, Tensor | None]:
    q, k, v = qkv
    target, batch, heads = sizes
    head, source = q.size(-1), k.size(1)
    weights: Tensor | None = None
    if need_weights:
        scaled = q * math.sqrt(1.0 / head)
        scores = bmm(scaled, k.mT) if mask is None else baddbmm(mask, scaled, k.mT)
        weights = F.softmax(scores, -1)
        if dropout > 0.0:
            weights = F.dropout(weights, dropout)
        out = bmm(weights, v)
    else:
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.size(0) == 1 else mask.reshape(batch, heads, -1, source)
        q, k, v = (t.reshape(batch, heads, t.size(1), head) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal).reshape(batch * heads, target, head)
    out = out.transpose(0, 1).reshape(target * batch, heads * head)
    out = F.linear(out, out_weight, out_bias).reshape(target, batch, out_weight.size(0))
    if weights is not None:
        weights = weights.reshape(batch, heads, target, source)
        weights = weights.mean(1) if average else weights
    if not batched:
        out, weights = out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights
