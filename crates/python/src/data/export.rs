//! Tensors as Python numbers, lists and NumPy arrays, and to other dtypes.

use crate::data;
use crate::data::{marshal, memory, nested};
use crate::descriptors;
use crate::door::descriptors::{Arg, Out, Slf};
use crate::process::gil;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors::PyResult;
use crate::types::library;
use crate::types::options;
use crate::types::options::Order;
use crate::types::raised;
use crate::types::{device, dtype, size};
use pullback::base::{DType, Error, Result, Scalar, Shape};
use pullback::core::node_name::Since;
use pullback::core::tensor::Payload;
use pullback::core::{Tensor, method_scope};
use pullback::dense::Array;
use pullback::match_dtype;
use pullback::ops::Cost;
use pullback::ops::value::Setting;
use pullback::rules::{abstracted, basis};
use pullback::skin::read::{self, Reading};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyList, PyTuple};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// The only element.
fn number(t: &PyTensor, what: &str) -> Result<Scalar> {
    let value = t.value();
    if value.numel() != 1 {
        let n = value.numel();
        return Err(match what {
            "item()" => Error::runtime(format!(
                "{what}: a Tensor with {n} elements cannot be converted to Scalar; index one of them, or give tolist() all"
            )),
            _ => Error::value(format!("{what}: only one element tensors can be converted to Python scalars, not {n}")),
        });
    }
    read::array(&value, what, Reading::Item)?.item()
}

pub fn length(t: &PyTensor) -> PyResult<usize> {
    match t.value().shape().first() {
        Some(&n) => Ok(n),
        None => Err(PyTypeError::new_err("len() of a 0-d tensor").into()),
    }
}

pub fn truth(t: &PyTensor) -> PyResult<bool> {
    let value = t.value();
    let problem = match value.numel() {
        1 => return Ok(!read::array(&value, "bool()", Reading::Truth)?.item()?.is_zero()),
        0 => "no values",
        _ => "more than one value",
    };
    Err(PyRuntimeError::new_err(short!("bool(): Boolean value of Tensor with {problem} is ambiguous")).into())
}

pub fn to_int<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let py = slf.py();
    match number(slf.get(), "int()")? {
        Scalar::Float(x) => Ok(py.get_type::<PyInt>().call1((PyFloat::new(py, x),))?),
        Scalar::Complex(z) if z.im == 0.0 => Ok(py.get_type::<PyInt>().call1((PyFloat::new(py, z.re),))?),
        Scalar::Complex(_) => Err(PyRuntimeError::new_err("int(): a complex number cannot be converted to int").into()),
        n => Ok(PyInt::new(py, n.as_i64()).into_any()),
    }
}

pub fn to_float(t: &PyTensor) -> PyResult<f64> {
    match number(t, "float()")? {
        Scalar::Complex(z) if z.im != 0.0 => {
            Err(PyRuntimeError::new_err("float(): a complex number cannot be converted to float").into())
        }
        n => Ok(n.as_f64()),
    }
}

pub fn to_index<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let value = slf.get().value();
    if value.numel() != 1 || value.dtype().is_differentiable() {
        return Err(PyTypeError::new_err(
            "__index__(): only integer tensors of a single element can be converted to an index",
        )
        .into());
    }
    Ok(PyInt::new(slf.py(), number(slf.get(), "__index__()")?.as_i64()).into_any())
}

pub fn to_complex<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let z = number(slf.get(), "complex()")?.as_complex();
    Ok(PyComplex::from_doubles(slf.py(), z.re, z.im).into_any())
}

pub fn contains(slf: Slf<'_, '_>, element: Any<'_, '_>) -> PyResult<bool> {
    if marshal::tensor(element).is_none() && marshal::number(element)?.is_none() {
        return Err(PyRuntimeError::new_err(short!(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a {}",
            raised::str_of(&element.get_type())?
        ))
        .into());
    }
    let equal = slf.eq_elements(element)?;
    let any = read::array(&equal, "`in`", Reading::Truth)?.to_vec::<bool>()?.contains(&true);
    Ok(any)
}

trait Elementwise {
    fn eq_elements(&self, other: Any<'_, '_>) -> Result<Tensor>;
}
impl Elementwise for Bound<'_, PyTensor> {
    fn eq_elements(&self, other: Any<'_, '_>) -> Result<Tensor> {
        let a = self.get().value();
        match (marshal::tensor(other), marshal::number(other)?) {
            (Some(b), _) => pullback::ops::compare::eq(&a, &b),
            (None, Some(n)) => pullback::ops::compare::eq(&a, pullback::ops::value::Operand::Number(n)),
            (None, None) => Err(Error::type_("eq(): expected Tensor or Number")),
        }
    }
}

