//! `vmap`: a function over all members of a batch at once.

use super::dims::{Dims, DimsArgument, dimension, out_dimension, wrong_in_dims};
use super::fail;
use super::mapped::{Arguments, BatchArgument};
use super::transform::{Transform, Transformation};
use super::tree::{Tree, object, tensor_value};
use crate::door::vectorcall::Call;
use crate::methods::storage;
use crate::pytree::{self, Leaves};
use crate::tensor::PyTensor;
use crate::types::brief::brief;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::ErrorKind;
use pullback::core::level::Randomness;
use pullback::core::tensor::has_level;
use pullback::core::{LevelId, Tensor};
use pullback::rules::basis;
use pullback::transforms::run::{self, Members};
use pullback::transforms::vmap::{Batch, common_size};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

pub struct Vmap {
    in_dims: Dims,
    out_dims: Dims,
    randomness: Randomness,
    chunk_size: Option<usize>,
}

/// Returns a function that runs `func` on all members of a batch at once, without a loop.
///
/// Args:
///     func: function of one or more arguments that returns a pytree of tensors.
///     in_dims: which dimension of the arguments counts the members: an int for all, or a tuple with an int, None or a
///         tree of them for each argument. None gives the whole argument to each member. Negative dimensions count
///         from the end.
///     out_dims: where the batch goes in the results, as an int, None (for what is equal for all members, or no tensor)
///         or a tree of them that fits the result.
///     randomness: what random operators do: raise ('error'), draw numbers for each member ('different'), or the same
///         numbers for all ('same').
///     chunk_size: how many members to run at a time; all at once by default.
///
/// Keyword arguments are given to each member as they are, whole, as PyTorch does. Inside, a member looks like a tensor
/// without the batch. The result of a function that does not depend on its argument is repeated.
///
/// >>> import pullback
/// >>> from pullback.func import vmap
/// >>> vmap(lambda v: v.sum())(pullback.ones(2, 3))
/// tensor([3., 3.])
/// >>> vmap(lambda v, w: v * w, in_dims=(1, None))(pullback.ones(2, 3), pullback.tensor([1.0, 2.0])).shape
/// pullback.Size([3, 2])
#[pyfunction]
#[pyo3(
    signature = (func, in_dims = DimsArgument::DEFAULT, out_dims = DimsArgument::DEFAULT, randomness = "error", *, chunk_size = None),
    text_signature = "(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None)"
)]
pub fn vmap<'py>(
    func: &Bound<'py, PyAny>,
    in_dims: DimsArgument,
    out_dims: DimsArgument,
    randomness: &str,
    chunk_size: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let chunk_size = match chunk_size {
        Some(n) if n <= 0 => {
            return Err(
                fail(ErrorKind::Value, format!("vmap: chunk_size should be None or greater than 0, got {n}")).into()
            );
        }
        n => n.map(|n| n as usize),
    };
    let v = Vmap { in_dims: in_dims.0, out_dims: out_dims.0, randomness: randomness_of(randomness)?, chunk_size };
    Transform::make(func, Transformation::Vmap(v))
}

/// The argument `randomness`.
pub fn randomness_of(name: &str) -> PyResult<Randomness> {
    match name {
        "error" => Ok(Randomness::Error),
        "different" => Ok(Randomness::Different),
        "same" => Ok(Randomness::Same),
        _ => Err(fail(
            ErrorKind::Runtime,
            format!("Only allowed values for randomness are 'error', 'different', or 'same', got '{name}'"),
        )
        .into()),
    }
}

pub fn randomness_name(randomness: Randomness) -> &'static str {
    match randomness {
        Randomness::Error => "error",
        Randomness::Different => "different",
        Randomness::Same => "same",
    }
}

/// A result: of one chunk, or of all.
enum MappedOutput<'py> {
    /// With the dimension of the batch.
    Stacked(Tensor, usize),
    /// As `Stacked`, of a tensor that shows what an argument of the level holds, perhaps.
    Shown(Tensor, usize, Bound<'py, PyTensor>, LevelId),
    Object(Bound<'py, PyAny>),
}

type Outs<'py> = SmallVec<[MappedOutput<'py>; 2]>;

