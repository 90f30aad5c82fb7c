//! The staticmethods of an `autograd.Function` class.

use crate::data::convert;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::origin::{Origin, at_here};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static SERIAL: AtomicU64 = AtomicU64::new(1);

/// A parameter of `forward`, without the ctx.
pub struct Parameter {
    name: Py<PyString>,
    text: String,
    default: Option<Py<PyAny>>,
}

/// What `apply` takes.
#[derive(Default)]
struct Signature {
    positional: Vec<Parameter>,
    keyword_only: Vec<Parameter>,
    /// `**kwargs`
    keywords: bool,
}

/// The staticmethods of a Function class, looked up once.
pub struct Methods {
    pub class: Py<PyType>,
    pub name: String,
    /// A number of its own.
    pub serial: u64,
    /// The name, where it must be quick to pass on.
    pub origin: Origin,
    pub forward: Py<PyAny>,
    pub setup_context: Option<Py<PyAny>>,
    pub backward: Option<Py<PyAny>>,
    pub jvp: Option<Py<PyAny>>,
    pub vmap: Option<Py<PyAny>>,
    /// `vmap` and `generate_vmap_rule` are both given.
    pub ambiguous: bool,
    /// `backward` is once_differentiable: nothing can be derived from it.
    pub once: bool,
    /// To be verified at the first use.
    pub unverified: AtomicBool,
    signature: Signature,
}

/// Positional arguments, and the names of the last ones where `forward` takes these by keyword only.
pub struct Bindings<'py> {
    pub args: Vec<Bound<'py, PyAny>>,
    pub keywords: Option<Bound<'py, PyTuple>>,
}

impl Methods {
    /// Looks the methods up.
    pub fn of(class: &Bound<'_, PyType>) -> PyResult<Methods> {
        let name = convert::class_name(class);
        // A method counts if the class or a base of its own gives it: `Function`'s are placeholders.
        let own = |method: &str| -> PyResult<Option<Py<PyAny>>> {
            for base in class.mro().iter() {
                let base = base.cast_into::<PyType>()?;
                let dict = base.getattr("__dict__")?;
                if dict.contains(method)? {
                    let placeholder = dict.contains("_is_function_base")?;
                    return Ok(if placeholder { None } else { Some(class.getattr(method)?.unbind()) });
                }
            }
            Ok(None)
        };
        let (backward, vjp) = (own("backward")?, own("vjp")?);
        if backward.is_some() && vjp.is_some() {
            return Err(PyRuntimeError::new_err(short!(
                "{name}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed; they are the same \
                 method. You should only implement one of them{}",
                at_here()
            )).into());
        }
        let Some(forward) = own("forward")? else {
            return Err(PyNotImplementedError::new_err(short!(
                "{name}: You must implement the forward function for custom autograd.Function; write\n    @staticmethod\n \
                 \x20  def forward(*args): ...{}",
                at_here()
            )).into());
        };
        let vmap = own("vmap")?;
        let flag = class.getattr_opt("generate_vmap_rule")?.map(|f| f.is_truthy()).transpose()?.unwrap_or(false);
        let setup_context = own("setup_context")?;
        let py = class.py();
        let signature = raised::with_signature(py, Signature::of(forward.bind(py), setup_context.is_none()))?;
        let backward = backward.or(vjp);
        let once = match &backward {
            Some(b) => b.bind(py).hasattr(intern!(py, "_once_differentiable"))?,
            None => false,
        };
        Ok(Methods {
            class: class.clone().unbind(),
            serial: SERIAL.fetch_add(1, Relaxed),
            origin: Origin::intern(name.clone()),
            ambiguous: flag && vmap.is_some(),
            name,
            forward,
            setup_context,
            backward,
            jvp: own("jvp")?,
            vmap,
            once,
            unverified: AtomicBool::new(false),
            signature: signature.unwrap_or_default(),
        })
    }

    /// Those of a function of this name that has no class.
    pub fn named(py: Python<'_>, name: String) -> Methods {
        Methods { origin: Origin::intern(name.clone()), name, ..Methods::none(py) }
    }

    /// Those of no class.
    pub fn none(py: Python<'_>) -> Methods {
        Methods {
            class: py.get_type::<PyAny>().unbind(),
            serial: 0,
            name: String::new(),
            origin: Origin::UNKNOWN,
            forward: py.None(),
            setup_context: None,
            backward: None,
            jvp: None,
            vmap: None,
            ambiguous: false,
            once: false,
            unverified: AtomicBool::new(false),
            signature: Signature::default(),
        }
    }

