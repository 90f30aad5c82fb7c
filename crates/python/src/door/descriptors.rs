//! Methods and attributes of `Tensor` that are written by hand, because they work on the object and not only on its
//! value. The interpreter calls them through the same vectorcall convention as the functions of the table.

use crate::door::callable::{self, Access, Callable, Given};
use crate::door::enter::enter;
use crate::tensor::PyTensor;
use crate::types::errors::PyResult;
use pullback::ops::entry::plain_text;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;

pub type Object = *mut ffi::PyObject;
pub type FastCall = unsafe extern "C" fn(Object, *const Object, ffi::Py_ssize_t, Object) -> Object;
/// An argument; `None` if it was not given, or was Python's `None`.
pub type Arg<'a, 'py> = Option<Borrowed<'a, 'py, PyAny>>;
pub type Slf<'a, 'py> = &'a Bound<'py, PyTensor>;
pub type Out<'py> = PyResult<Bound<'py, PyAny>>;

/// A parameter of a method.
pub struct Param {
    pub name: &'static str,
    /// As text; `None` if it is required.
    pub default: Option<&'static str>,
    /// Other keywords for it, besides those that hold everywhere.
    pub aliases: &'static [&'static str],
}

/// Names and order of a method's parameters.
pub struct Signature {
    pub name: &'static str,
    pub params: &'static [Param],
    /// Number of parameters that can be given by position.
    pub positional: usize,
    /// The first parameter takes all arguments that are given by position, as a tuple.
    pub rest: bool,
}

pub struct Method {
    pub signature: &'static Signature,
    pub doc: &'static str,
    pub call: FastCall,
}

pub struct Attribute {
    pub name: &'static str,
    pub doc: &'static str,
    pub get: ffi::getter,
    pub set: Option<ffi::setter>,
}

impl Signature {
    /// `(self, dim=None, *, copy=False)`
    fn text(&self, slf: &str) -> String {
        let mut parts = vec![slf.to_string()];
        for (i, Param { name, default, .. }) in self.params.iter().enumerate() {
            if i == self.positional && !self.rest {
                parts.push("*".into());
            }
            parts.push(match default {
                None if self.rest && i == 0 => format!("*{name}"),
                Some(d) => format!("{name}={d}"),
                None => name.to_string(),
            });
        }
        format!("({})", parts.join(", "))
    }

    #[cold]
    fn error(&self, message: String) -> PyErr {
        PyTypeError::new_err(short!("{}(): {message}", self.name))
    }

    /// Arguments by parameter.
    ///
    /// # Safety
    /// `args` points to `n` live objects followed by the values of the tuple `kwnames`, which may be null.
    unsafe fn parse<'a, 'py, const N: usize>(
        &self,
        py: Python<'py>,
        args: *const Object,
        n: usize,
        kwnames: Object,
    ) -> PyResult<[Arg<'a, 'py>; N]> {
        let mut found: [Object; N] = [null_mut(); N];
        if n > self.positional {
            return Err(self
                .error(format!("takes {} positional arguments but {n} were given", self.positional))
                .into());
        }
        // SAFETY: by the contract; `n` is at most N.
        unsafe {
            for (i, slot) in found.iter_mut().enumerate().take(n) {
                *slot = *args.add(i);
            }
            if !kwnames.is_null() {
                for k in 0..ffi::PyTuple_GET_SIZE(kwnames) {
                    let name = crate::door::synonyms::keyword(py, ffi::PyTuple_GET_ITEM(kwnames, k));
                    let place = |name: &str| self.params.iter().position(|p| p.name == name);
                    let own = |p: &Param| p.aliases.contains(&&*name);
                    let synonym = || crate::door::synonyms::meanings(&name).iter().find_map(|to| place(to));
                    let named = place(&name).or_else(|| self.params.iter().position(own));
                    let Some(i) = named.or_else(synonym) else {
                        return Err(self.error(format!("got an unexpected keyword argument '{name}'")).into());
                    };
                    if !found[i].is_null() {
                        return Err(self.error(format!("got multiple values for argument '{name}'")).into());
                    }
                    found[i] = *args.add(n).offset(k);
                }
            }
            for (slot, Param { name, default, .. }) in found.iter().zip(self.params) {
                if slot.is_null() && default.is_none() {
                    return Err(self.error(format!("missing required argument '{name}'")).into());
                }
            }
            Ok(found.map(|o| (!o.is_null() && o != ffi::Py_None()).then(|| Borrowed::from_ptr(py, o))))
        }
    }
}

