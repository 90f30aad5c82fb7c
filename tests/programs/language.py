"""Small transformers: one of single heads, one of the library's layers, with groups of parameters and schedules."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from formulas import filled, numbers, report

WORDS, WIDTH, BLOCK = 20, 16, 8
DATA = (torch.arange(48).view(12, 4) * 7) % WORDS


class Head(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(WIDTH, size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(BLOCK, BLOCK)))

    def forward(self, x):
        _, T, C = x.shape
        weights = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        weights = weights.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(weights, dim=-1) @ self.value(x)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.heads = nn.ModuleList([Head(WIDTH // 4) for _ in range(4)])
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.forward_part = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.norms = nn.ModuleDict({name: nn.LayerNorm(WIDTH) for name in ("first", "second", "last")})
        self.head = nn.Linear(WIDTH, WORDS)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)
            if m.bias is not None:
                torch.nn.init.zeros_(m.bias)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        x = self.words(idx) + self.places(torch.arange(T, device=idx.device))
        y = self.norms["first"](x)
        x = x + self.proj(torch.cat([h(y) for h in self.heads], dim=-1))
        x = x + self.forward_part(self.norms["second"](x))
        logits = self.head(self.norms["last"](x))
        loss = None if targets is None else F.cross_entropy(logits.view(B * T, -1), targets.view(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, count):
        for _ in range(count):
            logits, _ = self(idx[:, -BLOCK:])
            idx = torch.cat((idx, logits[:, -1, :].argmax(-1, keepdim=True)), dim=1)
        return idx


class PositionalEncoding(nn.Module):
    def __init__(self, width, length=32):
        super().__init__()
        self.dropout = nn.Dropout(p=0.0)
        position = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        pe = torch.zeros(length, 1, width)
        pe[:, 0, 0::2] = torch.sin(position * rate)
        pe[:, 0, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = PositionalEncoding(WIDTH)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 32, 0.0), 2)
        self.embed, self.decoder = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.decoder.weight = self.embed.weight

    def forward(self, words):
        mask = torch.triu(torch.full((len(words), len(words)), float("-inf")), diagonal=1)
        return F.log_softmax(self.decoder(self.encoder(self.places(self.embed(words) * math.sqrt(WIDTH)), mask)), -1)


def single_heads():
    model = filled(Language())
    decayed = [p for n, p in model.named_parameters() if p.dim() >= 2]
    others = [p for n, p in model.named_parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=6)
    x, y = DATA.t()[:, :8].contiguous(), DATA.t()[:, 1:9].contiguous()
    losses = []
    for _ in range(6):
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return {"losses": losses, "said": model.generate(x[:1, :2], 6), "rate": optimizer.param_groups[0]["lr"]}


def layers():
    model = filled(Encoder())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.nll_loss(model(DATA[:-1]).view(-1, WORDS), DATA[1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    return {"losses": losses, "sum": model(DATA[:-1]).sum(), "names": [n for n, _ in model.named_parameters()]}


def both_sides():
    model = filled(nn.Transformer(WIDTH, 4, 1, 1, 32, 0.0, batch_first=True))
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    out = model(numbers(2, 5, WIDTH), numbers(2, 4, WIDTH, phase=1.0), tgt_mask=mask, src_key_padding_mask=padding)
    attention = filled(nn.MultiheadAttention(WIDTH, 4, batch_first=True))
    x = numbers(2, 5, WIDTH, phase=2.0)
    _, weights = attention(x, x, x, key_padding_mask=padding, need_weights=True, average_attn_weights=False)
    return {"out": out.mean((1, 2)), "weights": weights[1, :, 0]}


if __name__ == "__main__":
    report(single=single_heads(), layers=layers(), both=both_sides())
