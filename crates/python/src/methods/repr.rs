//! Tensors as text.

use crate::autograd::graph;
use crate::data::marshal;
use crate::door::descriptors::{Out, Slf};
use crate::process::object;
use crate::tensor;
use crate::types::class;
use crate::types::errors::PyResult;
use crate::types::library;
use pullback::base::Result;
use pullback::core::tensor::Payload;
use pullback::core::{LevelId, Meta, Tensor, level};
use pullback::skin::print::{self, PrintOptions};
use pullback::skin::read::{self, Reading};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The value as PyTorch prints it; values of live transforms show their level and what they wrap.
pub fn text(t: &Tensor, class: &str) -> Result<String> {
    let prefix = format!("{class}(");
    describe(t, &prefix, &[])
}

fn describe(t: &Tensor, prefix: &str, extra: &[String]) -> Result<String> {
    let id = t.level();
    let nested = |name: String, below: &Tensor| -> Result<String> {
        let inner = describe(below, "tensor(", &[])?.replace('\n', "\n    ");
        Ok(format!("{name}, value=\n    {inner}\n)"))
    };
    match t.payload() {
        None if t.is_abstract() => Ok(print::describe_meta(&Meta::of(t), prefix, extra, library::prefix())),
        None => print::describe(t.array()?, prefix, extra, library::prefix()),
        Some(Payload::Taped { value, node, .. }) if id == LevelId::AMBIENT => {
            let mut suffixes = extra.to_vec();
            suffixes.push(match node.is_leaf() {
                true => "requires_grad=True".into(),
                false => format!("grad_fn=<{}>", graph::class_name(node)),
            });
            describe(value, prefix, &suffixes)
        }
        Some(Payload::Dual { primal, tangent }) if level::is_live(id) => {
            let mut suffixes = vec![format!("tangent={}", describe(tangent, "tensor(", &[])?)];
            suffixes.extend_from_slice(extra);
            describe(primal, prefix, &suffixes)
        }
        Some(Payload::Batched { value, dim }) => nested(format!("BatchedTensor(lvl={}, bdim={dim}", id.depth()), value),
        Some(Payload::Taped { value, .. }) if level::is_live(id) => {
            nested(format!("GradTrackingTensor(lvl={}", id.depth()), value)
        }
        Some(Payload::Traced { value, var }) => nested(format!("TracedTensor(lvl={}, var=%{var}", id.depth()), value),
        Some(Payload::Taped { value, .. } | Payload::Dual { primal: value, .. }) => describe(value, prefix, extra),
    }
}

pub fn repr(slf: Slf<'_, '_>) -> PyResult<String> {
    let class = slf.get_type();
    let name = if class.as_type_ptr() == tensor::type_object() { "tensor".into() } else { class::class_name(&class) };
    let shown = text(&slf.get().value(), &name)?;
    Ok(if is_marked(slf)? { format!("Parameter({shown})") } else { shown })
}

/// Whether an object of a subclass counts as a parameter of modules.
fn is_marked(slf: Slf<'_, '_>) -> PyResult<bool> {
    let Some(dict) = object::dict(slf.get()) else { return Ok(false) };
    match dict.bind(slf.py()).cast::<PyDict>() {
        Ok(d) => d.get_item(intern!(slf.py(), "_is_param"))?.map_or(Ok(false), |m| Ok(m.is_truthy()?)),
        Err(_) => Ok(false),
    }
}

/// A 0-d tensor formats as its number.
pub fn format<'py>(slf: Slf<'_, 'py>, spec: &str) -> Out<'py> {
    let py = slf.py();
    let value = slf.get().value();
    let is_plain = slf.get_type().as_type_ptr() == tensor::type_object();
    if value.rank() == 0
        && is_plain
        && let Ok(a) = read::array(&value, "format()", Reading::Item)
    {
        let number = marshal::scalar(py, a.item()?)?;
        return Ok(number.call_method1("__format__", (spec,))?);
    }
    if spec.is_empty() {
        return Ok(slf.as_any().str()?.into_any());
    }
    Err(PyTypeError::new_err(short!("unsupported format string passed to {}.__format__", class::type_name(slf))).into())
}

/// Sets how tensors are printed; what is not given stays. `profile` is 'default', 'short' or 'full'.
#[pyfunction]
#[pyo3(signature = (precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None))]
fn set_printoptions(
    precision: Option<usize>,
    threshold: Option<f64>,
    edgeitems: Option<usize>,
    linewidth: Option<usize>,
    profile: Option<&str>,
    sci_mode: Option<bool>,
) -> PyResult<()> {
    let mut o = match profile {
        None => print::options(),
        Some("default") => PrintOptions::DEFAULT,
        Some("short") => PrintOptions { precision: 2, edge_items: 2, ..PrintOptions::DEFAULT },
        Some("full") => PrintOptions { threshold: usize::MAX, ..PrintOptions::DEFAULT },
        Some(p) => {
            return Err(PyValueError::new_err(short!(
                "set_printoptions(): argument 'profile' must be 'default', 'short' or 'full', got '{p}'"
            ))
            .into());
        }
    };
    // What formats numbers takes no more digits.
    const MOST: usize = 1000;
    if let Some(digits) = precision.filter(|p| *p > MOST) {
        return Err(PyValueError::new_err(short!(
            "set_printoptions(): argument 'precision' must be at most {MOST}, got {digits}"
        ))
        .into());
    }
    o.precision = precision.unwrap_or(o.precision);
    o.threshold = threshold.map_or(o.threshold, |t| t as usize);
    o.edge_items = edgeitems.unwrap_or(o.edge_items);
    o.line_width = linewidth.unwrap_or(o.line_width);
    o.sci_mode = sci_mode;
    print::set_options(o);
    Ok(())
}

/// How tensors are printed.
#[pyfunction]
fn get_printoptions(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let o = print::options();
    let d = PyDict::new(py);
    d.set_item("precision", o.precision)?;
    d.set_item("threshold", o.threshold)?;
    d.set_item("edgeitems", o.edge_items)?;
    d.set_item("linewidth", o.line_width)?;
    d.set_item("sci_mode", o.sci_mode)?;
    Ok(d)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set_printoptions, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(get_printoptions, m)?)?)
}
