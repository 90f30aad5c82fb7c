//! Options that have few values here: devices, layouts, orders in memory. Others are an error, never ignored.

use crate::types::class::type_name;
use crate::types::device::{Device, Layout, MemoryFormat};
use pullback::base::{Error, Result};
use pullback::core::Tensor;
use pullback::ops::value::Setting;
use pullback::rules::basis;
use pullback::skin::{history, read};
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
        Setting::Layout => match o.cast::<Layout>() {
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
        "channels_last" => Some(Order { name: "channels_last", rank: 4 }),
        "channels_last_3d" => Some(Order { name: "channels_last_3d", rank: 5 }),
        _ => None,
    })
}

/// Whether an argument asks for the order that the elements are in.
pub fn preserves(o: Any<'_, '_>) -> bool {
    o.cast::<MemoryFormat>().is_ok_and(|f| f.get().0 == "preserve_format")
}

/// Channels behind the other dimensions.
pub struct Order {
    name: &'static str,
    rank: usize,
}

impl Order {
    fn check(&self, op: &str, x: &Tensor) -> Result<()> {
        if x.rank() == self.rank {
            return Ok(());
        }
        Err(Error::runtime(format!(
            "{op}(): required rank {} tensor to use {} format, got shape {}",
            self.rank,
            self.name,
            x.shape()
        )))
    }

    /// Dimensions from the slowest to the fastest.
    fn dims(&self) -> Vec<usize> {
        std::iter::once(0).chain(2..self.rank).chain([1]).collect()
    }

    /// The same values in memory of this order.
    pub fn arrange(&self, op: &str, x: &Tensor) -> Result<Tensor> {
        self.check(op, x)?;
        let there = self.dims();
        let mut back = vec![0; self.rank];
        for (i, &d) in there.iter().enumerate() {
            back[d] = i;
        }
        let mut copy = basis::copy(&basis::permute(x, &there)?)?;
        // The few elements of a small value have no memory to lie in until they get some.
        if let Some(array) = read::innermost(&copy).filter(|a| a.buffer().is_none()) {
            let array = array.to_buffer()?;
            copy = history::with_array(&copy, &array);
        }
        basis::permute(&copy, &back)
    }

    /// The order that the elements of a value are in, with or without gaps, if it is not row-major order.
    pub fn of(x: &Tensor) -> Option<Order> {
        if !(4..=5).contains(&x.rank()) || !read::innermost(x)?.has_channels_behind() {
            return None;
        }
        let (strides, offset) = read::layout(x);
        let layout = pullback::base::Layout { shape: x.shape().clone(), strides, offset };
        let known = [Order { name: "channels_last", rank: 4 }, Order { name: "channels_last_3d", rank: 5 }];
        known.into_iter().find(|o| o.rank == x.rank() && layout.has_channels_behind())
    }

    /// Whether elements with these sizes and strides lie in this order without gaps.
    pub fn is_that_of(&self, layout: &pullback::base::Layout) -> bool {
        if layout.shape.rank() != self.rank {
            return false;
        }
        let mut expected = 1;
        for d in self.dims().into_iter().rev() {
            if layout.shape[d] != 1 {
                if layout.strides[d] != expected {
                    return false;
                }
                expected *= layout.shape[d] as isize;
            }
        }
        true
    }
}
