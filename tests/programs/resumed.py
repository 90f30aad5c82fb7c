"""An autoencoder that is trained, saved with all that belongs to the run, and trained on from the file."""

import os
import random
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from formulas import filled, numbers, report
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Dataset, Subset


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            *(nn.Conv2d(1, 3, 3, stride=2, padding=1), nn.ELU(), nn.Conv2d(3, 4, 3, stride=2, padding=1)),
            *(nn.InstanceNorm2d(4, affine=True), nn.Flatten(), nn.Linear(36, 6)),
        )
        self.decoder = nn.Sequential(
            *(nn.Linear(6, 36), nn.Unflatten(1, (4, 3, 3)), nn.Upsample(scale_factor=2, mode="bilinear")),
            *(nn.Conv2d(4, 3, 3, padding=1), nn.SiLU(), nn.ConvTranspose2d(3, 1, 4, 2, 1), nn.Sigmoid()),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Images(Dataset):
    def __init__(self):
        self.data = torch.sigmoid(numbers(14, 1, 12, 12, scale=4.0))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return {"image": self.data[i], "index": i}


class Run:
    def __init__(self):
        self.model = filled(Autoencoder())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2, weight_decay=1e-5)
        self.plateau = ReduceLROnPlateau(self.optimizer, "min", patience=0, factor=0.5)
        self.warmup = LambdaLR(self.optimizer, lambda epoch: min(1.0, (epoch + 1) / 3))
        self.average = AveragedModel(self.model, avg_fn=lambda a, p, n: 0.9 * a + 0.1 * p)
        self.epoch, self.rows = 0, []

    def parts(self):
        names = ("model", "optimizer", "plateau", "warmup", "average")
        return {name: getattr(self, name) for name in names}

    def save(self, path):
        states = {name: part.state_dict() for name, part in self.parts().items()}
        torch.save({"epoch": self.epoch, "random": torch.get_rng_state(), **states}, path)

    def load(self, path):
        found = torch.load(path, map_location="cpu", weights_only=True)
        self.epoch = found["epoch"]
        torch.set_rng_state(found["random"])
        for name, part in self.parts().items():
            part.load_state_dict(found[name])

    def train(self, epochs):
        data = Images()
        loader = DataLoader(Subset(data, range(10)), batch_size=4)
        held = DataLoader(Subset(data, range(10, 14)), 2, collate_fn=lambda b: torch.stack([x["image"] for x in b]))
        for epoch in range(self.epoch + 1, epochs + 1):
            self.epoch = epoch
            self.model.train()
            total = 0.0
            for batch in loader:
                image = batch["image"] + 1e-9 * torch.randn_like(batch["image"])
                self.optimizer.zero_grad()
                small = sum(p.abs().sum() for p in self.model.decoder.parameters())
                loss = F.mse_loss(self.model(image), image) + 1e-3 * small
                loss.backward()
                self.optimizer.step()
                self.average.update_parameters(self.model)
                total += loss.item()
            self.model.eval()
            with torch.inference_mode():
                error = sum(F.l1_loss(self.model(x), x).item() for x in held) / len(held)
            self.warmup.step()
            self.plateau.step(error)
            self.rows.append([total / len(loader), error, self.optimizer.param_groups[0]["lr"]])


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(), "run.pth.tar")
    set_seed(0)
    first = Run()
    first.train(2)
    first.save(path)
    first.train(4)
    second = Run()
    second.load(path)
    second.train(4)
    pairs = zip(first.model.state_dict().values(), second.model.state_dict().values(), strict=True)
    average = zip(first.average.parameters(), second.average.parameters(), strict=True)
    report(
        rows=first.rows,
        again=second.rows == first.rows[2:],
        same=all(torch.equal(a, b) for a, b in pairs),
        average=all(torch.equal(a, b) for a, b in average),
        count=second.average.n_averaged,
        keys=sorted(second.optimizer.state_dict()["param_groups"][0]),
    )
