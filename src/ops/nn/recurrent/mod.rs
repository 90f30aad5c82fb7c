//! Recurrent layers and their cells.

mod sequence;
mod steps;

use crate::base::{DType, ErrorKind, Result, Shape};
use crate::core::{Params, Prim, Tensor, call_many};
use crate::dense::recurrent::Cell;
use crate::ops::matmul::{linear, same_dtype};
use crate::ops::random::dropout as drop_some;
use crate::ops::signature::{Dropped, Positive, Ranks, inside, of_rank, of_shape};
use crate::rules::basis::{self, add, cast};
use sequence::{LAYER, Layer, join};

/// Matrices and biases of a layer in one direction.
#[derive(Clone, Copy)]
struct Weights<'a> {
    ih: &'a Tensor,
    hh: &'a Tensor,
    biases: Option<[&'a Tensor; 2]>,
    /// Takes h to fewer values.
    hr: Option<&'a Tensor>,
}

impl Weights<'_> {
    /// How many units there are.
    fn units(&self, cell: Cell) -> Result<usize> {
        let (units, hh) = (of_rank("w_ih", self.ih, 2, 2)?.shape()[0] / cell.gates(), of_rank("w_hh", self.hh, 2, 2)?);
        let width = self.hr.map_or(units, |w| w.shape()[0]);
        of_shape(ErrorKind::Runtime, "w_ih", self.ih, &[units * cell.gates(), self.ih.shape()[1]].into())?;
        of_shape(ErrorKind::Runtime, "w_hh", hh, &[units * cell.gates(), width].into())?;
        for (name, b) in ["b_ih", "b_hh"].iter().zip(self.biases.iter().flatten()) {
            of_shape(ErrorKind::Runtime, name, b, &[units * cell.gates()].into())?;
        }
        if let Some(hr) = self.hr {
            of_shape(ErrorKind::Runtime, "w_hr", hr, &[width, units].into())?;
        }
        Ok(units)
    }

    /// The products of all inputs, with what of the biases belongs to them; a GRU's bias of the state's part of n is left.
    fn project(&self, cell: Cell, x: &Tensor, units: usize) -> Result<(Tensor, Option<Tensor>)> {
        let (bias, left) = match (cell, self.biases) {
            (Cell::Gru, Some([ih, hh])) => {
                let ones = basis::full(&[units].into(), hh.dtype(), 0.0)?;
                let gates = basis::cat(&[&basis::slice(hh, 0, 0, 2 * units, 1)?, &ones], 0)?;
                (Some(add(ih, &gates)?), Some(basis::slice(hh, 0, 2 * units, units, 1)?))
            }
            (Cell::Gru, None) => (None, Some(basis::full(&[units].into(), x.dtype(), 0.0)?)),
            (_, Some([ih, hh])) => (Some(add(ih, hh)?), None),
            (_, None) => (None, None),
        };
        Ok((linear(x, self.ih, bias.as_ref()).map_err(inside)?, left))
    }
}

/// One layer in one direction: x [S, features] and states [N, …] to all h [S, …] and the last states.
fn run(layer: &Layer, x: &Tensor, states: &[Tensor], w: Weights<'_>) -> Result<(Tensor, Vec<Tensor>)> {
    let mut all = vec![x, w.ih, w.hh];
    all.extend(states);
    all.extend(w.biases.iter().flatten().copied());
    all.extend(w.hr);
    same_dtype(&all)?;
    if x.dtype().is_half() {
        let wide: Vec<Tensor> = all.iter().map(|t| cast(t, DType::F32)).collect::<Result<_>>()?;
        let (states, rest) = wide[3..].split_at(states.len());
        let biases = w.biases.map(|_| [&rest[0], &rest[1]]);
        let w = Weights { ih: &wide[1], hh: &wide[2], biases, hr: w.hr.and(rest.last()) };
        let (out, ends) = run(layer, &wide[0], states, w)?;
        let ends = ends.iter().map(|e| cast(e, x.dtype())).collect::<Result<_>>()?;
        return Ok((cast(&out, x.dtype())?, ends));
    }
    let units = w.units(layer.cell)?;
    for (i, state) in states.iter().enumerate() {
        let width = if i == 0 { w.hh.shape()[1] } else { units };
        of_shape(ErrorKind::Runtime, "hx", state, &[layer.sizes[0], width].into())?;
    }
    let (projected, bias) = w.project(layer.cell, x, units)?;
    if let Some(hr) = w.hr {
        return projecting(layer, &projected, states, w.hh, hr);
    }
    let args: Vec<&Tensor> = [&projected, &states[0], w.hh].into_iter().chain(states.get(1)).chain(&bias).collect();
    let outs = if x.dtype().is_float() {
        call_many(Prim::Static(&LAYER), &Params::other(layer.clone()), &args)?
    } else {
        steps::forward(layer, &args.into_iter().cloned().collect::<Vec<_>>())?
    };
    let mut ends = vec![layer.last(&outs[0])?];
    if layer.cell == Cell::Lstm {
        ends.push(layer.last(&outs[2])?);
    }
    Ok((outs[0].clone(), ends))
}

