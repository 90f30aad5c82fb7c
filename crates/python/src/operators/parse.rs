//! Run-time parsing of a call by an entry's parameter list.

use crate::data::marshal;
use crate::door::synonyms;
use crate::tensor;
use crate::types::options;
use pullback::base::{Error, Result};
use pullback::ops::signature::{Factor, Inplace, KindOf, RequiresGrad, Truth};
use pullback::ops::value::Setting;
use pullback::ops::{ArgKind, Cost, Entry, Flags, Param, Value};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// The largest number of parameters of an entry.
pub const MAX_PARAMS: usize = 16;

/// The slot of `out=`, which is no parameter of any entry.
pub const OUT: usize = MAX_PARAMS;

/// Borrowed argument objects by parameter; null where not given.
pub type Slots = [*mut ffi::PyObject; MAX_PARAMS + 1];

/// An entry with its parameter names as interned Python strings.
pub struct Bindable {
    pub entry: &'static Entry,
    pub names: Vec<Py<PyString>>,
    /// Number of parameters that can be given by position.
    pub positional: usize,
    pub cost: Cost,
    /// Elements of one tensor from which the call is long.
    pub limit: usize,
    /// Where the parameter `memory_format` is.
    pub memory_format: Option<usize>,
    /// Where the parameter is that asks for the result to be written into the first argument.
    pub inplace: Option<usize>,
    /// Whether its nodes are called otherwise than their primitive.
    pub is_renamed: bool,
}

/// A flag that PyTorch tests by its truth, where an object that is no bool stands.
#[cold]
fn by_truth(p: &Param, o: &Bound<'_, PyAny>) -> Option<Value> {
    match p.declared {
        Some(name) if p.kind == ArgKind::Bool && (name == Truth::NAME || name == Inplace::NAME) => {
            o.is_truthy().ok().map(Value::Bool)
        }
        Some(RequiresGrad::NAME) if o.is_none() => Some(Value::Bool(false)),
        _ => None,
    }
}

impl Bindable {
    pub fn new(py: Python<'_>, entry: &'static Entry) -> Bindable {
        Bindable {
            entry,
            cost: entry.flags.cost(),
            // The short path gives results as they lie.
            limit: if entry.flags.has(Flags::ROW_MAJOR) { 0 } else { entry.flags.cost().limit() },
            names: entry.params.iter().map(|p| PyString::intern(py, p.name).unbind()).collect(),
            positional: entry.params.iter().take_while(|p| !p.keyword_only).count(),
            is_renamed: entry.nodes.is_some(),
            inplace: entry.params.iter().position(|p| p.declared == Some(Inplace::NAME)),
            memory_format: entry.params.iter().position(|p| p.kind == ArgKind::Setting(Setting::MemoryFormat)),
        }
    }

    #[cold]
    pub fn error(&self, message: String) -> Error {
        Error::type_(format!("{}(): {message}", self.entry.short_name()))
    }

