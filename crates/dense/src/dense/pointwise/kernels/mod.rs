//! The named kernels of pointwise primitives. A primitive points at its kernel here; programs of the tile engine are made
//! of them.

/// Declares named kernels as [`pointwise_kernel`](crate::pointwise_kernel) does, and the list `ALL` of them.
macro_rules! kernels {
    ($($(#[$meta:meta])* $name:ident $args:tt $(-> $out:ident)? { $($body:tt)* })*) => {
        $($crate::pointwise_kernel! {
            $(#[$meta])*
            #[doc = concat!("The kernel `", stringify!($name), stringify!($args), "`.")]
            pub $name $args $(-> $out)? { $($body)* }
        })*
        pub(super) static ALL: &[&$crate::dense::pointwise::Kernel] = &[$(&$name),*];
    };
}

pub mod activation;
mod arith;
mod bits;
mod compare;
mod elementary;
mod gamma;
mod loss;
mod parts;
mod special;

pub use activation::*;
pub use arith::*;
pub use bits::*;
pub use compare::*;
pub use elementary::*;
pub use gamma::*;
pub use loss::*;
pub use parts::*;
pub use special::*;

use super::Kernel;

/// Every named kernel.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    [
        activation::ALL,
        arith::ALL,
        bits::ALL,
        compare::ALL,
        elementary::ALL,
        gamma::ALL,
        loss::ALL,
        parts::ALL,
        special::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The kernel of this name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    all().find(|k| k.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let mut names: Vec<&str> = all().map(|k| k.name).collect();
        assert!(names.iter().all(|n| find(n).is_some_and(|k| k.name == *n)));
        assert!(names.len() > 100);
        names.sort_unstable();
        let unique = names.len();
        names.dedup();
        assert_eq!(names.len(), unique);
        assert!(find("sine").is_none());
    }
}
