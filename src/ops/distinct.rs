//! Which elements there are, and where: results whose shapes depend on the data.

use super::shape::ravel;
use super::value::Value;
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::meta::depends_on_data;
use crate::core::origin::at_here;
use crate::core::{Params, Prim, Primitive, Tensor, call, call_many};
use crate::dense::{Array, index as kernels, sort};
use crate::ops::signature::{Count, MemberDim, Ordered};
use crate::rules::basis;
use crate::rules::index::take_rows;
use crate::rules::{Opaque, OpaqueBatch, batching, shapes};
use smallvec::smallvec;

/// The first occurrence of each distinct row, for every row which of them it is, and how often each is there. Parameter:
/// whether each run of equal rows is one for itself.
static UNIQUE: Opaque = Opaque {
    name: "unique",
    infer: |_, _| Err(depends_on_data("unique", "sort() has a shape that does not")),
    eval: |p, a| {
        let found = sort::unique(a[0].array()?, p.ints()[0] != 0)?;
        Ok(smallvec![found.first.into(), found.inverse.into(), found.counts.into()])
    },
    batching: OpaqueBatch::With(|_, _, _, _| {
        bail!(
            Runtime,
            "vmap: the shape of unique() depends on the data and may differ between members of the batch{}; use sort() \
             and compare neighbours, or call it outside of vmap",
            at_here()
        )
    }),
};

/// What `unique` is asked for.
struct Asked {
    consecutive: bool,
    inverse: bool,
    counts: bool,
    dim: Option<usize>,
}

fn distinct(input: &Tensor, ask: &Asked) -> Result<Value> {
    let rows = match ask.dim {
        None => ravel(input)?,
        Some(d) => {
            if input.numel() == 0 && input.shape()[d] != 0 {
                refuse!(
                    Runtime,
                    "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied; name one of them \
                     in 'dim'"
                );
            }
            basis::move_dim(input, d, 0)?
        }
    };
    let flag = Params::Ints(std::iter::once(i64::from(ask.consecutive)).collect());
    let found = call_many(Prim::Static(&UNIQUE), &flag, &[&rows])?;
    let [first, inverse, counts] = &found[..] else { bail!(Internal, "unique(): expected three results") };
    // The derivative goes to the first of equal ones.
    let values = take_rows(&rows, first)?;
    let values = match ask.dim {
        None => values,
        Some(d) => basis::move_dim(&values, 0, d)?,
    };
    let mut results = vec![Value::Tensor(values)];
    if ask.inverse {
        let shaped = if ask.dim.is_some() { inverse.clone() } else { basis::reshape(inverse, input.shape())? };
        results.push(Value::Tensor(shaped));
    }
    if ask.counts {
        results.push(Value::Tensor(counts.clone()));
    }
    Ok(match results.len() {
        1 => results.swap_remove(0),
        _ => Value::Tuple(results),
    })
}

/// The first multi-indices of the non-zero elements of each member, one per row, up to a number of them; parameters: the
/// number, what stands in rows that are left over, and how many leading dimensions are batches.
static FIRST_NONZERO: Opaque = Opaque {
    name: "nonzero_static",
    infer: |p, a| shapes::one(DType::I64, listed_shape(&shapes::first(a)?.shape, p.ints())?),
    eval: |p, a| Ok(smallvec![listed(a[0].array()?, p.ints())?.into()]),
    batching: OpaqueBatch::With(|me, p, a, _| {
        let Some(v) = batching::front(&a[0])? else { bail!(Internal, "nonzero_static(): nothing is batched") };
        let &[size, fill, lead] = p.ints() else { bail!(Internal, "nonzero_static(): parameters {p:?}") };
        let deeper = Params::Ints([size, fill, lead.saturating_add(1)].into_iter().collect());
        Ok(smallvec![(call(me, &deeper, &[&v])?, Some(0))])
    }),
};

fn listed_shape(shape: &Shape, ints: &[i64]) -> Result<Shape> {
    let lead = ints[2] as usize;
    let mut out = Shape::new(&shape[..lead]);
    out.push(ints[0] as usize);
    out.push(shape.rank() - lead);
    out.checked("nonzero_static")
}

