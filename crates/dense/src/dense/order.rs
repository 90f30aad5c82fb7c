//! The order in which results lie in memory: that of the operands, by the rule of PyTorch's elementwise operators
//! (`TensorIterator`), so that `x.t().relu().t()` lies as `x` does.

use super::array::Array;
use crate::base::{Layout, Result, Shape, Strides};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Dimensions from the slowest to the fastest.
pub type Dims = SmallVec<[usize; 6]>;

/// The order of an elementwise result of `shape`, to which the operands broadcast; `None` if it is row-major.
#[inline]
pub fn of_result(shape: &Shape, operands: &[&Array]) -> Option<Dims> {
    if operands.iter().all(|a| a.is_plain()) || operands.iter().all(|a| a.is_contiguous() && a.shape() == shape) {
        return None;
    }
    let strides: SmallVec<[Strides; 3]> = operands.iter().map(|a| strides_over(a, shape)).collect();
    of_strides(shape, &strides)
}

/// As [`of_result`], of a copy of one array.
#[inline]
pub fn of_copy(a: &Array) -> Option<Dims> {
    if a.is_contiguous() { None } else { of_strides(a.shape(), &[a.strides()]) }
}

/// Strides over a larger shape: 0 where the array repeats.
pub(super) fn strides_over(a: &Array, shape: &Shape) -> Strides {
    let lead = shape.rank() - a.rank();
    let mut strides = a.strides();
    for (d, s) in strides.iter_mut().enumerate() {
        if a.shape()[d] == 1 && shape[lead + d] != 1 {
            *s = 0;
        }
    }
    strides.insert_many(0, std::iter::repeat_n(0, lead));
    strides
}

