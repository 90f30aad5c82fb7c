//! The transforms as Rust's users call them: each takes a function and its inputs, in any arrangement of tensors
//! ([`Tensors`]), and gives what it computes in the arrangement of the inputs or of the results.

use super::jacobian::{Blocks, JacobianOptions, jacfwd_many, jacrev_many};
use super::options::VmapOptions;
use super::run::{self, Values};
use super::vmap::{Batch, common_size};
use crate::bail;
use crate::base::Result;
use crate::core::origin::Origin;
use crate::core::tensors::{list, rebuild};
use crate::core::{Meta, Tensor, Tensors};
use crate::rules::basis;
use smallvec::{SmallVec, smallvec};
use std::borrow::Borrow;

/// A linear map from tensors in one arrangement to tensors in another one, from [`vjp`] or [`linearize`].
pub type LinearFunction<From, To> = Box<dyn Fn(&From) -> Result<To> + Send + Sync>;

/// Calls `f` with tensors that come in order. They are dropped before this returns.
#[inline]
fn call<I: Tensors, O>(
    f: impl Fn(&I::View) -> Result<O>,
    structure: &I::Structure,
    tensors: impl IntoIterator<Item = Tensor>,
) -> Result<O> {
    f(rebuild::<I>(structure, tensors).borrow())
}

/// As [`call`]; gives the results as a list, with their arrangement.
#[inline]
fn called<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    structure: &I::Structure,
    tensors: Values,
) -> Result<(Values, O::Structure)> {
    let results = call::<I, _>(f, structure, tensors)?;
    Ok((owned(&results), results.structure()))
}

/// All tensors, in order.
fn owned<T: Tensors + ?Sized>(tensors: &T) -> Values {
    list(tensors).into_iter().cloned().collect()
}

/// The gradient of a scalar function, in the arrangement of its inputs.
///
/// What `f` captures is a constant: to differentiate with respect to some arguments only, capture the others.
///
/// # Errors
/// `Runtime` if `f` does not return a 0-d tensor, or an input is not of a floating point or complex dtype.
///
/// ```
/// use pullback::{Tensor, grad};
/// let x = Tensor::from_slice([1], &[3.0])?;
/// let g = grad(|x| x.mul(x)?.sum_all(), &x)?;
/// assert_eq!(g.to_vec::<f64>()?, [6.0]);
/// let w = Tensor::from_slice([1], &[2.0])?;
/// let [gw, gx] = grad(|[w, x]| w.mul(x)?.sum_all(), [&w, &x])?;
/// assert_eq!((gw.to_vec::<f64>()?, gx.to_vec::<f64>()?), (vec![3.0], vec![2.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn grad<I: Tensors>(f: impl Fn(&I::View) -> Result<Tensor>, inputs: I) -> Result<I::Owned> {
    Ok(grad_and_value(f, inputs)?.0)
}

/// The gradient of a scalar function, in the arrangement of its inputs, and its value.
///
/// # Errors
/// Those of [`grad`].
///
/// ```
/// use pullback::{Tensor, grad_and_value};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let (g, y) = grad_and_value(|x| x.mul(x)?.sum_all(), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [5.0]);
/// assert_eq!(g.to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn grad_and_value<I: Tensors>(f: impl Fn(&I::View) -> Result<Tensor>, inputs: I) -> Result<(I::Owned, Tensor)> {
    let (xs, structure) = (list(&inputs), inputs.structure());
    let function = |lifted: Values| call::<I, _>(f, &structure, lifted).map(|y| (y, ()));
    let (y, ()) = run::scalar("grad", Origin::UNKNOWN, &xs, function, |a, _| Ok(a))?;
    let (value, mut grads) = y.gradients()?;
    for (g, x) in grads.iter_mut().zip(&xs).filter(|(g, _)| g.is_none()) {
        *g = Some(basis::zeros_like(x)?);
    }
    Ok((rebuild::<I>(&structure, grads.into_iter().flatten()), value))
}

