//! Tensors repeated, turned, padded to a number of dimensions, joined and combined.

use super::arith;
use super::join::{concatenate, joint_dtype};
use super::sorting::reversed;
use super::value::{Operand, Value};
use crate::bail;
use crate::base::size::Whole;
use crate::base::{DType, Error, Result, Scalar, Shape};
use crate::core::meta::depends_on_data;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::memory;
use crate::ops::signature::{AtLeast, Chosen, Count, Dim, HERE, MemberDim, Ranked, Words};
use crate::rules::index::{take_members, take_rows};
use crate::rules::{Opaque, OpaqueBatch, basis, batching, shapes};
use smallvec::smallvec;

/// For a vector of counts the index of each, as often as it says.
pub(crate) static REPEATED: Opaque = Opaque {
    name: "repeat_interleave",
    infer: |p, a| match p.ints() {
        [n] if *n >= 0 => shapes::reshaped(a, |x| x.with(x.rank() - 1, *n as usize).checked("repeat_interleave")),
        _ => Err(depends_on_data("repeat_interleave()", "give output_size, or repeats as an int")),
    },
    eval: |p, args| {
        let (counts, shape) = (args[0].to_vec::<i64>()?, args[0].shape());
        let (k, mut size) = (shape[shape.rank() - 1], p.ints().first().copied().filter(|&n| n >= 0));
        let rows: Vec<&[i64]> =
            if k == 0 { vec![&[]; shape.without(shape.rank() - 1).numel()] } else { counts.chunks(k).collect() };
        for row in &rows {
            let total = repetitions(row)?;
            if size.is_some_and(|want| want as usize != total) {
                return Err(other_size(size.unwrap_or(-1), total, rows.len() > 1));
            }
            size = Some(total as i64);
        }
        let total = size.unwrap_or(0) as usize;
        let all = shape.with(shape.rank() - 1, total).checked("repeat_interleave")?;
        let each = rows
            .iter()
            .flat_map(|row| row.iter().enumerate().flat_map(|(i, &n)| std::iter::repeat_n(i as i64, n as usize)));
        let list = memory::list("repeat_interleave", all.numel(), each)?;
        Ok(smallvec![Tensor::from_slice(all, &list)?])
    },
    // One size for all members: as given, or that of the first, which the others must have.
    batching: OpaqueBatch::With(|me, p, args, _| {
        let Some(counts) = batching::front(&args[0])? else {
            bail!(Internal, "repeat_interleave(): nothing is batched")
        };
        if p.ints().first().is_none_or(|&n| n < 0) && counts.dense().is_none() {
            bail!(
                Runtime,
                "vmap: the shape of repeat_interleave() depends on the data and may differ between members of the batch{}; \
                 give output_size if the counts of each member add up to the same, or repeats as an int",
                crate::core::origin::at_here()
            )
        }
        Ok(smallvec![(call(me, p, &[&counts])?, Some(0))])
    }),
};

/// How many elements counts ask for.
fn repetitions(counts: &[i64]) -> Result<usize> {
    if let Some(n) = counts.iter().find(|&&n| n < 0) {
        bail!(Runtime, "repeat_interleave(): repeats can not be negative, but one is {n}; give counts");
    }
    counts.iter().fold(Whole::from(0i64), |sum, &n| sum.plus(n)).size_of("repeat_interleave", "the size of the result")
}

#[cold]
fn other_size(want: i64, total: usize, several: bool) -> Error {
    Error::runtime(match several {
        true => format!(
            "vmap: the repeats of all members of repeat_interleave() must add up to the same size, but they add up to \
             {want} and {total}; pad them to one size, or loop over the members"
        ),
        false => format!(
            "repeat_interleave(): allocated size does not match required size: output_size={want}, but repeats add up to \
             {total}; leave output_size out"
        ),
    })
}

/// The order in which the first two tensors of a grid run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexing {
    Matrix,
    Cartesian,
}
impl Words for Indexing {
    const WORDS: &'static [(&'static str, Self)] = &[("ij", Indexing::Matrix), ("xy", Indexing::Cartesian)];
}

