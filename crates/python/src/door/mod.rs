//! Where Python comes in: native methods and attributes, calls by vectorcall.

pub mod callable;
pub mod enter;
pub mod native;
pub mod overrides;
pub mod synonyms;
pub mod vectorcall;