/// An LSTM whose h is projected before the next step gets it: steps are operators.
fn projecting(layer: &Layer, x: &Tensor, first: &[Tensor], hh: &Tensor, hr: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
    let mut all: Vec<(usize, Tensor, Tensor)> = Vec::with_capacity(layer.sizes.len());
    for (start, n) in layer.steps(false) {
        let have = all.last().map_or(0, |(_, h, _)| h.shape()[0]).min(n);
        let state = |before: Option<&Tensor>, first: &Tensor| {
            let known = before.map(|b| basis::slice(b, 0, 0, have, 1)).transpose()?;
            let new = (n > have).then(|| basis::slice(first, 0, have, n - have, 1)).transpose()?;
            join(&known.into_iter().chain(new).collect::<Vec<_>>(), 0)
        };
        let before = all.last();
        let (h, c) = (state(before.map(|b| &b.1), &first[0])?, state(before.map(|b| &b.2), &first[1])?);
        let gates = add(&basis::slice(x, 0, start, n, 1)?, &linear(&h, hh, None)?)?;
        let (_, h, c) = steps::lstm(&gates, &c)?;
        all.push((start, linear(&h, hr, None)?, c));
    }
    all.sort_by_key(|(start, ..)| *start);
    let out = join(&all.iter().map(|(_, h, _)| h.clone()).collect::<Vec<_>>(), 0)?;
    let cells = join(&all.iter().map(|(.., c)| c.clone()).collect::<Vec<_>>(), 0)?;
    let ends = vec![layer.last(&out)?, layer.last(&cells)?];
    Ok((out, ends))
}

/// What all layers have in common.
struct Stack<'a> {
    cell: Cell,
    params: Vec<&'a Tensor>,
    has_biases: bool,
    layers: usize,
    dropout: f64,
    bidirectional: bool,
    batch_first: bool,
    sizes: Option<&'a [i64]>,
}

