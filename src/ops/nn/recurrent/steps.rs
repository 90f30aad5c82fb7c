//! Recurrent layers step by step, in operators: what the primitives compute, at any level.

use super::sequence::{Layer, join};
use crate::base::Result;
use crate::core::{Outputs, Tensor};
use crate::dense::recurrent::{Cell, Given, KNOWN};
use crate::ops::compare::gt;
use crate::ops::unary::{relu, sigmoid, tanh};
use crate::rules::basis::{self, add, cat, keep_where, matmul, mul, number, slice, sub, swap_last};
use smallvec::{SmallVec, smallvec};

/// Part `i` of the units' values.
fn part(x: &Tensor, i: usize, units: usize) -> Result<Tensor> {
    slice(x, x.rank() - 1, i * units, units, 1)
}

fn parts(x: &Tensor, units: usize) -> Result<[Tensor; 4]> {
    Ok([part(x, 0, units)?, part(x, 1, units)?, part(x, 2, units)?, part(x, 3, units)?])
}

/// `1 - x`
fn rest(x: &Tensor) -> Result<Tensor> {
    sub(&number(x, 1.0), x)
}

/// The gates i, f, g, o of an LSTM, h and c, from the gates before their activations and the old c.
pub fn lstm(gates: &Tensor, c: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let units = c.shape()[c.rank() - 1];
    let [i, f, g, o] = parts(gates, units)?;
    let (i, f, g, o) = (sigmoid(&i)?, sigmoid(&f)?, tanh(&g)?, sigmoid(&o)?);
    let c = add(&mul(&f, c)?, &mul(&i, &g)?)?;
    let h = mul(&o, &tanh(&c)?)?;
    Ok((cat(&[&i, &f, &g, &o], gates.rank() - 1)?, h, c))
}

/// r, z, n and the state's part of n, and h.
fn gru(x: &Tensor, product: &Tensor, h: &Tensor, bias: &Tensor) -> Result<(Tensor, Tensor)> {
    let units = h.shape()[h.rank() - 1];
    let gate = |i| sigmoid(&add(&part(x, i, units)?, &part(product, i, units)?)?);
    let (r, z) = (gate(0)?, gate(1)?);
    let m = add(&part(product, 2, units)?, &basis::unsqueeze_dims(bias, &[bias.rank() - 1])?)?;
    let n = tanh(&add(&part(x, 2, units)?, &mul(&r, &m)?)?)?;
    let h = add(&n, &mul(&z, &sub(h, &n)?)?)?;
    Ok((cat(&[&r, &z, &n, &m], x.rank() - 1)?, h))
}

/// Rows that a step has, and those that it has not.
struct Carried(Vec<Tensor>);

impl Carried {
    fn rows(&self, n: usize) -> Result<Vec<Tensor>> {
        self.0.iter().map(|c| basis::slice(c, c.rank() - 2, 0, n, 1)).collect()
    }
    fn set(&mut self, new: impl IntoIterator<Item = Tensor>) -> Result<()> {
        for (old, new) in self.0.iter_mut().zip(new) {
            let d = old.rank() - 2;
            let (all, n) = (old.shape()[d], new.shape()[d]);
            *old = if n == all { new } else { cat(&[&new, &slice(old, d, n, all - n, 1)?], d)? };
        }
        Ok(())
    }
}

/// What was computed for each step, in the order of rows.
fn in_order(mut all: Vec<Vec<Tensor>>, against: bool) -> Result<Outputs> {
    let d = all[0][0].rank() - 2;
    let ordered = all.iter_mut().map(|parts| {
        if against {
            parts.reverse();
        }
        join(parts, d)
    });
    ordered.collect()
}

/// [`super::sequence::LAYER`].
pub fn forward(layer: &Layer, args: &[Tensor]) -> Result<Outputs> {
    let (x, w, d) = (&args[0], swap_last(&args[2])?, args[0].rank() - 2);
    let mut states = Carried(vec![args[1].clone()]);
    if layer.cell == Cell::Lstm {
        states.0.push(args[3].clone());
    }
    let mut outs: Vec<Vec<Tensor>> = vec![Vec::new(); if layer.cell.has_gates() { 1 + states.0.len() } else { 1 }];
    for (start, n) in layer.steps(false) {
        let (x, old) = (slice(x, d, start, n, 1)?, states.rows(n)?);
        let product = matmul(&old[0], &w)?;
        let new: SmallVec<[Tensor; 3]> = match layer.cell {
            Cell::Tanh => smallvec![tanh(&add(&x, &product)?)?],
            Cell::Relu => smallvec![relu(&add(&x, &product)?)?],
            Cell::Gru => {
                let (gates, h) = gru(&x, &product, &old[0], &args[3])?;
                smallvec![h, gates]
            }
            Cell::Lstm => {
                let (gates, h, c) = lstm(&add(&x, &product)?, &old[1])?;
                smallvec![h, gates, c]
            }
        };
        states.set(new.iter().step_by(2).cloned())?;
        outs.iter_mut().zip(new).for_each(|(all, one)| all.push(one));
    }
    in_order(outs, layer.reverse)
}

/// The slope of a step: cotangents of the gates before their activations, and those that the step before gets without the
/// weights.
struct Slope {
    of_input: Tensor,
    /// Where the state's products have others.
    of_state: Option<Tensor>,
    h: Option<Tensor>,
    c: Option<Tensor>,
}

