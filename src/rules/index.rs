//! Operators that move elements by integer indices, and those that choose elements and say which.

use super::basis::{self, zeros_like};
use super::{Joint, batching, shapes};
use crate::bail;
use crate::base::{DType, Result, Shape, size};
use crate::core::params::{Dims, fields, parameters};
use crate::core::primitive::Saves;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call, call_many,
};
use crate::dense::{Array, index as kernels};
use smallvec::{SmallVec, smallvec};

/// `out[i][j] = x[index[i][j]][j]` along a dimension.
pub static GATHER: Joint = Joint {
    name: "gather",
    infer: |p, a| {
        let (x, index) = (shapes::first(a)?, shapes::argument(a, 1)?);
        kernels::check_index("gather", &x.shape, index.form(), p.dim())?;
        shapes::one(x.dtype, index.shape.clone())
    },
    eval: |p, a| Ok(smallvec![kernels::gather(a[0].array()?, p.dim(), a[1].array()?)?.into()]),
    linear: 0b001,
    saves: |_, needs| Saves { inputs: 2 * (needs & 1), outputs: 0 },
    transpose: |_, p, point, g, _| {
        pull(g, |g| {
            let zeros = basis::full(point.in_shape(0)?, g.dtype(), 0.0)?;
            Ok(smallvec![Some(scatter_add(&zeros, p.dim(), point.input(1)?, g)?), None])
        })
    },
    batch: batch_elementwise,
};

/// A copy of `x` with `out[index[i][j]][j] += src[i][j]`.
pub static SCATTER_ADD: Joint = Joint {
    name: "scatter_add",
    infer: |p, a| scattered("scatter_add", p, a),
    eval: |p, a| Ok(smallvec![kernels::scatter_add(a[0].array()?, p.dim(), a[1].array()?, a[2].array()?)?.into()]),
    linear: 0b101,
    saves: |_, needs| Saves { inputs: if needs & 4 != 0 { 2 } else { 0 }, outputs: 0 },
    transpose: |_, p, point, g, needs| {
        pull(g, |g| {
            let src = if needs & 4 != 0 { Some(gather(g, p.dim(), point.input(1)?)?) } else { None };
            Ok(smallvec![Some(g.clone()), None, src])
        })
    },
    batch: batch_elementwise,
};

/// A copy of `x` with `out[index[i][j]][j] = src[i][j]`.
pub static SCATTER: Joint = Joint {
    name: "scatter",
    infer: |p, a| scattered("scatter", p, a),
    eval: |p, a| Ok(smallvec![kernels::scatter(a[0].array()?, p.dim(), a[1].array()?, a[2].array()?)?.into()]),
    linear: 0b101,
    saves: |_, _| Saves { inputs: 2, outputs: 0 },
    transpose: |_, p, point, g, needs| {
        pull(g, |g| {
            let i = point.input(1)?;
            let x = if needs & 1 != 0 {
                Some(scatter(g, p.dim(), i, &basis::full(i.shape(), g.dtype(), 0.0)?)?)
            } else {
                None
            };
            let src = if needs & 4 != 0 {
                let last = last_writes(i, p.dim(), g.shape()[p.dim()])?;
                Some(kept(&last, gather(g, p.dim(), i)?)?)
            } else {
                None
            };
            Ok(smallvec![x, None, src])
        })
    },
    batch: batch_elementwise,
};

/// Members of `x` along a dimension (the first, without parameters) at `index`, whose dimensions take its place.
pub static TAKE_ROWS: Joint = Joint {
    name: "index",
    infer: |p, a| {
        let index = &shapes::argument(a, 1)?.shape;
        shapes::reshaped(a, |x| spliced(x, along(p), index)?.checked("index"))
    },
    eval: |p, a| {
        let (x, i, d) = (a[0].array()?, a[1].array()?, along(p));
        let members = kernels::select(x, d, &i.reshape(&[i.numel()].into())?)?;
        Ok(smallvec![members.reshape(&spliced(x.shape(), d, i.shape())?)?.into()])
    },
    linear: 0b001,
    saves: |_, needs| Saves { inputs: 2 * (needs & 1), outputs: 0 },
    transpose: |_, p, point, g, _| {
        pull(g, |g| {
            let zeros = basis::full(point.in_shape(0)?, g.dtype(), 0.0)?;
            Ok(smallvec![Some(add_members(&zeros, along(p), point.input(1)?, g)?), None])
        })
    },
    batch: batch_take_rows,
};

