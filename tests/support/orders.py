"""Programs whose results lie in memory in some order, on operands that lie in many: tests/reference/orders.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Program = Callable[[Any], Any]

# sizes, and the dimensions from the slowest to the fastest
ARRANGED = [
    ((3, 4), (1, 0)),
    ((40, 50), (1, 0)),
    ((2, 3, 4), (2, 0, 1)),
    ((2, 3, 4), (1, 0, 2)),
    ((3, 1, 4), (2, 1, 0)),
    ((2, 3, 4, 5), (0, 2, 3, 1)),
    ((2, 1, 4, 5), (0, 2, 3, 1)),
    ((4, 3, 1, 1), (0, 2, 3, 1)),
    ((6, 3, 4, 5), (3, 2, 1, 0)),
    ((2, 2, 2, 2, 2), (4, 2, 0, 1, 3)),
]

# As above, with dimensions of size 1, whose strides lead nowhere and are seen all the same.
SINGLES = [
    ((1, 4), (1, 0)),
    ((4, 1), (1, 0)),
    ((2, 1, 4), (0, 2, 1)),
    ((1, 3, 4), (1, 2, 0)),
    ((2, 3, 4), (0, 2, 1)),
    ((2, 1, 4, 5), (0, 2, 3, 1)),
    ((4, 3, 1, 1), (0, 2, 3, 1)),
    ((1, 3, 4, 5), (0, 2, 3, 1)),
    ((2, 3, 4, 5), (0, 2, 3, 1)),
    ((2, 3, 1, 4, 5), (0, 2, 3, 4, 1)),
]

UNARY = (
    "abs acos angle ceil clone cos digamma empty_like erf exp expm1 frac isfinite isnan log1p logical_not nan_to_num "
    "neg ones_like rand_like reciprocal relu rsqrt sigmoid sign sin sqrt square tanh trunc zeros_like"
).split()
BINARY = "add atan2 copysign div eq fmod hypot logaddexp lt maximum mul pow sub".split()
ACTIVATIONS = (
    "celu elu gelu hardsigmoid hardswish hardtanh leaky_relu mish relu6 selu silu softplus softshrink softsign "
    "tanhshrink"
).split()
INPLACE = {
    "add_": lambda y, rows: y.add_(1),
    "mul_": lambda y, rows: y.mul_(rows),
    "copy_": lambda y, rows: y.copy_(rows),
    "zero_": lambda y, rows: y.zero_(),
    "uniform_": lambda y, rows: y.uniform_(),
    "exp_": lambda y, rows: y.exp_(),
    "masked_fill_": lambda y, rows: y.masked_fill_(rows > 1, 0.0),
    "cumsum_": lambda y, rows: y.cumsum_(0),
    "y[0] = 5": lambda y, rows: y.__setitem__(0, 5.0),
    "y[rows > 1] = 0": lambda y, rows: y.__setitem__(rows > 1, 0.0),
    "y[...] = rows": lambda y, rows: y.__setitem__(Ellipsis, rows),
    "y.select(0, 0).fill_(1)": lambda y, rows: y.select(0, 0).fill_(1.0),
}
GRADIENTS: dict[str, Program] = {
    "exp": lambda y: y.exp(),
    "sum": lambda y: y.sum(0),
    "transpose": lambda y: y.transpose(0, -1) * 2,
    "product": lambda y: y.transpose(-1, -2) @ y,
    "reshape": lambda y: y.reshape(-1) * 3,
    "select": lambda y: y[0],
}


def arranged(torch: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    back = [order.index(d) for d in range(len(order))]
    sizes = [shape[d] for d in order]
    n = torch.Size(sizes).numel()
    return (torch.arange(n) * 0.37 % 3.1 + 0.1).reshape(sizes).permute(back)


def operands(torch: Any) -> Iterator[tuple[str, Any]]:
    """Without gaps, with gaps, from a later element on, and repeating along the first dimension."""
    for shape, order in ARRANGED:
        name = f"{shape} as {order}"
        yield name, arranged(torch, shape, order)
        yield f"{name}, every other", arranged(torch, (*shape[:-1], 2 * shape[-1]), order)[..., ::2]
        yield f"{name}, from 1", arranged(torch, (shape[0] + 1, *shape[1:]), order)[1:]
        if shape[0] > 2:
            yield f"{name}, expanded", arranged(torch, (1, *shape[1:]), order).expand(shape)


def programs(torch: Any) -> dict[str, Program]:
    F = torch.nn.functional
    found: dict[str, Program] = {name: getattr(torch, name) for name in UNARY}
    found |= {f"F.{name}": getattr(F, name) for name in ACTIVATIONS}
    for name in BINARY:
        f = getattr(torch, name)
        found[f"{name}(x, x)"] = lambda x, f=f: f(x, x)
        found[f"{name}(x, rows)"] = lambda x, f=f: f(x, x.contiguous())
        found[f"{name}(rows, x)"] = lambda x, f=f: f(x.contiguous(), x)
        found[f"{name}(x, vector)"] = lambda x, f=f: f(x, torch.ones(x.shape[-1]))
        found[f"{name}(vector, x)"] = lambda x, f=f: f(torch.ones(x.shape[-1]), x)
        found[f"{name}(x[:1], x)"] = lambda x, f=f: f(x[:1], x)
    found |= {
        "x + 2": lambda x: x + 2,
        "2 - x": lambda x: 2 - x,
        "1 / x": lambda x: 1 / x,
        "2 ** x": lambda x: 2**x,
        "x.double()": lambda x: x.double(),
        "x.to(float64, copy)": lambda x: x.to(torch.float64, copy=True),
        "x.bool()": lambda x: x.bool(),
        "x.contiguous()": lambda x: x.contiguous(),
        "clone by rows": lambda x: x.clone(memory_format=torch.contiguous_format),
        "full_like": lambda x: torch.full_like(x, 3.0),
        "where(mask, x, rows)": lambda x: torch.where(x > 1, x, x.contiguous()),
        "where(rows, x, x)": lambda x: torch.where(x.contiguous() > 1, x, x),
        "where(mask, x, 0)": lambda x: torch.where(x > 1, x, 0.0),
        "clamp": lambda x: x.clamp(0, 1),
        "lerp": lambda x: torch.lerp(x, x, 0.5),
        "addcmul": lambda x: torch.addcmul(x, x, x.contiguous()),
        "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
        "masked_scatter": lambda x: x.masked_scatter(x > 1, x.contiguous()),
        "bernoulli": lambda x: torch.bernoulli(x / 4),
        "mse_loss": lambda x: F.mse_loss(x, x.contiguous(), reduction="none"),
        "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x.contiguous(), reduction="none"),
        "with logits": lambda x: F.binary_cross_entropy_with_logits(x, x.contiguous(), reduction="none"),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
        "batch_norm": lambda x: F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1])),
        "softmax": lambda x: x.softmax(-1),
        "sum": lambda x: x.sum(0),
        "there and back": lambda x: x.relu().permute(sorted(range(x.dim()), key=lambda d: -x.stride(d))) * 1,
    }
    found |= rearranging(torch)
    found |= {name: lambda x, f=f: _written(x, f) for name, f in INPLACE.items()}
    return found | {f"gradient of {name}": lambda x, f=f: _gradient(x, f) for name, f in GRADIENTS.items()}


def rearranging(torch: Any) -> dict[str, Program]:
    """Results of operators that are not elementwise, or are made of several."""
    F = torch.nn.functional
    return {
        "sort": lambda x: torch.sort(x, 0).values,
        "indices of sort": lambda x: torch.sort(x, stable=True).indices,
        "argsort": torch.argsort,
        "msort": torch.msort,
        "flip": lambda x: x.flip(0),
        "flip of the last": lambda x: x.flip(-1),
        "index_fill": lambda x: x.index_fill(0, torch.tensor([0]), 2.0),
        "index_put": lambda x: x.index_put((torch.tensor([0]),), torch.tensor(1.0)),
        "complex(x, rows)": lambda x: torch.complex(x, x.contiguous()),
        "complex(rows, x)": lambda x: torch.complex(x.contiguous(), x),
        "polar": lambda x: torch.polar(x, x),
        "parts of complex": lambda x: torch.view_as_real(torch.complex(x, x)),
        "logsigmoid": F.logsigmoid,
        "rrelu": lambda x: F.rrelu(x - 1, training=True),
        "rrelu, not training": lambda x: F.rrelu(x - 1),
        "dropout": lambda x: F.dropout(x, 0.5),
        "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
        "soft_margin_loss": lambda x: F.soft_margin_loss(x, x.contiguous(), reduction="none"),
        "einsum": lambda x: torch.einsum("...i->...i", x) * 1,
        "cat of one": lambda x: torch.cat([x]),
        "narrow_copy": lambda x: torch.narrow_copy(x, 0, 0, x.size(0)),
        "tile that repeats nothing": lambda x: torch.tile(x, (1,)),
        "repeat that repeats nothing": lambda x: x.repeat(*[1] * x.dim()),
        "roll by 0": lambda x: x.roll(0, 0),
        "rot90 by 0": lambda x: torch.rot90(x, 0),
        "diff of order 0": lambda x: torch.diff(x, n=0),
        "pad by 0": lambda x: F.pad(x, (0, 0)),
        "pad that cuts": lambda x: F.pad(x, (*[0] * (2 * x.dim() - 1), -1)),
        "resolve_conj": lambda x: torch.complex(x, x).conj().resolve_conj(),
        "resolve_neg": lambda x: torch.complex(x, x).conj().imag.resolve_neg(),
        "tensor of a tensor": lambda x: x.new_tensor(x),
        "asarray": lambda x: torch.asarray(x, copy=True),
    }


def exact(torch: Any) -> dict[str, Program]:
    """Programs whose results have PyTorch's strides along dimensions of size 1 too."""
    at = torch.tensor([0, 0])
    matrix = torch.zeros(3, 2, dtype=torch.int64)
    return {
        "x": lambda x: x,
        "x.exp()": lambda x: x.exp(),
        "x + x": lambda x: x + x,
        "x + 2": lambda x: x + 2,
        "x * x[:1]": lambda x: x * x[:1],
        "x + vector": lambda x: x + torch.ones(x.shape[-1]),
        "where": lambda x: torch.where(x > 1, x, 0.0),
        "clone": lambda x: x.clone(),
        "clone by rows": lambda x: x.clone(memory_format=torch.contiguous_format),
        "double": lambda x: x.double(),
        "empty_like": torch.empty_like,
        "zeros_like": torch.zeros_like,
        "rand_like": torch.rand_like,
        "clone, channels last": lambda x: x.clone(memory_format=torch.channels_last) if x.dim() == 4 else x,
        "to channels last": lambda x: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x,
        "written": lambda x: x.clone().mul_(2),
        "x[0] = 1": lambda x: _written(x, lambda y, _: y.__setitem__(0, 1.0)),
        "transpose": lambda x: x.transpose(0, 1),
        "unsqueeze(0)": lambda x: x.unsqueeze(0),
        "unsqueeze(1)": lambda x: x.unsqueeze(1),
        "unsqueeze(-1)": lambda x: x.unsqueeze(-1),
        "x[None]": lambda x: x[None],
        "x[..., None]": lambda x: x[..., None],
        "x[:1]": lambda x: x[:1],
        "x[..., :1]": lambda x: x[..., :1],
        "x[0]": lambda x: x[0],
        "reshape(-1, 1)": lambda x: x.reshape(-1, 1),
        "flatten(0, 1)": lambda x: x.flatten(0, 1),
        "expand": lambda x: x.expand(1, 2, *x.shape),
        "x[at]": lambda x: x[at],
        "x[:, at]": lambda x: x[:, at],
        "x[..., at]": lambda x: x[..., at],
        "x[at, at]": lambda x: x[at, at],
        "x[at, ..., at]": lambda x: x[at, ..., at],
        "x[matrix]": lambda x: x[matrix],
        "x[matrix.t()]": lambda x: x[matrix.t()],
        "x[:, matrix.t()]": lambda x: x[:, matrix.t()],
        "x[mask]": lambda x: x[torch.ones(x.shape[0], dtype=torch.bool)],
        "x[:, None, at]": lambda x: x[:, None, at],
        "index_select": lambda x: x.index_select(0, at),
        "cat": lambda x: torch.cat([x, x]),
        "cat along 1": lambda x: torch.cat([x, x], 1),
        "cat along the last": lambda x: torch.cat([x, x, x], -1),
        "cat of one": lambda x: torch.cat([x]),
        "cat with rows": lambda x: torch.cat([x, x.clone(memory_format=torch.contiguous_format)]),
        "cat with nothing": lambda x: torch.cat([torch.ones(0), x, x]),
        "stack": lambda x: torch.stack([x, x]),
        "stack along 1": lambda x: torch.stack([x, x, x], 1),
        "stack along the last": lambda x: torch.stack([x, x], -1),
        "put": lambda x: x.put(torch.tensor([0]), torch.ones(1)),
        "sum": lambda x: x.sum(0, keepdim=True),
        "sum of the last": lambda x: x.sum(-1, keepdim=True),
        "median": lambda x: x.median(0, keepdim=True).values,
        "topk": lambda x: x.topk(1, 0).values,
        "out=": lambda x: torch.exp(x, out=torch.empty(0)),
    }


def strides(torch: Any) -> dict[str, list[str]]:
    """All strides of what programs give that are to have them."""
    xs = [arranged(torch, *a) for a in SINGLES]
    return {name: [",".join(map(str, f(x).stride())) for x in xs] for name, f in exact(torch).items()}


def _written(x: Any, write: Callable[[Any, Any], Any]) -> Any:
    y = x.clone()
    write(y, x.contiguous())
    return y


def _gradient(x: Any, f: Program) -> Any:
    y = x.clone().requires_grad_()
    f(y).sum().backward()
    return y.grad


def order(t: Any) -> str:
    """The strides of dimensions of more than one element, as one word."""
    return ",".join(str(s) for n, s in zip(t.shape, t.stride(), strict=True) if n > 1)


def orders(torch: Any) -> dict[str, list[str]]:
    """What each program's results are like, one by one over all operands; an error has no order."""
    xs = [x for _, x in operands(torch)]

    def run(f: Program, x: Any) -> str:
        try:
            return order(f(x))
        except RuntimeError:
            return "error"

    return {name: [run(f, x) for x in xs] for name, f in programs(torch).items()}