    /// Puts arguments into slots. Returns the tuple of surplus positional arguments of a variadic entry.
    ///
    /// # Safety
    /// `args` points to `n` objects followed by as many as `kwnames` has names; `slots[0]` may be set already (`self`).
    #[inline]
    pub unsafe fn parse<'py>(
        &self,
        py: Python<'py>,
        args: *const *mut ffi::PyObject,
        n: usize,
        kwnames: *mut ffi::PyObject,
        skip: usize,
        slots: &mut Slots,
    ) -> Result<Option<Bound<'py, PyTuple>>> {
        let variadic = self.entry.flags.has(Flags::VARIADIC);
        let mut rest = None;
        // SAFETY: by the contract `args` has n objects, and `slots` has room for every parameter.
        unsafe {
            let direct = if variadic { n.min(self.positional - 1 - skip) } else { n };
            if direct + skip > self.positional && !self.place_factors(args, direct, skip, slots) {
                return Err(self.error(format!(
                    "takes {} positional arguments but {} were given",
                    self.positional,
                    n + skip
                )));
            }
            if direct + skip <= self.positional {
                for k in 0..direct {
                    slots[k + skip] = *args.add(k);
                }
            }
            if variadic && n > direct {
                rest = self.collect(py, args, direct, n, slots)?;
            }
            if !kwnames.is_null() {
                self.parse_keywords(py, args.add(n), kwnames, slots)?;
            }
        }
        if variadic && slots[self.positional - 1].is_null() && self.takes_no_tensor_too() {
            let none = PyTuple::empty(py);
            slots[self.positional - 1] = none.as_ptr();
            rest = Some(none);
        }
        for (p, slot) in self.entry.params.iter().zip(slots.iter()) {
            if slot.is_null() && p.default.is_none() {
                return Err(self.error(format!("missing required argument '{}'", p.name)));
            }
        }
        Ok(rest)
    }

    /// Whether its list of tensors may be left out, so that the operator says what it makes of none.
    fn takes_no_tensor_too(&self) -> bool {
        let last = &self.entry.params[self.positional - 1];
        matches!(last.kind, ArgKind::Tensors | ArgKind::Operands) && last.default.is_none()
    }

    /// Places one argument too many or two: numbers among them are the factors of an old form such as `x.add(2, y)`, and so are
    /// tensors without dimensions behind the first operand, as long as there are too many.
    ///
    /// # Safety
    /// As for [`Bindable::parse`].
    #[cold]
    unsafe fn place_factors(&self, args: *const *mut ffi::PyObject, n: usize, skip: usize, slots: &mut Slots) -> bool {
        let mut factors =
            (self.positional..self.entry.params.len()).filter(|&j| self.entry.params[j].declared == Some(Factor::NAME));
        let mut operands = skip..self.positional;
        let mut surplus = n.saturating_sub(operands.len());
        for k in 0..n {
            // SAFETY: args holds n live objects.
            let (object, is_number) = unsafe {
                let object = *args.add(k);
                let is_number = ffi::PyFloat_Check(object) != 0 || ffi::PyLong_Check(object) != 0;
                (object, is_number || (k + skip > 0 && surplus > 0 && is_number_in_tensor(object)))
            };
            surplus = surplus.saturating_sub(usize::from(is_number));
            let Some(place) = (if is_number { factors.next() } else { operands.next() }) else { return false };
            slots[place] = object;
        }
        operands.is_empty()
    }

    /// The last positional parameter takes one sequence, or all arguments that are left; one that takes any object also
    /// a single one.
    ///
    /// # Safety
    /// As for [`Bindable::parse`].
    unsafe fn collect<'py>(
        &self,
        py: Python<'py>,
        args: *const *mut ffi::PyObject,
        direct: usize,
        n: usize,
        slots: &mut Slots,
    ) -> Result<Option<Bound<'py, PyTuple>>> {
        let last = self.positional - 1;
        // SAFETY: args holds n live objects.
        unsafe {
            let first = *args.add(direct);
            let sequence = ffi::PyTuple_Check(first) != 0 || ffi::PyList_Check(first) != 0;
            let any = self.entry.params[last].kind == ArgKind::Any;
            if n == direct + 1 && (sequence || any || first == ffi::Py_None()) {
                slots[last] = first;
                return Ok(None);
            }
            let items = (direct..n).map(|k| Bound::from_borrowed_ptr(py, *args.add(k)));
            let tuple = PyTuple::new(py, items.collect::<Vec<_>>()).map_err(crate::types::errors::to_error)?;
            slots[last] = tuple.as_ptr();
            Ok(Some(tuple))
        }
    }

    /// # Safety
    /// `values` has one object for each name of the tuple `kwnames`.
    #[inline(never)]
    unsafe fn parse_keywords(
        &self,
        py: Python<'_>,
        values: *const *mut ffi::PyObject,
        kwnames: *mut ffi::PyObject,
        slots: &mut Slots,
    ) -> Result<()> {
        // SAFETY: kwnames is a tuple of strings made by the interpreter.
        unsafe {
            for k in 0..ffi::PyTuple_GET_SIZE(kwnames) {
                let name = ffi::PyTuple_GET_ITEM(kwnames, k);
                let Some(j) = self.find(py, name, slots) else {
                    let text = synonyms::keyword(py, name);
                    if text == "out" && self.entry.takes_out() {
                        slots[OUT] = *values.offset(k);
                        continue;
                    }
                    return Err(self.error(format!("got an unexpected keyword argument '{text}'")));
                };
                if !slots[j].is_null() {
                    return Err(self.error(format!("got multiple values for argument '{}'", self.entry.params[j].name)));
                }
                slots[j] = *values.offset(k);
            }
        }
        Ok(())
    }

    fn find(&self, py: Python<'_>, name: *mut ffi::PyObject, slots: &Slots) -> Option<usize> {
        if let Some(j) = self.names.iter().position(|own| own.as_ptr() == name) {
            return Some(j);
        }
        // SAFETY: keyword names are strings.
        let text = unsafe { synonyms::keyword(py, name) };
        let params = self.entry.params;
        let place = |name: &str| params.iter().position(|p| p.name == name);
        place(&text).or_else(|| {
            let own = params.iter().zip(slots).position(|(p, s)| s.is_null() && p.aliases.contains(&&*text));
            own.or_else(|| {
                let free = |to: &&'static str| place(to).filter(|&j| slots[j].is_null());
                synonyms::meanings(&text).iter().find_map(free)
            })
        })
    }

    /// Slots as values. Errors count positions without the `skip` arguments in front that are no arguments of the call.
    pub fn values(&self, py: Python<'_>, slots: &Slots, skip: usize) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.entry.params.len());
        for (i, (p, &slot)) in self.entry.params.iter().zip(slots).enumerate() {
            if slot.is_null() {
                values.push(Value::Missing);
                continue;
            }
            // SAFETY: slots hold objects that the caller's frame keeps alive.
            let o = unsafe { Bound::from_borrowed_ptr(py, slot) };
            if let ArgKind::Setting(setting) = p.kind {
                options::check(self.entry.short_name(), setting, &o)?;
            }
            // A number in front, as in `pullback.where(c, 1.0, x)` or `1 + x`, is an operand; elsewhere it is an error.
            let tensors_only = p.kind == ArgKind::Operand && self.entry.flags.has(Flags::TENSORS);
            let kind = if tensors_only { ArgKind::Tensor } else { p.kind };
            let value = marshal::from_python(kind, p.optional || p.default == Some("None"), &o);
            let value = value.or_else(|e| by_truth(p, &o).ok_or(e)).map_err(|e| {
                let message = e.message().to_string();
                if e.kind() == pullback::base::ErrorKind::Type && message.starts_with("must be") {
                    let place =
                        if p.keyword_only { String::new() } else { format!(" (position {})", i + 1 - skip.min(i)) };
                    self.error(format!("argument '{}'{place} {message}", p.name))
                } else {
                    e
                }
            })?;
            values.push(value);
        }
        if self.entry.flags.has(Flags::MIXED) && values.iter().take(2).all(|v| matches!(v, Value::Number(_))) {
            let names: Vec<&str> = self.entry.params.iter().take(2).map(|p| p.name).collect();
            let text = format!("arguments '{}' and '{}' are both numbers; one must be a Tensor", names[0], names[1]);
            return Err(self.error(text));
        }
        Ok(values)
    }

    /// Whether all parameters are plain tensors or numbers.
    pub fn is_pointwise(&self) -> bool {
        self.entry.params.iter().all(|p| matches!(p.kind, ArgKind::Tensor | ArgKind::Operand))
    }
}

/// Whether an object is a tensor without dimensions.
///
/// # Safety
/// `object` is alive.
unsafe fn is_number_in_tensor(object: *mut ffi::PyObject) -> bool {
    // SAFETY: as the caller promises, and the GIL is held where arguments are read.
    let object = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), object) };
    tensor::cell(&object).is_some_and(|t| t.value().rank() == 0)
}
