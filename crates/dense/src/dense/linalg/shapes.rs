//! Shapes of results, which the routines here and whoever asks without data share.

use super::batch::{check, check_same, check_square, with};
use crate::bail;
use crate::base::shape::broadcast2;
use crate::base::{Result, Shape, TypedShape};

fn lead(a: &Shape) -> Shape {
    Shape::new(&a[..a.rank() - 2])
}
fn sizes(a: &Shape) -> (usize, usize) {
    (a[a.rank() - 2], a[a.rank() - 1])
}

/// Of what there is one of for each matrix of a batch of square ones.
///
/// # Errors
/// Those of the routines; so for all functions here.
pub fn of_square(op: &str, a: TypedShape<'_>) -> Result<Shape> {
    check_square(op, a)?;
    Ok(lead(a.1))
}

/// Of `qr`: q and r.
pub fn qr(a: TypedShape<'_>, complete: bool) -> Result<[Shape; 2]> {
    check("linalg.qr", a)?;
    let (lead, (m, n)) = (lead(a.1), sizes(a.1));
    let k = if complete { m } else { m.min(n) };
    Ok([with(&lead, &[m, k]), with(&lead, &[k, n])])
}

/// Of `svd`: u, s and vh.
pub fn svd(a: TypedShape<'_>, full: bool) -> Result<[Shape; 3]> {
    check("linalg.svd", a)?;
    let (lead, (m, n)) = (lead(a.1), sizes(a.1));
    let k = m.min(n);
    let (u_cols, v_rows) = if full { (m, n) } else { (k, k) };
    Ok([with(&lead, &[m, u_cols]), with(&lead, &[k]), with(&lead, &[v_rows, n])])
}

/// Of [`super::solve`].
pub fn solve(a: TypedShape<'_>, b: TypedShape<'_>) -> Result<Shape> {
    const OP: &str = "linalg.solve";
    check_square(OP, a)?;
    check_same(OP, a, b)?;
    let n = sizes(a.1).0;
    check_rows(OP, n, b.1)?;
    Ok(with(&broadcast2(OP, &lead(a.1), &lead(b.1))?, &[n, sizes(b.1).1]))
}

pub(super) fn check_rows(op: &str, n: usize, b: &Shape) -> Result<()> {
    let (rows, cols) = sizes(b);
    if rows != n {
        bail!(Runtime, "{op}: Incompatible shapes of A and B for the equation AX = B ({n}x{n} and {rows}x{cols})");
    }
    Ok(())
}

/// Of [`super::solve_triangular`].
pub fn solve_triangular(a: TypedShape<'_>, b: TypedShape<'_>, left: bool) -> Result<Shape> {
    const OP: &str = "linalg.solve_triangular";
    check_square(OP, a)?;
    check_same(OP, a, b)?;
    let (n, (rows, cols)) = (sizes(a.1).0, sizes(b.1));
    if n != if left { rows } else { cols } {
        let equation = if left { "AX = B" } else { "XA = B" };
        bail!(Runtime, "{OP}: Incompatible shapes of A and B for the equation {equation} ({n}x{n} and {rows}x{cols})");
    }
    Ok(with(&broadcast2(OP, &lead(a.1), &lead(b.1))?, &[rows, cols]))
}

/// Of [`super::householder_product`].
pub fn householder_product(a: TypedShape<'_>, tau: TypedShape<'_>) -> Result<Shape> {
    const OP: &str = "linalg.householder_product";
    check(OP, a)?;
    let (m, n) = sizes(a.1);
    let fits = match tau.1.split_last() {
        Some((&k, front)) => a.0 == tau.0 && m >= n && k <= n && *front == lead(a.1)[..],
        None => false,
    };
    if !fits {
        bail!(Runtime, "{OP}: vectors of shape {} do not fit scales of shape {}", a.1, tau.1);
    }
    Ok(a.1.clone())
}