impl Stack<'_> {
    fn weights(&self) -> Result<Vec<Weights<'_>>> {
        let directions = 1 + usize::from(self.bidirectional);
        let least = if self.has_biases { 4 } else { 2 };
        let each = self.params.len() / (self.layers * directions);
        let projects = self.cell == Cell::Lstm && each == least + 1;
        if each * self.layers * directions != self.params.len() || !(each == least || projects) {
            refuse!(
                Runtime,
                "expected {least} params for each of {} layers and directions, but got {} in all; give them in the order of \
                 the module's parameters",
                self.layers * directions,
                self.params.len()
            );
        }
        Ok(self
            .params
            .chunks_exact(each)
            .map(|p| Weights {
                ih: p[0],
                hh: p[1],
                biases: self.has_biases.then(|| [p[2], p[3]]),
                hr: projects.then(|| p[each - 1]),
            })
            .collect())
    }

    /// How many sequences each step has, and the input with all steps in its rows.
    fn rows(&self, input: &Tensor) -> Result<(Vec<usize>, Tensor)> {
        let Some(sizes) = self.sizes else {
            let by_time = if self.batch_first { basis::swap_dims(input, 0, 1)? } else { input.clone() };
            let steps = by_time.shape()[0];
            if steps == 0 {
                refuse!(Runtime, "Expected sequence length to be larger than 0 in RNN; give at least one step");
            }
            crate::ops::check_pieces(crate::ops::signature::HERE, steps)?;
            return Ok((vec![by_time.shape()[1]; steps], basis::rows(&by_time)?));
        };
        let total = sizes.iter().fold(0i64, |a, &n| a.saturating_add(n));
        let falls = sizes.windows(2).all(|w| w[0] >= w[1]) && sizes.last().is_some_and(|&n| n > 0);
        if !falls || total as usize != input.shape()[0] {
            refuse!(
                Runtime,
                "batch_sizes must be positive, must not grow, and add up to the {} rows of the input, but they are \
                 {sizes:?}; make them with nn.utils.rnn.pack_padded_sequence()",
                input.shape()[0]
            );
        }
        Ok((sizes.iter().map(|&n| n as usize).collect(), input.clone()))
    }

    /// The last layer's h at all steps, and the last states of each layer and direction.
    fn run(&self, input: &Tensor, states: &[&Tensor]) -> Result<(Tensor, Vec<Tensor>)> {
        let rank = if self.sizes.is_some() { 2 } else { 3 };
        of_rank("input", input, rank, rank)?;
        let (weights, directions) = (self.weights()?, 1 + usize::from(self.bidirectional));
        let (sizes, mut x) = self.rows(input)?;
        for state in states {
            let shape = of_rank("hx", state, 3, 3)?.shape();
            of_shape(ErrorKind::Runtime, "hx", state, &[weights.len(), sizes[0], shape[2]].into())?;
        }
        let mut ends: Vec<Vec<Tensor>> = vec![Vec::new(); states.len()];
        for (i, both) in weights.chunks_exact(directions).enumerate() {
            let mut outs = Vec::with_capacity(directions);
            for (d, w) in both.iter().enumerate() {
                let own: Vec<Tensor> =
                    states.iter().map(|s| basis::select(s, 0, i * directions + d)).collect::<Result<_>>()?;
                let layer = Layer { cell: self.cell, sizes: sizes.clone(), reverse: d == 1 };
                let (out, last) = run(&layer, &x, &own, *w)?;
                outs.push(out);
                for (all, last) in ends.iter_mut().zip(last) {
                    all.push(basis::unsqueeze_dims(&last, &[0])?);
                }
            }
            x = join(&outs, 1)?;
            if self.dropout > 0.0 && i + 1 < self.layers {
                x = drop_some(&x, self.dropout, true, false)?;
            }
        }
        let ends = ends.iter().map(|e| join(e, 0)).collect::<Result<_>>()?;
        if self.sizes.is_some() {
            return Ok((x, ends));
        }
        let width = x.shape()[1];
        let out = basis::reshape(&x, &[sizes.len(), sizes[0], width].into())?;
        Ok((if self.batch_first { basis::swap_dims(&out, 0, 1)? } else { out }, ends))
    }
}

/// The last h of a layer of one state, with all h.
fn single(stack: &Stack<'_>, input: &Tensor, hx: &Tensor) -> Result<(Tensor, Tensor)> {
    let (out, mut ends) = stack.run(input, &[hx])?;
    Ok((out, ends.remove(0)))
}

/// One step of a cell: input [N, features] and states [N, units], or both without the batch.
fn step(cell: Cell, input: &Tensor, states: &[&Tensor], w: Weights<'_>) -> Result<Vec<Tensor>> {
    let batched = of_rank("input", input, 1, 2)?.rank() == 2;
    let row = |x: &Tensor| if batched { Ok(x.clone()) } else { basis::unsqueeze_dims(x, &[0]) };
    let states: Vec<Tensor> = states.iter().map(|s| row(s)).collect::<Result<_>>()?;
    let x = row(input)?;
    let layer = Layer { cell, sizes: vec![x.shape()[0]], reverse: false };
    let ends = run(&layer, &x, &states, w)?.1;
    let shown = |e: Tensor| if batched { Ok(e) } else { basis::reshape(&e, &Shape::new(&e.shape()[1..])) };
    ends.into_iter().map(shown).collect()
}

fn both<'a>(b_ih: Option<&'a Tensor>, b_hh: Option<&'a Tensor>) -> Result<Option<[&'a Tensor; 2]>> {
    match (b_ih, b_hh) {
        (Some(ih), Some(hh)) => Ok(Some([ih, hh])),
        (None, None) => Ok(None),
        _ => refuse!(Runtime, "got one of the arguments 'b_ih' and 'b_hh'; give both, or none"),
    }
}