    /// Whether a call needs [`Methods::bind`]: it has keywords, or arguments are left to their defaults.
    #[inline]
    pub fn must_bind(&self, given: usize, keywords: bool) -> bool {
        let next = self.signature.positional.get(given);
        keywords
            || (self.setup_context.is_some()
                && (next.is_some_and(|p| p.default.is_some()) || !self.signature.keyword_only.is_empty()))
    }

    /// All arguments of a call by position, defaults included where `setup_context` gets them.
    pub fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bindings<'py>> {
        let py = args.py();
        let left = match kwargs {
            Some(k) => k.copy()?,
            None => PyDict::new(py),
        };
        let mut out: Vec<Bound<'py, PyAny>> = args.iter().collect();
        self.bind_positional(&left, &mut out)?;
        let names = self.bind_keywords(&left, &mut out)?;
        let keywords = if names.is_empty() { None } else { Some(PyTuple::new(py, names)?) };
        Ok(Bindings { args: out, keywords })
    }

    /// Appends the positional parameters that were given by keyword, and those left to their defaults.
    fn bind_positional<'py>(&self, left: &Bound<'py, PyDict>, out: &mut Vec<Bound<'py, PyAny>>) -> PyResult<()> {
        let (py, given) = (left.py(), out.len());
        let default = |p: &Parameter| match &p.default {
            Some(d) => Ok(d.bind(py).clone()),
            None => {
                Err(PyTypeError::new_err(short!("{}.apply(): missing a required argument: '{}'", self.name, p.text)))
            }
        };
        let mut skipped: Vec<&Parameter> = Vec::new();
        for (i, p) in self.signature.positional.iter().enumerate() {
            match take(left, p)? {
                Some(_) if i < given => {
                    return Err(PyTypeError::new_err(short!(
                        "{}.apply(): multiple values for argument '{}'",
                        self.name,
                        p.text
                    ))
                    .into());
                }
                Some(value) => {
                    for p in skipped.drain(..) {
                        out.push(default(p)?);
                    }
                    out.push(value);
                }
                None if i < given => {}
                None => skipped.push(p),
            }
        }
        if self.setup_context.is_some() {
            for p in skipped {
                out.push(default(p)?);
            }
        }
        Ok(())
    }

    /// Appends what goes by keyword, and gives the names.
    fn bind_keywords<'py>(
        &self,
        left: &Bound<'py, PyDict>,
        out: &mut Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = left.py();
        let mut names: Vec<Bound<'py, PyAny>> = Vec::new();
        for p in &self.signature.keyword_only {
            let default = || p.default.as_ref().filter(|_| self.setup_context.is_some()).map(|d| d.bind(py).clone());
            if let Some(value) = take(left, p)?.or_else(default) {
                names.push(p.name.bind(py).clone().into_any());
                out.push(value);
            }
        }
        if !left.is_empty() && !self.signature.keywords {
            let unknown = left.keys().get_item(0)?;
            return Err(PyTypeError::new_err(short!(
                "{}.apply(): got an unexpected keyword argument '{}'",
                self.name,
                raised::str_of(&unknown)?
            ))
            .into());
        }
        for (key, value) in left.iter() {
            names.push(key);
            out.push(value);
        }
        Ok(names)
    }

    /// What error messages call an argument.
    pub fn argument(&self, i: usize) -> String {
        match self.signature.positional.get(i) {
            Some(p) => format!("argument {i} ('{}')", p.text),
            None => format!("argument {i}"),
        }
    }
}

/// Takes a parameter's value out of the keywords.
fn take<'py>(keywords: &Bound<'py, PyDict>, p: &Parameter) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = keywords.get_item(&p.name)?;
    if found.is_some() {
        keywords.del_item(&p.name)?;
    }
    Ok(found)
}

impl Signature {
    fn of(forward: &Bound<'_, PyAny>, has_ctx: bool) -> PyResult<Signature> {
        let py = forward.py();
        let inspect = py.import(intern!(py, "inspect"))?;
        let empty = inspect.getattr("Parameter")?.getattr("empty")?;
        let parameters =
            inspect.call_method1("signature", (forward,))?.getattr("parameters")?.call_method0("values")?;
        let mut out = Signature::default();
        for p in raised::items(&parameters)?.skip(usize::from(has_ctx)) {
            let p = p?;
            let default = p.getattr("default")?;
            let default = if default.is(&empty) { None } else { Some(default.unbind()) };
            let name = p.getattr("name")?.cast_into::<PyString>()?;
            let parameter = Parameter { text: raised::text(&name), name: name.unbind(), default };
            match p.getattr("kind")?.extract::<u8>()? {
                0 | 1 => out.positional.push(parameter),
                3 => out.keyword_only.push(parameter),
                2 => {}
                _ => out.keywords = true,
            }
        }
        Ok(out)
    }
}
