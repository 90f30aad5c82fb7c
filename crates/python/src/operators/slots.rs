//! The slots of the class: operators with symbols, and what Python's own syntax and functions call.

// The glue that pyo3 generates for slots is attributed to the macro below.
#![allow(unsafe_op_in_unsafe_fn)]

use crate::data::{export, marshal, memory};
use crate::door::callable::{self, Access, Callable, Given};
use crate::door::enter::enter;
use crate::door::overrides;
use crate::methods::{pickle, repr};
use crate::operators::indexing;
use crate::process::gil;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::errors;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::{Error, Scalar};
use pullback::core::node_name::Since;
use pullback::core::{LevelId, Tensor, level};
use pullback::ops::value::Operand;
use pullback::ops::{self, Cost, Entry, arith, autocast, compare, matmul, unary};
use pullback::skin::{tape, write};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple, PyType};
use std::ffi::c_int;
use std::sync::OnceLock;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Slf<'a, 'py> = &'a Bound<'py, PyTensor>;
type Out<'py> = PyResult<Bound<'py, PyAny>>;
type Result = pullback::Result<Tensor>;

/// Asks the door first: a slot whose arguments are not ordinary may be answered by the class of one.
macro_rules! asked {
    ($kind:ident $name:expr, $($object:expr),+) => {
        if let Some(out) = callable::asked(first!($($object),+).py(), Access::$kind, $name, &[$($object.as_ptr()),+]) {
            return Ok(out?.extract()?);
        }
    };
}
macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

/// `f(slf, other)`; `None` if `other` is neither a tensor nor a number.
#[inline(always)]
fn apply(
    slf: Slf<'_, '_>,
    other: Any<'_, '_>,
    cost: Cost,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result + Send,
) -> PyResult<Option<Tensor>> {
    let a = slf.get().value();
    if let Some(b) = tensor::cell(other) {
        let b = b.value();
        return Ok(Some(gil::released(slf.py(), cost, &[&a, &b], || f(Operand::Tensor(&a), Operand::Tensor(&b)))?));
    }
    // Most numbers are these; taken apart here, they are written once and not moved.
    if let Ok(x) = other.cast_exact::<PyFloat>() {
        return with_number(slf.py(), &a, x.value(), Scalar::Float, cost, f);
    }
    if let Some(i) = marshal::plain_integer(other) {
        return with_number(slf.py(), &a, i, Scalar::Int, cost, f);
    }
    match marshal::number(other)? {
        Some(n) => with_number(slf.py(), &a, n, |n| n, cost, f),
        None => Ok(None),
    }
}

/// `f(a, n)`, where the number comes in a register.
#[inline(never)]
fn with_number<N: Copy + Send>(
    py: Python<'_>,
    a: &Tensor,
    n: N,
    scalar: impl FnOnce(N) -> Scalar + Send,
    cost: Cost,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result + Send,
) -> PyResult<Option<Tensor>> {
    Ok(Some(gil::released(py, cost, &[a], move || f(Operand::Tensor(a), Operand::Number(scalar(n))))?))
}

/// What somebody else answers to an operator, by its public name and that of its slot.
#[cold]
#[inline(never)]
fn operator<'py>(slf: Slf<'_, 'py>, other: Any<'_, 'py>, [name, slot]: [&'static str; 2]) -> Option<Out<'py>> {
    let objects = [slf.as_ptr(), other.as_ptr()];
    let callable = Callable { kind: Access::Operator, name };
    callable::overridden_slot(slf.py(), callable, Given::all(&objects), Some(slot))
}

