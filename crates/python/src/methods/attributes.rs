//! What a tensor is: sizes, dtype, place in memory.

use crate::data::export;
use crate::descriptors;
use crate::door::descriptors::Out;
use crate::tensor::views;
use crate::types::errors::PyResult;
use crate::types::{device, dtype, options, size};
use crate::{autograd, tensor};
use pullback::base::Error;
use pullback::core::tensor::Payload;
use pullback::rules::basis;
use pullback::skin::{history, read};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt};

fn int(py: Python<'_>, n: impl TryInto<i64>) -> Out<'_> {
    Ok(PyInt::new(py, n.try_into().unwrap_or(i64::MAX)).into_any())
}
fn truth(py: Python<'_>, b: bool) -> Out<'_> {
    Ok(PyBool::new(py, b).to_owned().into_any())
}
fn nothing(py: Python<'_>) -> Out<'_> {
    Ok(py.None().into_bound(py))
}

/// The device of a tensor.
fn place(py: Python<'_>, meta: bool) -> Out<'_> {
    static PLACES: [PyOnceLock<Py<PyAny>>; 2] = [const { PyOnceLock::new() }; 2];
    let device = if meta { device::Device::META } else { device::Device::CPU };
    let make = || Ok::<_, PyErr>(Bound::new(py, device)?.into_any().unbind());
    Ok(PLACES[usize::from(meta)].get_or_try_init(py, make)?.bind(py).clone())
}

fn strided(py: Python<'_>) -> Out<'_> {
    static STRIDED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let find = || Ok::<_, PyErr>(py.import("pullback._core")?.getattr("strided")?.unbind());
    Ok(STRIDED.get_or_try_init(py, find)?.bind(py).clone())
}

/// A dimension argument, wrapped.
pub fn dimension(o: &Bound<'_, PyAny>, op: &str, rank: usize) -> PyResult<usize> {
    let d: i64 = o.extract()?;
    let n = rank as i64;
    if d < -n || d >= n {
        return Err(PyIndexError::new_err(short!(
            "{op}(): Dimension out of range (expected to be in range of [{}, {}], but got {d})",
            -n.max(1),
            n.max(1) - 1
        ))
        .into());
    }
    Ok(d.rem_euclid(n) as usize)
}

descriptors! { METHODS, ATTRIBUTES:
    /// The number of dimensions.
    fn dim(slf) { int(slf.py(), slf.get().value().rank()) }
    /// The number of dimensions.
    fn ndimension(slf) { int(slf.py(), slf.get().value().rank()) }
    /// The number of elements.
    fn numel(slf) { int(slf.py(), slf.get().value().numel()) }
    /// The number of elements.
    fn nelement(slf) { int(slf.py(), slf.get().value().numel()) }
    /// The sizes of all dimensions, or of one.
    fn size(slf, dim = None) {
        let value = slf.get().value();
        match dim {
            None => size::size_object(slf.py(), value.shape()),
            Some(d) => int(slf.py(), value.shape()[dimension(&d, "size", value.rank())?]),
        }
    }
    /// The same values in row-major order; the tensor itself if it is contiguous already.
    fn contiguous(slf, memory_format = None) {
        let value = slf.get().value();
        if let Some(order) = memory_format.map(|f| options::memory_format("contiguous", &f)).transpose()?.flatten() {
            if order.is_that_of(&slf.get().layout()?) {
                return Ok(slf.clone().into_any());
            }
            return Ok(tensor::wrap(slf.py(), order.arrange("contiguous", &value)?)?.into_any());
        }
        if slf.get().layout()?.is_contiguous() {
            return Ok(slf.clone().into_any());
        }
        Ok(tensor::wrap(slf.py(), basis::copy(&value)?)?.into_any())
    }
    /// Bytes of one element.
    fn element_size(slf) { int(slf.py(), slf.get().value().dtype().size()) }
    /// The address of the first element.
    fn data_ptr(slf) {
        if let Some(Payload::Batched { .. }) = history::strip(&slf.get().value())?.payload() {
            let text = "data_ptr(): Cannot access data pointer of Tensor that doesn't have storage: it is a value of vmap";
            return Err(Error::runtime(text).into());
        }
        if slf.get().value().is_abstract() {
            return int(slf.py(), 0);
        }
        let place = slf.get().export_memory()?;
        let Some(array) = read::innermost(&place) else { return Err(Error::internal("data_ptr(): no array").into()) };
        int(slf.py(), if array.numel() == 0 { 0 } else { array.ptr() as usize as i64 })
    }
    /// Whether the dtype is a float.
    fn is_floating_point(slf) { truth(slf.py(), slf.get().value().dtype().is_float()) }
    /// Whether the dtype is complex.
    fn is_complex(slf) { truth(slf.py(), slf.get().value().dtype().is_complex()) }
    /// Whether the dtype has negative values.
    fn is_signed(slf) { truth(slf.py(), slf.get().value().dtype().is_signed()) }
    /// Whether the only element is not zero.
    fn is_nonzero(slf) { truth(slf.py(), export::truth(slf.get())?) }
    /// Whether both have the same sizes.
    fn is_same_size(slf, other) {
        let other = crate::data::marshal::tensor(&*required(other, "is_same_size", "other")?);
        let Some(other) = other else { return Err(Error::type_("is_same_size(): argument 'other' must be Tensor").into()) };
        truth(slf.py(), slf.get().value().shape() == other.shape())
    }
    /// -1: the tensor is in main memory.
    fn get_device(slf) { int(slf.py(), -1) }
    /// False: memory is never pinned.
    fn is_pinned(slf; device = None) {
        if let Some(d) = device {
            device::Device::from_argument(&d, "is_pinned")?;
        }
        truth(slf.py(), false)
    }
    /// The numbers in memory of their own, where they are the conjugates of another tensor; otherwise the tensor itself.
    fn resolve_conj(slf) {
        if !slf.get().delayed().conjugated {
            return Ok(slf.clone().into_any());
        }
        Ok(tensor::wrap(slf.py(), basis::copy_in_order(&slf.get().value())?)?.into_any())
    }
    /// The numbers in memory of their own, where they are the negatives of what is in memory; otherwise the tensor itself.
    fn resolve_neg(slf) {
        if !slf.get().delayed().negated {
            return Ok(slf.clone().into_any());
        }
        Ok(tensor::wrap(slf.py(), basis::copy_in_order(&slf.get().value())?)?.into_any())
    }
    /// Whether this is a view that shows the conjugates of what is in memory.
    fn is_conj(slf) { truth(slf.py(), slf.get().delayed().conjugated) }
    /// Whether this is a view that shows the negatives of what is in memory, as the imaginary part of `conj()` does.
    fn is_neg(slf) { truth(slf.py(), slf.get().delayed().negated) }
    /// False: there are no inference tensors.
    fn is_inference(slf) { truth(slf.py(), false) }
    ~
    /// The sizes of the dimensions.
    get shape(slf) { size::size_object(slf.py(), slf.get().value().shape()) }
    ~
    /// The type of the elements.
    get dtype(slf) { Ok(dtype::object(slf.py(), slf.get().value().dtype())) }
    ~
    /// The number of dimensions.
    get ndim(slf) { int(slf.py(), slf.get().value().rank()) }
    ~
    /// Where the elements are: `cpu`, or `meta` where there are none.
    get device(slf) { place(slf.py(), slf.get().value().is_abstract()) }
    ~
    /// How the elements are stored: `strided`.
    get layout(slf) { strided(slf.py()) }
    ~
    /// Bytes of one element.
    get itemsize(slf) { int(slf.py(), slf.get().value().dtype().size()) }
    ~
    /// Bytes of all elements.
    get nbytes(slf) {
        // Of a broadcast view more than 64 bits may hold.
        let (v, py) = (slf.get().value(), slf.py());
        Ok((v.numel() as u128 * v.dtype().size() as u128).into_pyobject(py)?.into_any())
    }
    ~
    /// Whether gradients are recorded for this tensor.
    get requires_grad(slf) { truth(slf.py(), autograd::is_required(slf)?) }
    set(slf, value) { Ok(autograd::set_requires_grad(slf, flag(value)?)?) }
    ~
    /// Whether this tensor was made by the user and not by a recorded operator.
    get is_leaf(slf) { truth(slf.py(), autograd::is_leaf(&slf.get().value())) }
    ~
    /// Whether the tensor has no data: its device is `meta`.
    get is_meta(slf) { truth(slf.py(), slf.get().value().is_abstract()) }
    ~
    /// Whether the elements are in main memory.
    get is_cpu(slf) { truth(slf.py(), !slf.get().value().is_abstract()) }
    ~
    /// False.
    get is_cuda(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_sparse(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_mps(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_xpu(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_xla(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_mkldnn(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_ipu(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_vulkan(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_mtia(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_maia(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_sparse_csr(slf) { truth(slf.py(), false) }
    ~
    /// False.
    get is_quantized(slf) { truth(slf.py(), false) }
    ~
    /// False: members of a batch have one shape.
    get is_nested(slf) { truth(slf.py(), false) }
    ~
    /// None: dimensions have no names.
    get name(slf) { nothing(slf.py()) }
    ~
    /// How often this memory was written to.
    get _version(slf) { int(slf.py(), slf.get().version()) }
    ~
    /// NumPy gives way to tensors in mixed expressions.
    get __array_priority__(slf) { int(slf.py(), 1000) }
    ~
    /// The memory as NumPy's array interface.
    get __array_interface__(slf) {
        let array = export::exported(slf.get(), "__array_interface__")?;
        Ok(crate::data::memory::to_numpy(slf.py(), array)?.getattr("__array_interface__")?)
    }
    ~
    /// The real parts, a view; real tensors are their own.
    get real(slf) { views::numbers_of(slf, "real") }
    set(slf, value) { Ok(set_part(slf, "real", value)?) }
    ~
    /// The imaginary parts, a view.
    get imag(slf) { views::numbers_of(slf, "imag") }
    set(slf, value) { Ok(set_part(slf, "imag", value)?) }
    ~
    /// The same memory without history; assigning replaces the values and keeps the history.
    get data(slf) { tensor::views::data(slf) }
    set(slf, value) {
        match value {
            Some(value) => Ok(tensor::views::set_data(slf, &value)?),
            None => Ok(tensor::views::set_data(slf, slf.py().None().bind(slf.py()))?),
        }
    }
}

fn set_part(
    slf: crate::door::descriptors::Slf<'_, '_>,
    part: &str,
    value: crate::door::descriptors::Arg<'_, '_>,
) -> PyResult<()> {
    match value {
        Some(value) => views::set_numbers(slf, part, &value),
        None => views::set_numbers(slf, part, slf.py().None().bind(slf.py())),
    }
}

/// What `requires_grad` is set to.
fn flag(o: crate::door::descriptors::Arg<'_, '_>) -> PyResult<bool> {
    match o.as_ref().and_then(|o| o.cast::<PyBool>().ok()) {
        Some(b) => Ok(b.is_true()),
        None => Err(Error::runtime("requires_grad must be a bool: assign True or False").into()),
    }
}

fn required<'a, 'py>(
    o: crate::door::descriptors::Arg<'a, 'py>,
    op: &str,
    name: &str,
) -> PyResult<Borrowed<'a, 'py, PyAny>> {
    o.ok_or_else(|| Error::type_(format!("{op}: argument '{name}' must not be None")).into())
}