/// Runs a method: called by the trampolines that `descriptors!` makes.
///
/// # Safety
/// What METH_FASTCALL | METH_KEYWORDS promises, and `slf` is a `PyTensor`.
#[inline]
pub unsafe fn invoke<const N: usize>(
    signature: &Signature,
    slf: Object,
    args: *const Object,
    n: ffi::Py_ssize_t,
    kwnames: Object,
    f: impl for<'a, 'py> FnOnce(Slf<'a, 'py>, [Arg<'a, 'py>; N]) -> Out<'py>,
) -> Object {
    let called = |py: Python<'_>| {
        // SAFETY: by the contract; a method descriptor checks the type of `self`.
        unsafe {
            let all = Given::of_call(slf, args, n as usize, kwnames);
            if !callable::is_ordinary(all.objects())
                && let Some(out) =
                    callable::overridden(py, Callable { kind: Access::Method, name: signature.name }, all)
            {
                return out.map(Bound::into_ptr);
            }
            let slf = Borrowed::from_ptr(py, slf).cast_unchecked::<PyTensor>();
            if signature.rest && n > 0 {
                let given = (0..n).map(|i| Borrowed::<PyAny>::from_ptr(py, *args.offset(i)));
                let rest = PyTuple::new(py, given.collect::<Vec<_>>())?;
                let named = if kwnames.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(kwnames) };
                let all: Vec<Object> =
                    std::iter::once(rest.as_ptr()).chain((n..n + named).map(|i| *args.offset(i))).collect();
                return f(&slf, signature.parse::<N>(py, all.as_ptr(), 1, kwnames)?).map(Bound::into_ptr);
            }
            let parsed = signature.parse::<N>(py, args, n as usize, kwnames)?;
            f(&slf, parsed).map(Bound::into_ptr)
        }
    };
    // SAFETY: the interpreter calls.
    unsafe { enter(called) }
}

/// Reads an attribute.
///
/// # Safety
/// `slf` is a live `PyTensor`.
#[inline]
pub unsafe fn read(slf: Object, name: &'static str, f: impl for<'a, 'py> FnOnce(Slf<'a, 'py>) -> Out<'py>) -> Object {
    let called = |py: Python<'_>| {
        if let Some(out) = callable::asked(py, Access::Getter, name, &[slf]) {
            return out.map(Bound::into_ptr);
        }
        // SAFETY: by the contract.
        let slf = unsafe { Borrowed::from_ptr(py, slf).cast_unchecked::<PyTensor>() };
        f(&slf).map(Bound::into_ptr)
    };
    // SAFETY: the interpreter calls.
    unsafe { enter(called) }
}

/// What [`write`] gives to `enter` in the place of an object.
const DONE: Object = std::ptr::without_provenance_mut(1);

/// Writes an attribute. Deleting `grad` is assigning None; the others cannot be deleted.
///
/// # Safety
/// `slf` is a live `PyTensor`, `value` a live object or null.
pub unsafe fn write(
    slf: Object,
    name: &'static str,
    value: Object,
    f: impl for<'a, 'py> FnOnce(Slf<'a, 'py>, Arg<'a, 'py>) -> PyResult<()>,
) -> c_int {
    let called = |py: Python<'_>| {
        let (kind, objects) = (if value.is_null() { Access::Deleter } else { Access::Setter }, [slf, value]);
        let given = if value.is_null() { &objects[..1] } else { &objects[..] };
        if let Some(out) = callable::asked(py, kind, name, given) {
            return out.map(|_| DONE);
        }
        if value.is_null() && !name.ends_with("grad") {
            return Err(undeletable(name).into());
        }
        // SAFETY: by the contract.
        let (slf, value) = unsafe {
            let given = !value.is_null() && value != ffi::Py_None();
            (Borrowed::from_ptr(py, slf).cast_unchecked::<PyTensor>(), given.then(|| Borrowed::from_ptr(py, value)))
        };
        f(&slf, value).map(|()| DONE)
    };
    // SAFETY: the interpreter calls.
    let done = unsafe { enter(called) };
    if done.is_null() { -1 } else { 0 }
}

#[cold]
fn undeletable(name: &str) -> PyErr {
    PyRuntimeError::new_err(match name {
        "data" => "data: Deleting tensor data is not allowed. Delete tensor instead!".into(),
        "_grad_fn" => "_grad_fn: Deletion of _grad_fn not allowed. Detach tensor instead!".into(),
        "_backward_hooks" => {
            "_backward_hooks: Deletion of _backward_hooks not allowed! Use remove() of the handles that register_hook() \
             gave"
                .into()
        }
        _ => format!("{name}: Deletion of {name} not allowed"),
    })
}

