//! How a batched product is cut: which batch dimensions become rows or columns of one product, and which blocks are
//! computed apart.

use crate::base::{Result, Shape, Strides};
use crate::dense::Array;
use smallvec::SmallVec;

/// A batch dimension: its size and the element strides of a, b and the result.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    pub size: usize,
    pub a: isize,
    pub b: isize,
    pub c: isize,
}

/// Strides of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    pub rs: isize,
    pub cs: isize,
}

impl Steps {
    fn of(strides: &Strides) -> Steps {
        let r = strides.len();
        Steps { rs: strides[r - 2], cs: strides[r - 1] }
    }
    pub fn transposed(self) -> Steps {
        Steps { rs: self.cs, cs: self.rs }
    }
}

/// `c = a · b` for each index of the batch dimensions; c is contiguous memory.
#[derive(Debug, Clone)]
pub struct ProductPlan {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Steps,
    pub b: Steps,
    pub c: Steps,
    pub batch: SmallVec<[Batch; 4]>,
    /// a and b have changed places (the product is computed transposed).
    pub swapped: bool,
}

impl ProductPlan {
    /// The plan for operands of equal rank, whose leading dimensions are equal already.
    pub fn new(a: &Array, b: &Array) -> ProductPlan {
        let (sa, sb) = (a.strides(), b.strides());
        let lead = a.rank() - 2;
        let (m, k, n) = (a.shape()[lead], a.shape()[lead + 1], b.shape()[lead + 1]);
        let mut plan = ProductPlan {
            m,
            n,
            k,
            a: Steps::of(&sa),
            b: Steps::of(&sb),
            c: Steps { rs: n as isize, cs: 1 },
            batch: SmallVec::new(),
            swapped: false,
        };
        if lead > 0 {
            let mut step = (m * n) as isize;
            for d in (0..lead).rev() {
                let size = a.shape()[d];
                if size != 1 {
                    plan.batch.push(Batch { size, a: sa[d], b: sb[d], c: step });
                }
                step *= size as isize;
            }
            plan.batch.reverse();
            plan.fold();
        }
        // Kernels like to write along rows.
        if plan.c.cs != 1 && plan.c.rs == 1 {
            plan.swap();
        }
        plan
    }

    fn swap(&mut self) {
        std::mem::swap(&mut self.m, &mut self.n);
        (self.a, self.b) = (self.b.transposed(), self.a.transposed());
        self.c = self.c.transposed();
        for d in &mut self.batch {
            std::mem::swap(&mut d.a, &mut d.b);
        }
        self.swapped = !self.swapped;
    }

    /// Turns the innermost batch dimensions into rows where b does not depend on them, into columns where a does
    /// not, as long as strides allow it.
    fn fold(&mut self) {
        while let Some(&Batch { size, a, b, c }) = self.batch.last() {
            let (rows, cols) = (self.m as isize, self.n as isize);
            if b == 0 && (rows == 1 || (a == rows * self.a.rs && c == rows * self.c.rs)) {
                if rows == 1 {
                    (self.a.rs, self.c.rs) = (a, c);
                }
                self.m *= size;
            } else if a == 0 && (cols == 1 || (b == cols * self.b.cs && c == cols * self.c.cs)) {
                if cols == 1 {
                    (self.b.cs, self.c.cs) = (b, c);
                }
                self.n *= size;
            } else {
                return;
            }
            self.batch.pop();
        }
    }

    /// Number of products.
    pub fn count(&self) -> usize {
        self.batch.iter().map(|d| d.size).product()
    }

    /// Element offsets of a, b and c for product number `i`.
    #[inline]
    pub fn offsets(&self, mut i: usize) -> (isize, isize, isize) {
        let mut at = (0, 0, 0);
        for d in self.batch.iter().rev() {
            let x = (i % d.size) as isize;
            i /= d.size;
            at = (at.0 + x * d.a, at.1 + x * d.b, at.2 + x * d.c);
        }
        at
    }
}

/// The leading dimensions of a product.
pub fn broadcast_lead(a: &Shape, b: &Shape) -> Result<Shape> {
    let lead = |s: &Shape| Shape::new(&s[..s.rank() - 2]);
    crate::base::shape::broadcast2("matmul", &lead(a), &lead(b))
}

/// The operands of a product, with leading dimensions broadcast but nothing copied; `repeat` is the shape to
/// expand the result to where neither operand depends on a batch dimension.
pub struct Operands {
    pub a: Array,
    pub b: Array,
    pub out: Shape,
    pub repeat: Option<Shape>,
}

impl Operands {
    pub fn broadcast(a: &Array, b: &Array) -> Result<Operands> {
        let lead = broadcast_lead(a.shape(), b.shape())?;
        let with = |x: &Array| {
            let mut shape = lead.clone();
            x.shape()[x.rank() - 2..].iter().for_each(|&d| shape.push(d));
            x.expand(&shape)
        };
        let (mut a, mut b) = (with(a)?, with(b)?);
        let mut out = lead.append(a.shape()[a.rank() - 2]).append(b.shape()[b.rank() - 1]).checked("matmul")?;
        let full = out.clone();
        let (sa, sb) = (a.strides(), b.strides());
        for d in 0..lead.rank() {
            if lead[d] > 1 && sa[d] == 0 && sb[d] == 0 {
                a = a.slice(d, 0, 1, 1)?;
                b = b.slice(d, 0, 1, 1)?;
                out[d] = 1;
            }
        }
        let repeat = (out != full).then_some(full);
        let mut ops = Operands { a, b, out, repeat };
        ops.make_foldable()?;
        Ok(ops)
    }

    /// Copies the operand whose strides alone keep a large batch from becoming one product, if it is cheap.
    fn make_foldable(&mut self) -> Result<()> {
        let plan = ProductPlan::new(&self.a, &self.b);
        let (small_a, small_b) = if plan.swapped { (plan.n, plan.m) } else { (plan.m, plan.n) };
        if plan.batch.is_empty() || self.out.numel() == 0 {
            return Ok(());
        }
        let (mut a_fixed, mut b_fixed) = (true, true);
        for d in &plan.batch {
            a_fixed &= if plan.swapped { d.b == 0 } else { d.a == 0 };
            b_fixed &= if plan.swapped { d.a == 0 } else { d.b == 0 };
        }
        if b_fixed && small_a < 64 {
            self.a = self.a.contiguous()?;
        } else if a_fixed && small_b == 1 {
            self.b = self.b.contiguous()?;
        }
        Ok(())
    }
}
