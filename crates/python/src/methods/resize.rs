//! Methods that make a tensor show other elements: of its own memory, of another tensor's, of a storage.

#![deny(clippy::arithmetic_side_effects)]

use crate::descriptors;
use crate::door::descriptors;
use crate::door::descriptors::{Arg, Slf};
use crate::methods::storage::Storage;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::options::Order;
use crate::types::raised;
use crate::types::size::size_object;
use pullback::base::size::Whole;
use pullback::base::{Error, Layout, Result, Shape};
use pullback::core::level::Birth;
use pullback::core::tensor::Payload;
use pullback::core::{Tensor, level, origin};
use pullback::dense::Array;
use pullback::ops::shape::sizes;
use pullback::skin::{Cell, history};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// An error if the value is one of a transform: such values have no memory of their own.
fn check_outside(op: &str, value: &Tensor) -> Result<()> {
    let transform = match history::strip(value)?.payload() {
        None => return Ok(()),
        Some(Payload::Batched { .. }) => "vmap",
        Some(_) => "trace",
    };
    Err(Error::runtime(format!(
        "{op}(): the tensor is a value of {transform}, which has no memory of its own; do this before {transform}, or \
         use operators that make a new tensor, such as reshape() and index_select(){}",
        origin::at_here()
    )))
}

/// An error if the elements may not change their number and places.
fn check_resizable(op: &str, value: &Tensor) -> Result<()> {
    if history::has_history(value) {
        let what = match value.payload() {
            Some(Payload::Dual { .. }) => "has a forward grad",
            _ => "require grad",
        };
        return Err(Error::runtime(format!(
            "{op}(): cannot resize variables that {what}; make another tensor by reshape() or indexing, or resize a \
             detach()ed one{}",
            origin::at_here()
        )));
    }
    check_outside(op, value)
}

fn integers(op: &str, name: &str, o: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let wrong =
        || Error::type_(format!("{op}(): argument '{name}' must be tuple of ints, got {}", class::type_name(o)));
    let items = raised::items_if_any(o)?.ok_or_else(wrong)?;
    items.map(|x| raised::whole(&x?)?.ok_or_else(|| wrong().into())).collect()
}

/// Sizes that are given one by one or as one sequence.
fn given_sizes(op: &str, size: Arg<'_, '_>) -> PyResult<Shape> {
    let Some(given) = size else { return Err(Error::type_(format!("{op}(): missing argument 'size'")).into()) };
    let only = match given.cast::<PyTuple>() {
        Ok(t) if t.len() == 1 && raised::index(&t.get_item(0)?)?.is_none() => t.get_item(0)?,
        _ => given.to_owned(),
    };
    Ok(sizes(op, &integers(op, "size", &only)?)?)
}

/// With `in_rows`, elements that lie otherwise are counted anew in row-major order even if the shape stays.
fn resize(slf: Slf<'_, '_>, op: &str, shape: Shape, in_rows: bool) -> PyResult<()> {
    let t = slf.get();
    let value = t.value();
    // What is made and resized in inference mode has no derivative, whatever it says.
    let free = t.is_inference() && Birth::now().inference;
    if free {
        check_outside(op, &value)?;
    } else {
        check_resizable(op, &value)?;
    }
    if value.shape() == &shape && (!in_rows || t.layout()?.is_contiguous()) {
        return Ok(());
    }
    let kept = free.then(|| value.clone());
    drop(value);
    let cell = t.cell().resized(op, shape)?;
    cell.count_write()?;
    t.refer(cell);
    kept.map_or(Ok(()), |old| tensor::history::retain_leaf(slf, &old))
}

/// The layout in a memory that `set_` names.
fn layout(memory: &Arc<Cell>, offset: Arg<'_, '_>, size: Arg<'_, '_>, stride: Arg<'_, '_>) -> PyResult<Layout> {
    const OP: &str = "set_";
    let whole = memory.layout()?;
    let offset = offset.map_or(Ok(0), |o| self::offset(OP, &o))?;
    let Some(start) = offset.checked_sub(whole.offset) else {
        return Err(Error::runtime(format!("{OP}(): the memory begins at storage offset {}", whole.offset)).into());
    };
    let shape = match size {
        Some(s) => sizes(OP, &integers(OP, "size", &s)?)?,
        None => [whole.shape.numel().saturating_sub(start)].into(),
    };
    let strides = match stride {
        Some(s) => integers(OP, "stride", &s)?,
        None => shape.contiguous_strides().iter().map(|&s| s as i64).collect(),
    };
    if strides.len() != shape.rank() || strides.iter().any(|s| *s < 0) {
        let text = format!("{OP}(): expected {} strides of 0 or more, got {strides:?}", shape.rank());
        return Err(Error::runtime(text).into());
    }
    Ok(Layout::strided(OP, shape, &strides, start)?)
}

