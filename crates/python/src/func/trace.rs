//! `trace`: a function as a straight-line program.

use super::transform::{Transform, Transformation};
use super::tree::{Tree, object, tensor_value};
use super::{fail, place};
use crate::door::vectorcall::Call;
use crate::types::errors::PyResult;
use pullback::base::{DType, ErrorKind};
use pullback::core::Tensor;
use pullback::ir::{self, Tracing};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

/// Returns a function that runs `func` once and gives what it did as a straight-line `Program`.
///
/// Args:
///     func: function of tensors, or of pytrees of them, that returns a pytree. Tensors in keyword arguments are inputs
///         as well; everything else among the arguments is fixed.
///
/// `trace(func)(*args, **kwargs)` returns the program. It is called with arguments of the same structure, shapes and
/// dtypes, also inside of `vmap`, `grad` and all other transforms, and `func` itself may be a transformed function.
/// `print(program)` shows the operators with shapes, dtypes and lines, `len(program)` is their number, and
/// `program.simplified()` has fewer of them, with the same results. What ran under `no_grad` is followed by
/// `stop_reverse`. Tensors from outside of `func` are read when the program is called; random operators draw anew each
/// time; a custom function is one operator, which keeps its rules.
///
/// Raises RuntimeError where `func` reads data (`.item()`, `if x > 0`), or writes in place to its arguments or to a
/// tensor from outside.
///
/// >>> import pullback
/// >>> from pullback.func import grad, trace
/// >>> x = pullback.tensor([1.0, 2.0])
/// >>> program = trace(grad(lambda x: (x * x).sum()))(x)
/// >>> program(pullback.tensor([3.0, 4.0]))
/// tensor([6., 8.])
#[pyfunction]
pub fn trace<'py>(func: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Transform::make(func, Transformation::Trace)
}

/// A place of the arguments or of the result.
enum Position {
    Tensor,
    /// Any other object, which is part of the program.
    Fixed(Py<PyAny>),
}

/// A structure with tensors and other objects in its leaves.
struct Structure {
    tree: Tree,
    leaves: Vec<Position>,
}

impl Structure {
    fn of(obj: &Bound<'_, PyAny>) -> PyResult<(Structure, Vec<Tensor>)> {
        let (mut leaves, mut values) = (Vec::new(), Vec::new());
        let tree = Tree::collect(obj, |leaf| {
            leaves.push(match tensor_value(leaf) {
                Some(value) => {
                    values.push(value);
                    Position::Tensor
                }
                None => Position::Fixed(leaf.clone().unbind()),
            });
            Ok(())
        })?;
        Ok((Structure { tree, leaves }, values))
    }

    fn clone_ref(&self, py: Python<'_>) -> Structure {
        let leaf = |leaf: &Position| match leaf {
            Position::Tensor => Position::Tensor,
            Position::Fixed(object) => Position::Fixed(object.clone_ref(py)),
        };
        Structure { tree: self.tree.clone(), leaves: self.leaves.iter().map(leaf).collect() }
    }

