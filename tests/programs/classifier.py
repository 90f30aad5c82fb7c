"""A convolutional network learns to classify: data loaders, schedules, hooks, clipping, a saved state."""

import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from formulas import filled, numbers, report
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class Block(nn.Module):
    def __init__(self, channels, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += self.shortcut(x)
        return self.relu(out)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()  # noqa: UP008
        self.blocks = nn.Sequential(Block(1, 4), nn.MaxPool2d(2), Block(4, 6, 2))
        self.pool = nn.AdaptiveAvgPool2d((2, 2))
        self.drop = nn.Dropout(0.0)
        self.fc1, self.fc2 = nn.Linear(24, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = torch.flatten(self.pool(self.blocks(x)), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(self.drop(x)))), dim=1)


class Images(Dataset):
    def __init__(self, count, transform=None):
        self.labels = torch.arange(count) % 5
        self.images = numbers(count, 1, 12, 12) + 0.3 * self.labels.view(-1, 1, 1, 1)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        return (self.transform(image) if self.transform else image), int(self.labels[i])


def train(model, loader, optimizer):
    model.train()
    losses = []
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def test(model, loader):
    model.eval()
    loss = correct = 0
    for data, target in loader:
        output = model(data)
        loss += F.nll_loss(output, target, reduction="sum").item()
        prediction = output.argmax(dim=1, keepdim=True)
        correct += prediction.eq(target.view_as(prediction)).sum().item()
    return loss / len(loader.dataset), correct


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = filled(Net()).to(device)
    loader = DataLoader(Images(40, lambda x: (x - 0.5) / 0.7), batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    seen, gradients = {}, {}
    handles = [
        m.register_forward_hook(lambda m, args, out, name=name: seen.update({name: out.detach().abs().mean().item()}))
        for name, m in model.named_modules()
        if isinstance(m, nn.Conv2d)
    ]
    handles.append(
        model.blocks[2].register_full_backward_hook(
            lambda m, inputs, outputs: gradients.update(i=inputs[0].norm().item(), o=outputs[0].norm().item())
        )
    )
    losses, tests, rates = [], [], []
    for _ in range(2):
        losses += train(model, loader, optimizer)
        tests.append(test(model, loader))
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    for handle in handles:
        handle.remove()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = Net()
    matched = str(again.load_state_dict(torch.load(file, map_location=device)))
    report(
        losses=losses,
        tests=tests,
        rates=rates,
        seen=seen,
        gradients=gradients,
        again=test(again, loader),
        matched=matched,
        keys=list(model.state_dict()),
        means=model.blocks[0].bn1.running_mean,
        batches=model.blocks[0].bn1.num_batches_tracked,
        text=repr(model),
    )
