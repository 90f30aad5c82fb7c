"""Families of programs over modules: hooks, state dicts, conversions."""

from __future__ import annotations

from .programs import Family

_PARTS = """
class Two(nn.Module):
    def __init__(self, a, b, kind):
        super().__init__()
        self.a, self.b, self.kind = a, b, kind
    def forward(self, x, *, scale=1.0):
        u, v = self.a(x), self.b(x)
        return (u + v, u * v, self.b(u), u - self.a(v))[self.kind] * scale
class Extra(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.w, self.value = nn.Parameter(torch.arange(3.0)), value
    def get_extra_state(self):
        return {"value": self.value} if self.value else torch.tensor(2.0)
    def set_extra_state(self, state):
        log("extra", state)
class Versioned(nn.Module):
    _version = 3
    def __init__(self):
        super().__init__()
        self.fresh = nn.Parameter(torch.ones(2))
    def _load_from_state_dict(self, state, prefix, local, *rest):
        log("versioned", prefix, local.get("version"), sorted(local), sorted(state))
        if prefix + "old" in state:
            state[prefix + "fresh"] = state.pop(prefix + "old")
        super()._load_from_state_dict(state, prefix, local, *rest)
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", torch.ones(2, dtype=torch.int64), persistent=False)
        self.register_buffer("c", None)
        self.register_parameter("p", None)
        self.d = nn.Buffer(torch.tensor(2.0))
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(2, 2), nn.Linear(2, 2)
        self.l2.weight = self.l1.weight
        self.again = self.l1
handles = []
def pick(m, i):
    return list(m.modules())[i % len(list(m.modules()))]
"""

_LEAVES = (
    *("nn.Linear(2, 3)", "nn.Linear(2, 3, bias=False)", "nn.BatchNorm1d(3)", "nn.BatchNorm1d(2, affine=False)"),
    *("nn.LayerNorm(2)", "nn.Embedding(3, 2)", "nn.ReLU()", "nn.PReLU()", "nn.MultiheadAttention(2, 1)"),
    *("nn.LSTM(2, 2)", "nn.GRUCell(2, 2)", "nn.Conv1d(1, 2, 2)", "nn.GroupNorm(1, 2)", "nn.Bilinear(2, 2, 2)"),
    *(
        "nn.ParameterList([torch.ones(2), torch.zeros(1)])",
        "nn.ParameterDict({'u': torch.ones(2), 'a': torch.zeros(1)})",
    ),
    *("Extra(0)", "Extra(1)", "Versioned()", "Buffers()", "Tied()"),
)
_TREES = {
    "leaf": _LEAVES,
    "tree": (
        *("<leaf>",) * 5,
        *("nn.Sequential(<tree>, <tree>)", "nn.Sequential(OrderedDict(x=<tree>, y=<tree>))", "nn.ModuleList([<tree>])"),
        *("nn.ModuleDict({'p': <tree>, 'q': <leaf>})", "nn.Sequential()"),
    ),
    "i": tuple("0123456789"),
}

_SHORT = """
def short(v):
    if isinstance(v, torch.Tensor):
        return round(float(v.detach().sum()), 3)
    if isinstance(v, (tuple, list)):
        return [type(v).__name__, *map(short, v)]
    return {k: short(x) for k, x in v.items()} if isinstance(v, dict) else v
"""


def _hook(arguments: str, register: str, results: str, options: str = "") -> str:
    """A hook that shows what it sees, does something and gives something."""
    shown = "".join(f", short({a})" for a in arguments.split(", "))
    return (
        f"def h@(m, {arguments}):\n    log('h@', m.name{shown})\n    <act>\n    return <{results}>\n"
        f"t('register@', lambda: handles.append({register}(h@{options})))"
    )