ops! { TABLE:
    /// One step of long short-term memory: input (N, features) and `hx` = (h, c), each (N, units), to the new h and c. See
    /// `nn.LSTMCell`.
    ///
    /// >>> import pullback
    /// >>> h, c = pullback.lstm_cell(pullback.ones(1, 2), [pullback.zeros(1, 1)] * 2, pullback.ones(4, 2), pullback.ones(4, 1))
    /// >>> h
    /// tensor([[0.6083]])
    fn lstm_cell = "lstm_cell" (input: &Tensor, hx: Vec<&Tensor>, w_ih: &Tensor, w_hh: &Tensor, b_ih: Option<&Tensor> = None,
        b_hh: Option<&Tensor> = None) -> (Tensor, Tensor) [PRODUCT, NO_OUT, WIDEST] {
        if hx.len() != 2 {
            refuse!(Runtime, "lstm_cell expects two hidden states, but got {}; give (h, c)", hx.len());
        }
        let mut ends = step(Cell::Lstm, input, &hx, Weights { ih: w_ih, hh: w_hh, biases: both(b_ih, b_hh)?, hr: None })?;
        let h = ends.remove(0);
        Ok((h, ends.remove(0)))
    }

    /// One step of gated recurrent units: input (N, features) and `hx` (N, units) to the new h. See `nn.GRUCell`.
    ///
    /// >>> import pullback
    /// >>> pullback.gru_cell(pullback.ones(1, 2), pullback.zeros(1, 1), pullback.ones(3, 2), pullback.ones(3, 1))
    /// tensor([[0.1149]])
    fn gru_cell = "gru_cell" (input: &Tensor, hx: &Tensor, w_ih: &Tensor, w_hh: &Tensor, b_ih: Option<&Tensor> = None,
        b_hh: Option<&Tensor> = None) -> Tensor [PRODUCT, NO_OUT, WIDEST] {
        Ok(step(Cell::Gru, input, &[hx], Weights { ih: w_ih, hh: w_hh, biases: both(b_ih, b_hh)?, hr: None })?.remove(0))
    }

    /// `tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)` of rows. See `nn.RNNCell`.
    ///
    /// >>> import pullback
    /// >>> pullback.rnn_tanh_cell(pullback.ones(1, 2), pullback.zeros(1, 1), pullback.ones(1, 2), pullback.ones(1, 1))
    /// tensor([[0.9640]])
    fn rnn_tanh_cell = "rnn_tanh_cell" (input: &Tensor, hx: &Tensor, w_ih: &Tensor, w_hh: &Tensor,
        b_ih: Option<&Tensor> = None, b_hh: Option<&Tensor> = None) -> Tensor [PRODUCT, NO_OUT, LOWERS] {
        Ok(step(Cell::Tanh, input, &[hx], Weights { ih: w_ih, hh: w_hh, biases: both(b_ih, b_hh)?, hr: None })?.remove(0))
    }

    /// `relu(w_ih @ input + b_ih + w_hh @ hx + b_hh)` of rows. See `nn.RNNCell`.
    ///
    /// >>> import pullback
    /// >>> pullback.rnn_relu_cell(pullback.ones(1, 2), pullback.zeros(1, 1), pullback.ones(1, 2), pullback.ones(1, 1))
    /// tensor([[2.]])
    fn rnn_relu_cell = "rnn_relu_cell" (input: &Tensor, hx: &Tensor, w_ih: &Tensor, w_hh: &Tensor,
        b_ih: Option<&Tensor> = None, b_hh: Option<&Tensor> = None) -> Tensor [PRODUCT, NO_OUT, LOWERS] {
        Ok(step(Cell::Relu, input, &[hx], Weights { ih: w_ih, hh: w_hh, biases: both(b_ih, b_hh)?, hr: None })?.remove(0))
    }

    /// Layers of long short-term memory: the last one's h at all steps, and the last h and c of each layer and direction. `hx`
    /// is (h, c); `params` are those of `nn.LSTM` in their order. With `batch_sizes` the input is the data of a packed sequence.
    ///
    /// >>> import pullback
    /// >>> params = [pullback.ones(4, 2), pullback.ones(4, 1)]
    /// >>> state = pullback.zeros(1, 1, 1)
    /// >>> out, h, c = pullback.lstm(pullback.ones(3, 1, 2), [state, state], params, False, 1, 0.0, False, False, False)
    /// >>> out.shape, h.shape
    /// (pullback.Size([3, 1, 1]), pullback.Size([1, 1, 1]))
    fn lstm = "lstm" (input: &Tensor as Ranks<2, 3>, hx: Vec<&Tensor>, params: Vec<&Tensor>, has_biases: bool,
        num_layers: i64 as Positive, dropout: f64 as Dropped, train: bool, bidirectional: bool, batch_first: bool = false;
        batch_sizes: Option<&[i64]> = None) -> (Tensor, Tensor, Tensor) [PRODUCT, NO_OUT, LOWERS] {
        if hx.len() != 2 {
            refuse!(Runtime, "lstm expects two hidden states, but got {}; give (h, c)", hx.len());
        }
        let stack = Stack { cell: Cell::Lstm, params, has_biases, layers: num_layers,
            dropout: if train { dropout } else { 0.0 }, bidirectional, batch_first, sizes: batch_sizes };
        let (out, mut ends) = stack.run(input, &hx)?;
        let h = ends.remove(0);
        Ok((out, h, ends.remove(0)))
    }

    /// Layers of gated recurrent units: the last one's h at all steps, and the last h of each layer and direction. Arguments are
    /// as those of `lstm`, but `hx` is a tensor.
    ///
    /// >>> import pullback
    /// >>> params = [pullback.ones(3, 2), pullback.ones(3, 1)]
    /// >>> out, h = pullback.gru(pullback.ones(4, 1, 2), pullback.zeros(1, 1, 1), params, False, 1, 0.0, False, False)
    /// >>> out.shape, h.shape
    /// (pullback.Size([4, 1, 1]), pullback.Size([1, 1, 1]))
    fn gru = "gru" (input: &Tensor as Ranks<2, 3>, hx: &Tensor, params: Vec<&Tensor>, has_biases: bool,
        num_layers: i64 as Positive, dropout: f64 as Dropped, train: bool, bidirectional: bool, batch_first: bool = false;
        batch_sizes: Option<&[i64]> = None) -> (Tensor, Tensor) [PRODUCT, NO_OUT, WIDEST] {
        let dropout = if train { dropout } else { 0.0 };
        single(&Stack { cell: Cell::Gru, params, has_biases, layers: num_layers, dropout, bidirectional, batch_first,
            sizes: batch_sizes }, input, hx)
    }

    /// Layers of `rnn_tanh_cell`: the last one's h at all steps, and the last h of each layer and direction. Arguments are as
    /// those of `gru`.
    fn rnn_tanh = "rnn_tanh" (input: &Tensor as Ranks<2, 3>, hx: &Tensor, params: Vec<&Tensor>, has_biases: bool,
        num_layers: i64 as Positive, dropout: f64 as Dropped, train: bool, bidirectional: bool, batch_first: bool = false;
        batch_sizes: Option<&[i64]> = None) -> (Tensor, Tensor) [PRODUCT, NO_OUT, LOWERS] {
        let dropout = if train { dropout } else { 0.0 };
        single(&Stack { cell: Cell::Tanh, params, has_biases, layers: num_layers, dropout, bidirectional, batch_first,
            sizes: batch_sizes }, input, hx)
    }

    /// Layers of `rnn_relu_cell`, as `rnn_tanh`.
    fn rnn_relu = "rnn_relu" (input: &Tensor as Ranks<2, 3>, hx: &Tensor, params: Vec<&Tensor>, has_biases: bool,
        num_layers: i64 as Positive, dropout: f64 as Dropped, train: bool, bidirectional: bool, batch_first: bool = false;
        batch_sizes: Option<&[i64]> = None) -> (Tensor, Tensor) [PRODUCT, NO_OUT, LOWERS] {
        let dropout = if train { dropout } else { 0.0 };
        single(&Stack { cell: Cell::Relu, params, has_biases, layers: num_layers, dropout, bidirectional, batch_first,
            sizes: batch_sizes }, input, hx)
    }
}

/// What these files add to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[sequence::PRIMITIVES], parameters: sequence::PARAMETERS };
