"""Programs that draw random numbers, the same for PyTorch and pullback: one seed gives the same numbers in both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from support.orders import operands

SEED = 1234
Draw = Callable[[], Any]
SIZES = (1, 5, 15, 16, 17, 33, 70)
"""Around 16, from where normal numbers come in blocks."""
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")
FILLS: dict[str, tuple[tuple[float, ...], ...]] = {
    "uniform_": ((), (-2.5, 3.0)),
    "normal_": ((), (2.0, 0.5)),
    "exponential_": ((2.0,),),
    "cauchy_": ((1.0, 2.0),),
    "log_normal_": ((0.2, 0.5),),
    "geometric_": ((0.3,),),
    "bernoulli_": ((0.3,),),
    "random_": ((), (5,), (-3, 9)),
}
ENDS = (10, (1 << 28) - 1, 1 << 28, 1 << 31, 1 << 40, (1 << 63) - 1)


def fills(torch: Any) -> Iterator[tuple[str, Draw]]:
    """In-place operators, for each dtype that takes them."""
    for n in SIZES:
        for dtype in FLOATS:
            for name, calls in FILLS.items():
                for args in calls:
                    empty = lambda n=n, d=dtype: torch.empty(n, dtype=getattr(torch, d))
                    yield f"{name}{args} {dtype} {n}", lambda e=empty, m=name, a=args: getattr(e(), m)(*a)
        for dtype in INTEGERS:
            empty = lambda n=n, d=dtype: torch.empty(n, dtype=getattr(torch, d))
            yield f"random_ {dtype} {n}", lambda e=empty: e().random_()
            yield f"bernoulli_ {dtype} {n}", lambda e=empty: e().bernoulli_(0.6)


def functions(torch: Any) -> Iterator[tuple[str, Draw]]:
    """Functions that make tensors."""
    F = torch.nn.functional
    for n in SIZES:
        line = lambda low, high, n=n: torch.linspace(low, high, n)
        for dtype in (*FLOATS, "complex64", "complex128"):
            d = getattr(torch, dtype)
            yield f"rand {dtype} {n}", lambda n=n, d=d: torch.rand(n, dtype=d)
            yield f"randn {dtype} {n}", lambda n=n, d=d: torch.randn(n, dtype=d)
        for dtype in FLOATS:
            d = getattr(torch, dtype)
            yield f"bernoulli {dtype} {n}", lambda d=d, line=line: torch.bernoulli(line(0, 1).to(d))
            yield f"dropout {dtype} {n}", lambda n=n, d=d: F.dropout(torch.ones(n, dtype=d), 0.3)
        for end in ENDS:
            yield f"randint {end} {n}", lambda n=n, e=end: torch.randint(e, (n,))
        yield f"randint low {n}", lambda n=n: torch.randint(-7, 9, (n,), dtype=torch.int16)
        yield f"randperm {n}", lambda n=n: torch.randperm(n)
        yield f"normal of tensors {n}", lambda line=line: torch.normal(line(0, 1), line(1, 2))
        yield f"normal of means {n}", lambda line=line: torch.normal(line(0, 1), 2.0)
        yield f"normal of numbers {n}", lambda n=n: torch.normal(2.0, 3.0, (n,))
        yield f"multinomial {n}", lambda n=n, line=line: torch.multinomial(line(0.1, 1), min(5, n))
        yield f"multinomial with replacement {n}", lambda line=line: torch.multinomial(line(0.1, 1), 7, True)
        yield f"multinomial rows {n}", lambda line=line: torch.multinomial(line(0.1, 1).expand(3, -1), 1)
        yield f"gumbel_softmax {n}", lambda n=n: F.gumbel_softmax(torch.zeros(n), dim=0)
        yield f"alpha_dropout {n}", lambda n=n: F.alpha_dropout(torch.ones(n), 0.3, True)
    yield "dropout1d", lambda: F.dropout1d(torch.ones(4, 5, 6), 0.4)
    yield "dropout2d", lambda: F.dropout2d(torch.ones(4, 5, 3, 2), 0.4)
    yield "feature_alpha_dropout", lambda: F.feature_alpha_dropout(torch.ones(4, 5, 6), 0.4, True)
    image = torch.arange(128.0).reshape(1, 2, 8, 8)
    yield "fractional_max_pool2d", lambda: F.fractional_max_pool2d(image, 2, output_size=4)
    rows = image.reshape(4, 2, 4, 4) / 50
    yield "attention", lambda: F.scaled_dot_product_attention(rows, rows, rows, dropout_p=0.4)


def rejected(torch: Any) -> Iterator[tuple[str, Draw]]:
    """Laws that draw as many words as it takes to accept a candidate, which depends on the parameters."""
    F, law = torch.nn.functional, torch.distributions
    rates = [0.0, 0.01, 0.7, 3.0, 9.99, 10.0, 11.5, 40.0, 300.0, 1e4, 1e7]
    counts = [0.0, 1.0, 7.0, 13.0, 40.0, 400.0, 5e4, 1e7]
    chances = [0.0, 1e-3, 0.2, 0.3, 0.5, 0.7, 0.99, 1.0]
    for dtype in ("float32", "float64"):
        d = getattr(torch, dtype)
        yield f"poisson {dtype}", lambda d=d: torch.poisson(torch.tensor(rates, dtype=d).repeat(20))
        for n in counts:
            table = lambda n=n, d=d: (torch.full((20, 8), n, dtype=d), torch.tensor(chances, dtype=d).expand(20, 8))
            yield f"binomial {dtype} of {n:g}", lambda t=table: torch.binomial(*t())
        for n in SIZES:
            line = lambda n=n, d=d: torch.linspace(-1, 1, n, dtype=d)
            yield f"rrelu {dtype} {n}", lambda line=line: F.rrelu(line(), 0.1, 0.4, training=True)
    for dtype in ("float16", "bfloat16"):
        d = getattr(torch, dtype)
        yield f"poisson {dtype}", lambda d=d: torch.poisson(torch.tensor(rates[:-2], dtype=d).repeat(20))
    yield "rrelu bfloat16", lambda: F.rrelu(torch.linspace(-1, 1, 33, dtype=torch.bfloat16), training=True)
    yield "RReLU", lambda: torch.nn.RReLU(inplace=True)(torch.linspace(-2, 0, 24).reshape(4, 6).t())
    yield "poisson transposed", lambda: torch.poisson(torch.tensor(rates[:10]).reshape(5, 2).t())
    yield "own generator of poisson", lambda: torch.poisson(torch.ones(5), generator=torch.Generator().manual_seed(7))
    yield "Poisson", lambda: law.Poisson(torch.tensor(rates[1:])).sample((7,))
    yield "Binomial", lambda: law.Binomial(torch.tensor(40.0), torch.tensor(chances)).sample((9,))
    yield "Binomial of logits", lambda: law.Binomial(12, logits=torch.linspace(-3, 3, 6)).sample((9,))
    yield "NegativeBinomial", lambda: law.NegativeBinomial(torch.tensor([0.5, 3, 90]), torch.tensor(0.4)).sample((9,))
    vmap, many = torch.func.vmap, torch.tensor([[0.5, 3.0, 20.0]] * 5)
    yield "poisson of a batch", lambda: vmap(torch.poisson, randomness="different")(many)
    yield "poisson, same", lambda: vmap(lambda x: torch.poisson(many[0]) + x, randomness="same")(torch.zeros(4))
    yield (
        "binomial of a batch",
        lambda: vmap(torch.binomial, (0, None), randomness="different")(2 * many.round(), torch.full((3,), 0.4)),
    )


def memory(torch: Any) -> Iterator[tuple[str, Draw]]:
    """Tensors that do not lie in row-major order, and several draws from one sequence."""
    F = torch.nn.functional
    for name in ("normal_", "uniform_", "bernoulli_", "exponential_", "random_"):
        yield f"{name} transposed", lambda m=name: getattr(torch.empty(9, 4).t(), m)()
        yield f"{name} columns", lambda m=name: getattr(torch.empty(20, 3)[:, :2], m)()
        yield f"{name} of few, transposed", lambda m=name: getattr(torch.empty(3, 2).t(), m)()
    few = torch.arange(6.0).reshape(2, 3).t()
    yield "rand_like of few, transposed", lambda: torch.rand_like(few)
    yield "randn_like of few, transposed", lambda: torch.randn_like(few)
    yield "randint_like of few, transposed", lambda: torch.randint_like(few, 9)
    yield "bernoulli of few, transposed", lambda: torch.bernoulli(few / 6)
    yield "dropout of few, transposed", lambda: F.dropout(few + 1)
    turned = torch.arange(48.0).reshape(2, 3, 4, 2).contiguous(memory_format=torch.channels_last)
    yield "dropout of channels behind", lambda: F.dropout(turned)
    yield "rand_like of channels behind", lambda: torch.rand_like(turned)
    yield "randn_like of channels behind", lambda: torch.randn_like(turned)
    for name, x in operands(torch):
        if x.numel() <= 100:
            yield f"dropout of {name}", lambda x=x: F.dropout(x, 0.4)
            yield f"rand_like of {name}", lambda x=x: torch.rand_like(x)
    yield (
        "one sequence",
        lambda: torch.cat([torch.randn(3), torch.randn(2), torch.rand(1), torch.randn(20), torch.randn(2)]),
    )
    yield "own generator", lambda: torch.rand(5, generator=torch.Generator().manual_seed(7))
    yield "own generator without seed", lambda: torch.rand(5, generator=torch.Generator())

    def resumed() -> Any:
        torch.randn(3)
        state = torch.get_rng_state()
        first = torch.randn(4)
        torch.set_rng_state(state)
        return torch.cat([first, torch.randn(4)])

    yield "resumed", resumed


def modules(torch: Any) -> Iterator[tuple[str, Draw]]:
    """What layers start from, and layers that draw."""
    nn = torch.nn
    for name in (
        *("uniform_", "normal_", "trunc_normal_", "orthogonal_", "xavier_uniform_", "xavier_normal_"),
        *("kaiming_uniform_", "kaiming_normal_"),
    ):
        yield f"init.{name}", lambda m=name: getattr(nn.init, m)(torch.empty(5, 6))
    yield "init.sparse_", lambda: nn.init.sparse_(torch.empty(5, 6), 0.3)
    yield "init.trunc_normal_ far out", lambda: nn.init.trunc_normal_(torch.empty(30), 0, 1, 1, 3)
    made = {
        "Linear": lambda: nn.Linear(4, 3),
        "Conv2d": lambda: nn.Conv2d(2, 3, 2),
        "ConvTranspose1d": lambda: nn.ConvTranspose1d(2, 3, 2),
        "Bilinear": lambda: nn.Bilinear(3, 2, 2),
        "Embedding": lambda: nn.Embedding(5, 3, padding_idx=2),
        "EmbeddingBag": lambda: nn.EmbeddingBag(5, 3),
        "LSTM": lambda: nn.LSTM(2, 3, 2),
        "GRUCell": lambda: nn.GRUCell(2, 3),
        "MultiheadAttention": lambda: nn.MultiheadAttention(4, 2),
        "MultiheadAttention with biases": lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True),
        "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(4, 2, 5),
        "Transformer": lambda: nn.Transformer(4, 2, 1, 1, 5),
    }
    for name, make in made.items():
        yield name, lambda m=make: torch.cat([p.detach().flatten() for p in m().parameters()])
    x = torch.ones(3, 2, 4)
    yield "attention in training", lambda: nn.MultiheadAttention(4, 2, dropout=0.3)(x, x, x)[0].detach()
    yield "LSTM in training", lambda: nn.LSTM(4, 3, 3, dropout=0.3)(x)[0].detach()
    yield "encoder in training", lambda: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.2)(x).detach()


def data(torch: Any) -> Iterator[tuple[str, Draw]]:
    """The order of data."""
    of = torch.utils.data
    numbers = of.TensorDataset(torch.arange(23))
    shuffled = lambda **k: of.DataLoader(numbers, batch_size=5, shuffle=True, **k)
    order = lambda loader: torch.cat([batch[0] for batch in loader])
    yield "DataLoader", lambda: torch.cat([order(shuffled()), torch.rand(1)])
    yield "two passes", lambda: torch.cat([order(loader) for loader in [shuffled()] * 2])
    yield "own generator of a loader", lambda: order(shuffled(generator=torch.Generator().manual_seed(3)))
    yield "random_split", lambda: torch.tensor(list(of.random_split(range(20), [5, 15])[0].indices))
    yield "RandomSampler", lambda: torch.tensor(list(of.RandomSampler(range(9), replacement=True, num_samples=40)))
    yield "WeightedRandomSampler", lambda: torch.tensor(list(of.WeightedRandomSampler([0.1, 0.5, 0.4], 20)))
    yield "SubsetRandomSampler", lambda: torch.tensor(list(of.SubsetRandomSampler([3, 5, 7, 8])))


def transforms(torch: Any) -> Iterator[tuple[str, Draw]]:
    """Draws under vmap."""
    F, vmap = torch.nn.functional, torch.func.vmap
    for randomness in ("same", "different"):
        over = lambda f, *a, r=randomness, **k: vmap(f, randomness=r, **k)(*a)
        yield f"rand, {randomness}", lambda over=over: over(lambda x: torch.rand(5) + x, torch.zeros(4))
        yield f"randn, {randomness}", lambda over=over: over(lambda x: torch.randn(20) + x, torch.zeros(4))
        yield (
            f"dropout, {randomness}",
            lambda over=over: over(lambda x: F.dropout(x, 0.5), torch.ones(6, 4), in_dims=1),
        )
    yield "bernoulli", lambda: vmap(torch.bernoulli, randomness="different")(torch.full((4, 6), 0.5))


def programs(torch: Any) -> dict[str, Draw]:
    """All of them, by name."""
    return {
        name: f for kind in (fills, functions, rejected, memory, modules, data, transforms) for name, f in kind(torch)
    }


def numbers(torch: Any, program: Draw) -> list[float]:
    """What a program draws from the seed, and the number that is drawn next."""
    torch.manual_seed(SEED)
    out = program()
    after = torch.rand(1)
    real = torch.view_as_real(out) if out.is_complex() else out
    return [*real.double().flatten().tolist(), after.item()]
