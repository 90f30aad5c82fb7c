//! Constants as operators without arguments: a program says what they are, and nobody needs memory for them until a
//! kernel reads them.

use super::shapes;
use crate::bail;
use crate::base::{DType, Result, Scalar, Shape};
use crate::core::symbolic::Symbolic;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, LevelId, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor,
};
use crate::core::{call, level};
use crate::dense::Array;
use crate::dense::array::INLINE_BYTES;
use smallvec::SmallVec;

/// A constant.
pub struct Constant {
    pub name: &'static str,
    /// The value, from [`Params::Fill`].
    pub value: fn(Scalar, DType, &Shape) -> Result<Tensor>,
}

/// One value everywhere.
pub static FILL: Constant = Constant {
    name: "fill",
    value: |value, dtype, shape| {
        let small = shape.checked_bytes(dtype.size()).is_some_and(|n| n <= INLINE_BYTES);
        // What cannot exist is an error now, not when somebody reads it.
        let shape = shape.clone().checked("full")?;
        Ok(if small { Array::full(dtype, shape, value)?.into() } else { Symbolic::fill(dtype, shape, value).into() })
    },
};

/// A matrix with ones where the row, moved by the value, is the column.
pub static EYE: Constant = Constant {
    name: "eye",
    value: |shift, dtype, shape| {
        let (&[rows, cols], Scalar::Int(shift)) = (&shape[..], shift) else {
            bail!(Internal, "eye(): shape {shape} and shift {shift}");
        };
        shape.clone().checked("eye")?;
        if let Some(eye) = Symbolic::eye(dtype, rows, cols, shift as isize) {
            return Ok(eye.into());
        }
        let (row, col) = if shift < 0 { (-shift, 0) } else { (0, shift) };
        let count = (rows as i64 - row).min(cols as i64 - col).max(0) as usize;
        Ok(Array::unit_rows(dtype, rows, cols, row as isize, col as usize, count)?.into())
    },
};

/// A tensor of one value.
pub fn fill(shape: &Shape, dtype: DType, value: Scalar) -> Result<Tensor> {
    made(&FILL, value, dtype, shape)
}

/// `rows` × `cols`, one where the row moved by `shift` is the column.
pub fn eye(dtype: DType, rows: usize, cols: usize, shift: isize) -> Result<Tensor> {
    made(&EYE, Scalar::Int(shift as i64), dtype, &[rows, cols].into())
}

fn made(constant: &'static Constant, value: Scalar, dtype: DType, shape: &Shape) -> Result<Tensor> {
    if level::tracing() == LevelId::DENSE {
        return (constant.value)(value, dtype, shape);
    }
    call(Prim::Static(constant), &Params::Fill { value, dtype, shape: shape.clone() }, &[])
}

impl Primitive for Constant {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, _: &[&Tensor]) -> Result<Tensor> {
        match params {
            Params::Fill { value, dtype, shape } => (self.value)(*value, *dtype, shape),
            other => bail!(Internal, "{}(): parameters {other:?}", self.name),
        }
    }

    fn infer(&self, params: &Params, _: &[Meta]) -> Result<Inferred> {
        match params {
            Params::Fill { dtype, shape, .. } => shapes::one(*dtype, shape.clone().checked(self.name)?),
            other => bail!(Internal, "{}(): parameters {other:?}", self.name),
        }
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn jvp(&self, _: Prim<'_>, _: &Params, point: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(point.outputs.iter().map(|_| None).collect())
    }

    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(SmallVec::new())
    }

    fn batch(&self, me: Prim<'_>, params: &Params, _: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Ok([(call(me, params, &[])?, None)].into_iter().collect())
    }
}