impl Vmap {
    pub fn options(&self, options: &Bound<'_, PyDict>) -> PyResult<()> {
        let py = options.py();
        for (name, dims) in [("in_dims", &self.in_dims), ("out_dims", &self.out_dims)] {
            match dims {
                Dims::Int(i) => options.set_item(name, i)?,
                Dims::Tree(t) => options.set_item(name, t.bind(py))?,
            }
        }
        options.set_item("randomness", randomness_name(self.randomness))?;
        Ok(options.set_item("chunk_size", self.chunk_size)?)
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for dims in [&self.in_dims, &self.out_dims] {
            if let Dims::Tree(t) = dims {
                visit.call(t)?;
            }
        }
        Ok(())
    }

    pub fn call<'py>(&self, t: &Transform, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
        let args = self.arguments(t, call)?;
        let size = common_size(&args.sizes)?;
        let members = Members { size, chunk: self.chunk_size, randomness: self.randomness, origin: t.origin };
        let run = |batch: &Batch, from| self.run(t, call, &args, batch, from);
        let (outs, tree) = run::batched(members, run, |parts| joined(t, call.py(), parts))?;
        let py = call.py();
        let objects = outs.into_iter().map(|out| match out {
            MappedOutput::Stacked(value, _) => object(py, value),
            MappedOutput::Shown(value, dim, member, level) => {
                match member.get().cell().members(level, t.origin, dim)? {
                    Some(cell) => match args.caller_of(&cell) {
                        Some(caller) => Ok(caller.into_any()),
                        None => storage::object(&member, cell),
                    },
                    None => object(py, value),
                }
            }
            MappedOutput::Object(o) => Ok(o),
        });
        tree.of_objects(py, objects.collect::<PyResult<SmallVec<[_; 2]>>>()?)
    }

    fn arguments<'py>(&self, t: &Transform, call: &Call<'py>) -> PyResult<Arguments<'py>> {
        let py = call.py();
        if call.positional() == 0 {
            let message = format!("{}: got no inputs; vmap needs a positional argument to map over", t.label(py)?);
            return Err(fail(ErrorKind::Value, message).into());
        }
        let mut args = Arguments::default();
        let in_dims = match &self.in_dims {
            Dims::Int(_) => None,
            Dims::Tree(tree) => match tree.bind(py).cast::<PyTuple>() {
                Ok(tuple) => Some(tuple),
                Err(_) => return Err(wrong_in_dims(t, tree.bind(py))?.into()),
            },
        };
        if in_dims.is_some_and(|d| d.len() != call.positional()) {
            return Err(self.incompatible_in_dims(t, call)?.into());
        }
        for i in 0..call.positional() {
            let argument = call.get(i);
            let first = args.leaves.len();
            let tree = match (&self.in_dims, in_dims) {
                (Dims::Int(dim), _) => Tree::collect(&argument, |leaf| args.push(t, leaf, *dim))?,
                (_, Some(dims)) => match self.collect(t, &mut args, &argument, &dims.get_item(i)?)? {
                    Some(tree) => tree,
                    None => return Err(self.incompatible_in_dims(t, call)?.into()),
                },
                _ => continue,
            };
            args.trees.push((i, tree, first..args.leaves.len()));
        }
        Ok(args)
    }

    /// Takes one argument apart by its own tree of dimensions. `None` if they do not fit.
    fn collect<'py>(
        &self,
        t: &Transform,
        args: &mut Arguments<'py>,
        argument: &Bound<'py, PyAny>,
        dims: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Tree>> {
        if dims.is_none() {
            args.leaves.push(BatchArgument::Whole(argument.clone()));
            return Ok(Some(Tree::Single));
        }
        let (leaves, tree) = Tree::leaves(argument)?;
        let Some(dims) = pytree::broadcast_to_and_flatten(dims, &tree.spec())? else { return Ok(None) };
        for (leaf, dim) in leaves.iter().zip(&dims) {
            match dimension(dim) {
                Some(Some(dim)) => args.push(t, leaf, dim)?,
                Some(None) => args.leaves.push(BatchArgument::Whole(leaf.clone())),
                None => {
                    let message = format!(
                        "{}: Got in_dim={} for an input but in_dim must be either an integer dimension or None",
                        t.label(leaf.py())?,
                        brief(dim)?
                    );
                    return Err(fail(ErrorKind::Value, message).into());
                }
            }
        }
        Ok(Some(tree))
    }

    #[cold]
    fn incompatible_in_dims(&self, t: &Transform, call: &Call<'_>) -> PyResult<PyErr> {
        let py = call.py();
        let items = (0..call.positional()).map(|i| call.get(i).to_owned());
        let describe = |tree: &Bound<'_, PyAny>| Tree::leaves(tree)?.1.describe(py);
        let inputs = describe(PyTuple::new(py, items.collect::<Vec<_>>())?.as_any())?;
        let dims = match &self.in_dims {
            Dims::Int(i) => i.to_string(),
            Dims::Tree(tree) => describe(tree.bind(py))?,
        };
        let message = format!(
            "{}: in_dims is not compatible with the structure of `inputs`: in_dims has structure {dims} and the inputs \
             have structure {inputs}",
            t.label(py)?
        );
        Ok(fail(ErrorKind::Value, message))
    }

    /// Runs the function on the members of the level, which begin at `from`.
    fn run<'py>(
        &self,
        t: &Transform,
        call: &Call<'py>,
        args: &Arguments<'py>,
        batch: &Batch,
        from: Option<usize>,
    ) -> PyResult<(Outs<'py>, Tree)> {
        let py = call.py();
        let mut new: SmallVec<[(usize, Bound<'py, PyAny>); 4]> = SmallVec::new();
        for (i, tree, range) in &args.trees {
            let leaves = args.leaves[range.clone()].iter().map(|leaf| match leaf {
                BatchArgument::Whole(o) => Ok(o.clone()),
                BatchArgument::Mapped(m) => m.argument(batch, from),
            });
            new.push((*i, tree.of_objects(py, leaves.collect::<PyResult<SmallVec<[_; 4]>>>()?)?));
        }
        let out = call.invoke(t.func(py), &new)?;
        drop(new);
        self.lower(t, batch, &out)
    }

    /// The results without the level.
    fn lower<'py>(&self, t: &Transform, batch: &Batch, out: &Bound<'py, PyAny>) -> PyResult<(Outs<'py>, Tree)> {
        let py = out.py();
        let (leaves, tree) = Tree::leaves(out)?;
        let dims: Option<Leaves<'py>> = match (&self.out_dims, tree.is_single()) {
            (Dims::Int(_), _) => None,
            (Dims::Tree(dims), true) => match dims.bind(py).cast::<PyTuple>() {
                Ok(dims) if dims.len() == 1 => Some(std::iter::once(dims.get_item(0)?).collect()),
                _ => Some(self.out_dims_of(t, dims.bind(py), &tree)?),
            },
            (Dims::Tree(dims), _) => Some(self.out_dims_of(t, dims.bind(py), &tree)?),
        };
        let mut outs = Outs::new();
        for (i, leaf) in leaves.iter().enumerate() {
            let dim = match (&self.out_dims, &dims) {
                (_, Some(dims)) => out_dimension(t, &dims[i])?,
                (Dims::Int(dim), None) => Some(*dim),
                _ => None,
            };
            outs.push(lower_leaf(t, batch, leaf, dim)?);
        }
        Ok((outs, tree))
    }

    fn out_dims_of<'py>(&self, t: &Transform, dims: &Bound<'py, PyAny>, tree: &Tree) -> PyResult<Leaves<'py>> {
        if let Some(dims) = pytree::broadcast_to_and_flatten(dims, &tree.spec())? {
            return Ok(dims);
        }
        let py = dims.py();
        let (leaves, structure) = Tree::leaves(dims)?;
        leaves.iter().try_for_each(|dim| out_dimension(t, dim).map(|_| ()))?;
        let message = format!(
            "{}: out_dims is not compatible with the structure of `outputs`: out_dims has structure {} and the outputs \
             have structure {}",
            t.label(py)?,
            structure.describe(py)?,
            tree.describe(py)?
        );
        Err(fail(ErrorKind::Value, message).into())
    }
}