/// The outputs of `f`, and the map from output cotangents to input cotangents, which can be called any number of times,
/// also inside of other transforms.
///
/// # Errors
/// `Runtime` if an input or an output is not of a floating point or complex dtype.
///
/// ```
/// use pullback::{Tensor, vjp};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let (y, pullback) = vjp(|x| x.mul(x), &x)?;
/// let g = pullback(&Tensor::from_slice([2], &[1.0, 10.0])?)?;
/// assert_eq!(g.to_vec::<f64>()?, [2.0, 40.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vjp<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    inputs: I,
) -> Result<(O::Owned, LinearFunction<O::View, I::Owned>)> {
    let (xs, structure) = (list(&inputs), inputs.structure());
    let function = |lifted: Values| called::<I, O>(f, &structure, lifted);
    let (values, pullback, arranged) = run::reverse("vjp", Origin::UNKNOWN, &xs, function, |a, _| Ok(a))?;
    let apply = move |cotangents: &O::View| {
        let cotangents: SmallVec<[Option<Tensor>; 2]> = list(cotangents).into_iter().cloned().map(Some).collect();
        Ok(rebuild::<I>(&structure, pullback.call(&cotangents, true)?))
    };
    Ok((rebuild::<O>(&arranged, values), Box::new(apply)))
}

/// The outputs of `f` and their directional derivatives along `tangents`.
///
/// # Errors
/// `Value` if an input is not of a floating point or complex dtype; `Runtime` if the shape of a tangent differs from
/// its primal's.
///
/// ```
/// use pullback::{Tensor, jvp};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let t = Tensor::from_slice([2], &[1.0, 0.0])?;
/// let (y, dy) = jvp(|x| x.mul(x), &x, &t)?;
/// assert_eq!(dy.to_vec::<f64>()?, [2.0, 0.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jvp<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    primals: I,
    tangents: impl Tensors<Owned = I::Owned>,
) -> Result<(O::Owned, O::Owned)> {
    let (xs, along) = (list(&primals), list(&tangents));
    if xs.len() != along.len() {
        bail!(Runtime, "jvp(): got {} primals and {} tangents", xs.len(), along.len());
    }
    let (structure, along) = (primals.structure(), along.into_iter().map(Some));
    let function = |lifted: Values| called::<I, O>(f, &structure, lifted);
    let (values, slopes, arranged) =
        run::forward(Origin::UNKNOWN, &xs, along, function, basis::zeros_like, |a, _| Ok(a))?;
    Ok((rebuild::<O>(&arranged, values), rebuild::<O>(&arranged, slopes)))
}

/// `f` over the members along dimension 0 of all inputs at once, the results stacked along dimension 0.
///
/// What `f` captures is the same for all members.
///
/// # Errors
/// `Value` if there is no input, one is 0-d, or their sizes differ.
///
/// ```
/// use pullback::{Tensor, vmap};
/// let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let y = vmap(|row| row.sum_all(), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [6.0, 15.0]);
/// let w = Tensor::from_slice([2], &[1.0, 10.0])?;
/// let y = vmap(|(row, w)| row.sum_all()?.mul(w), (&x, &w))?;
/// assert_eq!(y.to_vec::<f64>()?, [6.0, 150.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vmap<I: Tensors, O: Tensors>(f: impl Fn(&I::View) -> Result<O>, inputs: I) -> Result<O::Owned> {
    vmap_with(f, inputs, &VmapOptions::default())
}

/// [`vmap`] along other dimensions, or with random numbers.
///
/// # Errors
/// `Value` if nothing is mapped over, a dimension is out of range, or the sizes of the mapped dimensions differ.
///
/// ```
/// use pullback::{Tensor, VmapOptions, vmap_with};
/// let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let w = Tensor::from_slice([2], &[1.0, 10.0])?;
/// let options = VmapOptions::default().in_dims([Some(1), None]);
/// let y = vmap_with(|(column, w)| column.mul(w)?.sum_all(), (&x, &w), &options)?;
/// assert_eq!(y.to_vec::<f64>()?, [41.0, 52.0, 63.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vmap_with<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    inputs: I,
    options: &VmapOptions,
) -> Result<O::Owned> {
    let xs = list(&inputs);
    let dims = options.dims_of_inputs(&xs)?;
    let mapped = xs.iter().zip(&dims).filter_map(|(x, d)| d.map(|d| x.shape()[d]));
    let size = common_size(&mapped.collect::<SmallVec<[usize; 4]>>())?;
    let function = |batch: &Batch| {
        let lift = |(x, dim): (&&Tensor, Option<usize>)| dim.map_or_else(|| (*x).clone(), |d| batch.lift(x, d));
        let results = call::<I, _>(f, &inputs.structure(), xs.iter().zip(dims).map(lift))?;
        let outputs = list(&results);
        let dims = options.dims_of_outputs(&outputs)?;
        let stacked = outputs.iter().zip(dims).map(|(y, d)| batch.lower(y, d)).collect::<Result<Values>>()?;
        Ok(rebuild::<O>(&results.structure(), stacked))
    };
    run::batch(size, options.randomness, Origin::UNKNOWN, function)
}

