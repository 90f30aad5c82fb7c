//! Constants that need no memory until a kernel reads them: one value everywhere, or an identity matrix.

use super::params::Dims;
use crate::base::shape::broadcast2;
use crate::base::{DType, Result, Scalar, Shape};
use crate::dense::copy::is_zero_bits;
use crate::dense::{Array, index};
use once_cell::race::OnceBox;

/// What the elements are.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantForm {
    Fill(Scalar),
    Eye(Eye),
}

/// One where the row-major position in the dimensions `rows`, moved by `shift`, is that in the dimensions `cols`; zero
/// elsewhere. The same along all other dimensions. Dimensions of size 1 stand in neither list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eye {
    pub rows: Dims,
    pub cols: Dims,
    pub shift: isize,
}

/// A constant, with its elements in memory once a kernel has asked for them.
pub struct Symbolic {
    dtype: DType,
    shape: Shape,
    form: ConstantForm,
    array: OnceBox<Array>,
}

impl Symbolic {
    pub fn fill(dtype: DType, shape: Shape, value: Scalar) -> Symbolic {
        Symbolic::new(dtype, shape, ConstantForm::Fill(value))
    }

    /// `rows` × `cols`, one where the row moved by `shift` is the column.
    pub fn eye(dtype: DType, rows: usize, cols: usize, shift: isize) -> Option<Symbolic> {
        // Without such dimensions there is nothing to match.
        let eye = || Eye { rows: [0].into_iter().collect(), cols: [1].into_iter().collect(), shift };
        (rows > 1 && cols > 1).then(|| Symbolic::new(dtype, [rows, cols].into(), ConstantForm::Eye(eye())))
    }

    fn new(dtype: DType, shape: Shape, form: ConstantForm) -> Symbolic {
        Symbolic { dtype, shape, form, array: OnceBox::new() }
    }

    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    pub fn form(&self) -> &ConstantForm {
        &self.form
    }

    /// Whether all elements are zero, and zero bytes in memory.
    pub fn is_zero(&self) -> bool {
        matches!(&self.form, ConstantForm::Fill(value) if is_zero_bits(self.dtype, *value))
    }

    /// The elements in memory.
    ///
    /// # Errors
    /// `Runtime` if there is no memory for them.
    pub fn array(&self) -> Result<&Array> {
        match self.array.get() {
            Some(array) => Ok(array),
            None => self.make(),
        }
    }

    #[cold]
    fn make(&self) -> Result<&Array> {
        let made = match &self.form {
            ConstantForm::Fill(value) => Array::full(self.dtype, self.shape.clone(), *value)?,
            ConstantForm::Eye(eye) => self.identity(eye)?,
        };
        // The first of several threads gives the elements to all.
        Ok(self.array.get_or_init(|| Box::new(made)))
    }

    fn identity(&self, eye: &Eye) -> Result<Array> {
        let sizes = |dims: &Dims| dims.iter().map(|&d| self.shape[d]).collect::<Dims>();
        let (rows, cols) = (sizes(&eye.rows), sizes(&eye.cols));
        let (r, c): (usize, usize) = (rows.iter().product(), cols.iter().product());
        let (row, col) = if eye.shift < 0 { (-eye.shift, 0) } else { (0, eye.shift) };
        let count = r.saturating_sub(row as usize).min(c.saturating_sub(col as usize));
        let matrix = Array::unit_rows(self.dtype, r, c, row, col as usize, count)?;
        if self.shape.rank() == 2 && eye.rows[..] == [0] {
            return Ok(matrix);
        }
        // The other dimensions in front, then rows and columns: an order to go back from.
        let others = (0..self.shape.rank()).filter(|d| !eye.rows.contains(d) && !eye.cols.contains(d));
        let order: Dims = others.chain(eye.rows.iter().copied()).chain(eye.cols.iter().copied()).collect();
        let matrix = matrix.reshape(&rows.iter().chain(&cols).copied().collect())?;
        let whole = matrix.expand(&order.iter().map(|&d| self.shape[d]).collect())?;
        let mut back: Dims = order.clone();
        order.iter().enumerate().for_each(|(i, &d)| back[d] = i);
        whole.permute(&back)?.contiguous()
    }

    /// The same with its dimensions in another order.
    pub fn permute(&self, order: &[usize]) -> Symbolic {
        let shape = order.iter().map(|&d| self.shape[d]).collect();
        let place = |d: usize| order.iter().position(|&o| o == d);
        self.moved(shape, |dims| dims.iter().filter_map(|&d| place(d)).collect())
    }

    /// Broadcast to a shape that it broadcasts to.
    pub fn expand(&self, shape: &Shape) -> Symbolic {
        let lead = shape.rank() - self.shape.rank();
        self.moved(shape.clone(), |dims| dims.iter().map(|d| d + lead).collect())
    }

    fn moved(&self, shape: Shape, of: impl Fn(&Dims) -> Dims) -> Symbolic {
        let form = match &self.form {
            ConstantForm::Fill(value) => ConstantForm::Fill(*value),
            ConstantForm::Eye(e) => ConstantForm::Eye(Eye { rows: of(&e.rows), cols: of(&e.cols), shift: e.shift }),
        };
        Symbolic::new(self.dtype, shape, form)
    }

