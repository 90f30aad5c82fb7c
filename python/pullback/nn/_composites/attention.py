"""Attention of several heads."""

from __future__ import annotations

import math

from ... import Tensor, baddbmm, bmm, cat, where, zeros
from ... import bool as boolean
from ..._warnings import warn
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
        raise AssertionError(
            f"only bool and floating types of {name} are supported, got {mask.dtype}; convert it with .bool()"
        )
    if other is not None and other.dtype != mask.dtype:
        warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    if mask.is_floating_point():
        return mask
    return where(mask, float("-inf"), zeros(mask.shape, dtype=like.dtype))


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
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported; give (L, S) or (N * heads, L, S)")
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


def _check_width(width: int, expected: int, heads: int) -> None:
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % heads != 0:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")


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
    padding, mask, is_causal = _masks(key_padding_mask, attn_mask, is_causal, need_weights, query)
    _check_width(width, embed_dim_to_check, num_heads)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _in_projection((query, key, value), in_proj_weight, weights, in_proj_bias)
    if mask is not None:
        mask = _check_mask(mask, batch, num_heads, target, k.shape[0])
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value; leave one of them out")
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = (None if m is None else F.pad(m, (0, 1)) for m in (mask, padding))
    rows, head = batch * num_heads, width // num_heads
    q = q.reshape(target, rows, head).transpose(0, 1)
    k = _heads("static_k", k, static_k, rows, head)
    v = _heads("static_v", v, static_v, rows, head)
    if add_zero_attn:
        k, v = (cat([t, t.new_zeros((rows, 1, head))], 1) for t in (k, v))
        mask, padding = (None if m is None else F.pad(m, (0, 1)) for m in (mask, padding))
    if padding is not None:
        mask = _merged(padding, mask, batch, num_heads, k.size(1))
    return _attended(
        (q, k, v), mask, (target, batch, num_heads), out_proj_weight, out_proj_bias,
        dropout_p if training else 0.0, need_weights, average_attn_weights, is_causal, batched,
    )  # fmt: skip


def _masks(
    padding: Tensor | None, mask: Tensor | None, is_causal: bool, need_weights: bool, query: Tensor
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks as what is added to scores, and whether a flag says the second one."""
    added = as_additive(padding, "key_padding_mask", mask, "attn_mask", query)
    if is_causal and mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint, which says of a mask that it is causal; give that mask, "
            "such as Transformer.generate_square_subsequent_mask(size)"
        )
    if is_causal and added is None and not need_weights:
        return None, None, True
    return added, as_additive(mask, "attn_mask", None, "", query), is_causal and added is None


def _in_projection(
    inputs: tuple[Tensor, Tensor, Tensor], weight: Tensor | None, weights: tuple[Any, Any, Any] | None, bias: Any
) -> list[Tensor]:
    """Queries, keys and values, by one matrix or by three."""
    query, key, value = inputs
    if weights is not None:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        return _separately(inputs, weights, bias)
    if key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None; give one of both")
    return _projected(query, key, value, weight, bias)


def _heads(name: str, t: Tensor, given: Tensor | None, rows: int, head: int) -> Tensor:
    """(S, N, E) as (N * heads, S, E / heads), or what was given in that form."""
    if given is not None:
        return _static(name, given, rows, head)
    return t.reshape(t.shape[0], rows, head).transpose(0, 1)


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
