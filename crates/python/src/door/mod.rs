//! Where Python comes in: native methods and attributes, calls by vectorcall.

pub mod callable;
pub mod descriptors;
pub mod enter;
pub mod modes;
pub mod modules;
pub mod overrides;
pub mod synonyms;
pub mod vectorcall;