/// For each output, in their arrangement, the Jacobians with respect to each input, in theirs.
fn each<I: Tensors, O: Tensors>(outputs: &O::Structure, inputs: &I::Structure, blocks: Blocks) -> O::Each<I::Owned> {
    let mut rows = blocks.into_iter();
    O::arrange(outputs, &mut || rebuild::<I>(inputs, rows.next().expect("there are blocks for each output")))
}

/// The Jacobian of `f` by reverse mode, of shape `output.shape + input.shape`; one for each pair of an output and an input.
/// One sweep per output element, all of them at once.
///
/// # Errors
/// `Runtime` if an input or an output is complex, or has no dtype of floats.
///
/// ```
/// use pullback::{Tensor, jacrev};
/// let x = Tensor::from_slice([2], &[2.0, 3.0])?;
/// let j = jacrev(|x| x.mul(x), &x)?;
/// assert_eq!(j.to_vec::<f64>()?, [4.0, 0.0, 0.0, 6.0]);
/// let ((_, sum_by_b), _) = jacrev(|(a, b)| Ok((a.add(b)?, a.sum_all()?)), (&x, &x))?;
/// assert_eq!(sum_by_b.to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jacrev<I: Tensors, O: Tensors>(f: impl Fn(&I::View) -> Result<O>, inputs: I) -> Result<O::Each<I::Owned>> {
    jacrev_with(f, inputs, JacobianOptions::default())
}

/// [`jacrev`] in pieces, or with random numbers.
///
/// # Errors
/// Those of [`jacrev`].
///
/// ```
/// use pullback::{JacobianOptions, Tensor, jacrev_with};
/// let x = Tensor::from_slice([3], &[2.0, 3.0, 4.0])?;
/// let j = jacrev_with(|x| x.cumsum(0), &x, JacobianOptions::default().chunk_size(2))?;
/// assert_eq!(j.to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jacrev_with<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    inputs: I,
    options: JacobianOptions,
) -> Result<O::Each<I::Owned>> {
    jacobian::<I, O>(f, inputs, |xs, function| jacrev_many(xs, options, function, |a, _| Ok(a)))
}

/// The blocks that `of` makes of a function, in the arrangement of its results and inputs.
fn jacobian<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    inputs: I,
    of: impl FnOnce(&[Tensor], &dyn Fn(Values) -> Result<(Values, O::Structure)>) -> Result<(Blocks, O::Structure)>,
) -> Result<O::Each<I::Owned>> {
    let (xs, structure) = (owned(&inputs), inputs.structure());
    let (blocks, arranged) = of(&xs, &|lifted| called::<I, O>(&f, &structure, lifted))?;
    Ok(each::<I, O>(&arranged, &structure, blocks))
}

/// The Jacobian of `f` by forward mode, of shape `output.shape + input.shape`; one for each pair of an output and an input.
/// One tangent per input element, all of them at once.
///
/// # Errors
/// `Value` if an input has no dtype of floats; `Runtime` if an input or an output is complex.
///
/// ```
/// use pullback::{Tensor, jacfwd};
/// let x = Tensor::from_slice([2], &[2.0, 3.0])?;
/// let j = jacfwd(|x| x.mul(x)?.sum_all(), &x)?;
/// assert_eq!(j.to_vec::<f64>()?, [4.0, 6.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jacfwd<I: Tensors, O: Tensors>(f: impl Fn(&I::View) -> Result<O>, inputs: I) -> Result<O::Each<I::Owned>> {
    jacfwd_with(f, inputs, JacobianOptions::default())
}

/// [`jacfwd`] in pieces, or with random numbers.
///
/// # Errors
/// Those of [`jacfwd`].
pub fn jacfwd_with<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    inputs: I,
    options: JacobianOptions,
) -> Result<O::Each<I::Owned>> {
    jacobian::<I, O>(f, inputs, |xs, function| jacfwd_many(xs, options, function, |a, _| Ok(a)))
}