#[inline(always)]
fn binary<'py>(
    slf: Slf<'_, 'py>,
    other: Any<'_, 'py>,
    names: [&'static str; 2],
    cost: Cost,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result + Send,
) -> Out<'py> {
    let py = slf.py();
    if !callable::is_ordinary([slf.as_ptr(), other.as_ptr()])
        && let Some(out) = operator(slf, other, names)
    {
        return out;
    }
    let since = Since::now();
    match apply(slf, other, cost, f)? {
        Some(out) => {
            match names[0] {
                "matmul" => since.name(&out, product_node()),
                "__rsub__" => since.name(&out, &"RsubBackward1"),
                "__pow__" if tensor::cell(other).is_none() => since.name(&out, &"PowBackward0"),
                "__pow__" | "__rpow__" => since.name(&out, &"PowBackward1"),
                _ => {}
            }
            Ok(tensor::wrap(py, out)?.into_any())
        }
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// What nodes of `a @ b` are called: as those of `matmul(a, b)`.
fn product_node() -> &'static &'static str {
    static ENTRY: OnceLock<Option<&'static Entry>> = OnceLock::new();
    ENTRY.get_or_init(|| ops::find("matmul")).map_or(&"matmul", |entry| entry.node_names().0)
}

/// `slf op= other`: the object stays, its cell gets a new value. What somebody else answers takes the object's place.
fn inplace<'py>(
    slf: Slf<'_, 'py>,
    other: Any<'_, 'py>,
    slot: &'static str,
    name: &str,
    cost: Cost,
    f: impl Fn(Operand<'_>, Operand<'_>) -> Result + Send + Copy,
) -> Out<'py> {
    if let Some(out) = callable::asked(slf.py(), Access::Slot, slot, &[slf.as_ptr(), other.as_ptr()]) {
        return out;
    }
    slf.get().check_writable(name)?;
    let elementwise = matches!(name, "add_" | "sub_" | "mul_" | "div_");
    let out = match elementwise && slf.get().is_moderate() && slf.get().gives_up_memory() {
        true => overwriting(slf, other, f),
        false => apply(slf, other, cost, f),
    };
    match out? {
        Some(out) => {
            slf.get().write(name, &out)?;
            Ok(slf.clone().into_any())
        }
        None => elsewhere(slf, other, name),
    }
}

/// Python goes on with `slf op other`, so that an array gives a new tensor as in PyTorch; a leaf would miss the step.
#[cold]
#[inline(never)]
fn elsewhere<'py>(slf: Slf<'_, 'py>, other: Any<'_, 'py>, name: &str) -> Out<'py> {
    let old = slf.get().value();
    if tape::requires_grad(&old) && tape::is_leaf(&old) && raised::is_of_numpy(other)? {
        return Err(Error::runtime(format!(
            "{name}(): with an array, `x op= array` makes a new tensor, and this one is a leaf: can't call numpy() on \
             Tensor that requires grad; write `x.{name}(pullback.from_numpy(array))`"
        ))
        .into());
    }
    Ok(slf.py().NotImplemented().into_bound(slf.py()))
}

/// As [`apply`], in the memory of the tensor if nobody else holds that; with the GIL, behind which others could see it.
#[cold]
#[inline(never)]
fn overwriting(
    slf: Slf<'_, '_>,
    other: Any<'_, '_>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> Result + Send,
) -> PyResult<Option<Tensor>> {
    apply(slf, other, Cost::Free, |a, b| match (a, b) {
        (Operand::Tensor(_), Operand::Tensor(t)) if t.level() != LevelId::DENSE => f(a, b),
        // The tensor holds the value, and its operand does.
        (Operand::Tensor(own), _) => write::in_memory_of(own, 2, || f(a, b)),
        _ => f(a, b),
    })
}

/// What users call an in-place slot: the method of that name, if there is one.
const fn inplace_name(slot: &'static str, title: &'static str) -> &'static str {
    match title.as_bytes() {
        b"add_" | b"sub_" | b"mul_" | b"div_" | b"floor_divide_" | b"remainder_" => title,
        _ => slot,
    }
}

/// pyo3's in-place slots give the left operand back, whoever answered; [`IN_PLACE`] takes their place.
fn kept(slf: Slf<'_, '_>, out: Bound<'_, PyAny>) -> PyResult<()> {
    match out.is(slf) {
        true => Ok(()),
        false => Err(PyTypeError::new_err("an in-place operator was answered by another object").into()),
    }
}

fn add(a: Operand<'_>, b: Operand<'_>) -> Result {
    arith::add(a, b, None)
}
fn sub(a: Operand<'_>, b: Operand<'_>) -> Result {
    arith::sub(a, b, None)
}
fn div(a: Operand<'_>, b: Operand<'_>) -> Result {
    arith::div(a, b, None)
}
fn remainder(a: Operand<'_>, b: Operand<'_>) -> Result {
    arith::remainder(a, b)
}
fn matmul(a: Operand<'_>, b: Operand<'_>) -> Result {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) if level::autocast().is_none() => matmul::matmul(a, b),
        (Operand::Tensor(a), Operand::Tensor(b)) => {
            let [a, b] = autocast::lowered([a, b])?;
            matmul::matmul(&a, &b)
        }
        _ => Err(pullback::Error::type_("matmul(): argument 'other' must be Tensor, not a number")),
    }
}

/// What the interpreter calls for an in-place slot.
pub type InPlace = ffi::binaryfunc;