/// The arguments as sizes, if all of them are.
fn sizes_of(args: &Bound<'_, PyTuple>) -> PyResult<Option<Vec<usize>>> {
    let size = |a| PyResult::Ok(raised::whole(&a)?.and_then(|i| usize::try_from(i).ok()));
    // A size of a tensor says sizes; other tuples are data.
    match args.len() {
        1 if args.get_item(0)?.is_instance(size::size_class(args.py())?)? => {
            args.get_item(0)?.cast::<PyTuple>()?.iter().map(size).collect()
        }
        _ => args.iter().map(size).collect(),
    }
}

/// `Tensor(2, 3)`, `Tensor([1, 2])`: the class called, as PyTorch's older programs do.
pub fn construct(args: &Bound<'_, PyTuple>, kwargs: Option<Any<'_, '_>>) -> PyResult<PyTensor> {
    if let Some(k) = kwargs
        && !k.is_empty()?
        && args.is_empty()
    {
        return Err(
            PyTypeError::new_err("Tensor(): expected data or sizes; use pullback.tensor(…) for more options").into()
        );
    }
    let float = pullback::base::promote::default_float();
    let zeros = |shape: Shape| Ok::<_, Error>(Tensor::from(Array::zeros(float, shape)?));
    let value = if args.is_empty() {
        zeros(Shape::new(&[0]))?
    } else if let Some(sizes) = sizes_of(args)? {
        zeros(sizes.into())?
    } else if let Ok(t) = args.get_item(0)?.cast::<PyTensor>() {
        return tensor::views::alias(t);
    } else if let Some(t) = marshal::tensor(&args.get_item(0)?) {
        t
    } else {
        data::tensor_from(&args.get_item(0)?, Some(float))?
    };
    Ok(PyTensor::new(value))
}

/// What an empty list takes.
const LIST_BYTES: usize = 56;

/// Nested lists of a contiguous array's elements.
fn lists<'py>(py: Python<'py>, a: &Array) -> Out<'py> {
    if a.rank() == 0 {
        return marshal::scalar(py, a.item()?);
    }
    // Sizes in front of a 0 count lists, not numbers.
    const EACH: usize = 56;
    for k in 1..=a.rank() {
        pullback::dense::memory::check_list("tolist", a.shape()[..k].iter().product(), EACH)?;
    }
    let mut items: Vec<Bound<'py, PyAny>> = match_dtype!(a.dtype(), T => {
        let elements = a.as_slice::<T>().ok_or_else(|| Error::internal("tolist(): the elements are not contiguous"))?;
        let item = |(i, &x): (usize, &T)| -> PyResult<_> {
            nested::listen(py, i)?;
            marshal::scalar(py, pullback::dense::copy::to_scalar(x))
        };
        elements.iter().enumerate().map(item).collect::<PyResult<_>>()?
    });
    for k in (1..a.rank()).rev() {
        let n = a.shape()[k];
        let outer: usize = a.shape()[..k].iter().product();
        // Rows without elements take memory, too.
        pullback::dense::memory::check_available(outer.saturating_mul(LIST_BYTES))?;
        let row = |i: usize| -> PyResult<_> {
            nested::listen(py, i)?;
            Ok(PyList::new(py, &items[i * n..(i + 1) * n])?.into_any())
        };
        let rows = (0..outer).map(row);
        items = rows.collect::<PyResult<_>>()?;
    }
    Ok(PyList::new(py, items)?.into_any())
}

/// The array of a tensor whose memory others may see and write to from now on.
pub fn exported(t: &PyTensor, what: &str) -> PyResult<Array> {
    let value = t.value();
    let is_followed = || pullback::skin::tape::requires_grad(&value) || is_differentiated(&value);
    if is_followed() && !method_scope::is_argument(&value) {
        return Err(PyRuntimeError::new_err(short!(
            "{what}: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead, or a \
             pullback.autograd.Function to differentiate through NumPy code"
        ))
        .into());
    }
    // Memory that only this tensor holds is handed out as it is.
    drop(value);
    let what = if what == "__array__()" { "numpy()" } else { what };
    Ok(read::array(&t.export(what)?, what, Reading::Elements)?)
}

/// Whether a live tape or dual level follows the value.
fn is_differentiated(t: &Tensor) -> bool {
    let mut t = t;
    while let Some(p) = t.payload() {
        if matches!(p, Payload::Taped { .. } | Payload::Dual { .. }) && pullback::core::level::is_live(t.level()) {
            return true;
        }
        match t.below() {
            Some(b) => t = b,
            None => break,
        }
    }
    false
}