/// `g * y (1 - y)`
fn through_sigmoid(g: &Tensor, y: &Tensor) -> Result<Tensor> {
    mul(g, &mul(y, &rest(y)?)?)
}

/// `g * (1 - y²)`
fn through_tanh(g: &Tensor, y: &Tensor) -> Result<Tensor> {
    mul(g, &rest(&mul(y, y)?)?)
}

/// `x`, plus part `i` of the gates' cotangents.
fn plus(x: Tensor, gates: Option<&Tensor>, i: usize, units: usize) -> Result<Tensor> {
    match gates {
        Some(g) => add(&x, &part(g, i, units)?),
        None => Ok(x),
    }
}

fn lstm_slope(gates: &Tensor, [c, before]: [&Tensor; 2], [h, dc]: [&Tensor; 2], own: Option<&Tensor>) -> Result<Slope> {
    let units = c.shape()[c.rank() - 1];
    let ([i, f, g, o], t) = (parts(gates, units)?, tanh(c)?);
    let dc = add(dc, &through_tanh(&mul(h, &o)?, &t)?)?;
    let di = through_sigmoid(&plus(mul(&dc, &g)?, own, 0, units)?, &i)?;
    let df = through_sigmoid(&plus(mul(&dc, before)?, own, 1, units)?, &f)?;
    let dg = through_tanh(&plus(mul(&dc, &i)?, own, 2, units)?, &g)?;
    let d_o = through_sigmoid(&plus(mul(h, &t)?, own, 3, units)?, &o)?;
    let of_input = cat(&[&di, &df, &dg, &d_o], gates.rank() - 1)?;
    Ok(Slope { of_input, of_state: None, h: None, c: Some(mul(&dc, &f)?) })
}

fn gru_slope(gates: &Tensor, before: &Tensor, h: &Tensor, own: Option<&Tensor>) -> Result<Slope> {
    let units = before.shape()[before.rank() - 1];
    let ([r, z, n, m], last) = (parts(gates, units)?, gates.rank() - 1);
    let dn = through_tanh(&plus(mul(h, &rest(&z)?)?, own, 2, units)?, &n)?;
    let dz = through_sigmoid(&plus(mul(h, &sub(before, &n)?)?, own, 1, units)?, &z)?;
    let dr = through_sigmoid(&plus(mul(&dn, &m)?, own, 0, units)?, &r)?;
    let dm = plus(mul(&dn, &r)?, own, 3, units)?;
    let (of_input, of_state) = (cat(&[&dr, &dz, &dn], last)?, cat(&[&dr, &dz, &dm], last)?);
    Ok(Slope { of_input, of_state: Some(of_state), h: Some(mul(h, &z)?), c: None })
}

/// [`super::sequence::SLOPE`].
pub fn backward(layer: &Layer, given: Given, args: &[Tensor]) -> Result<Outputs> {
    let [w, gates, states, first, ..] = args else { refuse!(Internal, "a slope of {} arguments", args.len()) };
    let (d, mut more) = (first.rank() - 2, args[KNOWN..].iter());
    let cotangents = given.map(|g| if g { more.next() } else { None });
    let zeros = basis::zeros_like(first)?;
    let mut carried = Carried(vec![zeros; if layer.cell == Cell::Lstm { 2 } else { 1 }]);
    let before = if layer.cell.has_gates() { Some(layer.previous(first, states)?) } else { None };
    let mut outs: Vec<Vec<Tensor>> = vec![Vec::new(); if layer.cell == Cell::Gru { 2 } else { 1 }];
    for (start, n) in layer.steps(true) {
        let row = |x: &Tensor| slice(x, d, start, n, 1);
        let own: [Option<Tensor>; 3] = [
            cotangents[0].map(&row).transpose()?,
            cotangents[1].map(&row).transpose()?,
            cotangents[2].map(&row).transpose()?,
        ];
        let plus = |x: &Tensor, g: &Option<Tensor>| if let Some(g) = g { add(x, g) } else { Ok(x.clone()) };
        let live = carried.rows(n)?;
        let h = plus(&live[0], &own[0])?;
        let (kept, before) = (row(gates)?, before.as_ref().map(&row).transpose()?);
        let slope = match (layer.cell, &before) {
            (Cell::Lstm, Some(before)) => {
                lstm_slope(&kept, [&row(states)?, before], [&h, &plus(&live[1], &own[2])?], own[1].as_ref())?
            }
            (Cell::Gru, Some(before)) => gru_slope(&kept, before, &h, own[1].as_ref())?,
            (Cell::Relu, _) => {
                let of_input = keep_where(&gt(&kept, &number(&kept, 0.0))?, &h)?;
                Slope { of_input, of_state: None, h: None, c: None }
            }
            _ => Slope { of_input: through_tanh(&h, &kept)?, of_state: None, h: None, c: None },
        };
        let product = matmul(slope.of_state.as_ref().unwrap_or(&slope.of_input), w)?;
        let h = plus(&product, &slope.h)?;
        carried.set([Some(h), slope.c].into_iter().flatten())?;
        outs[0].push(slope.of_input);
        if let Some(of_state) = slope.of_state {
            outs[1].push(of_state);
        }
    }
    let mut outs = in_order(outs, !layer.reverse)?.into_iter();
    let of_input = outs.next();
    Ok(of_input.into_iter().chain(carried.0).chain(outs).collect())
}