macro_rules! entrance {
    ($name:ident) => {{
        unsafe extern "C" fn call(slf: *mut ffi::PyObject, other: *mut ffi::PyObject) -> *mut ffi::PyObject {
            // SAFETY: the interpreter calls a slot attached, with an object of the class and another one, both live.
            unsafe {
                enter(|py| {
                    let (slf, other) = (Borrowed::<PyAny>::from_ptr(py, slf), Borrowed::<PyAny>::from_ptr(py, other));
                    Ok(own::$name(&slf.cast_unchecked::<PyTensor>(), &other)?.into_ptr())
                })
            }
        }
        call
    }};
}

const fn commutes(public: &str) -> bool {
    matches!(public.as_bytes(), b"add" | b"mul")
}

macro_rules! slots {
    (
        $( $name:ident $reflected:ident $inplace:ident = $public:literal $back:literal $title:literal $cost:ident $f:path; )*
        { $($rest:tt)* }
    ) => {
        #[pymethods]
        impl PyTensor {
            $(
                fn $name<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> {
                    binary(slf, other, [$public, stringify!($name)], Cost::$cost, |a, b| $f(a, b))
                }
                fn $reflected<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> {
                    // The node of a sum or a product has the tensor in front of the number, as PyTorch's.
                    binary(slf, other, [$back, stringify!($reflected)], Cost::$cost, |a, b| {
                        if commutes($public) { $f(a, b) } else { $f(b, a) }
                    })
                }
                fn $inplace(slf: &Bound<'_, Self>, other: Any<'_, '_>) -> PyResult<()> {
                    kept(slf, own::$inplace(slf, other)?)
                }
            )*
            $($rest)*
        }
        /// What the in-place slots do.
        mod own {
            use super::*;
            $(
                pub fn $inplace<'py>(slf: Slf<'_, 'py>, other: Any<'_, 'py>) -> Out<'py> {
                    let name = inplace_name(stringify!($inplace), $title);
                    inplace(slf, other, name, $title, Cost::$cost, |a, b| $f(a, b))
                }
            )*
            pub fn __ipow__<'py>(slf: Slf<'_, 'py>, other: Any<'_, 'py>) -> Out<'py> {
                inplace(slf, other, "__ipow__", "pow_", Cost::Transcendental, arith::pow)
            }
        }
        /// The functions that the interpreter calls for the in-place slots, by name.
        pub const IN_PLACE: &[(&str, InPlace)] = &[$((stringify!($inplace), entrance!($inplace))),*];
    };
}

