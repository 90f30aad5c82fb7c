"""A generator and a critic with a penalty on its gradient, which takes second derivatives."""

import torch
import torch.nn as nn
from formulas import numbers, report


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        m.weight.data.copy_(numbers(*m.weight.shape, phase=1.0, scale=0.2))
    elif name.find("BatchNorm") != -1:
        nn.init.constant_(m.weight.data, 1.0)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, z=6, c=4):
        super().__init__()
        self.main = nn.Sequential(
            *(nn.ConvTranspose2d(z, c * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(c * 2), nn.ReLU(True)),
            *(nn.ConvTranspose2d(c * 2, c, 4, 2, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(True)),
            *(nn.ConvTranspose2d(c, 1, 4, 2, 1, bias=False), nn.Tanh()),
        )

    def forward(self, z):
        return self.main(z)


class Critic(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.main = nn.Sequential(
            *(nn.Conv2d(1, c, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)),
            *(nn.Conv2d(c, c * 2, 4, 2, 1, bias=False), nn.GroupNorm(2, c * 2), nn.LeakyReLU(0.2, inplace=True)),
            *(nn.Conv2d(c * 2, 1, 4, 1, 0, bias=False), nn.Sigmoid()),
        )

    def forward(self, x):
        return self.main(x).view(-1, 1).squeeze(1)


def penalty(critic, real, fake):
    share = numbers(real.size(0), 1, 1, 1, phase=2.0).abs()
    between = (share * real + (1 - share) * fake).requires_grad_(True)
    out = critic(between)
    (slope,) = torch.autograd.grad(
        outputs=out, inputs=between, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True
    )
    return ((slope.view(slope.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()


if __name__ == "__main__":
    generator, critic = Generator(), Critic()
    generator.apply(weights_init)
    critic.apply(weights_init)
    criterion = nn.BCELoss()
    of_critic = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.999))
    of_generator = torch.optim.RMSprop(generator.parameters(), lr=2e-3)
    rows = []
    for step in range(4):
        critic.zero_grad()
        real = numbers(3, 1, 16, 16, phase=step)
        label = torch.full((real.size(0),), 1.0)
        error_real = criterion(critic(real), label)
        error_real.backward()
        fake = generator(numbers(3, 6, 1, 1, phase=step + 0.5))
        label.fill_(0.0)
        error_fake = criterion(critic(fake.detach()), label)
        error_fake.backward()
        extra = penalty(critic, real, fake.detach())
        (0.1 * extra).backward()
        of_critic.step()
        generator.zero_grad()
        label.fill_(1.0)
        error = criterion(critic(fake), label)
        error.backward()
        of_generator.step()
        rows.append([error_real.item(), error_fake.item(), extra.item(), error.item()])
    with torch.no_grad():
        image = generator(numbers(1, 6, 1, 1, phase=5.0)).squeeze().cpu().numpy()
    report(rows=rows, image=image[::5, ::5].tolist(), mean=float(abs(image).mean()))
