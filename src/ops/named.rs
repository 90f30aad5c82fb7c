//! Classes of results with field names.

/// A class of results: `pullback.return_types.<name>`.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedType {
    pub name: &'static str,
    pub fields: &'static [&'static str],
}

/// Those that entries give, so that each can be found by name before it is first used.
pub fn all() -> impl Iterator<Item = &'static NamedType> {
    super::table().filter_map(|e| e.named)
}