/// Where in memory the first element is.
pub fn offset(op: &str, o: &Bound<'_, PyAny>) -> PyResult<usize> {
    let Some(given) = raised::index(o)? else {
        let got = class::type_name(o);
        return Err(Error::type_(format!("{op}(): argument 'storage_offset' must be int, not {got}")).into());
    };
    let size = given.extract::<i64>().ok().and_then(|i| Whole::from(i).size());
    size.ok_or_else(|| {
        let got = crate::data::marshal::number(&given);
        let got = got.ok().flatten().map_or_else(String::new, |n| n.to_string());
        Error::runtime(format!("{op}(): argument 'storage_offset' must be a non-negative int, got {got}")).into()
    })
}

/// An error if `set_` would lose a derivative.
fn check_constant(value: &Tensor, what: &str) -> Result<()> {
    if level::grad_enabled() && history::has_history(value) {
        return Err(Error::runtime(format!(
            "set_(): {what} requires grad, and the derivative for 'set_' is not implemented; detach() it, or use copy_() \
             for what has a derivative{}",
            origin::at_here()
        )));
    }
    check_outside("set_", value)
}

/// The elements that `set_` names.
fn named(
    slf: Slf<'_, '_>,
    source: Arg<'_, '_>,
    offset: Arg<'_, '_>,
    size: Arg<'_, '_>,
    stride: Arg<'_, '_>,
) -> PyResult<Arc<Cell>> {
    let dtype = slf.get().value().dtype();
    let Some(source) = source.map(|s| s.to_owned()) else {
        return Ok(Cell::root(Array::zeros(dtype, [0].into())?.into(), level::current(), 0));
    };
    // A typed storage is a name for the bytes and a dtype.
    let source = match tensor::cell(&source) {
        None => match source.getattr_opt("_untyped_storage")? {
            Some(bytes) => {
                let given = crate::types::dtype::dtype_argument(&source.getattr("dtype")?, "set_", "source")?;
                if given != dtype {
                    let text = format!(
                        "set_(): Expected a Storage of type {dtype} or an UntypedStorage, but got type {given}; give its bytes"
                    );
                    return Err(Error::runtime(text).into());
                }
                bytes
            }
            None => source,
        },
        Some(_) => source,
    };
    let plain = offset.is_none() && size.is_none() && stride.is_none();
    let memory = if let Some(other) = tensor::cell(&source) {
        let value = other.value();
        check_constant(&value, "the source")?;
        if value.dtype() != dtype {
            let text = format!("set_(): Could not set tensor of type {} to a tensor of type {dtype}", value.dtype());
            return Err(Error::runtime(text).into());
        }
        if plain {
            return Ok(other.cell().detached()?);
        }
        other.cell().memory()?
    } else if let Ok(storage) = source.cast::<Storage>() {
        storage.get().memory()?.as_dtype("set_", dtype)?
    } else {
        let got = class::type_name(&source);
        return Err(
            Error::type_(format!("set_(): argument 'source' must be Tensor or UntypedStorage, got {got}")).into()
        );
    };
    let part = layout(&memory, offset, size, stride)?;
    Ok(memory.laid_out("set_", part)?)
}

/// Whether row-major order is asked for, and any other order that is.
fn asked(op: &str, memory_format: Arg<'_, '_>) -> PyResult<(bool, Option<Order>)> {
    let is_given = memory_format.is_some_and(|f| !f.is_none());
    let order = memory_format.map(|f| crate::types::options::memory_format(op, &f)).transpose()?.flatten();
    Ok((is_given && order.is_none(), order))
}