/// The results of all chunks.
fn joined<'py>(t: &Transform, py: Python<'py>, mut parts: Vec<(Outs<'py>, Tree)>) -> PyResult<(Outs<'py>, Tree)> {
    for (_, tree) in &parts[1..] {
        if !parts[0].1.same(py, tree)? {
            let message = format!("{}: the chunks gave results of different structure", t.label(py)?);
            return Err(fail(ErrorKind::Value, message).into());
        }
    }
    let mut joined = Outs::new();
    for k in 0..parts[0].1.len() {
        let stacked = |p: &'_ (Outs<'py>, Tree)| match &p.0[k] {
            MappedOutput::Stacked(value, dim) | MappedOutput::Shown(value, dim, ..) => Some((value.clone(), *dim)),
            MappedOutput::Object(_) => None,
        };
        let chunks: SmallVec<[(Tensor, usize); 4]> = parts.iter().filter_map(stacked).collect();
        joined.push(match (chunks.first(), &parts[0].0[k]) {
            (Some(&(_, dim)), _) => {
                let values: SmallVec<[&Tensor; 4]> = chunks.iter().map(|c| &c.0).collect();
                MappedOutput::Stacked(basis::cat(&values, dim)?, dim)
            }
            (None, MappedOutput::Object(o)) => MappedOutput::Object(o.clone()),
            (None, MappedOutput::Stacked(..) | MappedOutput::Shown(..)) => continue,
        });
    }
    Ok((joined, parts.swap_remove(0).1))
}