    /// The structure with these objects in the places of tensors.
    fn with_tensors<'py>(
        &self,
        py: Python<'py>,
        mut tensor: impl FnMut() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let leaf = |leaf: &Position| match leaf {
            Position::Fixed(object) => Ok(object.bind(py).clone()),
            Position::Tensor => tensor(),
        };
        let leaves = self.leaves.iter().map(leaf).collect::<PyResult<Vec<_>>>()?;
        self.tree.of_objects(py, leaves)
    }

    fn objects<'py>(&self, py: Python<'py>, values: Vec<Tensor>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut values = values.into_iter();
        let leaf = |leaf: &Position| match leaf {
            Position::Fixed(object) => Ok(object.bind(py).clone()),
            Position::Tensor => match values.next() {
                Some(value) => object(py, value),
                None => Err(PyValueError::new_err("too few leaves").into()),
            },
        };
        self.leaves.iter().map(leaf).collect()
    }

    /// An error unless `other` has the same structure and the same fixed objects.
    fn check(&self, py: Python<'_>, other: &Structure) -> PyResult<()> {
        if !self.tree.same(py, &other.tree)? {
            let (expected, got) = (self.tree.describe(py)?, other.tree.describe(py)?);
            let message = format!(
                "program(): expected arguments with the structure (args, kwargs) = {expected} that it was traced with, \
                 got {got}; trace the function again for this structure"
            );
            return Err(fail(ErrorKind::Runtime, message).into());
        }
        for (i, pair) in self.leaves.iter().zip(&other.leaves).enumerate() {
            let same = match pair {
                (Position::Tensor, Position::Tensor) => true,
                (Position::Fixed(a), Position::Fixed(b)) => a.is(b) || a.bind(py).eq(b)?,
                _ => false,
            };
            if !same {
                let message = format!(
                    "program(): argument {i} is {}, but the program was traced with {}, which is part of it; give a \
                     tensor in both places, or trace the function again",
                    pair.1.describe(py)?,
                    pair.0.describe(py)?
                );
                return Err(fail(ErrorKind::Runtime, message).into());
            }
        }
        Ok(())
    }
}

impl Position {
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        match self {
            Position::Tensor => Ok("a tensor".into()),
            Position::Fixed(o) => crate::types::brief::brief(o.bind(py)),
        }
    }
}

/// Traces the function of `t` at these arguments.
pub fn run<'py>(t: &Transform, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.py();
    let (args, kwargs) = call.arguments()?;
    let (inputs, values) = Structure::of(PyTuple::new(py, [args.as_any(), kwargs.as_any()])?.as_any())?;
    let (run, lifted) = Tracing::open(&values, t.origin)?;
    let objects = inputs.objects(py, lifted)?;
    // Read back: an object keeps a copy of elements that NumPy sees too.
    let given: Vec<Tensor> = objects.iter().filter_map(tensor_value).collect();
    let lifted_args = inputs.tree.of_objects(py, objects.to_vec())?;
    let (args, kwargs): (Bound<'py, PyTuple>, Bound<'py, PyDict>) = lifted_args.extract()?;
    let out = t.func(py).call(args, Some(&kwargs))?;
    check_unwritten(&objects, &given)?;
    let (outputs, results) = Structure::of(&out)?;
    let program = run.close(&results)?;
    let name = place::name_of(t.func(py))?;
    Ok(Bound::new(py, Program { program, inputs, outputs, name })?.into_any())
}