_OWN, _ALL = "pick(net, <i>).register_", "torch.nn.modules.module.register_module_"
HOOKS = Family(
    _PARTS + _SHORT,
    "net = nn.Sequential(<net>, <net>).double()\n"
    "for name, m in net.named_modules():\n    m.name = name\n"
    "x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64, requires_grad=True)",
    (
        *(_hook("a", f"{_OWN}forward_pre_hook", "pre", "<prepend>"),) * 2,
        _hook("a, k", f"{_OWN}forward_pre_hook", "pre_kwargs", ", with_kwargs=True<prepend>"),
        *(_hook("a, o", f"{_OWN}forward_hook", "post", "<always><prepend>"),) * 2,
        _hook("a, k, o", f"{_OWN}forward_hook", "post", ", with_kwargs=True<always><prepend>"),
        *(_hook("go", f"{_OWN}full_backward_pre_hook", "before", "<prepend>"),) * 2,
        *(_hook("gi, go", f"{_OWN}full_backward_hook", "back", "<prepend>"),) * 2,
        _hook("a", f"{_ALL}forward_pre_hook", "pre"),
        _hook("a, o", f"{_ALL}forward_hook", "post", "<always>"),
        _hook("gi, go", f"{_ALL}full_backward_hook", "back"),
        _hook("go", f"{_ALL}full_backward_pre_hook", "before"),
    ),
    "<copy>\n"
    "for call in range(2):\n"
    "    y = t('call', lambda: net(x<scale>))\n"
    "    x.grad = None\n    net.zero_grad()\n"
    "    weights = torch.arange(6.0, dtype=torch.float64).view(2, 3)\n"
    "    if t('backward', lambda: (y * weights).sum().backward() or 1):\n"
    "        log(x.grad, [p.grad for p in net.parameters()])\n"
    "for handle in handles:\n    handle.remove()\n"
    "log([(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks), len(m._backward_pre_hooks),\n"
    "      len(m._forward_hooks_with_kwargs), len(m._forward_hooks_always_called)) for m in net.modules()])\n"
    "t('last', lambda: net(x))",
    {
        "net": (
            *("<layer>",) * 5,
            *("nn.Sequential(<net>, <layer>)", "Two(<net>, <layer>, 0)", "Two(<layer>, <layer>, 2)"),
            "Two(<layer>, <net>, 3)",
        ),
        "layer": ("nn.Linear(3, 3)", "nn.Linear(3, 3)", "nn.Tanh()", "nn.ReLU()", "nn.Identity()"),
        "i": tuple("0123456789"),
        "act": (
            *("pass",) * 6,
            *("handles[0].remove()", "[h.remove() for h in handles]", "raise ValueError('here')", "raise KeyError(1)"),
            "if len(handles) < 9: handles.append(m.register_forward_hook(lambda m, a, o: log('new', m.name)))",
        ),
        "prepend": ("", "", ", prepend=True"),
        "always": ("", "", ", always_call=True"),
        "scale": ("", "", "", ", scale=2.0"),
        "copy": ("", "", "net = copy.deepcopy(net)", "net = copy.copy(net)"),
        "pre": ("None", "None", "(a[0] + 1,)", "a[0] * 2", "3", "()", "(a[0], a[0])"),
        "pre_kwargs": ("None", "None", "((a[0] + 1,), k)", "(a, {})", "3", "(a, k, 1)"),
        "post": ("None", "None", "o + 1", "o.detach()", "(o,)", "3"),
        "before": ("None", "None", "(go[0] * 2,)", "go", "[go[0] * 3]", "(go[0], go[0])", "3"),
        "back": ("None", "None", "tuple(None if g is None else g * 2 for g in gi)", "gi", "(gi[0], gi[0])", "3"),
    },
    (1, 6),
    {57: "PyTorch loses the error of the call: it goes through a dict that a hook has changed"},
)

