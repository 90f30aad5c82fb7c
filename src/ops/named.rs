//! Classes of results with field names.

/// A class of results: `pullback.return_types.<name>`.
#[derive(Debug)]
pub struct NamedType {
    pub name: &'static str,
    pub fields: &'static [&'static str],
}

macro_rules! named {
    ($($id:ident $name:literal [$($field:literal),*];)*) => {
        $(pub static $id: NamedType = NamedType { name: $name, fields: &[$($field),*] };)*
        /// All of them, so that each can be found by name before it is first used.
        pub static ALL: &[&NamedType] = &[$(&$id),*];
    };
}

named! {
    CUMMAX "cummax" ["values", "indices"];
    CUMMIN "cummin" ["values", "indices"];
    EIGH "linalg_eigh" ["eigenvalues", "eigenvectors"];
    KTHVALUE "kthvalue" ["values", "indices"];
    MAX "max" ["values", "indices"];
    MIN "min" ["values", "indices"];
    QR "linalg_qr" ["Q", "R"];
    SLOGDET "linalg_slogdet" ["sign", "logabsdet"];
    SORT "sort" ["values", "indices"];
    SVD "linalg_svd" ["U", "S", "Vh"];
    TOPK "topk" ["values", "indices"];
}