fn lower_leaf<'py>(
    t: &Transform,
    batch: &Batch,
    leaf: &Bound<'py, PyAny>,
    dim: Option<i64>,
) -> PyResult<MappedOutput<'py>> {
    let value = tensor_value(leaf);
    let (value, dim) = match (value, dim) {
        (Some(value), Some(dim)) => (value, dim),
        (Some(value), None) => {
            let Some(one) = batch.unbatched(&value)? else {
                let message = format!(
                    "{}: the function can not return a BatchedTensor when out_dim is None: the result differs between \
                     members",
                    t.label(leaf.py())?
                );
                return Err(fail(ErrorKind::Value, message).into());
            };
            let is_member = has_level(&value, batch.level());
            return Ok(MappedOutput::Object(if is_member { object(leaf.py(), one)? } else { leaf.clone() }));
        }
        (None, None) => return Ok(MappedOutput::Object(leaf.clone())),
        (None, Some(_)) => {
            let message = format!(
                "{}: the function must only return Tensors, got type {}; set its out_dims to None for other results",
                t.label(leaf.py())?,
                raised::str_of(&leaf.get_type())?
            );
            return Err(fail(ErrorKind::Value, message).into());
        }
    };
    let rank = value.rank() as i64 + 1;
    if dim < -rank || dim >= rank {
        let message = format!(
            "{}: Dimension out of range: out_dims expected to be in range of [{}, {}], but got {dim}",
            t.label(leaf.py())?,
            -rank,
            rank - 1
        );
        return Err(fail(ErrorKind::Index, message).into());
    }
    let dim = dim.rem_euclid(rank) as usize;
    let stacked = batch.lower(&value, dim)?;
    Ok(match leaf.cast::<PyTensor>() {
        Ok(t) if t.get().alone().is_none() => MappedOutput::Shown(stacked, dim, t.clone(), batch.level()),
        _ => MappedOutput::Stacked(stacked, dim),
    })
}