    /// The same elements in another shape of as many, if that is an identity too.
    pub fn reshape(&self, shape: &Shape) -> Option<Symbolic> {
        let form = match &self.form {
            ConstantForm::Fill(value) => ConstantForm::Fill(*value),
            ConstantForm::Eye(e) => {
                let blocks = blocks(&self.shape, shape)?;
                ConstantForm::Eye(Eye {
                    rows: regroup(&e.rows, &blocks)?,
                    cols: regroup(&e.cols, &blocks)?,
                    shift: e.shift,
                })
            }
        };
        Some(Symbolic::new(self.dtype, shape.clone(), form))
    }

    /// Elements of `other` along `dim` that a product with this identity picks: position i of the result is position
    /// `i + shift` of `other`, zero where there is none.
    fn pick(other: &Array, dim: usize, shift: isize, len: usize) -> Result<Array> {
        let have = other.shape()[dim] as isize;
        let (from, to) = (shift.clamp(0, have), (shift + len as isize).clamp(0, have));
        let part = other.slice(dim, from as usize, (to - from).max(0) as usize, 1)?;
        if to - from == len as isize {
            return Ok(part);
        }
        let before = (-shift).clamp(0, len as isize) as usize;
        let after = len - before - (to - from).max(0) as usize;
        let zeros = |n: usize| Array::zeros(other.dtype(), other.shape().with(dim, n));
        index::cat(&[zeros(before)?, part, zeros(after)?], dim)
    }

    /// The matrix product with `other` on the right (`is_left`) or on the left, if the contraction meets the identity
    /// alone: then it picks rows or columns of `other`.
    ///
    /// # Errors
    /// `Runtime` if there is no memory for the result.
    pub fn product(&self, other: &Array, is_left: bool) -> Result<Option<Array>> {
        let (mine, its) = (self.shape.rank(), other.rank());
        let ConstantForm::Eye(eye) = &self.form else { return Ok(None) };
        if mine < 2 || its < 2 || other.dtype() != self.dtype {
            return Ok(None);
        }
        // Contracted dimensions, here and in `other`.
        let (inner, contracted) = if is_left { (mine - 1, its - 2) } else { (mine - 2, its - 1) };
        let (partner, shift) = match (&eye.rows[..], &eye.cols[..]) {
            (&[row], &[col]) if col == inner => (row, eye.shift),
            (&[row], &[col]) if row == inner => (col, -eye.shift),
            _ => return Ok(None),
        };
        if self.shape[inner] != other.shape()[contracted] {
            return Ok(None);
        }
        let picked = Symbolic::pick(other, contracted, shift, self.shape[partner])?;
        // A partner among the leading dimensions changes places with the dimension of size 1 that `other` has there.
        let rank = mine.max(its);
        let mut order: Dims = (0..rank).collect();
        order.swap(rank - its + contracted, rank - mine + partner);
        let mut aligned = picked.shape().clone();
        (its..rank).for_each(|_| aligned.insert(0, 1));
        let (outer, place) = (if is_left { rank - 2 } else { rank - 1 }, rank - mine + partner);
        if place != outer && aligned[place] != 1 {
            return Ok(None);
        }
        let placed = picked.reshape(&aligned)?.permute(&order)?;
        let mut shape = broadcast2("matmul", &self.without_matrix(), &Shape::new(&other.shape()[..its - 2]))?;
        let (rows, cols) = if is_left { (&self.shape, other.shape()) } else { (other.shape(), &self.shape) };
        shape.push(rows[rows.rank() - 2]);
        shape.push(cols[cols.rank() - 1]);
        placed.expand(&shape).map(Some)
    }

    fn without_matrix(&self) -> Shape {
        Shape::new(&self.shape[..self.shape.rank() - 2])
    }
}

/// Dimensions of two shapes of as many elements, in blocks of equal size and as small as can be; those of size 1 are
/// left out. `None` if there are no elements.
fn blocks(old: &[usize], new: &[usize]) -> Option<Vec<(Dims, Dims)>> {
    let mut out = Vec::new();
    let (mut olds, mut news) = (wide(old), wide(new));
    while let Some((i, m)) = olds.next() {
        let (mut from, mut to) = (Dims::from_slice(&[i]), Dims::new());
        let (mut left, mut right) = (m, 1);
        while left != right {
            let (into, size, (d, n)) = match left < right {
                true => (&mut from, &mut left, olds.next()?),
                false => (&mut to, &mut right, news.next()?),
            };
            into.push(d);
            *size *= n;
        }
        out.push((from, to));
    }
    Some(out)
}

/// Dimensions of another size than 1.
fn wide(shape: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    shape.iter().copied().enumerate().filter(|&(_, n)| n != 1)
}

/// The dimensions of a list after a reshape, if each block lies in it whole and in order, or not at all.
fn regroup(dims: &Dims, blocks: &[(Dims, Dims)]) -> Option<Dims> {
    let (mut out, mut at) = (Dims::new(), 0);
    while let Some(d) = dims.get(at) {
        let (from, to) = blocks.iter().find(|(from, _)| from.first() == Some(d))?;
        if !dims[at..].starts_with(from) {
            return None;
        }
        out.extend_from_slice(to);
        at += from.len();
    }
    Some(out)
}

#[cfg(test)]
mod tests;
