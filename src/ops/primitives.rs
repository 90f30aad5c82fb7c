//! Every primitive of the table, by name.
//!
//! A name is that of the operator that messages speak of, and behind a colon which part of it the primitive computes where
//! there are several, such as `gelu:slope`.

use crate::bail;
use crate::base::Result;
use crate::core::params::Type;
use crate::core::{Primitive, stop};
use crate::rules::{abstracted, basis, constant, index, part, pointwise};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// What the basis that rules are written in adds.
pub(super) const BASIS: super::Family = super::Family {
    primitives: &[
        basis::PRIMITIVES,
        &[&abstracted::TO_META],
        &[&constant::EYE, &constant::FILL],
        index::PRIMITIVES,
        part::PRIMITIVES,
        &[&pointwise::LINKED],
        stop::PRIMITIVES,
    ],
    parameters: &[Type::of::<basis::Unslice>(), Type::of::<index::Bounds>(), Type::of::<part::Part>()],
    ..super::Family::EMPTY
};

/// Every primitive of the table, in a fixed order.
pub fn all() -> impl Iterator<Item = &'static dyn Primitive> {
    super::families().flat_map(|f| f.primitives.iter()).flat_map(|list| list.iter().copied())
}

impl dyn Primitive {
    /// The primitive of this name, of the library or [`register`]ed. Custom functions, which are made at run time, are not
    /// among them.
    ///
    /// ```
    /// use pullback::primitive::Primitive;
    /// let sin = <dyn Primitive>::find("sin").unwrap();
    /// assert_eq!(sin.name(), "sin");
    /// assert!(<dyn Primitive>::find("sine").is_none());
    /// ```
    pub fn find(name: &str) -> Option<&'static dyn Primitive> {
        static BY_NAME: OnceLock<HashMap<&'static str, &'static dyn Primitive>> = OnceLock::new();
        let own = BY_NAME.get_or_init(|| all().map(|p| (p.name(), p)).collect()).get(name).copied();
        own.or_else(|| registered().iter().copied().find(|p| p.name() == name))
    }
}

/// Primitives of other crates.
static REGISTERED: Mutex<Vec<&'static dyn Primitive>> = Mutex::new(Vec::new());

fn registered() -> MutexGuard<'static, Vec<&'static dyn Primitive>> {
    REGISTERED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Adds a primitive of another crate to those that are found by name. The same one may be registered again.
///
/// # Errors
/// `Value` if another primitive has this name.
pub fn register(primitive: &'static dyn Primitive) -> Result<()> {
    let name = primitive.name();
    match <dyn Primitive>::find(name) {
        Some(other) if std::ptr::addr_eq(other, primitive) => Ok(()),
        Some(_) => {
            bail!(Value, "register(): there is a primitive of the name '{name}'; choose one with a prefix of your own")
        }
        None => {
            registered().push(primitive);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::core::Params;
    use crate::core::primitive::operator_of;
    use crate::dense::pointwise::{Elementwise, kernels};
    use std::path::Path;

    /// Parameters that an elementwise primitive may have: only conversions have any.
    fn params() -> Params {
        Params::DType(DType::F64)
    }

    #[test]
    fn names_are_unique_and_found() {
        let mut seen = HashMap::new();
        for p in all() {
            assert!(seen.insert(p.name(), ()).is_none(), "two primitives are called {}", p.name());
            let found = <dyn Primitive>::find(p.name()).unwrap();
            assert!(std::ptr::addr_eq(found, p), "{}", p.name());
        }
        assert!(seen.len() > 150, "{}", seen.len());
        assert!(<dyn Primitive>::find("").is_none());
        assert_eq!(operator_of("gelu:slope"), "gelu");
    }

    #[test]
    fn every_entry_names_a_primitive_of_the_list() {
        let mut named = 0;
        for (entry, p) in crate::ops::entries().filter_map(|e| Some((e, e.primitive?))) {
            let found = <dyn Primitive>::find(p.name());
            assert!(found.is_some_and(|f| std::ptr::addr_eq(f, p)), "{} runs {}", entry.name, p.name());
            named += 1;
        }
        assert!(named > 100, "{named}");
    }

    #[test]
    fn every_elementwise_primitive_has_a_named_kernel() {
        let mut kinds = (0, 0);
        for p in all() {
            let what = p.elementwise(&params());
            assert_eq!(what.is_some(), p.is_elementwise(), "{}", p.name());
            match what {
                Some(Elementwise::Kernel(k)) => {
                    assert!(kernels::find(k.name).is_some_and(|f| std::ptr::eq(f, k)), "{} by {}", p.name(), k.name);
                    kinds.0 += 1;
                }
                Some(Elementwise::Convert(to)) => {
                    assert_eq!(to, DType::F64);
                    kinds.1 += 1;
                }
                None => {}
            }
        }
        assert!(kinds.0 > 90, "{}", kinds.0);
        assert_eq!(kinds.1, 1);
        for name in ["eq", "isnan", "where", "logical_and", "bitwise_and", "to", "div:trunc"] {
            assert!(<dyn Primitive>::find(name).unwrap().is_elementwise(), "{name}");
        }
    }

    /// Statics of a category in a source file, as the text says.
    fn declared(text: &str) -> Vec<&str> {
        let statics = text.lines().filter_map(|l| l.split_once("static ")?.1.split_once(": "));
        let category = |t: &str| {
            let name = t.rsplit("::").next().unwrap_or(t);
            [
                "Pointwise",
                "Joint",
                "Linear",
                "Matrix",
                "Bilinear",
                "Affine",
                "Reduction",
                "Choosing",
                "General",
                "Opaque",
                "Random",
                "Solve",
                "View",
                "Constant",
            ]
            .contains(&name)
        };
        statics
            .filter(|(_, t)| t.split(" =").next().is_some_and(|t| category(t.trim())))
            .map(|(name, _)| name)
            .filter(|n| !n.starts_with('$'))
            .collect()
    }

    fn visit(folder: &Path, lists: &str, missing: &mut Vec<String>, count: &mut usize) {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                visit(&path, lists, missing, count);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let after = |start: &str| text.split(start).nth(1).and_then(|t| t.split(';').next()).unwrap_or("");
                let own = [after("static PRIMITIVES: &[&dyn Primitive] ="), after("const FAMILY: ")].concat();
                for name in declared(&text) {
                    *count += 1;
                    let within = |list: &str, item: &str| {
                        list.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                            .any(|w| w == item || w.strip_suffix(item).is_some_and(|rest| rest.ends_with("::")))
                    };
                    let stem = path.file_stem().unwrap().to_string_lossy();
                    if !within(&own, name) && !within(lists, &format!("{stem}::{name}")) {
                        missing.push(format!("{}: {name}", path.display()));
                    }
                }
            }
        }
    }

    #[test]
    fn every_static_primitive_of_the_sources_is_listed() {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let lists = std::fs::read_to_string(src.join("ops/primitives.rs")).unwrap();
        let (mut missing, mut count) = (Vec::new(), 0);
        visit(&src.join("rules"), &lists, &mut missing, &mut count);
        visit(&src.join("ops"), &lists, &mut missing, &mut count);
        assert!(count > 60, "{count}");
        assert!(missing.is_empty(), "not listed: {missing:?}");
    }
}
