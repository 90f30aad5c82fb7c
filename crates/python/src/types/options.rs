//! Options that have few values here: devices, layouts, orders in memory. Others are an error, never ignored.

use crate::types::class::type_name;
use crate::types::device::{self, Device, MemoryFormat};
use pullback::base::{Error, Layout, Result};
use pullback::core::Tensor;
use pullback::dense::order::{self, Dims};
use pullback::ops::value::Setting;
use pullback::rules::basis;
use pullback::skin::read;
use pyo3::prelude::*;
use pyo3::types::PyBool;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// An error unless the option has a value that the operator can honour.
#[cold]
pub fn check(op: &str, setting: Setting, o: Any<'_, '_>) -> Result<()> {
    if o.is_none() {
        return Ok(());
    }
    match setting {
        Setting::Device => Device::from_argument(o, op).map(drop).map_err(crate::types::errors::to_error),
        Setting::Layout => match o.cast::<device::Layout>() {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::type_(format!(
                "{op}(): argument 'layout' must be pullback.strided, the only layout, not {}",
                type_name(o)
            ))),
        },
        Setting::PinMemory => match o.cast::<PyBool>() {
            Ok(b) if !b.is_true() => Ok(()),
            Ok(_) => Err(Error::runtime(format!(
                "{op}(): pin_memory=True needs an accelerator, and the only device is 'cpu'; leave it out"
            ))),
            Err(_) => Err(Error::type_(format!("{op}(): argument 'pin_memory' must be bool, not {}", type_name(o)))),
        },
        Setting::Driver => Err(Error::runtime(format!(
            "linalg.{op}(): keyword argument `driver=` is only supported on CUDA inputs; leave it out"
        ))),
        Setting::MemoryFormat => memory_format(op, o).map(drop),
    }
}

/// The order of dimensions in memory that an argument asks for, if it is not row-major order.
pub fn memory_format(op: &str, o: Any<'_, '_>) -> Result<Option<Order>> {
    let Ok(format) = o.cast::<MemoryFormat>() else {
        return Err(Error::type_(format!(
            "{op}(): argument 'memory_format' must be a memory_format, not {}",
            type_name(o)
        )));
    };
    Ok(match format.get().0 {
        "channels_last" => Some(Order::channels_last("channels_last", 4)),
        "channels_last_3d" => Some(Order::channels_last("channels_last_3d", 5)),
        _ => None,
    })
}

/// Whether an argument asks for the order that the elements are in.
pub fn preserves(o: Any<'_, '_>) -> bool {
    o.cast::<MemoryFormat>().is_ok_and(|f| f.get().0 == "preserve_format")
}

/// An order of dimensions in memory.
pub struct Order {
    /// From the slowest to the fastest.
    dims: Dims,
    kind: Kind,
}

enum Kind {
    /// Channels behind the other dimensions.
    Named(&'static str),
    /// That of a copy of a tensor.
    Like(Layout),
}

impl Order {
    fn channels_last(name: &'static str, rank: usize) -> Order {
        Order { dims: std::iter::once(0).chain(2..rank).chain([1]).collect(), kind: Kind::Named(name) }
    }

    fn check(&self, op: &str, x: &Tensor) -> Result<()> {
        match &self.kind {
            Kind::Named(name) if x.rank() != self.dims.len() => Err(Error::runtime(format!(
                "{op}(): required rank {} tensor to use {name} format, got shape {}",
                self.dims.len(),
                x.shape()
            ))),
            _ => Ok(()),
        }
    }

    /// The strides of a tensor of the shape of `x` in this order, without gaps.
    pub fn strides(&self, op: &str, x: &Tensor) -> Result<Dims> {
        self.check(op, x)?;
        let mut strides = Dims::from_elem(1, x.rank());
        let mut step = 1_usize;
        for &d in self.dims.iter().rev() {
            strides[d] = step;
            step = step.saturating_mul(x.shape()[d].max(1));
        }
        Ok(strides)
    }

    /// The same values in memory of this order.
    pub fn arrange(&self, op: &str, x: &Tensor) -> Result<Tensor> {
        self.check(op, x)?;
        let copy = basis::copy(&basis::permute(x, &self.dims)?)?;
        let arranged = basis::permute(&copy, &order::inverse(&self.dims))?;
        match (&self.kind, arranged.dense()) {
            (Kind::Like(layout), Some(array)) => Ok(array.clone().with_strides_of(layout)?.into()),
            _ => Ok(arranged),
        }
    }

    /// The order of a copy of a value, if it is not row-major order.
    pub fn of(x: &Tensor) -> Option<Order> {
        if x.innermost()?.is_plain() {
            return None;
        }
        let (strides, offset) = read::layout(x);
        let like = Layout { shape: x.shape().clone(), strides, offset };
        if like.is_plain() {
            return None;
        }
        let order = if like.is_contiguous() { None } else { order::of_strides(&like.shape, &[like.strides.clone()]) };
        let dims = match order {
            Some(dims) => dims,
            None if like.is_contiguous() => (0..like.shape.rank()).collect(),
            None => return None,
        };
        Some(Order { dims, kind: Kind::Like(like) })
    }

    /// Whether the strides are those that [`Order::arrange`] gives, along dimensions of size 1 too.
    pub fn is_exactly(&self, layout: &Layout) -> bool {
        match &self.kind {
            Kind::Like(like) if like.is_dense() => layout.strides == like.strides,
            Kind::Like(_) => self.is_that_of(layout),
            Kind::Named(_) => {
                layout.shape.rank() == self.dims.len()
                    && layout.strides == order::dense_strides(&layout.shape, &self.dims)
            }
        }
    }

    /// Whether a tensor that lies so counts as one of this named order, gaps or not.
    pub fn is_suggested_by(&self, layout: &Layout) -> bool {
        layout.shape.rank() == self.dims.len() && layout.suggests_channels_last()
    }

    /// Whether elements with these sizes and strides lie in this order without gaps.
    pub fn is_that_of(&self, layout: &Layout) -> bool {
        if layout.shape.rank() != self.dims.len() {
            return false;
        }
        let expected = order::dense_strides(&layout.shape, &self.dims);
        (0..self.dims.len()).all(|d| layout.shape[d] == 1 || layout.strides[d] == expected[d])
    }
}