fn listed(x: &Array, ints: &[i64]) -> Result<Array> {
    let (size, fill, lead) = (ints[0] as usize, ints[1], ints[2] as usize);
    let shape = listed_shape(x.shape(), ints)?;
    let members = x.shape()[..lead].iter().product::<usize>();
    let rest = Shape::new(&x.shape()[lead..]);
    let all = x.reshape(&std::iter::once(members).chain(rest.iter().copied()).collect())?;
    let found = |i: usize| -> Result<Vec<i64>> {
        let rows = kernels::nonzero(&all.slice(0, i, 1, 1)?.reshape(&rest)?)?;
        rows.slice(0, 0, rows.shape()[0].min(size), 1)?.to_vec()
    };
    let rows = (0..members).map(found).collect::<Result<Vec<_>>>()?;
    Array::build::<i64>(shape, |out| {
        let width = out.len() / members.max(1);
        for (i, row) in rows.iter().enumerate() {
            let (filled, left) = out[i * width..(i + 1) * width].split_at_mut(row.len());
            filled.copy_from_slice(row);
            left.fill(fill);
        }
    })
}

ops! { TABLE:
    /// The distinct elements in order, or the distinct members of a dimension; with them, as asked for, which of them each
    /// element is and how often each is there. NaN equals nothing.
    ///
    /// >>> import pullback
    /// >>> pullback.unique(pullback.tensor([3, 1, 3]), return_counts=True)
    /// (tensor([1, 3]), tensor([1, 2]))
    fn unique = "unique" (input: &Tensor as Ordered, sorted: bool = true, return_inverse: bool = false, return_counts: bool = false,
        dim: Option<i64> as Option<MemberDim> = None) -> Value [METHOD, DYNAMIC, NO_OUT, SORT] node "Unique2Backward0" of UNIQUE {
        // Any order will do where none is asked for.
        let _ = sorted;
        distinct(input, &Asked { consecutive: false, inverse: return_inverse, counts: return_counts, dim })
    }

    /// The same without repetitions of neighbours, in the order in which the elements stand.
    ///
    /// >>> import pullback
    /// >>> pullback.unique_consecutive(pullback.tensor([1, 1, 2, 1]))
    /// tensor([1, 2, 1])
    fn unique_consecutive = "unique_consecutive" (input: &Tensor as Ordered, return_inverse: bool = false, return_counts: bool = false,
        dim: Option<i64> as Option<MemberDim> = None) -> Value [METHOD, DYNAMIC, NO_OUT, SCATTERED] {
        distinct(input, &Asked { consecutive: true, inverse: return_inverse, counts: return_counts, dim })
    }

    /// Multi-indices of the elements that are not zero, one per row.
    ///
    /// >>> import pullback
    /// >>> pullback.argwhere(pullback.tensor([[0, 3], [4, 0]]))
    /// tensor([[0, 1],
    ///         [1, 0]])
    fn argwhere = "argwhere" (input: &Tensor) -> Tensor [METHOD, DYNAMIC, NO_OUT, SCATTERED] {
        super::indexing::nonzero_rows(input)
    }

    /// The first `size` multi-indices of elements that are not zero, one per row; rows that are left over hold `fill_value`.
    ///
    /// >>> import pullback
    /// >>> pullback.nonzero_static(pullback.tensor([0, 3, 4]), size=3)
    /// tensor([[ 1],
    ///         [ 2],
    ///         [-1]])
    fn nonzero_static = "nonzero_static" (input: &Tensor; size: i64 as Count, fill_value: i64 = -1) -> Tensor [METHOD, EXACT_OUT, SCATTERED] of FIRST_NONZERO {
        let ints = [size as i64, fill_value, 0].into_iter().collect();
        call(Prim::Static(&FIRST_NONZERO), &Params::Ints(ints), &[input])
    }
}

static PRIMITIVES: &[&dyn Primitive] = &[&UNIQUE, &FIRST_NONZERO];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
