//! Functions, methods and slots of the operator table.

pub mod in_place;
pub mod indexing;
pub mod out;
pub mod parse;
mod placed;
pub mod run;
pub mod slots;
pub mod views;
