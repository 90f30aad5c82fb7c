//! Arrays, kernels and linear algebra on the CPU: what `pullback` computes with. Nothing here knows of derivatives.
//!
//! The crate `pullback` shows what of this is for users; the rest may change at any time.

#![deny(missing_docs)]

pub mod base;
// Its documentation is for those who change it.
#[doc(hidden)]
#[allow(rustdoc::private_intra_doc_links)]
pub mod dense;