pub fn array<'py>(slf: Slf<'_, 'py>, dtype: Option<Any<'_, 'py>>, copy: Option<bool>) -> Out<'py> {
    let py = slf.py();
    let mut out = memory::to_numpy(py, exported(slf.get(), "__array__()")?)?;
    if let Some(d) = dtype {
        let own = out.getattr("dtype")?;
        if !own.eq(memory::numpy(py)?.call_method1("dtype", (d,))?)? {
            if copy == Some(false) {
                return Err(pyo3::exceptions::PyValueError::new_err(
                    "__array__(): cannot convert the dtype without a copy",
                )
                .into());
            }
            return Ok(out.call_method1("astype", (d,))?);
        }
    }
    if copy == Some(true) {
        out = out.call_method0("copy")?;
    }
    Ok(out)
}

/// What `.to()` was asked for.
#[derive(Default)]
struct Target {
    dtype: Option<DType>,
    copy: bool,
    order: Option<Order>,
    /// Whether the result is to have no data; as the tensor itself if not asked for.
    meta: Option<bool>,
}

impl Target {
    fn take(&mut self, o: Any<'_, '_>) -> PyResult<()> {
        if let Some(d) = dtype::dtype_of(o.as_ptr()) {
            self.dtype = Some(d);
        } else if let Some(other) = tensor::cell(o) {
            self.dtype = Some(other.value().dtype());
            self.meta = Some(other.value().is_abstract());
        } else if let Ok(d) = dtype::dtype_argument(o, "to", "dtype") {
            self.dtype = Some(d);
        } else {
            self.meta = Some(device::Device::from_argument(o, "to")?.is_meta());
        }
        Ok(())
    }
}

/// The value on the other device. From `meta` there is nothing to move.
#[cold]
fn moved<'py>(slf: Slf<'_, 'py>, value: &Tensor, target: &Target) -> Out<'py> {
    if value.is_abstract() {
        return Err(pullback::core::meta::no_data().into());
    }
    let value = basis::cast(value, target.dtype.unwrap_or(value.dtype()))?;
    Ok(tensor::wrap(slf.py(), abstracted::without_data(&value)?)?.into_any())
}

/// The value in another dtype; the object itself if nothing changes.
fn converted<'py>(slf: Slf<'_, 'py>, target: &Target) -> Out<'py> {
    let py = slf.py();
    let value = slf.get().value();
    if let Some(to) = target.dtype {
        pullback::ops::convert::tell_of_loss(value.dtype(), to)?;
    }
    if target.meta.is_some_and(|meta| meta != value.is_abstract()) {
        return moved(slf, &value, target);
    }
    if let Some(order) = &target.order {
        let changes = target.copy || target.dtype.is_some_and(|d| d != value.dtype());
        let lies = slf.get().layout()?;
        if !changes && order.is_suggested_by(&lies) {
            return Ok(slf.clone().into_any());
        }
        let new = basis::cast(&value, target.dtype.unwrap_or(value.dtype()))?;
        return Ok(tensor::wrap(py, order.arrange("to", &new)?)?.into_any());
    }
    let since = Since::now();
    let out = match target.dtype {
        Some(d) if d != value.dtype() => gil::released(py, Cost::Cheap, &[&value], || basis::cast(&value, d))?,
        _ if target.copy => gil::released(py, Cost::Cheap, &[&value], || basis::copy_in_order(&value))?,
        _ => return Ok(slf.clone().into_any()),
    };
    Ok(tensor::wrap(py, since.named(out, &"ToCopyBackward0"))?.into_any())
}

/// A flag argument.
pub fn flag(o: Arg<'_, '_>, default: bool) -> PyResult<bool> {
    o.map_or(Ok(default), |o| Ok(crate::types::flag::truth(&o)?))
}