/// A copy of `x` with members of `src` added at `index`.
pub static ADD_ROWS: Joint = Joint {
    name: "index_add",
    infer: shapes::same,
    eval: |p, a| {
        let (x, i, src) = flat_members(p, a)?;
        Ok(smallvec![kernels::add_at(x, along(p), &i, &src)?.into()])
    },
    linear: 0b101,
    saves: |_, needs| Saves { inputs: if needs & 4 != 0 { 2 } else { 0 }, outputs: 0 },
    transpose: |_, p, point, g, needs| {
        pull(g, |g| {
            let src = if needs & 4 != 0 { Some(take_members(g, along(p), point.input(1)?)?) } else { None };
            Ok(smallvec![Some(g.clone()), None, src])
        })
    },
    batch: batch_put_rows,
};

/// A copy of `x` with members of `src` put at `index`; of several writes the last stays.
pub static SET_ROWS: Joint = Joint {
    name: "index_put",
    infer: shapes::same,
    eval: |p, a| {
        let (x, i, src) = flat_members(p, a)?;
        Ok(smallvec![kernels::put_at(x, along(p), &i, &src)?.into()])
    },
    linear: 0b101,
    saves: |_, _| Saves { inputs: 2, outputs: 0 },
    transpose: |_, p, point, g, needs| {
        pull(g, |g| {
            let (d, i) = (along(p), point.input(1)?);
            let x = if needs & 1 != 0 {
                Some(set_members(g, d, i, &basis::full(&spliced(g.shape(), d, i.shape())?, g.dtype(), 0.0)?)?)
            } else {
                None
            };
            let src = if needs & 4 != 0 { Some(kept(&last_members(i, g, d)?, take_members(g, d, i)?)?) } else { None };
            Ok(smallvec![x, None, src])
        })
    },
    batch: batch_put_rows,
};

/// Which writes stay where several go to one place; parameters: the dimension and its size.
static LAST_WRITES: super::Opaque = super::Opaque {
    name: "last_writes",
    infer: |_, a| shapes::one(DType::Bool, shapes::first(a)?.shape.clone()),
    eval: |p, a| {
        let (index, dim, size) = (a[0].array()?, p.ints()[0] as usize, p.ints()[1] as usize);
        let all = || Array::full(DType::Bool, index.shape().clone(), true.into());
        Ok(smallvec![kernels::last_writes(index, dim, size)?.map_or_else(all, Ok)?.into()])
    },
    batching: super::OpaqueBatch::With(|me, p, a, _| {
        let Some(v) = batching::front(&a[0])? else { bail!(Internal, "last_writes(): nothing is batched") };
        let ints = [p.ints()[0] + 1, p.ints()[1]].into_iter().collect();
        Ok(smallvec![(call(me, &Params::Ints(ints), &[&v])?, Some(0))])
    }),
};

/// For each index along `dim` whether its write stays: no later one goes to the same place. `None` if all do.
fn last_writes(index: &Tensor, dim: usize, size: usize) -> Result<Option<Tensor>> {
    match index.dense() {
        Some(i) => Ok(kernels::last_writes(i, dim, size)?.map(Tensor::from)),
        None => {
            let ints = [dim as i64, size as i64].into_iter().collect();
            call(Prim::Static(&LAST_WRITES), &Params::Ints(ints), &[index]).map(Some)
        }
    }
}

/// As [`last_writes`], of members along a dimension; the mask has dimensions of size 1 for those of a member.
fn last_members(index: &Tensor, x: &Tensor, dim: usize) -> Result<Option<Tensor>> {
    let flat = basis::reshape(index, &[index.numel()].into())?;
    let Some(last) = last_writes(&flat, 0, x.shape()[dim])? else { return Ok(None) };
    basis::reshape(&last, &spliced(&vec![1; x.rank()], dim, index.shape())?).map(Some)
}

/// The cotangent of what was written, which only writes that stay have.
fn kept(last: &Option<Tensor>, g: Tensor) -> Result<Tensor> {
    match last {
        Some(mask) => basis::keep_where(mask, &g),
        None => Ok(g),
    }
}