/// Declares methods (`fn name(slf, a, b = None; c = None) { … }`, or `*a` for any number of them) and attributes (`get name(slf) { … }`, and
/// `set name(slf, value) { … }` behind it). After `;` come keyword-only parameters; `a | b` has another keyword. Bodies
/// return [`Out`].
#[macro_export]
macro_rules! descriptors {
    ($methods:ident, $attributes:ident :
        $( $(#[doc = $doc:literal])*
           fn $name:ident ( $slf:ident $(, * $rest:ident)? $(, $p:ident $(| $syn:ident)? $(= $d:ident)?)* $(; $($kp:ident $(= $kd:ident)?),+)? ) $body:block )*
        $( ~ $(#[doc = $adoc:literal])*
           get $attr:ident ( $aslf:ident ) $get:block $(set ( $sslf:ident, $value:ident ) $set:block)? )*
    ) => {
        $(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments)] // As many as Python's method has.
            pub fn $name<'py>(
                $slf: $crate::door::descriptors::Slf<'_, 'py>
                $(, $rest: $crate::door::descriptors::Arg<'_, 'py>)?
                $(, $p: $crate::door::descriptors::Arg<'_, 'py>)*
                $($(, $kp: $crate::door::descriptors::Arg<'_, 'py>)+)?
            ) -> $crate::door::descriptors::Out<'py> $body
        )*
        pub static $methods: &[$crate::door::descriptors::Method] = &[$({
            static SIGNATURE: $crate::door::descriptors::Signature = $crate::door::descriptors::Signature {
                name: ::pullback::ops::macros::unraw(stringify!($name)),
                params: &[$($crate::__descriptor_param!($rest),)? $($crate::__descriptor_param!($p $($d)? $(| $syn)?),)* $($($crate::__descriptor_param!($kp $($kd)?),)+)?],
                positional: <[&str]>::len(&[$(stringify!($rest),)? $(stringify!($p)),*]),
                rest: !<[&str]>::is_empty(&[$(stringify!($rest))?]),
            };
            unsafe extern "C" fn call(
                slf: $crate::door::descriptors::Object,
                args: *const $crate::door::descriptors::Object,
                n: pyo3::ffi::Py_ssize_t,
                kwnames: $crate::door::descriptors::Object,
            ) -> $crate::door::descriptors::Object {
                // SAFETY: the interpreter calls with what the method's flags promise.
                unsafe {
                    $crate::door::descriptors::invoke(&SIGNATURE, slf, args, n, kwnames,
                        |slf, [$($rest,)? $($p,)* $($($kp,)+)?]| $name(slf $(, $rest)? $(, $p)* $($(, $kp)+)?))
                }
            }
            $crate::door::descriptors::Method { signature: &SIGNATURE, doc: concat!($($doc, "\n"),*), call }
        }),*];
        pub static $attributes: &[$crate::door::descriptors::Attribute] = &[$({
            unsafe extern "C" fn get(
                slf: $crate::door::descriptors::Object, _: *mut std::ffi::c_void) -> $crate::door::descriptors::Object {
                fn body<'py>($aslf: $crate::door::descriptors::Slf<'_, 'py>) -> $crate::door::descriptors::Out<'py> $get
                // SAFETY: an attribute descriptor checks the type of `self`.
                unsafe { $crate::door::descriptors::read(slf, ::pullback::ops::macros::unraw(stringify!($attr)), |slf| body(slf)) }
            }
            $crate::door::descriptors::Attribute {
                name: stringify!($attr),
                doc: concat!($($adoc, "\n"),*),
                get,
                set: $crate::__descriptor_set!($attr $(, $sslf, $value, $set)?),
            }
        }),*];
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __descriptor_param {
    ($p:ident $(| $syn:ident)?) => {
        $crate::door::descriptors::Param { name: stringify!($p), default: None, aliases: &[$(stringify!($syn))?] }
    };
    ($p:ident $d:ident $(| $syn:ident)?) => {
        $crate::door::descriptors::Param {
            name: stringify!($p),
            default: Some(stringify!($d)),
            aliases: &[$(stringify!($syn))?],
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __descriptor_set {
    ($attr:ident) => {
        None
    };
    ($attr:ident, $slf:ident, $value:ident, $set:block) => {{
        const NAME: &str = stringify!($attr);
        unsafe extern "C" fn set(
            slf: $crate::door::descriptors::Object,
            value: $crate::door::descriptors::Object,
            _: *mut std::ffi::c_void,
        ) -> std::ffi::c_int {
            fn body<'py>(
                $slf: $crate::door::descriptors::Slf<'_, 'py>,
                $value: $crate::door::descriptors::Arg<'_, 'py>,
            ) -> pyo3::PyResult<()> {
                $set
            }
            // SAFETY: an attribute descriptor checks the type of `self`.
            unsafe { $crate::door::descriptors::write(slf, NAME, value, |slf, value| Ok(body(slf, value)?)) }
        }
        Some(set as pyo3::ffi::setter)
    }};
}

fn leak(text: String) -> PyResult<*const c_char> {
    Ok(CString::new(text)?.into_raw())
}

/// Puts methods and attributes on the class. Their definitions live as long as the process.
pub fn install(class: &Bound<'_, PyType>, methods: &[Method], attributes: &[Attribute]) -> PyResult<()> {
    let py = class.py();
    for m in methods {
        let s = m.signature;
        let def = Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: leak(s.name.into())?,
            ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: m.call },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: leak(format!("{}{}\n--\n\n{}", s.name, s.text("$self"), plain_text(m.doc)))?,
        }));
        // SAFETY: the definition is never freed.
        let d = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), def))? };
        class.setattr(s.name, d)?;
    }
    for a in attributes {
        let def = Box::leak(Box::new(ffi::PyGetSetDef {
            name: leak(a.name.into())?,
            get: Some(a.get),
            set: a.set,
            doc: leak(plain_text(a.doc))?,
            closure: null_mut::<c_void>(),
        }));
        // SAFETY: the definition is never freed.
        let d = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewGetSet(class.as_type_ptr(), def))? };
        class.setattr(a.name, d)?;
    }
    Ok(())
}
