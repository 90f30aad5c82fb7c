//! Where makers of tensors make them.

use crate::types::device;
use pullback::base::Result;
use pullback::core::level::WithoutData;
use pullback::ops::value::Setting;
use pullback::ops::{ArgKind, Entry, Value};

/// Whether a maker of tensors is asked for one without data: by its device, by the tensor that the new one is to be like,
/// or by the device that the program has entered.
fn is_meta(entry: &Entry, values: &[Value]) -> bool {
    let named = entry.params.iter().zip(values).find_map(|(p, v)| match v {
        Value::Str(s) if p.kind == ArgKind::Setting(Setting::Device) => Some(s.starts_with("meta")),
        _ => None,
    });
    let like = || match values.first() {
        Some(Value::Tensor(t)) => t.is_abstract(),
        _ => device::is_meta_by_default(),
    };
    named.unwrap_or_else(like)
}

/// Runs a maker of tensors.
#[cold]
pub fn run(entry: &'static Entry, values: &[Value], run: impl FnOnce() -> Result<Value>) -> Result<Value> {
    let _without_data = is_meta(entry, values).then(WithoutData::enter);
    run()
}
