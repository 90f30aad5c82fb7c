"""Learning to learn, gradients of each instance, ensembles and kernels: transforms of modules as functions."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from formulas import filled, numbers, report
from torch.func import functional_call, grad, grad_and_value, hessian, jacrev, jvp, stack_module_state, vmap
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def learning_to_learn():
    net = filled(nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)))
    params = dict(net.named_parameters())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def loss(params, x, y):
        return F.mse_loss(functional_call(net, params, (x,)), y)

    def after_a_step(params, x1, y1, x2, y2):
        slopes = grad(loss)(params, x1, y1)
        return loss({k: params[k] - 0.05 * slopes[k] for k in params}, x2, y2)

    losses = []
    for k in range(4):
        size, shift = numbers(6, 1, 1, phase=k).abs() + 0.5, numbers(6, 1, 1, phase=k + 0.5)
        x1, x2 = numbers(6, 8, 1, phase=k + 1.0, scale=3.0), numbers(6, 8, 1, phase=k + 2.0, scale=3.0)
        y1, y2 = size * torch.sin(x1 + shift), size * torch.sin(x2 + shift)
        optimizer.zero_grad()
        mean = vmap(after_a_step, in_dims=(None, 0, 0, 0, 0))(params, x1, y1, x2, y2).mean()
        mean.backward()
        optimizer.step()
        losses.append(mean.item())
    return losses


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 3, 3), nn.Linear(27, 5)

    def forward(self, x):
        return self.fc(F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1))


def private_step():
    model = filled(Images())
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}
    x, y = numbers(6, 1, 8, 8), torch.arange(6) % 5

    def loss(params, buffers, x, y):
        return F.cross_entropy(functional_call(model, (params, buffers), (x.unsqueeze(0),)), y.unsqueeze(0))

    slopes, losses = vmap(grad_and_value(loss), in_dims=(None, None, 0, 0))(params, buffers, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in slopes.values()]).norm(dim=0)
    clip = (1.0 / (norms + 1e-6)).clamp(max=1.0)
    clipped = {k: (g * clip.view(-1, *[1] * (g.dim() - 1))).mean(0) for k, g in slopes.items()}
    F.cross_entropy(model(x), y).backward()
    same = all(torch.allclose(slopes[k].mean(0), p.grad) for k, p in model.named_parameters())
    return {"losses": losses, "norms": norms, "clipped": [g.norm() for g in clipped.values()], "same": same}


def ensemble():
    members = [filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))) for _ in range(3)]
    with torch.no_grad():
        for i, member in enumerate(members):
            for p in member.parameters():
                p.mul_(1 + 0.1 * i)
    stacked, buffers = stack_module_state(members)
    base = copy.deepcopy(members[0]).to("meta")
    x = numbers(5, 4)
    one = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(stacked, buffers, x)
    loop = torch.stack([m(x) for m in members])
    one.pow(2).sum().backward()
    return {"out": one.sum((1, 2)), "same": torch.allclose(one, loop), "slope": stacked["0.bias"].grad.sum(1)}


def curvature():
    model = filled(nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 2)))
    params = {k: v.detach() for k, v in model.named_parameters()}
    x = numbers(3, 4)
    slopes = vmap(jacrev(lambda p, x: functional_call(model, p, (x,))), (None, 0))(params, x)
    kernel = sum(torch.einsum("naf,mbf->nmab", j.flatten(2), j.flatten(2)) for j in slopes.values())

    def loss(p):
        return functional_call(model, p, (x,)).pow(2).sum()

    way = {k: torch.ones_like(v) for k, v in params.items()}
    _, product = jvp(grad(loss), (params,), (way,))
    blocks = hessian(loss)(params)
    through = {k: sum(blocks[k][n].flatten(blocks[k][n].dim() - way[n].dim()).sum(-1) for n in params) for k in params}
    same = all(torch.allclose(through[k].reshape(params[k].shape), product[k]) for k in params)
    vector = parameters_to_vector(model.parameters())
    vector_to_parameters(vector * 2, model.parameters())
    return {
        "kernel": kernel.diagonal(),
        "product": [v.sum() for v in product.values()],
        "same": same,
        "norm": vector.norm(),
    }


if __name__ == "__main__":
    report(meta=learning_to_learn(), private=private_step(), ensemble=ensemble(), curvature=curvature())
