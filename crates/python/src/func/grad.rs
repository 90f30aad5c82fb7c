//! `grad` and `grad_and_value`.

use super::argnums::{Argnums, Argument, Inputs};
use super::fail;
use super::transform::{Transform, Transformation};
use super::tree::{lowered, object, tensor_value};
use crate::door::vectorcall::Call;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::flag;
use pullback::base::ErrorKind;
use pullback::core::{Tangents, Tensor};
use pullback::rules::basis;
use pullback::transforms::reverse::Tape;
use pullback::transforms::run::{self, Values};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

pub struct Grad {
    pub argnums: Argnums,
    pub has_aux: bool,
    /// Whether the value is returned too.
    pub value: bool,
}

/// Returns a function that computes the gradient of `func`, which returns a 0-d tensor.
///
/// Args:
///     func: function of one or more arguments that returns a 0-d tensor, or `(tensor, aux)` with `has_aux`.
///     argnums: position of the argument to differentiate, or a tuple of positions. An argument may be any pytree of
///         tensors of a floating point or complex dtype; the gradient has its structure.
///     has_aux: whether `func` returns a pair, of which only the first is differentiated.
///
/// The returned function gives the gradient (a tuple of them if `argnums` is a tuple), or `(gradient, aux)`.
/// `no_grad` inside of `func` is respected; around the call it only concerns transforms further out.
///
/// >>> import pullback
/// >>> from pullback.func import grad
/// >>> grad(lambda x: (x * x).sum())(pullback.tensor([1.0, 2.0]))
/// tensor([2., 4.])
#[pyfunction]
#[pyo3(signature = (func, argnums = Argument::Default, has_aux = false), text_signature = "(func, argnums=0, has_aux=False)")]
pub fn grad<'py>(
    func: &Bound<'py, PyAny>,
    argnums: Argument<'py>,
    #[pyo3(from_py_with = flag::truth)] has_aux: bool,
) -> PyResult<Bound<'py, PyAny>> {
    make(func, argnums, has_aux, false)
}

/// Returns a function that computes the gradient of `func` and its value, in this order.
///
/// The arguments are those of `grad`. The returned function gives `(gradient, value)`, or
/// `(gradient, (value, aux))` with `has_aux`.
///
/// >>> import pullback
/// >>> from pullback.func import grad_and_value
/// >>> grad_and_value(lambda x: (x * x).sum())(pullback.tensor([1.0, 2.0]))
/// (tensor([2., 4.]), tensor(5.))
#[pyfunction]
#[pyo3(signature = (func, argnums = Argument::Default, has_aux = false), text_signature = "(func, argnums=0, has_aux=False)")]
pub fn grad_and_value<'py>(
    func: &Bound<'py, PyAny>,
    argnums: Argument<'py>,
    #[pyo3(from_py_with = flag::truth)] has_aux: bool,
) -> PyResult<Bound<'py, PyAny>> {
    make(func, argnums, has_aux, true)
}

fn make<'py>(
    func: &Bound<'py, PyAny>,
    argnums: Argument<'py>,
    has_aux: bool,
    value: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let argnums = Argnums::new(&argnums, false)?;
    Transform::make(func, Transformation::Grad(Grad { argnums, has_aux, value }))
}

impl Grad {
    pub fn name(&self) -> &'static str {
        if self.value { "grad_and_value" } else { "grad" }
    }

    pub fn options(&self, options: &Bound<'_, PyDict>) -> PyResult<()> {
        options.set_item("argnums", self.argnums.to_python(options.py())?)?;
        Ok(options.set_item("has_aux", self.has_aux)?)
    }

    pub fn call<'py>(&self, t: &Transform, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (py, op) = (call.py(), self.name());
        let inputs = Inputs::collect(op, &self.argnums, call)?;
        let function = |lifted: Values| {
            let new = inputs.replaced(call, lifted)?;
            let out = call.invoke(t.func(py), &new)?;
            drop(new);
            let (out, aux) = if self.has_aux { split_aux(op, &out)? } else { (out, None) };
            Ok((self.output(&out)?, aux))
        };
        let beside = |aux: Option<Bound<'py, PyAny>>, tape: &Tape| aux.map(|a| lowered(&a, tape)).transpose();
        let (y, aux) = run::scalar(op, t.origin, &inputs.values, function, beside)?;
        let (value, grads) = y.gradients()?;
        let grads = inputs.build(py, dense(grads, &inputs.values)?)?;
        self.finish(grads, value, aux)
    }

    fn output(&self, out: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let Some(y) = tensor_value(out) else {
            let message =
                format!("{}(): Expected the function to return a Tensor, got {}", self.name(), type_name(out));
            return Err(fail(ErrorKind::Runtime, message).into());
        };
        Ok(y)
    }

    fn finish<'py>(
        &self,
        grads: Bound<'py, PyAny>,
        value: Tensor,
        aux: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = grads.py();
        let second = match (self.value, aux) {
            (false, None) => return Ok(grads),
            (false, Some(aux)) => aux,
            (true, None) => object(py, value)?,
            (true, Some(aux)) => PyTuple::new(py, [object(py, value)?, aux])?.into_any(),
        };
        Ok(PyTuple::new(py, [grads, second])?.into_any())
    }
}

/// Gradients with zeros written out.
pub fn dense(grads: Tangents, like: &[Tensor]) -> PyResult<Vec<Tensor>> {
    let full = |(g, x): (Option<Tensor>, &Tensor)| g.map_or_else(|| basis::zeros_like(x), Ok);
    Ok(grads.into_iter().zip(like).map(full).collect::<pullback::Result<_>>()?)
}

/// A transform that takes its arguments at once, with the names of them.
pub fn signature(op: &str) -> String {
    match op {
        "vjp" => "vjp(f, *primals)".into(),
        "jvp" => "jvp(f, primals, tangents)".into(),
        "jacrev" => "jacrev() by vjp(f, *primals)".into(),
        "jacfwd" => "jacfwd() by jvp(f, primals, tangents)".into(),
        _ => format!("{op}()"),
    }
}

/// Output and rest of a function that returns both.
pub fn split_aux<'py>(op: &str, out: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)> {
    match out.cast::<PyTuple>() {
        Ok(t) if t.len() == 2 => Ok((t.get_item(0)?, Some(t.get_item(1)?))),
        _ => Err(fail(
            ErrorKind::Runtime,
            format!(
                "{}: output of function f should be a tuple: (output, aux) if has_aux is True, got {}",
                signature(op),
                type_name(out)
            ),
        )
        .into()),
    }
}
