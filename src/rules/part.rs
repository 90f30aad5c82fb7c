//! Reading and writing a region of a value at every level: the two operators behind `as_strided`, and behind views that
//! were written to.

use super::{Joint, basis, batching, shapes};
use crate::base::{Layout, Result, Shape, Strides};
use crate::core::params::{fields, parameters};
use crate::core::primitive::Saves;
use crate::core::symbolic::Symbolic;
use crate::core::{BatchArg, BatchInfo, BatchOut, Mask, Params, Prim, Primitive, Tangents, Tensor, call};
use crate::dense::order;
use crate::dense::region::{self, Region};
use smallvec::smallvec;

/// Parameters of both operators.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    region: Region,
    /// Leading dimensions over which the region repeats.
    lead: usize,
    /// Whether the first argument is given up, so that its memory may be reused.
    donate: bool,
}

fields! { struct Part { region, lead, donate } }
parameters! { Part = "part" }

impl Part {
    fn params(&self, lead: usize, donate: bool) -> Params {
        Params::other(Part { region: self.region.clone(), lead, donate })
    }
    /// The region's shape behind the leading dimensions of the base.
    fn shape(&self, base: &Shape) -> Shape {
        base[..self.lead].iter().chain(self.region.shape().iter()).copied().collect()
    }
}

/// `read(base)`: the region's elements.
static READ: Joint = Joint {
    name: "as_strided",
    infer: |p, a| {
        let part = p.get::<Part>();
        shapes::reshaped(a, |base| Ok(part.shape(base)))
    },
    eval: |p, args| {
        let part = p.get::<Part>();
        Ok(smallvec![region::read(args[0].array()?, &part.region, part.lead)?.into()])
    },
    linear: 0b01,
    saves: |_, _| Saves::default(),
    transpose: |_, p, point, cotangents, _| {
        let [Some(g)] = cotangents else { return Ok(Tangents::new()) };
        let zeros = basis::full(point.in_shape(0)?, g.dtype(), 0.0)?;
        let part = p.get::<Part>();
        Ok(smallvec![Some(call(Prim::Static(&WRITE), &part.params(part.lead, false), &[&zeros, g])?)])
    },
    batch,
};

/// `write(base, value)`: the base with the region's elements replaced.
static WRITE: Joint = Joint {
    name: "CopySlices",
    infer: shapes::same,
    eval: |p, args| {
        let part = p.get::<Part>();
        let base = args[0].array()?;
        if args[1].symbolic().is_some_and(Symbolic::is_zero) {
            return Ok(smallvec![region::clear(base, &part.region, part.lead, part.donate)?.into()]);
        }
        let value = args[1].array()?;
        Ok(smallvec![region::write(base, &part.region, part.lead, value, part.donate)?.into()])
    },
    linear: 0b11,
    saves: |_, _| Saves::default(),
    transpose: |me, p, _, cotangents, needs| write_vjp(me, p, cotangents, needs),
    batch,
};

fn write_vjp(me: Prim<'_>, p: &Params, cotangents: &[Option<Tensor>], needs: Mask) -> Result<Tangents> {
    let [Some(g)] = cotangents else { return Ok(Tangents::new()) };
    let part = p.get::<Part>();
    let both = needs & 3 == 3;
    // The cotangent is ours where nobody else holds it: then zeroing the region costs what the region costs.
    let donate = g.is_exclusive();
    let value = match needs & 2 == 2 {
        true => Some(call(Prim::Static(&READ), &part.params(part.lead, false), &[g])?),
        false => None,
    };
    let value = value.map(|v| if both && donate { basis::copy(&v) } else { Ok(v) }).transpose()?;
    if needs & 1 == 0 {
        return Ok(smallvec![None, value]);
    }
    let zeros = basis::full(&part.shape(g.shape()), g.dtype(), 0.0)?;
    let base = call(me, &part.params(part.lead, donate), &[g, &zeros])?;
    Ok(smallvec![Some(base), value])
}

fn batch(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let part = p.get::<Part>();
    let params = part.params(part.lead + 1, part.donate);
    let base = batching::front_expanded(&args[0], info)?;
    let out = match args.get(1) {
        Some(value) => call(me, &params, &[&base, &*batching::front_expanded(value, info)?])?,
        None => call(me, &params, &[&base])?,
    };
    Ok(smallvec![(out, Some(0))])
}

/// The elements of a region.
pub fn read(base: &Tensor, region: &Region) -> Result<Tensor> {
    let p = Params::other(Part { region: region.clone(), lead: 0, donate: false });
    call(Prim::Static(&READ), &p, &[base])
}

/// The elements of a region that may name some of them more than once.
pub fn show(base: &Tensor, region: &Region) -> Result<Tensor> {
    if base.dense().is_some() || !region.overlaps() {
        return read(base, region);
    }
    let Some(layout) = region.evenly() else { return gathered(base, region) };
    if orders_by_single_places(layout) {
        return copied(base, region, layout);
    }
    if let Some(d) = (0..layout.shape.rank()).find(|&d| layout.strides[d] == 0 && layout.shape[d] > 1) {
        let once = Layout { shape: layout.shape.with(d, 1), ..layout.clone() };
        return basis::expand(&show(base, &region.with(once))?, region.shape());
    }
    copied(base, region, layout)
}