/// The Hessian of a scalar function, forward over reverse, of shape `x.shape + x.shape`; for several inputs one for each
/// pair of them.
///
/// # Errors
/// Those of [`jacrev`] and [`jacfwd`].
///
/// ```
/// use pullback::{Tensor, hessian};
/// let x = Tensor::from_slice([2], &[1.0, 2.0])?;
/// let h = hessian(|x| x.mul(x)?.mul(x)?.sum_all(), &x)?;
/// assert_eq!(h.to_vec::<f64>()?, [6.0, 0.0, 0.0, 12.0]);
/// let ((_, ab), _) = hessian(|(a, b)| a.mul(b)?.sum_all(), (&x, &x))?;
/// assert_eq!(ab.to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn hessian<I: Tensors>(f: impl Fn(&I::View) -> Result<Tensor>, inputs: I) -> Result<I::Each<I::Owned>> {
    let (xs, structure) = (owned(&inputs), inputs.structure());
    let value = |lifted: Values| call::<I, _>(&f, &structure, lifted).map(|y| (smallvec![y], ()));
    let slopes = |lifted: Values| {
        let rows = jacrev_many(&lifted, JacobianOptions::default(), value, |a, _| Ok(a));
        rows.map(|(rows, ())| (rows.into_iter().flatten().collect(), ()))
    };
    let (blocks, ()) = jacfwd_many(&xs, JacobianOptions::default(), slopes, |a, _| Ok(a))?;
    Ok(each::<I, I>(&structure, &structure, blocks))
}

/// The outputs of `f` at `primals`, and its derivative there: a linear map from input tangents to output tangents that
/// can be called any number of times without running `f` again.
///
/// # Errors
/// `Value` if an input is not of a floating point or complex dtype.
///
/// ```
/// use pullback::{Tensor, linearize};
/// let x = Tensor::from_slice([2], &[1.0, 3.0])?;
/// let (y, push) = linearize(|x| x.mul(x), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 9.0]);
/// assert_eq!(push(&Tensor::from_slice([2], &[1.0, 10.0])?)?.to_vec::<f64>()?, [2.0, 60.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn linearize<I: Tensors, O: Tensors>(
    f: impl Fn(&I::View) -> Result<O>,
    primals: I,
) -> Result<(O::Owned, LinearFunction<I::View, O::Owned>)> {
    let (xs, arranged) = (owned(&primals), primals.structure());
    let function = |lifted: Values| called::<I, O>(f, &arranged, lifted);
    let (values, map, structure) = run::linearized(Origin::UNKNOWN, &xs, function)?;
    let values = rebuild::<O>(&structure, values);
    let apply = move |tangents: &I::View| Ok(rebuild::<O>(&structure, map.call(&owned(tangents))?));
    Ok((values, Box::new(apply)))
}

/// What `f` returns for inputs of these dtypes and shapes, without data. `f` runs once, on tensors that have none; random
/// operators draw nothing.
///
/// Tensors without data to begin with come from [`Tensor::meta`]; of others the data is not looked at.
///
/// # Errors
/// Those of `f` that do not depend on data; `NotImplemented` where `f` reads data, or makes a result whose shape depends on
/// it.
///
/// ```
/// use pullback::{DType, Tensor, eval_shape, grad};
/// let (a, b) = (Tensor::meta([3, 2], DType::F32), Tensor::meta([2, 5], DType::F32));
/// let (y, g) = eval_shape(|(a, b)| Ok((a.matmul(b)?, grad(|x| x.sin()?.sum_all(), a)?)), (&a, &b))?;
/// assert_eq!((&y.shape()[..], y.dtype()), (&[3, 5][..], DType::F32));
/// assert_eq!(&g.shape()[..], &[3, 2]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn eval_shape<I: Tensors, O: Tensors>(f: impl Fn(&I::View) -> Result<O>, inputs: I) -> Result<O::Owned> {
    let bare = |t: &Tensor| Tensor::without_data(Meta::of(t));
    let function = || call::<I, _>(f, &inputs.structure(), list(&inputs).into_iter().map(bare));
    let results = run::without_data(function)?;
    Ok(rebuild::<O>(&results.structure(), list(&results).into_iter().map(bare)))
}
