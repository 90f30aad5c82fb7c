//! Where Python comes in: native methods and attributes, calls by vectorcall.

pub mod native;
pub mod synonyms;
pub mod vectorcall;
