"""Families of programs over optimisers and schedules, and over what `nn.utils` does to modules."""

from __future__ import annotations

from .programs import Family

_OPTIMISERS = """
S = torch.optim.lr_scheduler
class Decay:
    def __init__(self):
        self.k = 0.5
    def __call__(self, epoch):
        return self.k ** epoch
def keys(d):
    if isinstance(d, dict):
        return [[k if isinstance(k, str | int) else '?', keys(v)] for k, v in d.items() if k != 'optimizer']
    if isinstance(d, (list, tuple)):
        return [type(d).__name__, *map(keys, d)]
    return d if isinstance(d, (torch.Tensor, int, float, str, type(None))) else type(d).__name__
values = [[1.0, -2.0], [0.5, 0.25]], [[0.5, 3.0], [0.1, 0.2]]
ps = [nn.Parameter(torch.tensor(v, dtype=torch.float64)) for v in values]
more = nn.Parameter(torch.tensor([[2.0, -1.0]], dtype=torch.float64))
def loss():
    return sum(((p - 0.3) ** 2 * (i + 1)).sum() + (p ** 4).sum() for i, p in enumerate([*ps, more]))
def closure():
    opt.zero_grad()
    value = loss()
    value.backward()
    return value
"""
_SCHEDULES = (
    *("S.LambdaLR(opt, lambda e: 0.9 ** e)", "S.LambdaLR(opt, Decay())", "S.LambdaLR(opt, [Decay()])"),
    *("S.MultiplicativeLR(opt, lambda e: 0.9)", "S.MultiplicativeLR(opt, Decay())", "S.StepLR(opt, 2, 0.5)"),
    *("S.MultiStepLR(opt, [1, 3], 0.5)", "S.ConstantLR(opt, 0.5, 2)", "S.LinearLR(opt, 0.5, 1.0, 3)"),
    *("S.ExponentialLR(opt, 0.9)", "S.CosineAnnealingLR(opt, 4, 0.001)", "S.PolynomialLR(opt, 4, 2.0)"),
    *("S.CyclicLR(opt, 0.01, 0.1, 2, cycle_momentum=False)", "S.CyclicLR(opt, 0.01, 0.1, 2)"),
    *("S.CyclicLR(opt, 0.01, 0.1, scale_fn=Decay(), cycle_momentum=False)", "S.CyclicLR(opt, [0.01], [0.1])"),
    *("S.CosineAnnealingWarmRestarts(opt, 3, 2)", "S.OneCycleLR(opt, 0.1, 6)", "S.OneCycleLR(opt, [0.1, 0.2], 6)"),
    *("S.OneCycleLR(opt, [0.1] * 5, 6)", "S.OneCycleLR(opt, 0.1)", "S.OneCycleLR(opt, 0.1, 6, three_phase=True)"),
    *("S.ReduceLROnPlateau(opt, patience=0)", "S.ReduceLROnPlateau(opt, factor=2.0)", "S.StepLR(opt, 1, last_epoch=2)"),
    *(
        "S.SequentialLR(opt, [S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)], [2])",
        "S.SequentialLR(opt, [], [])",
    ),
    "S.ChainedScheduler([S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)])",
    "S.ChainedScheduler([S.StepLR(opt, 1), S.MultiplicativeLR(opt, lambda e: 0.5)], opt)",
    *("torch.optim.swa_utils.SWALR(opt, 0.05, 3)", "torch.optim.swa_utils.SWALR(opt, 0.05, 3, 'linear')"),
)
SCHEDULES = Family(
    _OPTIMISERS,
    "opt = torch.optim.<optimiser>\nsch = t('make', lambda: <schedule>)",
    (
        *("t('step', lambda: opt.step())\nt('next', lambda: sch.step())\nt('last', lambda: sch.get_last_lr())",) * 4,
        "t('next', lambda: sch.step(<epoch>))",
        "t('load', lambda: sch.load_state_dict(copy.deepcopy(sch.state_dict())))",
        "t('state', lambda: keys(sch.state_dict()))",
    ),
    "log([(g['lr'], g.get('initial_lr'), g.get('momentum')) for g in opt.param_groups])\n"
    "t('state', lambda: keys(sch.state_dict()))\nlog([list(g) for g in opt.param_groups])",
    {
        "optimiser": (
            "SGD([{'params': ps[0]}, {'params': ps[1], 'lr': 0.05}], lr=0.1, momentum=0.9)",
            "Adam(ps, lr=0.1)",
        ),
        "schedule": _SCHEDULES,
        "epoch": ("1.0", "0.5", "3", "epoch=2", "metrics=1.0"),
    },
    (1, 7),
)