/// The order that operands with these strides over `shape` have; `None` if it is row-major.
pub fn of_strides(shape: &Shape, operands: &[Strides]) -> Option<Dims> {
    let rank = shape.rank();
    let mut fast_first: Dims = (0..rank).rev().collect();
    for i in 1..rank {
        let mut moving = i;
        for before in (0..i).rev() {
            match compare(shape, operands, fast_first[before], fast_first[moving]) {
                Ordering::Greater => {
                    fast_first.swap(before, moving);
                    moving = before;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    fast_first.reverse();
    let row_major = fast_first.iter().enumerate().all(|(i, &d)| i == d);
    (!row_major).then_some(fast_first)
}

/// Whether `a` is to be the faster dimension (`Less`) or `b` (`Greater`): the first operand that steps along both decides.
fn compare(shape: &Shape, operands: &[Strides], a: usize, b: usize) -> Ordering {
    for strides in operands {
        let (x, y) = (strides[a].unsigned_abs(), strides[b].unsigned_abs());
        if x == 0 || y == 0 {
            continue;
        }
        match x.cmp(&y) {
            Ordering::Equal if shape[a] > shape[b] => return Ordering::Greater,
            Ordering::Equal => {}
            decided => return decided,
        }
    }
    Ordering::Equal
}

/// The shape with its dimensions in an order.
pub fn permuted(shape: &Shape, order: &[usize]) -> Shape {
    order.iter().map(|&d| shape[d]).collect()
}

/// Where each dimension stands in an order.
pub fn inverse(order: &[usize]) -> Dims {
    let mut back = Dims::from_elem(0, order.len());
    for (i, &d) in order.iter().enumerate() {
        back[d] = i;
    }
    back
}

/// Whether each of so many dimensions is there once.
pub fn is_permutation(order: &[usize], rank: usize) -> bool {
    order.len() == rank && order.iter().enumerate().all(|(i, d)| *d < rank && !order[..i].contains(d))
}

/// The strides of elements that lie in this order without gaps.
pub fn dense_strides(shape: &Shape, order: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.rank());
    let mut step = 1isize;
    for &d in order.iter().rev() {
        strides[d] = step;
        step = step.wrapping_mul(shape[d] as isize);
    }
    strides
}

/// The order of a layout whose elements lie side by side; `None` if they do not, or lie in row-major order.
pub fn of_dense(layout: &Layout) -> Option<Dims> {
    if layout.is_contiguous() || !layout.is_dense() {
        return None;
    }
    of_strides(&layout.shape, &[layout.strides.clone()])
}

impl Array {
    /// The array whose dimensions in `order` are those of this one: the inverse of [`Array::permute`].
    pub fn permute_back(&self, order: &[usize]) -> Result<Array> {
        self.permute(&inverse(order))
    }

    /// What `f` makes of the elements, in the order in which a copy of the array lies.
    pub fn in_own_order(&self, f: impl FnOnce(&Array) -> Result<Array>) -> Result<Array> {
        match of_copy(self) {
            Some(order) => f(&self.permute(&order)?)?.permute_back(&order)?.with_strides_of(&self.layout()),
            None if self.is_plain() => f(self),
            None => f(self)?.with_strides_of(&self.layout()),
        }
    }

    /// The same values in memory in which they lie as the elements of `like` do.
    ///
    /// # Errors
    /// `Internal` unless both have one shape.
    pub fn laid_as(&self, like: &Layout) -> Result<Array> {
        if self.shape() != &like.shape {
            crate::bail!(Internal, "laid_as(): {} and {}", self.shape(), like.shape);
        }
        if self.is_contiguous() && like.is_contiguous() || self.strides() == like.strides && like.is_dense() {
            return self.clone().with_strides_of(like);
        }
        match of_strides(&like.shape, &[like.strides.clone()]) {
            Some(order) if !like.is_contiguous() => {
                super::copy::gather(&self.permute(&order)?)?.permute_back(&order)?.with_strides_of(like)
            }
            _ => self.contiguous(),
        }
    }

    /// As PyTorch gives the result of an elementwise operator strides where operands of one shape lie alike: those of
    /// channels last, or their own.
    pub(super) fn with_strides_of_operands(self, args: &[&Array]) -> Result<Array> {
        let Some(first) = args.first().filter(|a| args.iter().all(|b| a.shape() == b.shape())) else {
            return Ok(self);
        };
        let like = first.layout();
        if self.rank() == 4 && args.iter().all(|a| a.is_channels_last()) {
            return self.with_strides_of(&Layout { strides: dense_strides(&like.shape, &[0, 2, 3, 1]), ..like });
        }
        if args.iter().all(|a| a.strides() == like.strides) { self.with_strides_of(&like) } else { Ok(self) }
    }

    /// With the strides of a layout in whose order it is, if that has no gaps: those of dimensions of size 1 too, from
    /// which operators read whether channels lie behind.
    pub fn with_strides_of(self, like: &Layout) -> Result<Array> {
        if self.shape() != &like.shape || !like.is_dense() || self.strides() == like.strides {
            return Ok(self);
        }
        self.view(|own| Layout { shape: own.shape.clone(), strides: like.strides.clone(), offset: own.offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::dense::copy::{cast_in_place, gather_in_place};
    use crate::dense::pointwise::kernels::{ADD, EXP};
    use crate::dense::pointwise::{binary, unary};
    use proptest::prelude::*;

    fn numbers(shape: &[usize], order: &[usize]) -> Array {
        let shape: Shape = shape.into();
        let n = shape.numel();
        let rows = Array::from_slice(permuted(&shape, order), &(0..n).map(|i| i as f64 * 0.25).collect::<Vec<_>>());
        rows.unwrap().permute_back(order).unwrap()
    }

    fn strides(a: &Array) -> Vec<isize> {
        a.strides().to_vec()
    }

    #[test]
    fn results_lie_as_their_operands() {
        // Small ones, which are in no memory, as well as large ones.
        for n in [2, 40] {
            let (x, rows) = (numbers(&[3, n], &[1, 0]), numbers(&[3, n], &[0, 1]));
            let columns = vec![1, 3];
            assert_eq!(strides(&unary(&EXP, &x).unwrap()), columns);
            assert_eq!(strides(&binary(&ADD, &x, &x).unwrap()), columns);
            // The first operand that steps along both dimensions decides.
            assert_eq!(strides(&binary(&ADD, &x, &rows).unwrap()), columns);
            assert_eq!(strides(&binary(&ADD, &rows, &x).unwrap()), strides(&rows));
            let row = rows.slice(0, 0, 1, 1).unwrap();
            assert_eq!(strides(&binary(&ADD, &row, &x).unwrap()), columns);
            assert_eq!(strides(&gather_in_place(&x).unwrap()), columns);
            assert_eq!(strides(&cast_in_place(&x, DType::F32).unwrap()), columns);
            let every_other = numbers(&[3, 2 * n], &[1, 0]).slice(1, 0, n, 2).unwrap();
            assert_eq!(strides(&unary(&EXP, &every_other).unwrap()), columns);
            assert_eq!(strides(&gather_in_place(&rows.expand(&[2, 3, n].into()).unwrap()).unwrap()).len(), 3);
        }
    }

    #[test]
    fn overlapping_windows_lie_as_in_pytorch() {
        let x = numbers(&[9], &[0]);
        let windows = |rows: usize, cols: usize| {
            let layout = Layout { shape: [rows, cols].into(), strides: Strides::from_slice(&[1, 1]), offset: 0 };
            x.to_buffer().unwrap().view(|_| layout).unwrap()
        };
        assert_eq!(strides(&unary(&EXP, &windows(2, 5)).unwrap()), [1, 2]);
        assert_eq!(strides(&unary(&EXP, &windows(5, 2)).unwrap()), [2, 1]);
    }

    fn any_arrangement() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
        (1usize..5).prop_flat_map(|rank| {
            let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
            (prop::collection::vec(1usize..5, rank), order)
        })
    }

    proptest! {
        #[test]
        fn order_changes_no_value((shape, order) in any_arrangement(), (_, other) in any_arrangement()) {
            let x = numbers(&shape, &order);
            let rows = x.contiguous().unwrap();
            let y = if other.len() == shape.len() { numbers(&shape, &other) } else { x.clone() };
            let sum = binary(&ADD, &x, &y).unwrap();
            prop_assert!(sum.layout().is_dense());
            let plain = binary(&ADD, &rows, &y.contiguous().unwrap()).unwrap();
            prop_assert!(sum.is_identical(&plain));
            prop_assert!(gather_in_place(&x).unwrap().is_identical(&rows));
            let again = plain.laid_as(&x.layout()).unwrap();
            prop_assert!(again.is_identical(&plain));
            if !x.is_contiguous() {
                prop_assert_eq!(again.strides(), x.strides());
            }
        }
    }
}
