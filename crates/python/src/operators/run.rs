//! Functions and methods made from the operator table at import: a pool of numbered trampolines leads to one `run`.

use crate::door::callable::{self, Access, Callable, Given};
use crate::door::enter::enter;
use crate::operators::parse::{Bindable, MAX_PARAMS, OUT, Slots};
use crate::operators::placed;
use crate::process::gil::without_gil;
use crate::tensor;
use crate::types::errors::PyResult;
use crate::types::options::{self, Order};
use pullback::base::{Layout, Result};
use pullback::core::node_name::Since;
use pullback::core::{Tensor, level};
use pullback::ops::entry::Fast;
use pullback::ops::value::Updated;
use pullback::ops::{self, Entry, Flags, Value, autocast};
use pullback::rules::basis;
use pullback::skin::{read, slot, write};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::OnceLock;

type Object = *mut ffi::PyObject;
type FastCall = unsafe extern "C" fn(Object, *const Object, ffi::Py_ssize_t, Object) -> Object;

/// How an entry is called.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CallForm {
    Function,
    Method,
    Inplace,
    InplaceFunction,
}

static BINDABLE: OnceLock<Vec<Bindable>> = OnceLock::new();

#[inline(never)]
unsafe fn run(
    i: usize,
    form: CallForm,
    slf: Object,
    args: *const Object,
    n: ffi::Py_ssize_t,
    kwnames: Object,
) -> Object {
    let called = |py: Python<'_>| {
        // SAFETY: trampolines are only made for entries of the list.
        let b = unsafe { BINDABLE.get().unwrap_unchecked().get_unchecked(i) };
        let mut slots: Slots = [null_mut(); MAX_PARAMS + 1];
        let skip = usize::from(matches!(form, CallForm::Method | CallForm::Inplace));
        if skip == 1 {
            slots[0] = slf;
        }
        // SAFETY: the interpreter passes n arguments and the values of kwnames.
        let (_rest, given) = unsafe {
            let rest = b.parse(py, args, n as usize, kwnames, skip, &mut slots)?;
            (rest, Given::of_call(if skip == 1 { slf } else { null_mut() }, args, n as usize, kwnames))
        };
        if !callable::is_ordinary(given.objects())
            && let Some(out) = callable::overridden(py, callable_of(b.entry, form), given)
        {
            return Ok(out?.into_ptr());
        }
        if !slots[OUT].is_null() && form != CallForm::Function {
            return Err(b
                .error("got an unexpected keyword argument 'out'; the function of that name takes it".into())
                .into());
        }
        if matches!(form, CallForm::Inplace | CallForm::InplaceFunction) {
            return inplace(py, b, &slots, skip);
        }
        if !slots[OUT].is_null() {
            return into_out(py, b, &slots);
        }
        if let Some(out) = fast(py, b, &slots) {
            return Ok(tensor::wrap(py, out?)?.into_ptr());
        }
        let values = match b.values(py, &slots, skip) {
            Ok(values) => values,
            Err(e) => {
                // SAFETY: the interpreter keeps the arguments of a call alive.
                return unsafe { crate::operators::views::other_form(py, b.entry, slots[0], slots[1], e) }
                    .map(Bound::into_ptr);
            }
        };
        let out = call(py, b.entry, &values)?;
        complete(py, b, &slots, values, out)
    };
    // SAFETY: the interpreter calls.
    unsafe { enter(called) }
}

/// What the door is told of a call.
#[cold]
fn callable_of(e: &'static Entry, form: CallForm) -> Callable {
    let names = method_names(e);
    let name = names.first().copied().unwrap_or(e.name);
    match form {
        CallForm::Function => Callable { kind: Access::Function, name: e.name },
        CallForm::Method if e.flags.has(Flags::PROPERTY) => Callable { kind: Access::Getter, name: e.short_name() },
        CallForm::Method => Callable { kind: Access::Method, name },
        CallForm::Inplace => Callable { kind: Access::Inplace, name },
        CallForm::InplaceFunction => Callable { kind: Access::InplaceFunction, name },
    }
}

/// Whether a flag of the call, such as `inplace`, is True.
fn asked(at: Option<usize>, slots: &Slots) -> bool {
    // SAFETY: `Py_True` is immortal; slots are only compared with it.
    at.is_some_and(|i| slots[i] == unsafe { ffi::Py_True() })
}