OPTIMISERS = Family(
    _OPTIMISERS,
    "opt = t('make', lambda: torch.optim.<optimiser>) or torch.optim.SGD(ps, lr=0.1)",
    (
        *("opt.zero_grad()\nloss().backward()\nt('step', lambda: opt.step(<closure>))\nlog(ps)",) * 4,
        "t('closure', lambda: opt.step(closure))\nlog(ps)",
        "t('add', lambda: opt.add_param_group(<group>))",
        "t('zero', lambda: opt.zero_grad(<to_none>))\nlog([p.grad for p in ps])",
        "t('load', lambda: opt.load_state_dict(copy.deepcopy(opt.state_dict())))\nt('repr', lambda: repr(opt))",
        "t('wrong', lambda: opt.load_state_dict(<wrong>))",
        "def h@(o, a, k):\n    log('h@', o is opt, len(a), sorted(k))\n    return <result>\n"
        "t('hook', lambda: opt.register_step_<when>_hook(h@))",
        "def h@(*a):\n    log('h@', len(a))\nt('hook', lambda: opt.register_<which>_hook(h@<prepend>))",
        "opt.param_groups[0]['lr'] = <lr>",
    ),
    "t('state', lambda: keys(opt.state_dict()))\nlog(keys(opt.defaults), [list(g) for g in opt.param_groups])",
    {
        "optimiser": (
            *("SGD(<groups>, lr=0.1<common>)", "SGD(<groups>, lr=0.1, momentum=0.9, nesterov=True<common>)"),
            *("Adam(<groups><common>)", "Adam(<groups>, lr=0.1, amsgrad=True<common>)", "AdamW(<groups><common>)"),
            *("Adamax(<groups><common>)", "NAdam(<groups>, lr=0.1<common>)", "RAdam(<groups>, lr=0.1<common>)"),
            *("Adagrad(<groups>, lr_decay=0.1<common>)", "Adadelta(<groups>, rho=0.5<common>)", "Rprop(<groups>)"),
            *("RMSprop(<groups>, centered=True, momentum=0.9<common>)", "ASGD(<groups>, t0=1.0<common>)"),
            *("Adafactor(<groups><common>)", *("LBFGS(ps<lbfgs>)",) * 4),
        ),
        "groups": (
            *("ps", "ps", "[{'params': ps[0]}, {'params': [ps[1]], 'lr': 0.05}]", "[('a', ps[0]), ('b', ps[1])]"),
            "[{'params': [('a', ps[0])]}, {'params': [('b', ps[1])], 'lr': 0.2}]",
        ),
        "common": ("", "", ", weight_decay=0.1", ", maximize=True", ", foreach=True", ", weight_decay=-1.0"),
        "lbfgs": ("", ", max_iter=2", ", line_search_fn='strong_wolfe'", ", history_size=2, lr=0.5, max_iter=5"),
        "closure": ("", "", "closure"),
        "group": (
            "{'params': more}",
            "{'params': [more], 'lr': 0.3}",
            "{'params': ps[0]}",
            "3",
            "{'params': ('n', more)}",
        ),
        "to_none": ("", "False", "set_to_none=False"),
        "wrong": ("{'state': {}, 'param_groups': []}", "{}", "{'state': {}, 'param_groups': [{'params': [0]}]}"),
        "result": ("None", "None", "(a, k)", "3"),
        "when": ("pre", "post"),
        "which": ("state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"),
        "prepend": ("", ", prepend=True"),
        "lr": ("0.5", "1"),
    },
    (2, 6),
)

