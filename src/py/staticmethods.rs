//! The staticmethods of an `autograd.Function` class.

use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The staticmethods of a Function class, looked up once.
pub struct Methods {
    pub name: String,
    pub forward: Py<PyAny>,
    pub setup_context: Option<Py<PyAny>>,
    pub backward: Option<Py<PyAny>>,
    pub jvp: Option<Py<PyAny>>,
    pub vmap: Option<Py<PyAny>>,
    /// `vmap` and `generate_vmap_rule` are both given.
    pub ambiguous: bool,
}

/// The error for a rule that nobody wrote, with the method to write.
pub fn missing(name: &str, method: &str, signature: &str) -> PyErr {
    PyNotImplementedError::new_err(format!(
        "{name}: has no {method} staticmethod; write\n    @staticmethod\n    def {signature}: ...{}",
        crate::core::origin::at_here()
    ))
}

impl Methods {
    /// Looks the methods up.
    pub fn of(class: &Bound<'_, PyType>) -> PyResult<Methods> {
        let name = class.name()?.to_string();
        // A method counts if the class or a base of its own gives it: `Function`'s are placeholders.
        let own = |method: &str| -> PyResult<Option<Py<PyAny>>> {
            for base in class.mro().iter() {
                let base = base.cast_into::<PyType>()?;
                if base.getattr("__dict__")?.contains(method)? {
                    let placeholder = base.getattr_opt("_is_function_base")?.is_some_and(|_| {
                        base.getattr("__dict__").and_then(|d| d.contains("_is_function_base")).unwrap_or(false)
                    });
                    return Ok(if placeholder { None } else { Some(class.getattr(method)?.unbind()) });
                }
            }
            Ok(None)
        };
        let (backward, vjp) = (own("backward")?, own("vjp")?);
        if backward.is_some() && vjp.is_some() {
            return Err(PyRuntimeError::new_err(format!(
                "{name}: implementing both 'backward' and 'vjp' is not allowed; they are the same method"
            )));
        }
        let Some(forward) = own("forward")? else {
            return Err(missing(&name, "forward", "forward(*args)"));
        };
        let vmap = own("vmap")?;
        let flag = class.getattr_opt("generate_vmap_rule")?.map(|f| f.is_truthy()).transpose()?.unwrap_or(false);
        Ok(Methods {
            ambiguous: flag && vmap.is_some(),
            name,
            forward,
            setup_context: own("setup_context")?,
            backward: backward.or(vjp),
            jvp: own("jvp")?,
            vmap,
        })
    }
}