/// A program has no side effects: one of the function would be lost.
fn check_unwritten(objects: &[Bound<'_, PyAny>], given: &[Tensor]) -> PyResult<()> {
    let tensors = objects.iter().filter_map(tensor_value);
    match tensors.zip(given).position(|(now, then)| !now.same(then)) {
        None => Ok(()),
        Some(i) => Err(fail(
            ErrorKind::Runtime,
            format!(
                "trace(): the function writes in place to its tensor argument {i}, which a program cannot do; write to \
                 a clone() and return it"
            ),
        )
        .into()),
    }
}

/// A straight-line program of operators, made by `trace`.
#[pyclass(frozen, weakref, module = "pullback.func")]
pub struct Program {
    program: ir::Program,
    inputs: Structure,
    outputs: Structure,
    name: String,
}

#[pymethods]
impl Program {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let kwargs = kwargs.unwrap_or_else(|| PyDict::new(py));
        let (given, values) = Structure::of(PyTuple::new(py, [args.as_any(), kwargs.as_any()])?.as_any())?;
        self.inputs.check(py, &given)?;
        let results = self.program.call(&values)?;
        self.outputs.tree.of_objects(py, self.outputs.objects(py, results)?)
    }

    /// Number of operators that a call runs.
    fn __len__(&self) -> usize {
        self.program.len()
    }

    /// Names of the operators, in the order in which they run.
    #[getter]
    fn operators(&self) -> Vec<String> {
        self.program.operators().map(str::to_string).collect()
    }

    /// The same program without operators that compute constants, repeat others, or that no output needs.
    ///
    /// Values are the same bit for bit; derivatives may differ by rounding. Random draws and calls of custom functions
    /// stay.
    ///
    /// >>> import pullback
    /// >>> from pullback.func import trace
    /// >>> program = trace(lambda x: x.sin() * x.sin())(pullback.ones(2))
    /// >>> len(program), len(program.simplified())
    /// (3, 2)
    fn simplified(&self, py: Python<'_>) -> Program {
        Program {
            program: self.program.simplified(),
            inputs: self.inputs.clone_ref(py),
            outputs: self.outputs.clone_ref(py),
            name: self.name.clone(),
        }
    }

    /// The program as bytes, from which `Program.from_bytes` makes it again, also in another process.
    ///
    /// Constants are part of it. Raises RuntimeError for what lives in this process alone: custom functions, tensors from
    /// outside that are read when the program is called, generators. Raises TypeError for arguments and results that are
    /// not made of tuples, lists, dicts, tensors, strings, numbers, bools and None.
    ///
    /// >>> import pullback
    /// >>> from pullback.func import Program, trace
    /// >>> program = trace(lambda x: x.sin() * 2)(pullback.zeros(2))
    /// >>> Program.from_bytes(program.to_bytes())(pullback.zeros(2))
    /// tensor([0., 0.])
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let program = self.program.to_bytes()?;
        let tensor = py.get_type::<PyAny>().call0()?;
        let structures = [
            self.inputs.with_tensors(py, || Ok(tensor.clone()))?,
            self.outputs.with_tensors(py, || Ok(tensor.clone()))?,
            PyString::new(py, &self.name).into_any(),
        ];
        let saving = py.import(intern!(py, "pullback.func._saving"))?;
        let text = saving.getattr(intern!(py, "encode"))?.call1((PyTuple::new(py, structures)?, tensor))?;
        let mut bytes = (program.len() as u64).to_le_bytes().to_vec();
        bytes.extend(program);
        bytes.extend(text.extract::<String>()?.as_bytes());
        Ok(PyBytes::new(py, &bytes))
    }

    /// The program that `to_bytes` wrote.
    ///
    /// Raises ValueError for any other bytes. Nothing in them is executed before the program is called.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyBytes>) -> PyResult<Program> {
        let py = data.py();
        let damaged = || PyValueError::new_err("the bytes of the program are damaged, or of another version");
        let parts = data
            .as_bytes()
            .split_first_chunk::<8>()
            .and_then(|(length, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?));
        let (program, text) = parts.ok_or_else(damaged)?;
        let program = ir::Program::from_bytes(program)?;
        let text = std::str::from_utf8(text).map_err(|_| damaged())?;
        let tensor = object(py, Tensor::scalar(DType::F32, 0.0))?;
        let saving = py.import(intern!(py, "pullback.func._saving"))?;
        let structures = saving.getattr(intern!(py, "decode"))?.call1((text, 3, tensor))?;
        let (inputs, outputs, name): (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>) = structures.extract()?;
        let ((inputs, given), (outputs, results)) = (Structure::of(&inputs)?, Structure::of(&outputs)?);
        if given.len() != program.inputs().len() || results.len() != program.outputs() {
            return Err(damaged().into());
        }
        Ok(Program { program, inputs, outputs, name: name.extract().map_err(|_| damaged())? })
    }

    fn __str__(&self) -> String {
        self.program.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<program of {}: {} operators>", self.name, self.program.len())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for leaf in self.inputs.leaves.iter().chain(&self.outputs.leaves) {
            if let Position::Fixed(object) = leaf {
                visit.call(object)?;
            }
        }
        Ok(())
    }
}