_UTILS = """
P, prune, norms, U = nn.utils.parametrize, nn.utils.prune, nn.utils.parametrizations, nn.utils
class Scale(nn.Module):
    def __init__(self, k=2.0):
        super().__init__()
        self.k = k
    def forward(self, x):
        return x * self.k
    def right_inverse(self, y):
        return y / self.k
class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT
class Sum(nn.Module):
    def forward(self, a, b):
        return a + b
    def right_inverse(self, y):
        return y * 0.25, y * 0.75
class First(nn.Module):
    def forward(self, x):
        return x[:1]
class Learned(Scale):
    def __init__(self):
        super().__init__()
        self.k = nn.Parameter(torch.tensor(1.5))
x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
def show():
    own = {k for k in m.__dict__ if k[0] != '_'} - {*m._parameters, *m._buffers, *m._modules}
    log(type(m).__name__, sorted(own), [n for n, _ in m.named_modules()])
    log(sorted(m.named_parameters(), key=lambda q: q[0]), list(m.named_buffers()))
"""
_COMMON = (
    *("t('call', lambda: m(x))",) * 2,
    "m.zero_grad()\nt('backward', lambda: (m(x) ** 2).sum().backward())\n"
    "log([p.grad for _, p in sorted(m.named_parameters(), key=lambda q: q[0])])",
    "t('state', lambda: sorted(m.state_dict().items(), key=lambda q: q[0]))",
    "t('load', lambda: m.load_state_dict({k: v * 0.5 for k, v in m.state_dict().items()}))",
    "m = t('copy', lambda: copy.deepcopy(m)) or m",
    "t('set', lambda: setattr(m, 'weight', <value>))",
    "ps = {k: v.detach() * 0.9 for k, v in m.named_parameters()}\n"
    "t('functional', lambda: torch.func.functional_call(m, ps, (x,)))",
    "m.eval()",
)
_NAMES = ("'weight'",) * 8 + ("'bias'", "'nope'")
PARAMETRIZATIONS = Family(
    _UTILS,
    "m = nn.Linear(3, <out>)",
    (
        *("t('register', lambda: P.register_parametrization(m, <name>, <module><unsafe>) is m)\nt('show', show)",) * 4,
        *("t('named', lambda: norms.<named> is m)\nt('show', show)",) * 2,
        *("t('remove', lambda: P.remove_parametrizations(m, <name><leave>) is m)\nt('show', show)",) * 2,
        *("with P.cached():\n    t('cached', lambda: m.weight is m.weight)\n    t('call', lambda: m(x))", *_COMMON),
        "other = nn.Linear(3, <out>)\n"
        "t('transfer', lambda: P.transfer_parametrizations_and_params(m, other))\nlog(other)",
        "log(P.is_parametrized(m), P.is_parametrized(m, 'bias'), P.type_before_parametrizations(m).__name__)",
    ),
    "log(m)\nt('end', lambda: m(x))",
    {
        "out": ("3", "3", "2"),
        "name": _NAMES,
        "module": (
            *("Scale()", "Scale(-0.5)", "Symmetric()", "Sum()", "First()", "Learned()", "nn.Identity()", "nn.Tanh()"),
        ),
        "unsafe": ("", "", ", unsafe=True"),
        "leave": ("", ", leave_parametrized=False", ", True"),
        "named": ("orthogonal(m<map>)", "weight_norm(m)", "weight_norm(m, 'weight', dim=1)", "spectral_norm(m)"),
        "map": ("", ", orthogonal_map='cayley'", ", orthogonal_map='matrix_exp'", ", orthogonal_map='householder'"),
        "value": ("torch.eye(3)", "nn.Parameter(torch.eye(3))", "torch.ones(3, 3) * 0.1", "torch.ones(2)"),
    },
)
PRUNING = Family(
    _UTILS,
    "m = nn.Linear(3, 3)",
    (
        *("t('prune', lambda: prune.<method> is m)\nt('show', show)",) * 5,
        *("t('remove', lambda: prune.remove(m, <name>) is m)\nt('show', show)", *_COMMON),
        "t('mask', lambda: prune.custom_from_mask(m, 'weight', <mask>) is m)\nt('show', show)",
        "t('global', lambda: prune.global_unstructured([(m, 'weight'), (m, 'bias')], pruning_method=<of_all>))\n"
        "t('show', show)",
        "log(prune.is_pruned(m), [type(h).__name__ for h in m._forward_pre_hooks.values()])",
        "t('before', lambda: norms.weight_norm(m))",
    ),
    "t('end', lambda: m(x))",
    {
        "method": (
            *(
                "random_unstructured(m, <name>, <amount>)",
                "l1_unstructured(m, <name>, <amount>)",
                "identity(m, <name>)",
            ),
            *("random_structured(m, 'weight', <amount>, <dim>)", "ln_structured(m, 'weight', <amount>, <n>, <dim>)"),
            "l1_unstructured(m, 'weight', <amount>, importance_scores=torch.arange(9.0).view(3, 3))",
        ),
        "name": _NAMES,
        "amount": ("0.5", "0.3", "1", "2", "0.0", "1.0", "0"),
        "dim": ("0", "1", "-1"),
        "n": ("1", "2", "float('inf')"),
        "mask": ("torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0]])", "torch.eye(3)", "torch.ones(2)"),
        "of_all": ("prune.L1Unstructured, amount=0.4", "prune.RandomUnstructured, amount=2", "prune.Identity"),
        "value": ("torch.arange(9.0).view(3, 3)", "nn.Parameter(torch.arange(9.0).view(3, 3))"),
    },
)
_AVERAGED = "am = t('make', lambda: SW.AveragedModel(net<average>))\n" + (
    "with torch.no_grad():\n    for p in net.parameters():\n        p.add_(0.1)\n"
    "net(x)\nt('update', lambda: am.update_parameters(net))\n"
)
AVERAGES = Family(
    _UTILS + "SW = torch.optim.swa_utils\nx = x.double()\n",
    "net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).double()",
    (
        *(_AVERAGED * 2 + "t('state', lambda: am.state_dict())\nt('call', lambda: am(x))",) * 3,
        "net.zero_grad()\n((net(x) * torch.tensor([[1.0], [2.0]])).exp() * 7).sum().backward()\n<spoil>\n"
        "t('clip', lambda: U.<clip>)\nlog([p.grad for p in net.parameters()])",
        "t('update', lambda: SW.update_bn(<data>, net))\nlog(net[1].state_dict(), net[1].momentum)",
        "t('vector', lambda: U.parameters_to_vector(<which>))",
        "t('set', lambda: U.vector_to_parameters(torch.arange(<n>, dtype=torch.float64), net.parameters()))",
        "t('fuse', lambda: U.fusion.fuse_linear_bn_eval(net[0].eval(), net[1].eval()).state_dict())\nnet.train()",
        "l = nn.Linear(3, 2)\nt('norm', lambda: U.<norm> is l)\nt('state', lambda: l.state_dict())\n"
        "t('then', lambda: <then>)\nt('call', lambda: l(x.float()))\nlog(list(l.named_parameters()))",
    ),
    "log(net.state_dict())",
    {
        "average": (
            *(
                "",
                ", use_buffers=True",
                ", avg_fn=lambda a, b, n: 0.3 * a + 0.7 * b",
                ", avg_fn=SW.get_ema_avg_fn(0.5)",
            ),
            *(", multi_avg_fn=SW.get_ema_multi_avg_fn(0.9)", ", multi_avg_fn=SW.get_swa_multi_avg_fn()"),
            *(
                ", multi_avg_fn=SW.get_ema_multi_avg_fn(1.5)",
                ", multi_avg_fn=SW.get_ema_multi_avg_fn(0.9), use_buffers=True",
            ),
        ),
        "spoil": ("", "net[0].bias.grad = None", "net[2].bias.grad[0] = float('inf')"),
        "clip": (
            *("clip_grad_norm_(net.parameters(), 0.1)", "clip_grad_norm_(net.parameters(), 1.0, 1)"),
            *("clip_grad_norm_(net[0].weight, 0.5, float('inf'))", "clip_grad_norm_([], 1.0)"),
            *(
                "clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)",
                "clip_grad_value_(net.parameters(), 0.01)",
            ),
        ),
        "data": ("[x, x * 2]", "[(x, 1), (x * 3, 2)]", "[]", "iter([x, x + 1])", "[3]"),
        "which": ("net.parameters()", "[]", "[torch.ones(2), torch.ones(2, dtype=torch.float64)]", "3"),
        "n": ("26", "25"),
        "norm": (
            "weight_norm(l)",
            "weight_norm(l, dim=1)",
            "spectral_norm(l)",
            "spectral_norm(l, n_power_iterations=0)",
        ),
        "then": (
            "U.remove_weight_norm(l)",
            "U.remove_spectral_norm(l)",
            "l.load_state_dict(l.state_dict())",
            "l.eval()",
        ),
    },
    (1, 4),
)
FAMILIES = {
    **{"schedules": SCHEDULES, "optimisers": OPTIMISERS, "parametrizations": PARAMETRIZATIONS},
    **{"pruning": PRUNING, "averages": AVERAGES},
}