/// The result as an object, after what the entry's flags ask for.
fn complete(py: Python<'_>, b: &Bindable, slots: &Slots, values: Vec<Value>, out: Value) -> PyResult<Object> {
    if b.entry.flags.has(Flags::INPLACE_KEYWORD) && asked(b.inplace, slots) {
        // SAFETY: slot 0 is the first argument, alive during the call.
        let first = unsafe { Bound::from_borrowed_ptr(py, slots[0]) };
        crate::operators::views::assign(b.entry, &first, values, out)?;
        return Ok(first.into_ptr());
    }
    let out = if b.memory_format.is_some() { arranged(py, b, slots, &values, out)? } else { out };
    let out = if let Value::Updated(u) = out { updated(py, b, slots, &values, *u)? } else { out };
    // What is shown is the first argument, or the second behind an equation.
    let at = usize::from(matches!(values.first(), Some(Value::Str(_))));
    // SAFETY: as in `run`, whose arguments the slots are.
    unsafe { crate::operators::views::finish(py, b.entry, (at, slots[at]), values, out) }
}

/// The result of an operator that updates arguments, after it has.
#[cold]
fn updated(py: Python<'_>, b: &Bindable, slots: &Slots, values: &[Value], u: Updated) -> PyResult<Value> {
    for (i, value) in u.updates {
        // SAFETY: an updated argument was given, and is alive during the call.
        let target = unsafe { Bound::from_borrowed_ptr(py, slots[i]) };
        // What an operator updates is state; leaves may be.
        let before = level::set_grad_enabled(false);
        let done = crate::operators::views::assign(b.entry, &target, values.to_vec(), Value::Tensor(value));
        level::set_grad_enabled(before);
        done?;
    }
    Ok(Value::Tensor(u.out))
}

/// The result in the order in memory that `memory_format` asks for: that of the argument, unless it says another.
fn arranged(py: Python<'_>, b: &Bindable, slots: &Slots, values: &[Value], out: Value) -> PyResult<Value> {
    let slot = b.memory_format.map_or(null_mut(), |i| slots[i]);
    let Value::Tensor(t) = &out else { return Ok(out) };
    let op = b.entry.short_name();
    // SAFETY: an argument of the caller's frame.
    let given = (!slot.is_null()).then(|| unsafe { Bound::from_borrowed_ptr(py, slot) }).filter(|o| !o.is_none());
    let order = match &given {
        Some(o) if !options::preserves(o) => options::memory_format(op, o)?,
        _ => match values.first() {
            Some(Value::Tensor(x)) if t.shape() == x.shape() && !t.same(x) => Order::of(x),
            _ => return Ok(out),
        },
    };
    let (strides, offset) = read::layout(t);
    let lies = Layout { shape: t.shape().clone(), strides, offset };
    Ok(match order {
        Some(order) if !order.is_exactly(&lies) => Value::Tensor(order.arrange(op, t)?),
        None if given.is_some() && !lies.is_plain() => Value::Tensor(basis::copy(t)?),
        _ => out,
    })
}

/// A call with `out=`; None counts as not given.
#[cold]
fn into_out(py: Python<'_>, b: &Bindable, slots: &Slots) -> PyResult<Object> {
    // SAFETY: an argument of the caller's frame.
    let out = unsafe { Bound::from_borrowed_ptr(py, slots[OUT]) };
    let values = b.values(py, slots, 0)?;
    if out.is_none() {
        let out = call(py, b.entry, &values)?;
        return complete(py, b, slots, values, out);
    }
    crate::operators::out::run(py, b.entry, &values, &out)
}

/// The path for plain tensors: no [`Value`]s.
#[inline(always)]
fn fast(py: Python<'_>, b: &Bindable, slots: &Slots) -> Option<Result<Tensor>> {
    // SAFETY: the caller's frame keeps the arguments in the slots alive.
    let cell = |i: usize| unsafe { tensor::cell_at(py, slots[i]) };
    match b.entry.fast {
        Fast::No => None,
        Fast::Unary(f) => {
            let x = cell(0)?.value();
            (x.stored() < b.limit).then(|| f(&x))
        }
        Fast::Binary(f) => {
            let x = cell(0)?.value();
            let y = cell(1)?.value();
            let since = Since::now();
            let named = |out| if b.is_renamed { since.named(out, b.entry.node_names().1) } else { out };
            (slots[2].is_null() && !b.cost.is_long_of(&x, &y)).then(|| f(&x, &y).map(named))
        }
        Fast::Product(f) if level::autocast().is_none() => {
            let (x, y) = (cell(0)?.value(), cell(1)?.value());
            // SAFETY: None is immortal.
            let summand = !slots[2].is_null() && slots[2] != unsafe { ffi::Py_None() };
            let z = if summand { Some(cell(2)?.value()) } else { None };
            let (since, (usual, other)) = (Since::now(), b.entry.node_names());
            let settled = |out| {
                let out = since.named(out, if summand { other } else { usual });
                if slot::is_row_major(&out) { Ok(out) } else { slot::settled(out, false) }
            };
            (!b.cost.is_long_of(&x, &y)).then(|| f(&x, &y, z.as_ref()).and_then(settled))
        }
        Fast::Product(_) => None,
    }
}

