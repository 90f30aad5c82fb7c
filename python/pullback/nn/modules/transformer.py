"""Transformers."""

from __future__ import annotations

import copy

from ... import Tensor, _core, full, is_autocast_enabled, is_grad_enabled, triu
from ... import bool as bool_
from .. import functional as F
from .. import init
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

is_plain: Any = _core.autograd._is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _kind_of_activation(activation: Any) -> int:
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


def _get_activation_fn(activation: str | Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    if not callable(activation):
        raise RuntimeError(f"activation should be 'relu', 'gelu' or a function, not {activation!r}")
    return activation


def _generate_square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    return triu(full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """What is said, or else whether the mask hides the future and nothing more."""
    if is_causal is not None:
        return is_causal
    if mask is None:
        return False
    n = size if size is not None else mask.size(-2)
    causal = _generate_square_subsequent_mask(n, mask.device, mask.dtype if mask.is_floating_point() else None)
    return bool(mask.shape == causal.shape and mask.is_floating_point() and (mask == causal).all())


def _sequence_length(x: Tensor, batch_first: bool) -> int:
    return x.size(0) if x.dim() == 2 else x.size(1 if batch_first else 0)


class TransformerEncoderLayer(Module):
    """Self-attention and two linear layers, each with a residual and a norm: (S, N, E), or (N, S, E) with
    `batch_first`.

    >>> import pullback
    >>> m = pullback.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> m(pullback.ones(5, 3, 8)).shape
    pullback.Size([5, 3, 8])

    Raises RuntimeError for an activation that is neither "relu", "gelu" nor callable.
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)
        # Which programs that copy this class look at: 0 for another function.
        self.activation_relu_or_gelu = _kind_of_activation(self.activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False) -> Tensor:
        out = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal
        )[0]
        return self.dropout1(out)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to a memory, and two linear layers, each with a residual and a norm.

    Targets are (T, N, E), the memory (S, N, E); with `batch_first` the batch comes first.

    >>> import pullback
    >>> m = pullback.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> m(pullback.ones(4, 3, 8), pullback.ones(5, 3, 8)).shape
    pullback.Size([4, 3, 8])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"device": device, "dtype": dtype}
        attention: Any = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False) -> Tensor:
        out = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout1(out)

    def _mha_block(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        out = self.multihead_attn(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout2(out)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _get_clones(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _takes_members_of_any_length(layer: Any) -> bool:
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first or not layer.self_attn.batch_first:
        return False
    attention = layer.self_attn
    known = attention._qkv_same_embed_dim and attention.in_proj_bias is not None and layer.activation_relu_or_gelu != 0
    return bool(known and layer.norm1.eps == layer.norm2.eps and attention.num_heads % 2 == 0)


def _is_padding(mask: Tensor) -> Tensor:
    return mask if mask.dtype is bool_ else mask != 0


class TransformerEncoder(Module):
    """Copies of an encoder layer in a row, and a norm behind them.

    >>> import pullback
    >>> layer = pullback.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> pullback.nn.TransformerEncoder(layer, num_layers=2)(pullback.ones(5, 3, 8)).shape
    pullback.Size([5, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        # Whether members of a batch may end where their padding begins.
        self.use_nested_tensor = enable_nested_tensor and _takes_members_of_any_length(encoder_layer)
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        batch_first = bool(getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False))
        causal = _detect_is_causal_mask(mask, is_causal, _sequence_length(src, batch_first))
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and mask is None and self._leaves_out(src, src_key_padding_mask):
            out = out.masked_fill(_is_padding(src_key_padding_mask).unsqueeze(-1), 0.0)
        return out if self.norm is None else self.norm(out)

    def _leaves_out(self, src: Tensor, padding: Tensor) -> bool:
        """Whether the layers give zeros for padding, as in PyTorch, whose members end before it there: in evaluation,
        without gradients, where padding is at the end."""
        from ...backends import mha

        if not (getattr(self, "use_nested_tensor", False) and src.dim() == 3 and mha.get_fastpath_enabled()):
            return False
        first: Any = self.layers[0]
        plain = is_plain(src) and is_plain(padding) and type(src) is Tensor
        if first.training or not plain or is_autocast_enabled():
            return False
        if is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())):
            return False
        hidden = _is_padding(padding)
        return not self.mask_check or bool((hidden[:, 1:] >= hidden[:, :-1]).all())


class TransformerDecoder(Module):
    """Copies of a decoder layer in a row, and a norm behind them.

    >>> import pullback
    >>> layer = pullback.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> pullback.nn.TransformerDecoder(layer, num_layers=2)(pullback.ones(4, 3, 8), pullback.ones(5, 3, 8)).shape
    pullback.Size([4, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_first = bool(getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False))
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, _sequence_length(tgt, batch_first))
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder and a decoder, after "Attention Is All You Need".

    >>> import pullback
    >>> m = pullback.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16)
    >>> m(pullback.ones(5, 3, 8), pullback.ones(4, 3, 8)).shape
    pullback.Size([4, 3, 8])

    Raises RuntimeError for batches of different sizes, or a last dimension other than `d_model`.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"bias": bias, "device": device, "dtype": dtype}
        layer: Any = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            norm = LayerNorm(d_model, eps=layer_norm_eps, **options)
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*layer, **options), num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            norm = LayerNorm(d_model, eps=layer_norm_eps, **options)
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*layer, **options), num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, but they have the shapes {list(src.shape)} and "
                f"{list(tgt.shape)}; batch_first says which dimension it is"
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, {self.d_model}, but they are "
                f"{src.size(-1)} and {tgt.size(-1)}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A (sz, sz) mask with -inf where a position comes later."""
        return _generate_square_subsequent_mask(sz, device, dtype)
