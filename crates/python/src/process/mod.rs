//! What belongs to the process: the interpreter's lock and signals, the memory of objects.

pub mod gil;
pub mod host;
pub mod object;
pub mod runtime;