/// Runs an entry, without the GIL if there is much to do.
pub fn call(py: Python<'_>, entry: &'static Entry, values: &[Value]) -> Result<Value> {
    if entry.flags.has(Flags::CREATION) {
        return placed::run(entry, values, || run_long(py, entry, values));
    }
    run_long(py, entry, values)
}

/// As [`call`] for results that go into a tensor of the caller: autocast leaves the arguments as they are.
pub fn exactly(py: Python<'_>, entry: &'static Entry, values: &[Value]) -> Result<Value> {
    if entry.flags.has_policy() { autocast::without(|| call(py, entry, values)) } else { call(py, entry, values) }
}

#[inline(always)]
fn run_long(py: Python<'_>, entry: &'static Entry, values: &[Value]) -> Result<Value> {
    if entry.flags.is_long(values) { without_gil(py, || entry.call(values)) } else { entry.call(values) }
}

/// `x.name_(…)`: the result goes into the cell of the first argument.
fn inplace(py: Python<'_>, b: &Bindable, slots: &Slots, skip: usize) -> PyResult<Object> {
    // SAFETY: slot 0 is `self`, alive during the call.
    let slf = unsafe { Bound::from_borrowed_ptr(py, slots[0]) };
    if let Some(cell) = tensor::cell(&slf)
        && !b.entry.flags.has(Flags::VIEW)
    {
        let name = b.entry.short_name();
        cell.check_writable(name).or_else(|_| cell.check_writable(&format!("{name}_")))?;
    }
    let values = b.values(py, slots, skip).map_err(|e| of_inplace(b.entry, e))?;
    let out = match tensor::cell(&slf) {
        Some(cell) if b.entry.flags.has(Flags::OVERWRITES) => overwriting(py, cell, b.entry, &values),
        _ => exactly(py, b.entry, &values),
    }
    .map_err(|e| of_inplace(b.entry, e))?;
    crate::operators::views::assign(b.entry, &slf, values, out)?;
    Ok(slf.into_ptr())
}

/// The error under the name of the in-place form, which was called.
#[cold]
fn of_inplace(entry: &Entry, e: pullback::base::Error) -> pullback::base::Error {
    let name = entry.short_name();
    e.of(name, &format!("{name}_"))
}

/// As [`call`], for an operator that changes elements of `cell`: where they are, if nobody else sees that. It keeps the GIL
/// then, behind which others could, and so does it only where that takes milliseconds at most.
fn overwriting(py: Python<'_>, cell: &tensor::PyTensor, entry: &'static Entry, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Tensor(own), others @ ..]
            if write::is_brief(entry.flags.cost(), own, others)
                && cell.gives_up_memory()
                && write::are_dense(others) =>
        {
            // The tensor holds the value, and the arguments do.
            write::in_memory_of(own, 2, || (entry.run)(values))
        }
        _ => exactly(py, entry, values),
    }
}

/// Calls a table function from Rust code of this layer.
pub fn call_named(py: Python<'_>, name: &str, values: &[Value]) -> PyResult<Value> {
    match ops::find(name) {
        Some(e) => Ok(call(py, e, values)?),
        None => Err(pullback::base::Error::internal(format!("no operator named {name}")).into()),
    }
}

unsafe extern "C" fn trampoline<const HI: usize, const LO: usize, const FORM: u8>(
    slf: Object,
    args: *const Object,
    n: ffi::Py_ssize_t,
    kwnames: Object,
) -> Object {
    let form = match FORM {
        0 => CallForm::Function,
        1 => CallForm::Method,
        2 => CallForm::Inplace,
        _ => CallForm::InplaceFunction,
    };
    // SAFETY: called by the interpreter with what METH_FASTCALL | METH_KEYWORDS promises.
    unsafe { run(HI * 16 + LO, form, slf, args, n, kwnames) }
}

/// The pool has room for this many entries, and code for those that there are.
const ROWS: usize = 96;
type Pool = [[FastCall; 16]; ROWS];
const _: () = assert!(ops::COUNT <= ROWS * 16, "the pool of trampolines is too small for the table: add rows");

