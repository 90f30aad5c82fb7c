//! The memory behind a tensor: its storage, and the tensor that it is a view of.

use crate::descriptors;
use crate::door::descriptors;
use crate::door::descriptors::{Arg, Out, Slf};
use crate::door::{callable, overrides};
use crate::process::gil;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::tensor::standing::stand_for;
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::options;
use crate::types::raised;
use pullback::base::{Error, Result, size};
use pullback::core::host;
use pullback::dense::buffer::Export;
use pullback::dense::{Array, Buffer};
use pullback::skin::{Cell, read};
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList};
use std::sync::Arc;

/// The object that stands for a cell; a new one if there is none.
pub fn object<'py>(view: Slf<'_, 'py>, cell: Arc<Cell>) -> Out<'py> {
    let py = view.py();
    let known = cell.host() as *mut ffi::PyObject;
    // SAFETY: an object stands down before its memory is freed; one without references is being dropped right now.
    let alive =
        unsafe { (!known.is_null() && gil::references(py, known) > 0).then(|| Bound::from_borrowed_ptr(py, known)) };
    if let Some(o) = alive {
        return Ok(o);
    }
    cell.set_host(0);
    let o = tensor::wrap_cell(view, cell.clone())?;
    stand_for(&cell, &o);
    Ok(o.into_any())
}

/// The bytes that a tensor and all its views lie in. While it is held, writes leave them where they are.
#[pyclass(frozen, name = "UntypedStorage", module = "pullback")]
pub struct Storage {
    array: Array,
    _export: Export,
    /// The cell that holds the elements.
    memory: Option<Arc<Cell>>,
}

impl Storage {
    fn of(t: &PyTensor) -> Result<Storage> {
        let value = t.export_memory()?;
        let array = read::array(&value, "untyped_storage()", read::Reading::Elements)?;
        let array = if array.buffer().is_some() { array } else { array.to_buffer()? };
        let Some(buffer) = array.buffer() else { return Err(Error::internal("untyped_storage(): no buffer")) };
        Ok(Storage { _export: buffer.export(), array, memory: None })
    }
    pub fn memory(&self) -> Result<&Arc<Cell>> {
        self.memory.as_ref().ok_or_else(|| Error::internal("a storage without a cell"))
    }
    fn buffer(&self) -> PyResult<&Arc<Buffer>> {
        self.array.buffer().ok_or_else(|| Error::internal("a storage without a buffer").into())
    }
}

#[pymethods]
impl Storage {
    /// The address of the first byte.
    fn data_ptr(&self) -> PyResult<usize> {
        Ok(self.buffer()?.ptr() as usize)
    }
    /// The number of bytes.
    fn nbytes(&self) -> PyResult<usize> {
        Ok(self.buffer()?.bytes())
    }
    /// The number of bytes.
    fn size(&self) -> PyResult<usize> {
        self.nbytes()
    }
    fn __len__(&self) -> PyResult<usize> {
        self.nbytes()
    }
    /// 1: storages have no type.
    fn element_size(&self) -> usize {
        1
    }
    /// One byte.
    fn __getitem__(&self, index: i64) -> PyResult<u8> {
        let n = self.nbytes()?;
        let Some(at) = size::index(index, n) else {
            return Err(PyIndexError::new_err(short!("storage index {index} is out of range for {n} bytes")).into());
        };
        // SAFETY: the index was checked, and the buffer lives as long as this object.
        Ok(unsafe { self.buffer()?.ptr().add(at).read() })
    }
    /// The bytes as numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let n = self.nbytes()?;
        let list = PyList::empty(py);
        for i in 0..n as i64 {
            host::turn(i as usize)?;
            list.append(self.__getitem__(i)?)?;
        }
        Ok(list)
    }
    /// A storage with the same bytes in memory of its own.
    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Storage>> {
        self.__deepcopy__(PyDict::new(py).as_any())
    }
    fn __deepcopy__<'py>(&self, memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Storage>> {
        storage(&crate::methods::pickle::deepcopy_memory(self.memory()?, memo)?)
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Storage>() else { return Ok(false) };
        Ok(self.data_ptr()? == other.get().data_ptr()?)
    }
    fn __hash__(&self) -> PyResult<usize> {
        self.data_ptr()
    }
    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("UntypedStorage(data_ptr={:#x}, nbytes={})", self.data_ptr()?, self.nbytes()?))
    }
}

fn storage<'py>(slf: Slf<'_, 'py>) -> PyResult<Bound<'py, Storage>> {
    let memory = Some(slf.get().cell().memory()?);
    Ok(Bound::new(slf.py(), Storage { memory, ..Storage::of(slf.get())? })?)
}

fn other<'a>(o: Arg<'a, '_>, op: &str) -> PyResult<&'a PyTensor> {
    // SAFETY: the argument is borrowed for 'a.
    let found = o.and_then(|o| unsafe { tensor::cell_at(o.py(), o.as_ptr()) });
    found.ok_or_else(|| {
        let got = o.map_or_else(|| "None".into(), |o| class::type_name(&o));
        Error::type_(format!("{op}(): argument 'tensor' must be Tensor, not {got}")).into()
    })
}

