//! The decompositions as others call them: one large matrix is decomposed on a thread of its own, for neither `faer` nor
//! the blocked routines look up while they run. A batch of smaller ones is given up between them.

use crate::base::Result;
use crate::dense::{Array, copy, threads};

/// About how many nanoseconds a matrix takes, given `tenths` of an operation for each m·n·min(m, n).
fn cost(a: &Array, columns: usize, tenths: usize) -> usize {
    let [.., m, n] = a.shape()[..] else { return 0 };
    m.saturating_mul(n).saturating_mul(m.min(n).saturating_add(columns)).saturating_mul(tenths) / 10
}

/// Runs a decomposition here if it is short, otherwise apart, on operands of its own.
macro_rules! decompositions {
    ($($(#[$doc:meta])* $name:ident = $module:ident::$inner:ident($($a:ident),+; $($p:ident: $t:ty),*)
        costs $cost:expr => $out:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name($($a: &Array,)+ $($p: $t),*) -> Result<$out> {
            let ns = $cost;
            if threads::is_short(ns) {
                return super::$module::$inner($($a,)+ $($p),*);
            }
            $(let $a = copy::own($a)?;)+
            threads::detached(ns, move || super::$module::$inner($(&$a,)+ $($p),*))
        }
    )*};
}

fn columns(b: &Array) -> usize {
    b.shape().last().copied().unwrap_or(1)
}

decompositions! {
    /// See [`super::cholesky::cholesky`].
    cholesky = cholesky::cholesky(a; upper: bool) costs cost(a, 0, 1) => (Array, Array);
    /// See [`super::eig::eig`].
    eig = eig::eig(a;) costs cost(a, 0, 250) => (Array, Array);
    /// See [`super::eigh::eigh`].
    eigh = eigh::eigh(a; upper: bool) costs cost(a, 0, 60) => (Array, Array);
    /// The eigenvalues that [`eigh`] gives.
    eigvalsh = eigh::eigvalsh(a; upper: bool) costs cost(a, 0, 60) => Array;
    /// See [`super::ldl::ldl`].
    ldl = ldl::ldl(a; hermitian: bool) costs cost(a, 0, 4) => (Array, Array, Array);
    /// See [`super::lu::lu`].
    lu = lu::lu(a;) costs cost(a, 0, 2) => (Array, Array, Array);
    /// The solution of `a·x = b` from the results of [`lu`].
    lu_solve = lu::lu_solve(packed, pivots, b; adjoint: bool) costs cost(packed, columns(b), 2) => Array;
    /// The solution of `a·x = b`, and `info` as [`lu`] gives it.
    solve_ex = lu::solve_ex(a, b;) costs cost(a, columns(b), 2) => (Array, Array);
    /// The solution of `a·x = b`.
    solve = lu::solve(a, b;) costs cost(a, columns(b), 2) => Array;
    /// The inverses, and `info` as [`lu`] gives it.
    inv_ex = lu::inv_ex(a;) costs cost(a, 0, 4) => (Array, Array);
    /// The inverses.
    inv = lu::inv(a;) costs cost(a, 0, 4) => Array;
    /// See [`super::exponential::matrix_exp`].
    matrix_exp = exponential::matrix_exp(a;) costs cost(a, 0, 8) => Array;
    /// See [`super::qr::qr`].
    qr = qr::qr(a; complete: bool) costs cost(a, 0, 4) => (Array, Array);
    /// See [`super::qr::geqrf`].
    geqrf = qr::geqrf(a;) costs cost(a, 0, 2) => (Array, Array);
    /// See [`super::qr::householder_product`].
    householder_product = qr::householder_product(a, tau;) costs cost(a, 0, 2) => Array;
    /// See [`super::svd::svd`].
    svd = svd::svd(a; full_matrices: bool) costs cost(a, 0, 120) => (Array, Array, Array);
    /// The singular values that [`svd`] gives.
    svdvals = svd::svdvals(a;) costs cost(a, 0, 120) => Array;
    /// See [`super::systems::solve_triangular`].
    solve_triangular = systems::solve_triangular(a, b; upper: bool, left: bool, unitriangular: bool)
        costs cost(a, columns(b), 2) => Array;
}