/// The shape rule of what writes into a copy of its first argument.
pub fn scattered(op: &str, p: &Params, a: &[Meta]) -> Result<Inferred> {
    let (index, src) = (shapes::argument(a, 1)?, shapes::argument(a, 2)?);
    kernels::check_scatter(op, shapes::first(a)?.form(), index.form(), src.form(), p.dim())?;
    shapes::same(p, a)
}

fn joined(a: &[usize], b: &[usize]) -> Shape {
    a.iter().chain(b).copied().collect()
}

/// The dimension whose members are moved.
fn along(p: &Params) -> usize {
    if let Params::Dim(d) = p { *d } else { 0 }
}

/// Parameters that say it.
fn of_dim(dim: usize) -> Params {
    if dim == 0 { Params::None } else { Params::Dim(dim) }
}

/// A shape with those of an index in the place of a dimension.
fn spliced(x: &[usize], dim: usize, index: &[usize]) -> Result<Shape> {
    if dim >= x.len() {
        bail!(Internal, "index(): dimension {dim} of {}", x.len());
    }
    Ok(x[..dim].iter().chain(index).chain(&x[dim + 1..]).copied().collect())
}

/// Index and source with the dimensions of the index as one.
fn flat_members<'a>(p: &Params, a: &[&'a Tensor]) -> Result<(&'a Array, Array, Array)> {
    let (x, i, src) = (a[0].array()?, a[1].array()?, a[2].array()?);
    let n: Shape = [i.numel()].into();
    Ok((x, i.reshape(&n)?, src.reshape(&spliced(x.shape(), along(p), &n)?)?))
}

fn pull(g: &[Option<Tensor>], f: impl Fn(&Tensor) -> Result<Tangents>) -> Result<Tangents> {
    match g {
        [Some(g)] => f(g),
        _ => Ok(SmallVec::new()),
    }
}

/// All arguments have one rank: the batch goes in front of each.
fn batch_elementwise(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let values: SmallVec<[_; 3]> = args.iter().map(|a| batching::front_expanded(a, info)).collect::<Result<_>>()?;
    let refs: SmallVec<[&Tensor; 3]> = values.iter().map(|v| &**v).collect();
    Ok(smallvec![(call(me, &Params::Dim(p.dim() + 1), &refs)?, Some(0))])
}

/// Row numbers of a batch of tables stacked into one of `size * rows` rows.
fn stacked_index(index: &Tensor, size: usize, rows: usize) -> Result<Tensor> {
    let mut shape: Shape = [size].into();
    (1..index.rank()).for_each(|_| shape.push(1));
    let starts = kernels::arange(DType::I64, 0.into(), (rows as i64).into(), size)?;
    basis::add(index, &basis::reshape(&starts.into(), &shape)?)
}

fn batch_take_rows(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let (x, i, d) = (&args[0], &args[1], along(p));
    let Some(table) = batching::front(x)? else {
        let index = batching::front_expanded(i, info)?;
        return Ok(smallvec![(call(me, p, &[x.value, &index])?, Some(d))]);
    };
    if i.dim.is_none() {
        return Ok(smallvec![(call(me, &Params::Dim(d + 1), &[&table, i.value])?, Some(0))]);
    }
    let index = batching::front_expanded(i, info)?;
    let table = basis::move_dim(&table, d + 1, 1)?;
    let rows = table.shape()[1];
    let flat = basis::reshape(&table, &joined(&[info.size * rows], &table.shape()[2..]))?;
    let out = call(me, &Params::None, &[&flat, &stacked_index(&index, info.size, rows)?])?;
    Ok(smallvec![(turned(&out, index.rank() - 1, d, false)?, Some(0))])
}

/// `count` dimensions behind the batch moved behind the `dim` that follow them, or `back`.
fn turned(x: &Tensor, count: usize, dim: usize, back: bool) -> Result<Tensor> {
    let (first, second) = if back { (dim, count) } else { (count, dim) };
    let end = 1 + first + second;
    let order: Dims = (0..1).chain(1 + first..end).chain(1..1 + first).chain(end..x.rank()).collect();
    basis::permute(x, &order)
}