/// Each element of a dimension `times` times, one after another.
fn repeated(x: &Tensor, dim: usize, times: usize) -> Result<Tensor> {
    let n = x.shape()[dim];
    let size = Whole::from(n).times(times).size_of(HERE, "the size of the result")?;
    let column = basis::unsqueeze_dims(x, &[dim + 1])?;
    let wide = column.shape().with(dim + 1, times).checked(HERE)?;
    basis::reshape(&basis::expand(&column, &wide)?, &x.shape().with(dim, size))
}

fn flattened(x: &Tensor) -> Result<Tensor> {
    basis::reshape(x, &[x.numel()].into())
}

/// Each element as often as its count says, along a dimension.
fn repeated_by(x: &Tensor, counts: &Tensor, dim: Option<i64>, size: Option<usize>) -> Result<Tensor> {
    if !matches!(counts.dtype(), DType::I32 | DType::I64) {
        refuse!(
            NotImplemented,
            "not implemented for repeats of {}; give int32 or int64, or convert them with .long()",
            counts.dtype()
        );
    }
    if counts.rank() > 1 {
        refuse!(
            Runtime,
            "only accept 1D vector as repeat, but repeats have {} dimensions; flatten() them",
            counts.rank()
        );
    }
    let (x, d) = along(x, dim)?;
    let n = x.shape()[d];
    let counts = match counts.numel() {
        1 => basis::expand(&flattened(counts)?, &[n].into())?,
        m if m == n => counts.clone(),
        m => refuse!(
            Runtime,
            "repeats must have the same size as input along dim, but got repeats.size(0) = {m} and input.size({d}) = {n}; \
             give one count for each element, or an int"
        ),
    };
    take_members(&x, d, &positions(&counts, size)?)
}

/// The tensor and its dimension, or all elements in one.
fn along(x: &Tensor, dim: Option<i64>) -> Result<(Tensor, usize)> {
    use crate::ops::signature::{ArgumentPlace, Declared};
    match dim {
        Some(d) => Ok((x.clone(), MemberDim::check(d, ArgumentPlace { name: "dim", subject: Some(x) })?)),
        None => Ok((flattened(x)?, 0)),
    }
}

fn positions(counts: &Tensor, size: Option<usize>) -> Result<Tensor> {
    let params = Params::Ints(smallvec::SmallVec::from_elem(size.map_or(-1, |n| n as i64), 1));
    call(Prim::Static(&REPEATED), &params, &[&basis::cast(counts, DType::I64)?])
}

/// With at least `rank` dimensions, as NumPy adds them: vectors are rows, and the third dimension comes last.
fn padded(x: &Tensor, rank: usize) -> Result<Tensor> {
    let shape: Shape = match (x.rank(), rank) {
        (r, rank) if r >= rank => return Ok(x.clone()),
        (0, _) => Shape::new(&vec![1; rank]),
        (1, _) => Shape::new(&[1, x.shape()[0], 1][..rank]),
        _ => x.shape().append(1),
    };
    basis::reshape(x, &shape)
}

/// One tensor or a tuple of them, as they were given.
fn each_padded(tensors: &Value, rank: usize) -> Result<Value> {
    let one = |v: &Value| match v {
        Value::Tensor(t) => padded(t, rank).map(Value::Tensor),
        other => refuse!(Type, "expected tensors, but got {}; make one with tensor()", other.type_name()),
    };
    match tensors {
        Value::Tuple(all) | Value::List(all) => Ok(Value::Tuple(all.iter().map(one).collect::<Result<_>>()?)),
        Value::None | Value::Missing => Ok(Value::Tuple(Vec::new())),
        tensor => one(tensor),
    }
}

/// Tensors joined along a dimension after each was padded.
fn stacked(tensors: &[&Tensor], dim: Option<usize>, pad: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let all: Vec<Tensor> = tensors.iter().map(|t| pad(t)).collect::<Result<_>>()?;
    let Some(first) = all.first() else {
        refuse!(Runtime, "expects a non-empty TensorList; give one tensor at least");
    };
    let dim = dim.unwrap_or(usize::from(first.rank() > 1));
    concatenate(&all.iter().collect::<Vec<_>>(), dim)
}