/// The tensor, whose elements lie in the order that was asked for.
fn ordered<'py>(slf: Slf<'_, 'py>, op: &str, order: Option<Order>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(order) = order {
        let value = slf.get().value();
        let strides = order.strides(op, &value)?;
        slf.call_method1("as_strided_", (size_object(slf.py(), value.shape())?, size_object(slf.py(), &strides)?))?;
    }
    Ok(slf.clone().into_any())
}

descriptors! { METHODS, ATTRIBUTES:
    /// Changes the shape, and with it the number of elements: the first ones, in row-major order, stay, and what is new is
    /// zero. Views go on to share their elements. Memory that became too large is kept, so that growing again finds it. The
    /// elements lie as before if the shape stays, and in the order of `memory_format` if one is given.
    ///
    /// Raises RuntimeError for a tensor that requires grad or carries a tangent, for values of `vmap`, and for memory of
    /// another library that would have to grow.
    ///
    /// >>> import pullback
    /// >>> pullback.arange(4).resize_(2, 3)
    /// tensor([[0, 1, 2],
    ///         [3, 0, 0]])
    fn resize_(slf, *size; memory_format = None) {
        let (in_rows, order) = asked("resize_", memory_format)?;
        resize(slf, "resize_", given_sizes("resize_", size)?, in_rows)?;
        ordered(slf, "resize_", order)
    }
    /// `resize_` to the shape of `the_template`.
    ///
    /// >>> import pullback
    /// >>> pullback.arange(4).resize_as_(pullback.ones(2, 2))
    /// tensor([[0, 1],
    ///         [2, 3]])
    fn resize_as_(slf, the_template; memory_format = None) {
        let (in_rows, order) = asked("resize_as_", memory_format)?;
        let Some(like) = the_template.as_ref().and_then(|o| tensor::cell(o)) else {
            return Err(Error::type_("resize_as_(): argument 'the_template' must be Tensor").into());
        };
        resize(slf, "resize_as_", like.value().shape().clone(), in_rows)?;
        ordered(slf, "resize_as_", order)
    }
    /// Makes this tensor show the elements of `source`, a tensor of the same dtype or a storage, and share them. With an
    /// offset, sizes and strides in elements, it shows those of the memory that they name. Without a source it is empty.
    ///
    /// Raises RuntimeError for another dtype, and where a derivative would be lost.
    ///
    /// >>> import pullback
    /// >>> x = pullback.arange(6)
    /// >>> y = pullback.empty(0, dtype=pullback.int64).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    /// >>> y[0, 0] = 9
    /// >>> y, x
    /// (tensor([[9, 2],
    ///         [3, 4]]), tensor([0, 9, 2, 3, 4, 5]))
    fn set_(slf, source = None, storage_offset = None, size = None, stride = None) {
        let t = slf.get();
        t.check_writable("set_")?;
        check_constant(&t.value(), "the tensor")?;
        let cell = named(slf, source, storage_offset, size, stride)?;
        cell.count_from(t.version().wrapping_add(1));
        tensor::views::show(slf, "set_", cell)?;
        Ok(slf.clone().into_any())
    }
    /// Makes this tensor the view of its own memory that sizes, strides and an offset name: `as_strided` in place.
    ///
    /// >>> import pullback
    /// >>> pullback.arange(6).as_strided_((2, 2), (1, 2))
    /// tensor([[0, 2],
    ///         [1, 3]])
    fn as_strided_(slf, size, stride, storage_offset = None) {
        let t = slf.get();
        t.check_writable("as_strided_")?;
        let view = crate::methods::storage::strided(slf, "as_strided_", size, stride, storage_offset)?;
        view.count_change();
        t.refer(view);
        Ok(slf.clone().into_any())
    }
    /// Exchanges what both objects stand for: `utils.swap_tensors`.
    fn _swap(slf, other) {
        let Some(other) = other.and_then(|o| o.cast::<PyTensor>().ok().map(|o| o.to_owned())) else {
            return Err(Error::type_("swap_tensors(): argument 't2' must be Tensor").into());
        };
        tensor::swap(slf, &other)?;
        Ok(slf.py().None().into_bound(slf.py()))
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    descriptors::install(&m.py().get_type::<PyTensor>(), METHODS, ATTRIBUTES)
}