STATE = Family(
    _PARTS,
    "def make(): return nn.Sequential(<tree>, <tree>)\na, b = make(), make()",
    (
        "def h@(m, prefix, keep):\n    log('before', prefix, keep)\n"
        "t('hook', lambda: pick(a, <i>).register_state_dict_pre_hook(h@))",
        "def h@(m, sd, prefix, local):\n    log('after', list(sd), prefix, local)\n    <changes>\n"
        "t('hook', lambda: pick(a, <i>).<post>(h@))",
        "def h@(m, sd, prefix, local, strict, missing, unexpected, errors):\n"
        "    log('load', type(m).__name__, list(sd), prefix, dict(local), strict)\n    <alters>\n"
        "t('hook', lambda: pick(b, <i>).register_load_state_dict_pre_hook(h@))",
        "def h@(m, keys):\n    log('loaded', list(keys.missing_keys), list(keys.unexpected_keys))\n    <keys>\n"
        "t('hook', lambda: pick(b, <i>).register_load_state_dict_post_hook(h@))",
        *("<convert>",) * 2,
    ),
    "sd = t('state', lambda: a.state_dict(<arguments>))\n"
    "log(getattr(sd, '_metadata', None))\n"
    "for change in (<change>, <change>):\n    t('change', lambda: change(sd))\n"
    "before = list(b.parameters())\n"
    "t('load', lambda: b.load_state_dict(<what><options>))\n"
    "log([p is q for p, q in zip(b.parameters(), before)], b)\n"
    "t('end', lambda: b.state_dict())",
    {
        **_TREES,
        "post": ("register_state_dict_post_hook", "_register_state_dict_hook"),
        "changes": ("pass", "sd.popitem()", "return sd", "local['note'] = 1", "sd[prefix + 'more'] = torch.ones(1)"),
        "alters": ("pass", "sd.pop(prefix + 'weight', None)", "missing.append('m')", "errors.append('e')", "return 1"),
        "keys": ("pass", "keys.missing_keys.clear()", "keys.unexpected_keys.clear()", "return keys"),
        "convert": ("b.double()", "a.half()", "[p.requires_grad_(False) for p in a.parameters()]", "b.eval()"),
        "arguments": ("", "", "", "prefix='x.'", "keep_vars=True", "destination=OrderedDict(q=1)"),
        "change": (
            *("lambda sd: None",) * 4,
            *("lambda sd: sd.pop(list(sd)[0])", "lambda sd: sd.update({'more.thing': torch.ones(2)})"),
            *("lambda sd: sd.update({list(sd)[-1]: torch.ones(4)})", "lambda sd: sd.update({list(sd)[0]: 3})"),
            *("lambda sd: sd.update({'0.old': torch.full((2,), 7.0)})", "lambda sd: sd.update({'0._extra_state': 5})"),
            *("lambda sd: sd.update({'x': 1})", "lambda sd: delattr(sd, '_metadata')"),
        ),
        "what": (*("sd",) * 9, "3", "list(sd.items())", "dict(sd)"),
        "options": ("", "", ", strict=False", ", assign=True", ", strict=False, assign=True"),
    },
    (0, 4),
)

CONVERSIONS = Family(
    _PARTS,
    "m = nn.Sequential(<tree>, <tree>)\n<grads>\nfor p in m.parameters():\n    p.note = 'kept'",
    (
        "own = [[p, p.grad] for p in m.parameters()]\n"
        "t('convert', lambda: m.<convert> is m)\n"
        "log([[p is q, p.grad is g] for p, (q, g) in zip(m.parameters(), own)])\n"
        "log([(n, p.dtype, p.requires_grad, getattr(p, 'note', None)) for n, p in m.named_parameters()])\n"
        "log([p.grad is not None and (p.grad.dtype, p.grad.requires_grad) for p in m.parameters()])\n"
        "log([(n, b.dtype) for n, b in m.named_buffers()], [q.training for q in m.modules()])",
    ),
    "t('state', lambda: m.state_dict())\nt('copy', lambda: copy.deepcopy(m))\nlog(m)",
    {
        **_TREES,
        "grads": ("", "for i, p in enumerate(m.parameters()):\n    p.grad = torch.full_like(p, float(i))"),
        "convert": (
            *("to(torch.float64)", "to('cpu', torch.float16)", "to(dtype=torch.bfloat16)", "to(torch.int64)"),
            *(
                "to(torch.complex64)",
                "to(torch.ones(1, dtype=torch.float64))",
                "to('meta')",
                "to(3)",
                "to(None)",
                "to()",
            ),
            *(
                "to('cpu', torch.float64, True)",
                "to(copy=True)",
                "half()",
                "double()",
                "float()",
                "bfloat16()",
                "cpu()",
            ),
            *("type(torch.float64)", "type(torch.int32)", "train(3)", "train(False)", "requires_grad_(False)"),
            *("zero_grad()", "zero_grad(set_to_none=False)", "to_empty(device='meta')", "_apply(lambda q: q)"),
            *(
                "_apply(lambda q: q.clone())",
                "_apply(lambda q: q.to(torch.float64), recurse=False)",
                "requires_grad_()",
            ),
        ),
    },
    (1, 4),
)
FAMILIES = {"hooks": HOOKS, "state": STATE, "conversions": CONVERSIONS}