descriptors! { METHODS, ATTRIBUTES:
    /// The bytes that this tensor and all its views lie in. Writes leave them where they are while they are held.
    fn untyped_storage(slf) {
        Ok(storage(slf)?.into_any())
    }
    /// Whether this is a view of another tensor.
    fn _is_view(slf) {
        let base = slf.get().shared_cell().filter(|_| !slf.get().is_inference()).and_then(|c| c.base());
        Ok(PyBool::new(slf.py(), base.is_some()).to_owned().into_any())
    }
    /// The elements of the memory that sizes, strides and an offset name, as a view; the offset is this tensor's unless
    /// given.
    fn as_strided(slf, size, stride, storage_offset = None) { strided_view(slf, size, stride, storage_offset) }
    /// Whether both tensors show the same elements in the same order.
    fn is_set_to(slf, tensor) {
        let other = other(tensor, "is_set_to")?;
        let (a, b) = (slf.get().layout()?, other.layout()?);
        let same = Storage::of(slf.get())?.data_ptr()? == Storage::of(other)?.data_ptr()?;
        let same = same && (a.shape, a.strides, a.offset) == (b.shape, b.strides, b.offset);
        Ok(PyBool::new(slf.py(), same).to_owned().into_any())
    }
    /// The distances in memory between neighbours along all dimensions, or along one, in elements.
    fn stride(slf, dim = None) {
        let layout = slf.get().layout()?;
        match dim {
            None => Ok(pyo3::types::PyTuple::new(slf.py(), &layout.strides)?.into_any()),
            Some(d) => {
                let d = crate::methods::attributes::dimension(&d, "stride", layout.shape.rank())?;
                Ok(PyInt::new(slf.py(), layout.strides[d]).into_any())
            }
        }
    }
    /// Where the first element is in its memory, in elements.
    fn storage_offset(slf) { Ok(PyInt::new(slf.py(), slf.get().layout()?.offset).into_any()) }
    /// Whether the elements lie in row-major order without gaps.
    fn is_contiguous(slf; memory_format = None) {
        let layout = slf.get().layout()?;
        let order = memory_format.map(|f| options::memory_format("is_contiguous", &f)).transpose()?.flatten();
        let answer = order.map_or_else(|| layout.is_contiguous(), |o| o.is_that_of(&layout));
        Ok(PyBool::new(slf.py(), answer).to_owned().into_any())
    }
    ~
    /// The tensor that this one is a view of, or None.
    get _base(slf) {
        match slf.get().shared_cell().filter(|_| !slf.get().is_inference()).and_then(|c| c.base()) {
            Some(base) => object(slf, base),
            None => Ok(slf.py().None().into_bound(slf.py())),
        }
    }
}

fn strided_view<'py>(slf: Slf<'_, 'py>, size: Arg<'_, 'py>, stride: Arg<'_, 'py>, offset: Arg<'_, 'py>) -> Out<'py> {
    let view = strided(slf, "as_strided", size, stride, offset)?;
    Ok(tensor::wrap_cell(slf, view)?.into_any())
}

/// The view that sizes, strides and an offset name, as a cell.
pub fn strided<'py>(
    slf: Slf<'_, 'py>,
    op: &str,
    size: Arg<'_, 'py>,
    stride: Arg<'_, 'py>,
    offset: Arg<'_, 'py>,
) -> PyResult<Arc<Cell>> {
    let ints = |o: Arg<'_, 'py>, name: &str| -> PyResult<Vec<i64>> {
        let wrong = || Error::type_(format!("{op}(): argument '{name}' must be tuple of ints"));
        raised::items(&*o.ok_or_else(wrong)?)?.map(|x| Ok(x?.extract()?)).collect()
    };
    let (sizes, strides) = (ints(size, "size")?, ints(stride, "stride")?);
    if sizes.len() != strides.len() {
        let text = format!("{op}(): mismatch in length of strides {strides:?} and shape {sizes:?}");
        return Err(Error::runtime(text).into());
    }
    let offset = offset.map(|o| crate::methods::resize::offset(op, &o)).transpose()?;
    let cell = slf.get().cell();
    stand_for(&cell, slf);
    let shape = pullback::ops::shape::sizes(op, &sizes)?;
    Ok(match op.ends_with('_') {
        true => cell.restrided(op, shape, &strides, offset)?,
        false => cell.as_strided(shape, &strides, offset)?,
    })
}

/// The elements of the memory of `input` that sizes, strides and an offset name, as a view.
///
/// >>> import pullback
/// >>> pullback.as_strided(pullback.arange(6), (2, 2), (1, 2))
/// tensor([[0, 2],
///         [1, 3]])
#[pyfunction]
#[pyo3(name = "as_strided", signature = (input, size, stride, storage_offset=None))]
fn as_strided_function<'py>(
    input: &Bound<'py, PyAny>,
    size: &Bound<'py, PyAny>,
    stride: &Bound<'py, PyAny>,
    storage_offset: Option<&Bound<'py, PyAny>>,
) -> Out<'py> {
    let py = input.py();
    let offset = || Ok([("storage_offset", storage_offset.map_or_else(|| py.None().into_bound(py), Bound::clone))]);
    if let Some(out) = callable::asked_with(py, "as_strided", &[input, size, stride], None, offset) {
        return out;
    }
    let Ok(input) = input.cast::<PyTensor>() else {
        let got = class::type_name(input);
        return Err(Error::type_(format!("as_strided(): argument 'input' must be Tensor, got {got}")).into());
    };
    strided_view(input, Some(size.as_borrowed()), Some(stride.as_borrowed()), storage_offset.map(|o| o.as_borrowed()))
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Storage>()?;
    overrides::add_asking(m, wrap_pyfunction!(as_strided_function, m)?)?;
    crate::methods::resize::register(m)?;
    descriptors::install(&m.py().get_type::<PyTensor>(), METHODS, ATTRIBUTES)
}