/// The tensors of a grid, each along a dimension of its own.
fn grid(tensors: &[&Tensor], indexing: Indexing) -> Result<Vec<Tensor>> {
    let Some(first) = tensors.first() else {
        refuse!(Runtime, "meshgrid expects a non-empty TensorList; give one tensor at least");
    };
    for t in tensors {
        if t.rank() > 1 {
            refuse!(
                Runtime,
                "Expected 0D or 1D tensor in the tensor list but got one of shape {}; flatten() it",
                t.shape()
            );
        }
        if t.dtype() != first.dtype() {
            refuse!(
                Runtime,
                "meshgrid expects all tensors to have the same dtype, but got {} and {}; convert one of them",
                first.dtype(),
                t.dtype()
            );
        }
    }
    let mut size = Shape::new(&vec![1; tensors.len()]);
    tensors.iter().enumerate().for_each(|(i, t)| size[along_which(indexing, tensors.len(), i)] = t.numel());
    let size = size.checked(HERE)?;
    tensors.iter().enumerate().map(|(i, t)| repeated_along(t, along_which(indexing, size.rank(), i), &size)).collect()
}

/// The dimension of a grid along which the tensor at a place goes.
fn along_which(indexing: Indexing, count: usize, i: usize) -> usize {
    match (indexing, i) {
        (Indexing::Cartesian, 0 | 1) if count > 1 => 1 - i,
        _ => i,
    }
}

/// A vector along one dimension of a grid.
fn repeated_along(x: &Tensor, dim: usize, size: &Shape) -> Result<Tensor> {
    let ones = Shape::new(&vec![1; size.rank()]);
    basis::expand(&basis::reshape(x, &ones.with(dim, x.numel()))?, size)
}

/// The rows of indices that choose `r` of `n`, in order.
fn chosen(n: usize, r: usize, again: bool) -> Result<Tensor> {
    let step = usize::from(!again);
    let last = |i: usize| n - 1 - if again { 0 } else { r - 1 - i };
    let count = if again && r > 0 { binomial(n + r - 1, r) } else { binomial(n, r) };
    let count = count.times(1i64).size_of(HERE, "the number of combinations")?;
    let mut all: Vec<i64> = memory::list(HERE, Whole::from(count).times(r).size_of(HERE, "a size")?, [])?;
    let mut row: Vec<usize> = memory::list(HERE, r, (0..r).map(|i| i * step))?;
    for _ in 0..count {
        all.extend(row.iter().map(|&i| i as i64));
        let Some(i) = (0..r).rev().find(|&i| row[i] < last(i)) else { break };
        row[i] += 1;
        for j in i + 1..r {
            row[j] = row[j - 1] + step;
        }
    }
    Tensor::from_slice([count, r], &all)
}

/// How many ways there are to choose `r` of `n`.
fn binomial(n: usize, r: usize) -> Whole {
    if r > n {
        return Whole::from(0i64);
    }
    (0..r.min(n - r)).fold(Whole::from(1i64), |product, i| product.times(n - i).div_floor(i + 1))
}