slots! {
    __add__ __radd__ __iadd__ = "add" "add" "add_" Cheap add;
    __sub__ __rsub__ __isub__ = "sub" "__rsub__" "sub_" Cheap sub;
    __mul__ __rmul__ __imul__ = "mul" "mul" "mul_" Cheap arith::mul;
    __truediv__ __rtruediv__ __itruediv__ = "div" "__rtruediv__" "div_" Cheap div;
    __floordiv__ __rfloordiv__ __ifloordiv__ = "__floordiv__" "__rfloordiv__" "floor_divide_" Cheap arith::floor_divide;
    __mod__ __rmod__ __imod__ = "remainder" "__rmod__" "remainder_" Transcendental remainder;
    __and__ __rand__ __iand__ = "__and__" "bitwise_and" "bitwise_and_" Cheap compare::bitwise_and;
    __or__ __ror__ __ior__ = "__or__" "bitwise_or" "bitwise_or_" Cheap compare::bitwise_or;
    __xor__ __rxor__ __ixor__ = "__xor__" "bitwise_xor" "bitwise_xor_" Cheap compare::bitwise_xor;
    __lshift__ __rlshift__ __ilshift__ = "__lshift__" "__rlshift__" "bitwise_left_shift_" Cheap compare::bitwise_left_shift;
    __rshift__ __rrshift__ __irshift__ = "__rshift__" "__rrshift__" "bitwise_right_shift_" Cheap compare::bitwise_right_shift;
    {
        #[new]
        #[pyo3(signature = (*args, **kwargs))]
        fn __new__(args: &Bound<'_, PyTuple>, kwargs: Option<Any<'_, '_>>) -> PyResult<PyTensor> {
            export::construct(args, kwargs)
        }
        fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
            self.traverse(visit)
        }
        fn __clear__(&self) {
            self.clear();
        }
        // Without the form in place, as PyTorch has it: a product need not have the shape of what stands on the left.
        fn __matmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> {
            binary(slf, other, ["matmul", "__matmul__"], Cost::Product, matmul)
        }
        fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> {
            binary(slf, other, ["__rmatmul__", "__rmatmul__"], Cost::Product, |a, b| matmul(b, a))
        }
        fn __pow__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, _modulo: Any<'_, 'py>) -> Out<'py> {
            binary(slf, other, ["__pow__", "__pow__"], Cost::Transcendental, arith::pow)
        }
        fn __rpow__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, _modulo: Any<'_, 'py>) -> Out<'py> {
            binary(slf, other, ["__rpow__", "__rpow__"], Cost::Transcendental, |a, b| arith::pow(b, a))
        }
        fn __ipow__(slf: &Bound<'_, Self>, other: Any<'_, '_>, _modulo: Any<'_, '_>) -> PyResult<()> {
            kept(slf, own::__ipow__(slf, other)?)
        }
        fn __neg__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            unary_slot(slf, "neg", unary::negative)
        }
        fn __pos__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            asked!(Slot "positive", slf);
            unary::positive(&slf.get().value())?;
            Ok(slf.clone().into_any())
        }
        fn __abs__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            unary_slot(slf, "abs", unary::abs)
        }
        fn __invert__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            unary_slot(slf, "__invert__", inverted)
        }
        fn __richcmp__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, op: CompareOp) -> Out<'py> {
            match op {
                CompareOp::Eq => binary(slf, other, ["__eq__", "__eq__"], Cost::Cheap, |a, b| compare::eq(a, b)),
                CompareOp::Ne => binary(slf, other, ["ne", "__ne__"], Cost::Cheap, |a, b| compare::ne(a, b)),
                CompareOp::Lt => binary(slf, other, ["lt", "__lt__"], Cost::Cheap, |a, b| compare::lt(a, b)),
                CompareOp::Le => binary(slf, other, ["le", "__le__"], Cost::Cheap, |a, b| compare::le(a, b)),
                CompareOp::Gt => binary(slf, other, ["gt", "__gt__"], Cost::Cheap, |a, b| compare::gt(a, b)),
                CompareOp::Ge => binary(slf, other, ["ge", "__ge__"], Cost::Cheap, |a, b| compare::ge(a, b)),
            }
        }
        /// Tensors are keys by identity.
        fn __hash__(slf: &Bound<'_, Self>) -> isize {
            (slf.as_ptr() as isize) >> 4
        }
        fn __getitem__<'py>(slf: &Bound<'py, Self>, index: Any<'_, 'py>) -> Out<'py> {
            asked!(Slot "__getitem__", slf, index);
            indexing::get(slf, index)
        }
        fn __setitem__(slf: &Bound<'_, Self>, index: Any<'_, '_>, value: Any<'_, '_>) -> PyResult<()> {
            if let Some(out) =
                callable::asked(slf.py(), Access::Slot, "__setitem__", &[slf.as_ptr(), index.as_ptr(), value.as_ptr()])
            {
                return out.map(drop);
            }
            indexing::set(slf, index, value)
        }
        fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
            asked!(Slot "__len__", slf);
            export::length(slf.get())
        }
        fn __iter__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            match callable::is_asked(slf.py(), &[slf.as_any()]) {
                true => indexing::iterate_asking(slf),
                false => indexing::iterate(slf),
            }
        }
        fn __contains__(slf: &Bound<'_, Self>, element: Any<'_, '_>) -> PyResult<bool> {
            asked!(Slot "__contains__", slf, element);
            export::contains(slf, element)
        }
        fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
            asked!(Slot "__bool__", slf);
            export::truth(slf.get())
        }
        fn __int__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            asked!(Slot "__int__", slf);
            export::to_int(slf)
        }
        fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
            asked!(Slot "__float__", slf);
            export::to_float(slf.get())
        }
        fn __index__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            asked!(Slot "__index__", slf);
            export::to_index(slf)
        }
        fn __complex__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            asked!(Slot "__complex__", slf);
            export::to_complex(slf)
        }
        fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
            asked!(Slot "__repr__", slf);
            repr::repr(slf)
        }
        fn __format__<'py>(slf: &Bound<'py, Self>, spec: Any<'_, 'py>) -> Out<'py> {
            asked!(Slot "__format__", slf, spec);
            repr::format(slf, spec.extract()?)
        }
        #[pyo3(signature = (dtype=None, copy=None))]
        fn __array__<'py>(slf: &Bound<'py, Self>, dtype: Option<Any<'_, 'py>>, copy: Option<bool>) -> Out<'py> {
            asked!(Slot "__array__", slf);
            export::array(slf, dtype, copy)
        }
        /// Universal functions of NumPy with a tensor among their operands.
        #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
        fn __array_ufunc__<'py>(
            slf: &Bound<'py, Self>,
            ufunc: Any<'_, 'py>,
            method: Any<'_, 'py>,
            inputs: &Bound<'py, PyTuple>,
            kwargs: Option<&Bound<'py, PyDict>>,
        ) -> Out<'py> {
            let py = slf.py();
            let options = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
            let slot = Callable { kind: Access::Slot, name: "__array_ufunc__" };
            let args: Vec<_> = [slf.as_ptr(), ufunc.as_ptr(), method.as_ptr()]
                .into_iter()
                .chain(inputs.iter_borrowed().map(|i| i.as_ptr()))
                .collect();
            if let Some(out) = callable::overridden_with(py, slot, &args, &[], || Ok(options.iter().collect())) {
                return out;
            }
            Ok(py.import("pullback._arrays")?.getattr("ufunc")?.call1((ufunc, method, inputs, options))?)
        }
        unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
            let array = export::exported(slf.get(), "memoryview()").map_err(errors::as_buffer_error)?;
            // SAFETY: the interpreter passes a structure to fill.
            unsafe { memory::fill(slf.as_any(), &array, view, flags) }
        }
        unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
            // SAFETY: the interpreter releases what `__getbuffer__` filled.
            unsafe { memory::release(view) }
        }
        fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: Any<'_, 'py>) -> Out<'py> {
            asked!(Slot "__reduce_ex__", slf, protocol);
            pickle::reduce(slf)
        }
        /// Answers a call for a class: runs `func` as if no class had a say, and makes tensors of the result objects of
        /// the class. Subclasses that define it hear of every function, method and attribute that one of their objects is
        /// given to.
        #[classmethod]
        #[pyo3(signature = (func, types, args=None, kwargs=None))]
        fn __torch_function__<'py>(
            class: &Bound<'py, PyType>,
            func: Any<'_, 'py>,
            types: Any<'_, 'py>,
            args: Option<&Bound<'py, PyTuple>>,
            kwargs: Option<&Bound<'py, PyDict>>,
        ) -> Out<'py> {
            overrides::default(class, func, types, args, kwargs)
        }
        /// An object of the class `cls` that shows the elements of `data`, without its history.
        #[staticmethod]
        #[pyo3(signature = (cls, data, require_grad=false))]
        fn _make_subclass<'py>(
            cls: &Bound<'py, PyType>,
            data: &Bound<'py, PyTensor>,
            require_grad: bool,
        ) -> PyResult<Bound<'py, PyTensor>> {
            pickle::of_class(cls, data, require_grad)
        }
        /// An object of the class `cls` that has sizes and no data, for a class that answers every operator by
        /// `__torch_function__`.
        #[staticmethod]
        #[pyo3(signature = (*args, **kwargs))]
        fn _make_wrapper_subclass<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Out<'py> {
            Ok(args.py().import("pullback.overrides")?.getattr("_make_wrapper_subclass")?.call(args, kwargs)?)
        }
        fn __copy__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
            asked!(Slot "__copy__", slf);
            pickle::copy(slf)
        }
        fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: Any<'_, 'py>) -> Out<'py> {
            asked!(Slot "__deepcopy__", slf, memo);
            pickle::deepcopy(slf, memo)
        }
    }
}

fn inverted(x: &Tensor) -> Result {
    if x.dtype().is_differentiable() {
        let text = "~ (operator.invert) is only implemented on integer and Boolean-type tensors";
        return Err(Error::type_(format!("{text}, got {}; use logical_not(), or convert it", x.dtype())));
    }
    compare::bitwise_not(x)
}

fn unary_slot<'py>(slf: Slf<'_, 'py>, name: &'static str, f: fn(&Tensor) -> Result) -> Out<'py> {
    asked!(Slot name, slf);
    let x = slf.get().value();
    let out = gil::released(slf.py(), Cost::Cheap, &[&x], || f(&x))?;
    Ok(tensor::wrap(slf.py(), out)?.into_any())
}

/// `slf **= other`, whose slot takes a modulus too.
///
/// # Safety
/// The interpreter calls it as the slot of the class.
pub unsafe extern "C" fn in_place_power(
    slf: *mut ffi::PyObject,
    other: *mut ffi::PyObject,
    _modulo: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as the others.
    unsafe { entrance!(__ipow__)(slf, other) }
}