fn batch_put_rows(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let (i, d) = (&args[1], along(p));
    let x = batching::front_expanded(&args[0], info)?;
    let src = batching::front_expanded(&args[2], info)?;
    if i.dim.is_none() {
        return Ok(smallvec![(call(me, &Params::Dim(d + 1), &[&x, i.value, &src])?, Some(0))]);
    }
    let index = batching::front_expanded(i, info)?;
    let (x, src) = (basis::move_dim(&x, d + 1, 1)?, turned(&src, index.rank() - 1, d, true)?);
    let rows = x.shape()[1];
    let flat = basis::reshape(&x, &joined(&[info.size * rows], &x.shape()[2..]))?;
    let out = call(me, &Params::None, &[&flat, &stacked_index(&index, info.size, rows)?, &src])?;
    Ok(smallvec![(basis::move_dim(&basis::reshape(&out, x.shape())?, 1, d + 1)?, Some(0))])
}

/// Elements of `x` along `dim` at `index`, of one rank with it.
pub fn gather(x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&GATHER), &Params::Dim(dim), &[x, index])
}
pub fn scatter_add(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SCATTER_ADD), &Params::Dim(dim), &[x, index, src])
}
pub fn scatter(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SCATTER), &Params::Dim(dim), &[x, index, src])
}
/// Members of `x` along `dim` at `index`.
pub fn take_members(x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&TAKE_ROWS), &of_dim(dim), &[x, index])
}
pub fn add_members(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&ADD_ROWS), &of_dim(dim), &[x, index, src])
}
pub fn set_members(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SET_ROWS), &of_dim(dim), &[x, index, src])
}
pub fn take_rows(x: &Tensor, index: &Tensor) -> Result<Tensor> {
    take_members(x, 0, index)
}
pub fn add_rows(x: &Tensor, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    add_members(x, 0, index, src)
}
pub fn set_rows(x: &Tensor, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    set_members(x, 0, index, src)
}

/// An operator that chooses elements along one dimension: sort, topk, max with index. Its outputs are the values and
/// their int64 indices; the derivative follows the indices.
pub struct Choosing {
    pub name: &'static str,
    /// The shape of both outputs.
    pub shape: fn(&Params, &Meta) -> Result<Shape>,
    pub eval: fn(&Params, &Array) -> Result<(Array, Array)>,
    /// The dimension, and whether the outputs have it.
    pub along: fn(&Params) -> (usize, bool),
    pub shifted: fn(&Params) -> Params,
}

impl Choosing {
    /// The indices with the dimension kept.
    fn kept(&self, p: &Params, t: &Tensor) -> Result<Tensor> {
        let (dim, keep) = (self.along)(p);
        if keep { Ok(t.clone()) } else { basis::unsqueeze_dims(t, &[dim]) }
    }
}

impl Primitive for Choosing {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, p: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok((self.eval)(p, args[0].array()?)?.0.plain().into())
    }

    fn eval_many(&self, p: &Params, args: &[&Tensor]) -> Result<Outputs> {
        let (values, indices) = (self.eval)(p, args[0].array()?)?;
        Ok(smallvec![values.plain().into(), indices.plain().into()])
    }

    fn infer(&self, p: &Params, args: &[Meta]) -> Result<Inferred> {
        let a = shapes::first(args)?;
        let shape = (self.shape)(p, a)?;
        Ok(smallvec![Meta { dtype: a.dtype, shape: shape.clone() }, Meta { dtype: DType::I64, shape }])
    }

    fn saves(&self, _: &Params, _: Mask) -> Saves {
        Saves { inputs: 0, outputs: 2 }
    }

    fn jvp(&self, _: Prim<'_>, p: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let [Some(t)] = tangents else { return Ok(smallvec![None, None]) };
        let out = gather(t, (self.along)(p).0, &self.kept(p, point.output(1)?)?)?;
        Ok(smallvec![Some(basis::reshape(&out, point.output(1)?.shape())?), None])
    }

    fn vjp(
        &self,
        _: Prim<'_>,
        p: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        _: Mask,
    ) -> Result<Tangents> {
        let Some(Some(g)) = cotangents.first() else { return Ok(SmallVec::new()) };
        let zeros = basis::full(point.in_shape(0)?, g.dtype(), 0.0)?;
        let index = self.kept(p, point.output(1)?)?;
        Ok(smallvec![Some(scatter_add(&zeros, (self.along)(p).0, &index, &self.kept(p, g)?)?)])
    }

    fn batch(&self, me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        let Some(v) = batching::front(&args[0])? else { bail!(Internal, "{}(): nothing is batched", self.name) };
        let outs = call_many(me, &(self.shifted)(p), &[&v])?;
        Ok(outs.into_iter().map(|o| (o, Some(0))).collect())
    }
}