/// A trampoline that an entry needs, or else the first: what no table names is not compiled.
const fn used(hi: usize, lo: usize, f: FastCall) -> FastCall {
    if hi * 16 + lo < ops::COUNT { f } else { trampoline::<0, 0, 0> }
}

macro_rules! row {
    ($hi:literal, $form:literal) => {
        [
            used($hi, 0, trampoline::<$hi, 0, $form>),
            used($hi, 1, trampoline::<$hi, 1, $form>),
            used($hi, 2, trampoline::<$hi, 2, $form>),
            used($hi, 3, trampoline::<$hi, 3, $form>),
            used($hi, 4, trampoline::<$hi, 4, $form>),
            used($hi, 5, trampoline::<$hi, 5, $form>),
            used($hi, 6, trampoline::<$hi, 6, $form>),
            used($hi, 7, trampoline::<$hi, 7, $form>),
            used($hi, 8, trampoline::<$hi, 8, $form>),
            used($hi, 9, trampoline::<$hi, 9, $form>),
            used($hi, 10, trampoline::<$hi, 10, $form>),
            used($hi, 11, trampoline::<$hi, 11, $form>),
            used($hi, 12, trampoline::<$hi, 12, $form>),
            used($hi, 13, trampoline::<$hi, 13, $form>),
            used($hi, 14, trampoline::<$hi, 14, $form>),
            used($hi, 15, trampoline::<$hi, 15, $form>),
        ]
    };
}
macro_rules! pool {
    ($form:literal: $($hi:literal)*) => { [$(row!($hi, $form)),*] };
}
macro_rules! full_pool {
    ($form:literal) => {
        pool!($form: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
            35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66
            67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95)
    };
}
static FUNCTIONS: Pool = full_pool!(0);
static METHODS: Pool = full_pool!(1);
static INPLACES: Pool = full_pool!(2);
static INPLACE_FUNCTIONS: Pool = full_pool!(3);

/// A method definition that lives as long as the process, as the interpreter requires.
fn definition(name: &str, doc: String, f: FastCall) -> PyResult<*mut ffi::PyMethodDef> {
    let leak = |s: String| -> PyResult<*const std::ffi::c_char> { Ok(CString::new(s)?.into_raw()) };
    Ok(Box::into_raw(Box::new(ffi::PyMethodDef {
        ml_name: leak(name.to_string())?,
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: f },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: leak(doc)?,
    })))
}

fn documentation(e: &Entry, name: &str, method: bool) -> String {
    let signature = e.signature(method).replacen("(self", "($self", 1);
    format!("{name}{signature}\n--\n\n{}", e.documentation())
}

/// Makes all functions, methods and properties. `_core.functions` maps dotted names to functions.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    let list = BINDABLE.get_or_init(|| ops::table().map(|e| Bindable::new(py, e)).collect());
    let class = py.get_type::<tensor::PyTensor>();
    let functions = PyDict::new(py);
    for (i, b) in list.iter().enumerate() {
        let e = b.entry;
        assert!(e.params.len() <= MAX_PARAMS, "{}: too many parameters", e.name);
        if e.flags.has(Flags::INPLACE_FUNCTION) {
            let names = method_names(e);
            let name = format!("{}_", names.first().copied().unwrap_or(e.name));
            let f = function(m, "pullback", e, &name, INPLACE_FUNCTIONS[i / 16][i % 16])?;
            names.iter().try_for_each(|name| functions.set_item(format!("{name}_"), &f))?;
        }
        if e.is_function() {
            let module = e.name.rsplit_once('.').map_or("pullback".into(), |(path, _)| format!("pullback.{path}"));
            let f = function(m, &module, e, e.short_name(), FUNCTIONS[i / 16][i % 16])?;
            for name in std::iter::once(&e.name).chain(e.aliases) {
                functions.set_item(name, &f)?;
            }
        }
        if e.flags.has(Flags::METHOD) {
            add_methods(py, &class, e, "", METHODS[i / 16][i % 16])?;
        }
        if e.flags.has(Flags::INPLACE) {
            add_methods(py, &class, e, "_", INPLACES[i / 16][i % 16])?;
        }
        if e.flags.has(Flags::PROPERTY) {
            add_property(py, &class, e, METHODS[i / 16][i % 16])?;
        }
    }
    // Attributes that are not in `__all__`, which lists the names of the package itself.
    m.setattr("functions", functions)?;
    Ok(m.setattr("operator_table", wrap_pyfunction!(operator_table, m)?)?)
}