ops! { TABLE:
    /// The tensor repeated along its dimensions; dimensions without a number are repeated once.
    ///
    /// >>> import pullback
    /// >>> pullback.tile(pullback.tensor([1, 2]), (2,))
    /// tensor([1, 2, 1, 2])
    fn tile = "tile" (input: &Tensor, dims: &[i64]) -> Tensor [METHOD, VARIADIC, REPEATS, ROW_MAJOR] node "RepeatBackward0" {
        let lead = input.rank().saturating_sub(dims.len());
        let all: Vec<i64> = std::iter::repeat_n(1, lead).chain(dims.iter().copied()).collect();
        super::join::repeat(input, &all)
    }

    /// Each element several times in a row: as often as an int says, or as counts say, one for each element along `dim`.
    /// All elements in one dimension where `dim` is None. With counts alone: the index of each, as often as it says.
    ///
    /// >>> import pullback
    /// >>> pullback.repeat_interleave(pullback.tensor([5, 7]), pullback.tensor([1, 2]))
    /// tensor([5, 7, 7])
    fn repeat_interleave = "repeat_interleave" (input: &Tensor, repeats: Option<Operand<'_>> = None, dim: Option<i64> = None;
        output_size: Option<i64> as Option<Count> = None) -> Tensor [METHOD, SCATTERED, ROW_MAJOR] node "IndexSelectBackward0" of REPEATED {
        match repeats {
            None => {
                if input.rank() != 1 || !matches!(input.dtype(), DType::I32 | DType::I64) {
                    refuse!(Runtime, "only accept 1D vector as repeat, of int32 or int64, but got {} of {} dimensions; \
                        give the input first and then its counts", input.dtype(), input.rank());
                }
                basis::cast(&positions(input, output_size)?, input.dtype())
            }
            Some(Operand::Number(Scalar::Int(n))) => {
                if n < 0 {
                    refuse!(Runtime, "Repeats must be non-negative, but got {n}; give a count");
                }
                let (x, d) = along(input, dim)?;
                repeated(&x, d, n as usize)
            }
            Some(Operand::Number(n)) => refuse!(Type, "argument 'repeats' must be int or Tensor, not {n}"),
            Some(Operand::Tensor(counts)) => repeated_by(input, counts, dim, output_size),
        }
    }

    /// Grids of coordinates: tensor i repeated along every dimension but the i-th. With `indexing='xy'` the first two
    /// dimensions are swapped.
    ///
    /// >>> import pullback
    /// >>> pullback.meshgrid(pullback.tensor([1, 2]), pullback.tensor([3, 4]), indexing="ij")
    /// (tensor([[1, 1],
    ///         [2, 2]]), tensor([[3, 4],
    ///         [3, 4]]))
    fn meshgrid = "meshgrid" (tensors: Vec<&Tensor>; indexing: Option<&str> as Option<Chosen<Indexing>> = None) -> Vec<Tensor> [VARIADIC, VIEW] node "ExpandBackward0" {
        if indexing.is_none() {
            crate::warn_once!("meshgrid(): PyTorch will require the argument 'indexing'; give indexing='ij', which is taken, \
                or 'xy'")?;
        }
        grid(&tensors, indexing.unwrap_or(Indexing::Matrix))
    }

    /// What `meshgrid` makes of the tensor at a place, as a view of it.
    fn grid_member = "meshgrid:member" (input: &Tensor, at: i64, size: &[i64], indexing: Option<&str> as Option<Chosen<Indexing>> = None) -> Tensor [INTERNAL, VIEW] {
        let size: Shape = size.iter().map(|&n| n as usize).collect();
        let indexing = indexing.unwrap_or(Indexing::Matrix);
        repeated_along(input, along_which(indexing, size.rank(), at as usize), &size)
    }

    /// Tensors joined along the second dimension; vectors along their only one.
    ///
    /// >>> import pullback
    /// >>> pullback.hstack([pullback.tensor([1, 2]), pullback.tensor(3)])
    /// tensor([1, 2, 3])
    fn hstack = "hstack" (tensors: Vec<&Tensor>) -> Tensor [] node "CatBackward0" {
        stacked(&tensors, None, |t| padded(t, 1))
    }

    /// Tensors joined along the first dimension; vectors are rows.
    ///
    /// >>> import pullback
    /// >>> pullback.vstack([pullback.tensor([1, 2]), pullback.tensor([3, 4])])
    /// tensor([[1, 2],
    ///         [3, 4]])
    fn vstack = "vstack" | "row_stack" (tensors: Vec<&Tensor>) -> Tensor [] node "CatBackward0" {
        stacked(&tensors, Some(0), |t| padded(t, 2))
    }

    /// Tensors joined along the third dimension, which they get if they have none.
    ///
    /// >>> import pullback
    /// >>> pullback.dstack([pullback.tensor([1, 2]), pullback.tensor([3, 4])])
    /// tensor([[[1, 3],
    ///          [2, 4]]])
    fn dstack = "dstack" (tensors: Vec<&Tensor>) -> Tensor [] node "CatBackward0" {
        stacked(&tensors, Some(2), |t| padded(t, 3))
    }

    /// Tensors joined along the second dimension; vectors are columns.
    ///
    /// >>> import pullback
    /// >>> pullback.column_stack([pullback.tensor([1, 2]), pullback.tensor([3, 4])])
    /// tensor([[1, 3],
    ///         [2, 4]])
    fn column_stack = "column_stack" (tensors: Vec<&Tensor>) -> Tensor [] node "CatBackward0" {
        stacked(&tensors, Some(1), |t| if t.rank() < 2 { basis::reshape(t, &[t.numel(), 1].into()) } else { Ok(t.clone()) })
    }

    /// The tensor with one dimension at least; several tensors give a tuple.
    ///
    /// >>> import pullback
    /// >>> pullback.atleast_1d(pullback.tensor(1))
    /// tensor([1])
    fn atleast_1d = "atleast_1d" (tensors: &Value = &Value::None) -> Value [VARIADIC, VIEW, SAME_OBJECT] node "ViewBackward0" {
        each_padded(tensors, 1)
    }

    /// The tensor with two dimensions at least; vectors are rows, and several tensors give a tuple.
    ///
    /// >>> import pullback
    /// >>> pullback.atleast_2d(pullback.tensor([1, 2]))
    /// tensor([[1, 2]])
    fn atleast_2d = "atleast_2d" (tensors: &Value = &Value::None) -> Value [VARIADIC, VIEW, SAME_OBJECT] node "UnsqueezeBackward0" {
        each_padded(tensors, 2)
    }

    /// The tensor with three dimensions at least; several tensors give a tuple.
    ///
    /// >>> import pullback
    /// >>> pullback.atleast_3d(pullback.tensor([1, 2])).shape
    /// pullback.Size([1, 2, 1])
    fn atleast_3d = "atleast_3d" (tensors: &Value = &Value::None) -> Value [VARIADIC, VIEW, SAME_OBJECT] node "UnsqueezeBackward0" {
        each_padded(tensors, 3)
    }

    /// The columns in reverse order.
    ///
    /// >>> import pullback
    /// >>> pullback.fliplr(pullback.tensor([[1, 2]]))
    /// tensor([[2, 1]])
    fn fliplr = "fliplr" (input: &Tensor as AtLeast<2>) -> Tensor [METHOD, NO_OUT] node "FlipBackward0" {
        reversed(input, 1)
    }

    /// The rows in reverse order.
    ///
    /// >>> import pullback
    /// >>> pullback.flipud(pullback.tensor([1, 2]))
    /// tensor([2, 1])
    fn flipud = "flipud" (input: &Tensor as AtLeast<1>) -> Tensor [METHOD, NO_OUT] node "FlipBackward0" {
        reversed(input, 0)
    }

    /// Turned `k` times by a right angle in the plane of two dimensions, from the first towards the second.
    ///
    /// >>> import pullback
    /// >>> pullback.rot90(pullback.tensor([[1, 2], [3, 4]]))
    /// tensor([[2, 4],
    ///         [1, 3]])
    fn rot90 = "rot90" (input: &Tensor, k: i64 = 1, dims: &[i64] = &[0, 1]) -> Tensor [METHOD, NO_OUT] {
        if dims.len() != 2 {
            refuse!(Runtime, "expected total rotation dims == 2, but got dims = {}; name the two of a plane", dims.len());
        }
        if input.rank() < 2 {
            refuse!(Runtime, "expected total dims >= 2, but got total dims = {}; add dimensions with unsqueeze()", input.rank());
        }
        let plane = crate::ops::signature::member_dims("dims", dims, input)?;
        let (i, j) = (plane[0], plane[1]);
        if i == j {
            refuse!(Runtime, "expected rotation dims to be different, but got dim0 = {} and dim1 = {}; name another one",
                dims[0], dims[1]);
        }
        match k.rem_euclid(4) {
            1 => basis::swap_dims(&reversed(input, j)?, i, j),
            2 => reversed(&reversed(input, i)?, j),
            3 => basis::swap_dims(&reversed(input, i)?, i, j),
            _ => basis::copy(input),
        }
    }

    /// A matrix with these blocks along its diagonal; vectors are rows.
    ///
    /// >>> import pullback
    /// >>> pullback.block_diag(pullback.tensor([[1, 2]]), pullback.tensor(3))
    /// tensor([[1, 2, 0],
    ///         [0, 0, 3]])
    fn block_diag = "block_diag" (tensors: Option<Vec<&Tensor>> = None) -> Tensor [VARIADIC, NO_OUT] {
        let tensors = tensors.unwrap_or_default();
        let dtype = joint_dtype(&tensors);
        if let Some((i, t)) = tensors.iter().enumerate().find(|(_, t)| t.rank() > 2) {
            refuse!(Runtime, "Input tensors must have 2 or fewer dimensions. Input {i} has {} dimensions", t.rank());
        }
        let blocks: Vec<Tensor> = tensors.iter().map(|t| padded(&basis::cast(t, dtype)?, 2)).collect::<Result<_>>()?;
        let width = crate::base::size::total(HERE, "the number of columns", blocks.iter().map(|b| b.shape()[1]))?;
        if blocks.is_empty() {
            return basis::full(&[1, 0].into(), dtype, 0.0);
        }
        let mut before = 0;
        let mut rows = Vec::new();
        for block in &blocks {
            let (n, m) = (block.shape()[0], block.shape()[1]);
            let zeros = |m: usize| basis::full(&[n, m].into(), dtype, 0.0);
            rows.push(basis::cat(&[&zeros(before)?, block, &zeros(width - before - m)?], 1)?);
            before += m;
        }
        basis::cat(&rows.iter().collect::<Vec<_>>(), 0)
    }

    /// The Kronecker product: each element of `input` times `other`, as blocks.
    ///
    /// >>> import pullback
    /// >>> pullback.kron(pullback.tensor([1, 2]), pullback.tensor([1, 10]))
    /// tensor([ 1, 10,  2, 20])
    fn kron = "kron" (input: &Tensor, other: &Tensor) -> Tensor [METHOD] node "UnsafeViewBackward0" {
        let rank = input.rank().max(other.rank());
        let size = |x: &Tensor, d: usize| (d + x.rank()).checked_sub(rank).map_or(1, |i| x.shape()[i]);
        let (mut a, mut b, mut out) = (Shape::scalar(), Shape::scalar(), Shape::scalar());
        for d in 0..rank {
            let (m, n) = (size(input, d), size(other, d));
            a.push(m);
            a.push(1);
            b.push(1);
            b.push(n);
            out.push(Whole::from(m).times(n).size_of(HERE, "a size")?);
        }
        let (a, b) = (basis::reshape(input, &a)?, basis::reshape(other, &b)?);
        basis::reshape(&arith::mul((&a).into(), (&b).into())?, &out)
    }

    /// All ways to take one element of each vector, as rows; one vector stays as it is.
    ///
    /// >>> import pullback
    /// >>> pullback.cartesian_prod(pullback.tensor([1, 2]), pullback.tensor([3, 4]))
    /// tensor([[1, 3],
    ///         [1, 4],
    ///         [2, 3],
    ///         [2, 4]])
    fn cartesian_prod = "cartesian_prod" (tensors: Vec<&Tensor>) -> Tensor [VARIADIC, NO_OUT, SAME_OBJECT] node "StackBackward0" {
        if let Some(t) = tensors.iter().find(|t| t.rank() != 1) {
            refuse!(Runtime, "Expect a 1D vector, but got shape {}; flatten() it", t.shape());
        }
        if let [only] = &tensors[..] {
            return Ok((*only).clone());
        }
        let columns: Vec<Tensor> = grid(&tensors, Indexing::Matrix)?.iter().map(flattened).collect::<Result<_>>()?;
        let columns: Vec<Tensor> = columns.iter().map(|c| basis::unsqueeze_dims(c, &[1])).collect::<Result<_>>()?;
        basis::cat(&columns.iter().collect::<Vec<_>>(), 1)
    }

    /// All ways to choose `r` elements of a vector in its order, as rows.
    ///
    /// >>> import pullback
    /// >>> pullback.combinations(pullback.tensor([1, 2, 3]))
    /// tensor([[1, 2],
    ///         [1, 3],
    ///         [2, 3]])
    fn combinations = "combinations" (input: &Tensor as Ranked<1>, r: i64 as Count = 2, with_replacement: bool = false) -> Tensor [METHOD, NO_OUT] node "StackBackward0" {
        if r == 0 {
            return basis::slice(input, 0, 0, 0, 1);
        }
        let n = input.numel();
        if n == 0 || (r > n && !with_replacement) {
            return basis::reshape(&basis::slice(input, 0, 0, 0, 1)?, &[0, r].into());
        }
        let index = chosen(n, r, with_replacement)?;
        let shape = index.shape().clone();
        basis::reshape(&take_rows(input, &flattened(&index)?)?, &shape)
    }

    /// A copy of the elements `start .. start + length` of a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.narrow_copy(pullback.tensor([1, 2, 3]), 0, 1, 2)
    /// tensor([2, 3])
    fn narrow_copy = "narrow_copy" (input: &Tensor, dim: i64 as Dim, start: i64, length: i64) -> Tensor [METHOD, ROW_MAJOR] {
        super::shape::narrow(input, dim as i64, start, length).map_err(|e| e.of("narrow", HERE))
    }

    /// A square matrix with all elements of the tensor along a diagonal.
    ///
    /// >>> import pullback
    /// >>> pullback.diagflat(pullback.tensor([1, 2]))
    /// tensor([[1, 0],
    ///         [0, 2]])
    fn diagflat = "diagflat" (input: &Tensor, offset: i64 = 0) -> Tensor [METHOD, NO_OUT] node "DiagEmbedBackward0" {
        super::diagonal::diag_embed(&flattened(input)?, offset, 0, 1).map_err(|e| e.of("diag_embed", HERE))
    }

    /// Powers of each element along a new last dimension: from 0 up to `N - 1`.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.vander(pullback.tensor([2, 3]), N=3)
    /// tensor([[1, 2, 4],
    ///         [1, 3, 9]])
    fn linalg_vander = "linalg.vander" (x: &Tensor | input; N: Option<i64> = None) -> Tensor [NO_OUT] node "CatBackward0" {
        let n = match (N, x.rank().checked_sub(1)) {
            (Some(n), _) => n,
            (None, Some(last)) => x.shape()[last] as i64,
            _ => 1,
        };
        if n <= 1 {
            refuse!(Runtime, "N must be greater than 1, but it is {n}; give the number of powers");
        }
        powers(&padded(x, 1)?, n as usize)
    }

    /// The Vandermonde matrix of a vector: powers of its elements from the highest, or from 0 with `increasing`.
    ///
    /// >>> import pullback
    /// >>> pullback.vander(pullback.tensor([2, 3]), 3)
    /// tensor([[4, 2, 1],
    ///         [9, 3, 1]])
    fn vander = "vander" (x: &Tensor as Ranked<1> | input, N: Option<i64> as Option<Count> = None, increasing: bool = false) -> Tensor [NO_OUT] {
        let n = N.unwrap_or(x.numel());
        let all = powers(x, n)?;
        if increasing { Ok(all) } else { reversed(&all, 1) }
    }
}

/// Powers from 0 to `n - 1` along a new last dimension.
fn powers(x: &Tensor, n: usize) -> Result<Tensor> {
    let x = if x.dtype().is_differentiable() { x.clone() } else { basis::cast(x, DType::I64)? };
    x.shape().append(n).checked(HERE)?;
    let exponents: Tensor = crate::dense::index::arange(x.dtype(), 0.into(), 1.into(), n)?.into();
    arith::pow_same(&basis::unsqueeze_dims(&x, &[x.rank()])?, &exponents)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&REPEATED]], ..crate::ops::Family::EMPTY };