/// A copy of `x` with the elements of a slice replaced by `src`, of the slice's shape.
pub static SET_SLICE: Joint = Joint {
    name: "slice_scatter",
    infer: shapes::same,
    eval: |p, a| {
        let Params::Slice { dim, start, step, .. } = *p else { bail!(Internal, "slice_scatter(): parameters {p:?}") };
        Ok(smallvec![crate::dense::copy::with_slice(a[0].array()?, a[1].array()?, dim, start, step)?.into()])
    },
    linear: 0b011,
    saves: |_, _| Saves::default(),
    transpose: |me, p, _, g, needs| {
        pull(g, |g| {
            let part = call(Prim::Static(&basis::SLICE), p, &[g])?;
            let x = if needs & 1 != 0 { Some(call(me, p, &[g, &zeros_like(&part)?])?) } else { None };
            Ok(smallvec![x, Some(part)])
        })
    },
    batch: |me, p, args, info| {
        let x = batching::front_expanded(&args[0], info)?;
        let src = batching::front_expanded(&args[1], info)?;
        match p.shifted() {
            Some(p) => Ok(smallvec![(call(me, &p, &[&x, &src])?, Some(0))]),
            None => bail!(Internal, "slice_scatter(): parameters {p:?}"),
        }
    },
};

pub fn set_slice(x: &Tensor, src: &Tensor, dim: usize, start: usize, len: usize, step: isize) -> Result<Tensor> {
    call(Prim::Static(&SET_SLICE), &Params::Slice { dim, start, len, step }, &[x, src])
}

/// Indices checked against a size; negative ones are wrapped if `wrap`.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub size: usize,
    /// The dimension, for the message.
    pub dim: usize,
    pub wrap: bool,
}

fields! { struct Bounds { size, dim, wrap } }
parameters! { Bounds = "bounds" }

/// Checks (and wraps) int64 indices. An operator of its own, so that it also runs on batched indices.
pub static CHECK_INDEX: super::Opaque = super::Opaque {
    name: "index:check",
    infer: shapes::same,
    eval: |p, args| {
        let b = *p.get::<Bounds>();
        let own = args[0].array()?;
        let a = own.contiguous()?;
        let n = b.size as i64;
        let values: &[i64] = a.as_slice().unwrap_or(&[]);
        let low = if b.wrap { -n } else { 0 };
        if let Some(bad) = values.iter().find(|&&i| i < low || i >= n) {
            return Err(size::out_of_bounds(*bad, b.dim, b.size, b.wrap));
        }
        if values.iter().all(|&i| i >= 0) {
            // Results lie in memory as their indices do.
            return Ok(smallvec![if own.is_contiguous() { a } else { own.clone() }.into()]);
        }
        let wrapped = Array::build::<i64>(a.shape().clone(), |out| {
            for (o, &i) in out.iter_mut().zip(values) {
                *o = if i < 0 { i + n } else { i };
            }
        })?;
        Ok(smallvec![wrapped.laid_as(&own.layout())?.into()])
    },
    batching: super::OpaqueBatch::With(|me, p, args, _| {
        let Some(v) = batching::front(&args[0])? else { bail!(Internal, "index(): nothing is batched") };
        Ok(smallvec![(call(me, p, &[&v])?, Some(0))])
    }),
};

/// Indices that are known to lie in `0..size`; an `Index` error otherwise.
pub fn check_index(index: &Tensor, bounds: Bounds) -> Result<Tensor> {
    call(Prim::Static(&CHECK_INDEX), &Params::other(bounds), &[index])
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] =
    &[&GATHER, &SCATTER_ADD, &SCATTER, &TAKE_ROWS, &ADD_ROWS, &SET_ROWS, &LAST_WRITES, &SET_SLICE, &CHECK_INDEX];