/// Whether elements are shown several times and results would lie otherwise without the strides of dimensions of size 1,
/// which arrays without gaps do not keep.
fn orders_by_single_places(layout: &Layout) -> bool {
    let once: Shape = layout.shape.iter().zip(&layout.strides).map(|(&n, &s)| if s == 0 { 1 } else { n }).collect();
    if once == layout.shape || !once.contains(&1) {
        return false;
    }
    let mut kept = once.contiguous_strides();
    for (d, stride) in kept.iter_mut().enumerate() {
        *stride = if layout.strides[d] == 0 || layout.shape[d] > 1 { layout.strides[d] } else { *stride };
    }
    let order = |strides: &Strides| order::of_strides(&layout.shape, std::slice::from_ref(strides));
    order(&kept) != order(&layout.strides)
}

/// The copy lies as copies of the view do, for its order in memory shows in what is made of it.
fn copied(base: &Tensor, region: &Region, layout: &Layout) -> Result<Tensor> {
    match order::of_strides(&layout.shape, &[layout.strides.clone()]) {
        Some(order) => {
            let copy = gathered(base, &region.with(layout.permute(&order)))?;
            basis::permute(&copy, &order::inverse(&order))
        }
        None => gathered(base, region),
    }
}

/// A copy of a region's elements: the derivative of each must reach its place as often as it is shown.
fn gathered(base: &Tensor, region: &Region) -> Result<Tensor> {
    let at = Tensor::from_slice([region.shape().numel()], &region.positions()?)?;
    let flat = basis::reshape(base, &[base.numel()].into())?;
    basis::reshape(&super::index::take_rows(&flat, &at)?, region.shape())
}

/// `base` with the region's elements replaced by `value`, of the region's shape and the base's dtype. The region does
/// not overlap itself. With `donate`, `base` must not be used any more by whoever holds this handle.
pub fn write(base: &Tensor, region: &Region, value: &Tensor, donate: bool) -> Result<Tensor> {
    let p = Params::other(Part { region: region.clone(), lead: 0, donate });
    call(Prim::Static(&WRITE), &p, &[base, value])
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&READ, &WRITE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::{grad, jvp, vmap};

    fn numbers(n: usize) -> Tensor {
        let v: Vec<f64> = (1..=n).map(|i| i as f64).collect();
        Tensor::from_slice([n], &v).unwrap()
    }
    fn region() -> Region {
        Region::of_positions(&[2].into(), &[3, 1])
    }

    #[test]
    fn gradients_go_where_the_elements_came_from() {
        let (x, v) = (numbers(5), Tensor::from_slice([2], &[10.0, 20.0]).unwrap());
        let f = |x: &Tensor, v: &Tensor| {
            let y = write(x, &region(), v, false)?;
            y.mul(&y)?.sum_all()
        };
        let gx = grad(|x| f(x, &v), &x).unwrap();
        assert_eq!(gx.to_vec::<f64>().unwrap(), [2.0, 0.0, 6.0, 0.0, 10.0]);
        let gv = grad(|v| f(&x, v), &v).unwrap();
        assert_eq!(gv.to_vec::<f64>().unwrap(), [20.0, 40.0]);
        let g = grad(|x| read(x, &region())?.sum_all(), &x).unwrap();
        assert_eq!(g.to_vec::<f64>().unwrap(), [0.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn forward_and_batched() {
        let x = numbers(4);
        let f = |x: &Tensor| write(x, &region(), &read(x, &Region::of_positions(&[2].into(), &[0, 0]))?, false);
        let (y, dy) = jvp(|a| Ok(vec![f(&a[0])?]), &[x.clone()], &[x.clone()]).unwrap();
        assert_eq!(y[0].to_vec::<f64>().unwrap(), [1.0, 1.0, 3.0, 1.0]);
        assert_eq!(dy[0].to_vec::<f64>().unwrap(), [1.0, 1.0, 3.0, 1.0]);
        let rows = Tensor::from_slice([2, 4], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).unwrap();
        let z = vmap(f, &rows).unwrap();
        assert_eq!(z.to_vec::<f64>().unwrap(), [1.0, 1.0, 3.0, 1.0, 5.0, 5.0, 7.0, 5.0]);
        let constant = vmap(|r| write(&x, &region(), &read(r, &region())?, false), &rows).unwrap();
        assert_eq!(constant.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0, 1.0, 6.0, 3.0, 8.0]);
    }

    #[test]
    fn a_cotangent_that_nobody_holds_is_reused() {
        let p = Params::other(Part { region: region(), lead: 0, donate: false });
        let place = |t: &Option<Tensor>| t.as_ref().unwrap().array().unwrap().ptr();
        let pull = |g: &Tensor, cotangents: &[Option<Tensor>]| {
            let grads = write_vjp(Prim::Static(&WRITE), &p, cotangents, 3).unwrap();
            let sum = |t: &Option<Tensor>| t.as_ref().unwrap().to_vec::<f64>().unwrap().iter().sum::<f64>();
            assert_eq!((sum(&grads[0]), sum(&grads[1])), (5050.0 - 6.0, 6.0));
            place(&grads[0]) == g.array().unwrap().ptr()
        };
        let held = [Some(numbers(100))];
        let other = held[0].clone().unwrap();
        assert!(!pull(&other, &held));
        assert_eq!(other.to_vec::<f64>().unwrap()[3], 4.0);
        let alone = [Some(numbers(100))];
        let before = place(&alone[0]);
        let grads = write_vjp(Prim::Static(&WRITE), &p, &alone, 3).unwrap();
        assert_eq!(place(&grads[0]), before);
        assert_eq!(grads[1].as_ref().unwrap().to_vec::<f64>().unwrap(), [4.0, 2.0]);
    }
}
