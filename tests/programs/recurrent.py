"""Networks that read text letter by letter, sequences of several lengths, and attention over what was read."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from formulas import filled, numbers, report
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

TEXT = "hello world, the quick brown fox jumps over the lazy dog. " * 2
LETTERS = sorted(set(TEXT))
DATA = torch.tensor([LETTERS.index(c) for c in TEXT], dtype=torch.long)


class Reader(nn.Module):
    def __init__(self, kind, letters, width=8, hidden=12, layers=2):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.rnn = getattr(nn, kind)(width, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, letters)
        self.kind, self.layers, self.hidden = kind, layers, hidden

    def begin(self, batch):
        weight = next(self.parameters()).data
        state = [weight.new(self.layers, batch, self.hidden).zero_() for _ in range(2)]
        return tuple(state) if self.kind == "LSTM" else state[0]

    def forward(self, x, state):
        y, state = self.rnn(self.embed(x), state)
        return self.out(y.contiguous().view(-1, y.size(2))), state


def detached(state):
    return tuple(detached(s) for s in state) if isinstance(state, tuple) else state.detach()


def learn(kind):
    model = filled(Reader(kind, len(LETTERS)))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    criterion = nn.CrossEntropyLoss()
    batch, length = 2, 11
    count = (len(DATA) - 1) // batch * batch
    x, y = DATA[:count].view(batch, -1), DATA[1 : count + 1].view(batch, -1)
    state, rows = model.begin(batch), []
    for i in range(0, x.size(1) - length, length):
        state = detached(state)
        model.zero_grad()
        out, state = model(x[:, i : i + length], state)
        loss = criterion(out, y[:, i : i + length].reshape(-1))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        rows.append([loss.item(), norm.item(), math.exp(loss.item())])
    model.eval()
    said = "h"
    with torch.no_grad():
        state, letter = model.begin(1), torch.tensor([[LETTERS.index("h")]])
        for _ in range(6):
            out, state = model(letter, state)
            letter = torch.softmax(out[-1] / 0.5, -1).topk(1)[1].view(1, 1)
            said += LETTERS[letter.item()]
    return {"rows": rows, "said": said}


def lengths():
    sequences = [numbers(n, 3, phase=n) for n in (2, 5, 3)]
    padded = pad_sequence(sequences, batch_first=True)
    sizes = torch.tensor([len(s) for s in sequences])
    packed = pack_padded_sequence(padded, sizes, batch_first=True, enforce_sorted=False)
    rnn = filled(nn.GRU(3, 4, bidirectional=True, batch_first=True))
    out, last = rnn(packed)
    out, sizes = pad_packed_sequence(out, batch_first=True)
    out.pow(2).sum().backward()
    return {
        "shape": list(out.shape),
        "sizes": sizes,
        "out": out.sum((0, 1)),
        "last": last.sum(-1),
        "slope": rnn.weight_hh_l0.grad.sum(0),
    }


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.attn = nn.Linear(hidden * 2, hidden)
        self.v = nn.Parameter(torch.rand(hidden))

    def forward(self, state, read):
        query = state.repeat(read.size(0), 1, 1).transpose(0, 1)
        energy = torch.tanh(self.attn(torch.cat([query, read.transpose(0, 1)], 2))).transpose(2, 1)
        return F.softmax(torch.bmm(self.v.repeat(read.size(1), 1).unsqueeze(1), energy).squeeze(1), dim=1).unsqueeze(1)


def translate():
    encoder, decoder, attention = filled(nn.GRU(3, 4)), filled(nn.GRUCell(7, 4)), filled(Attention(4))
    read, state = encoder(numbers(5, 2, 3))
    state, said = state[0], []
    for step in range(3):
        context = attention(state.unsqueeze(0), read).bmm(read.transpose(0, 1)).squeeze(1)
        state = decoder(torch.cat([numbers(2, 3, phase=step), context], 1), state)
        said.append(state)
    torch.stack(said).sum().backward()
    return {"said": torch.stack(said).sum(0), "slope": attention.v.grad}


if __name__ == "__main__":
    report(**{kind: learn(kind) for kind in ("LSTM", "GRU", "RNN")}, lengths=lengths(), translate=translate())