descriptors! { METHODS, ATTRIBUTES:
    /// The only element as a Python number.
    fn item(slf) {
        marshal::scalar(slf.py(), number(slf.get(), "item()")?)
    }
    /// The elements as nested lists of Python numbers; a 0-d tensor gives a number.
    fn tolist(slf) {
        let a = read::array(&slf.get().value(), "tolist()", Reading::Elements)?;
        lists(slf.py(), &a.contiguous()?)
    }
    /// A NumPy array over the same memory. With `force=True`, also of tensors that require grad.
    fn numpy(slf; force = False) {
        if slf.get().value().is_abstract() {
            let why = pullback::core::meta::no_data();
            let message = short!("numpy(): can't convert meta device type tensor to numpy: {}", why.message());
            return Err(PyTypeError::new_err(message).into());
        }
        let array = if flag(force, false)? {
            let a = read::array(&slf.get().value(), "numpy()", Reading::Elements)?;
            pullback::dense::copy::gather(&a)?.to_buffer()?
        } else {
            exported(slf.get(), "numpy()")?
        };
        memory::to_numpy(slf.py(), array)
    }
    /// The tensor in another dtype: `to(dtype)`, `to(other)`, `to(device, dtype)`. The tensor itself if nothing changes,
    /// unless `copy=True`.
    fn to(slf, first = None, second = None, third = None, fourth = None;
        dtype = None, device = None, other = None, non_blocking = False, copy = False, memory_format = None) {
        let order = memory_format.map(|f| options::memory_format("to", &f)).transpose()?.flatten();
        let in_rows = order.is_none() && memory_format.is_some_and(|f| !options::preserves(&f));
        let mut target = Target { dtype: None, copy: flag(copy, false)?, order, meta: None };
        let mut flags = Vec::new();
        for a in [first, second, third, fourth].into_iter().flatten() {
            if a.is_instance_of::<pyo3::types::PyBool>() { flags.push(a.is_truthy()?) } else { target.take(&a)? }
        }
        for a in [dtype, device, other].into_iter().flatten() {
            target.take(&a)?;
        }
        // There is nothing to wait for.
        let _ = non_blocking;
        if let [_, copy] = flags[..] {
            target.copy |= copy;
        }
        let out = converted(slf, &target)?;
        if in_rows { Ok(out.call_method0("contiguous")?) } else { Ok(out) }
    }
    /// The name of the tensor type, or the tensor in another dtype.
    fn r#type(slf, dtype = None; non_blocking = False) {
        let _ = non_blocking;
        let Some(d) = dtype else { return legacy_type(slf) };
        let name = d.extract::<String>().unwrap_or_default();
        let of_library = name.strip_prefix("torch.").or_else(|| name.strip_prefix("pullback."));
        let kind = of_library.and_then(|n| n.strip_suffix("Tensor"));
        let target = match DType::ALL.iter().find(|d| kind == Some(legacy_name(**d))) {
            Some(d) => *d,
            None if !name.is_empty() => {
                let text = format!("type(): invalid type: '{name}'; give a dtype, or a name such as 'torch.FloatTensor'");
                return Err(PyValueError::new_err(text).into());
            }
            // The class stands for the type of new tensors.
            None if d.as_ptr() == tensor::type_object().cast() => pullback::base::promote::default_float(),
            None => dtype::dtype_argument(&d, "type", "dtype")?,
        };
        converted(slf, &Target { dtype: Some(target), ..Target::default() })
    }
    /// The tensor in main memory: itself.
    fn cpu(slf; memory_format = None) {
        let order = memory_format.map(|f| options::memory_format("cpu", &f)).transpose()?.flatten();
        converted(slf, &Target { order, meta: Some(false), ..Target::default() })
    }
    /// A tensor with a copy of `data`, of this tensor's dtype unless given.
    fn new_tensor(slf, data; dtype = None, device = None, requires_grad = False, layout = None, pin_memory = False) {
        for (setting, option) in [(Setting::Layout, layout), (Setting::PinMemory, pin_memory)] {
            if let Some(o) = option {
                options::check("new_tensor", setting, &o)?;
            }
        }
        let Some(data) = data else { return Err(PyTypeError::new_err("new_tensor(): argument 'data' is None").into()) };
        let grad = flag(requires_grad, false)?;
        let o = data::Options::of("new_tensor", dtype.as_deref(), device.as_deref(), grad)?;
        let d = o.dtype.unwrap_or(slf.get().value().dtype());
        data::tell_of_copy("new_tensor", &data)?;
        o.finish(slf.py(), data::tensor_from(&data, Some(d))?)
    }
    /// What a NumPy function gives back for a tensor argument.
    fn __array_wrap__(slf, array, context = None, return_scalar = None) {
        let _ = (context, return_scalar);
        let Some(array) = array else { return Ok(slf.py().None().into_bound(slf.py())) };
        Ok(tensor::wrap(slf.py(), data::tensor_from(&array, None)?)?.into_any())
    }
}

/// What the class of tensors of a dtype was called before there were dtypes.
fn legacy_name(d: DType) -> &'static str {
    match d {
        DType::Bool => "Bool",
        DType::U8 => "Byte",
        DType::I8 => "Char",
        DType::I16 => "Short",
        DType::I32 => "Int",
        DType::I64 => "Long",
        DType::F16 => "Half",
        DType::BF16 => "BFloat16",
        DType::F32 => "Float",
        DType::F64 => "Double",
        DType::C64 => "ComplexFloat",
        DType::C128 => "ComplexDouble",
    }
}

fn legacy_type<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let value = slf.get().value();
    let (name, place) = (legacy_name(value.dtype()), if value.is_abstract() { "meta." } else { "" });
    Ok(format!("{}{place}{name}Tensor", library::prefix()).into_pyobject(slf.py())?.into_any())
}
