//! Matrix products.

use crate::bail;
use crate::core::Tensor;
use crate::rules::basis;

ops! { TABLE:
    /// Matrix product, with 1-D operands taken as vectors and leading dimensions broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.matmul(pullback.ones(2, 3), pullback.ones(3)).shape
    /// pullback.Size([2])
    fn matmul = "matmul" | "linalg.matmul" (input: &Tensor, other: &Tensor) -> Tensor [METHOD] {
        if input.rank() == 0 || other.rank() == 0 {
            bail!(Runtime, "matmul(): both arguments need to be at least 1D, but they are {}D and {}D",
                input.rank(), other.rank());
        }
        if input.dtype() != other.dtype() {
            bail!(Runtime, "matmul(): expected both arguments to have the same dtype, but got {} and {}",
                input.dtype(), other.dtype());
        }
        let a = if input.rank() == 1 { basis::unsqueeze_dims(input, &[0])? } else { input.clone() };
        let b = if other.rank() == 1 { basis::unsqueeze_dims(other, &[1])? } else { other.clone() };
        let (m, k) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
        let (k2, n) = (b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]);
        if k != k2 {
            bail!(Runtime, "matmul(): mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {k2}x{n})");
        }
        let mut out = basis::matmul(&a, &b)?;
        if other.rank() == 1 {
            out = basis::reshape(&out, &out.shape().without(out.rank() - 1))?;
        }
        if input.rank() == 1 {
            let at = out.rank() - if other.rank() == 1 { 1 } else { 2 };
            out = basis::reshape(&out, &out.shape().without(at))?;
        }
        Ok(out)
    }
}