/// A function of the table, which says that it lives in `module`.
fn function<'py>(
    m: &Bound<'py, PyModule>,
    module: &str,
    e: &Entry,
    name: &str,
    f: FastCall,
) -> PyResult<Bound<'py, PyAny>> {
    let def = definition(name, documentation(e, name, false), f)?;
    let module = PyString::new(m.py(), module);
    // SAFETY: the definition is never freed. With a module as `self`, pickling finds the function by name.
    unsafe { Ok(Bound::from_owned_ptr_or_err(m.py(), ffi::PyCFunction_NewEx(def, m.as_ptr(), module.as_ptr()))?) }
}

/// Names as a method: those without a module in front, or else the last part of the path.
fn method_names(e: &'static Entry) -> Vec<&'static str> {
    let plain: Vec<_> = std::iter::once(&e.name).chain(e.aliases).filter(|n| !n.contains('.')).copied().collect();
    if plain.is_empty() { vec![last(e.name)] } else { plain }
}

fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, l)| l)
}

fn descriptor<'py>(
    py: Python<'py>,
    class: &Bound<'py, pyo3::types::PyType>,
    e: &Entry,
    name: &str,
    f: FastCall,
) -> PyResult<Bound<'py, PyAny>> {
    let def = definition(name, documentation(e, name, true), f)?;
    // SAFETY: the definition is never freed.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), def))?) }
}

/// One method under all its names, as it is one function: a class that answers by the callable finds it by each of them.
fn add_methods(
    py: Python<'_>,
    class: &Bound<'_, pyo3::types::PyType>,
    e: &'static Entry,
    end: &str,
    f: FastCall,
) -> PyResult<()> {
    let names = method_names(e);
    let name = format!("{}{end}", names.first().copied().unwrap_or(e.name));
    let method = descriptor(py, class, e, &name, f)?;
    Ok(names.iter().try_for_each(|name| class.setattr(format!("{name}{end}"), &method))?)
}

fn add_property(py: Python<'_>, class: &Bound<'_, pyo3::types::PyType>, e: &Entry, f: FastCall) -> PyResult<()> {
    let getter = descriptor(py, class, e, e.short_name(), f)?;
    let property = py.import("builtins")?.getattr("property")?;
    let kwargs = PyDict::new(py);
    kwargs.set_item("doc", e.documentation())?;
    Ok(class.setattr(e.short_name(), property.call((getter,), Some(&kwargs))?)?)
}

/// The operator table as plain Python data: for stubs, docs and tests.
#[pyfunction]
fn operator_table(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let out = PyList::empty(py);
    for e in ops::table() {
        let d = PyDict::new(py);
        d.set_item("name", e.name)?;
        d.set_item("aliases", e.aliases.to_vec())?;
        d.set_item("doc", e.documentation())?;
        d.set_item("returns", e.returns)?;
        d.set_item("named", e.named.map(|t| (t.name, t.fields.to_vec())))?;
        let params = PyList::empty(py);
        for p in e.params {
            let q = PyDict::new(py);
            q.set_item("name", p.name)?;
            q.set_item("aliases", p.aliases.to_vec())?;
            q.set_item("kind", format!("{}{}", p.kind.name(), if p.optional { "?" } else { "" }))?;
            q.set_item("required", p.default.is_none())?;
            q.set_item("default", p.python_default())?;
            q.set_item("kwonly", p.keyword_only)?;
            q.set_item("declared", p.declared)?;
            params.append(q)?;
        }
        d.set_item("params", params)?;
        let flags = PyDict::new(py);
        for (name, flag) in [
            ("method", Flags::METHOD),
            ("inplace", Flags::INPLACE),
            ("inplace_function", Flags::INPLACE_FUNCTION),
            ("property", Flags::PROPERTY),
            ("view", Flags::VIEW),
            ("random", Flags::RANDOM),
            ("dynamic", Flags::DYNAMIC),
            ("variadic", Flags::VARIADIC),
            ("creation", Flags::CREATION),
            ("inplace_keyword", Flags::INPLACE_KEYWORD),
            ("internal", Flags::INTERNAL),
        ] {
            flags.set_item(name, e.flags.has(flag))?;
        }
        flags.set_item("function", e.is_function())?;
        flags.set_item("out", e.takes_out())?;
        d.set_item("cost", format!("{:?}", e.flags.cost()).to_lowercase())?;
        d.set_item("flags", flags)?;
        out.append(d)?;
    }
    Ok(out)
}
