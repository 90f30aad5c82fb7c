//! Whether a rule is linear, which its transpose takes for granted.
//!
//! NOTE. A rule that is transposed runs under a partial trace, which writes down each operator that depends on the rule's
//! (co)tangents, comparisons too. Of what its results need, every step must be linear by its category, whatever the
//! values were. The rule runs at zero: constants that are added along the way must leave zero in the end. Of a custom
//! function's step no category says anything, so it is tried.

use super::custom::CustomPrimitive;
use crate::base::{DType, Result, Scalar, Shape};
use crate::core::level::GradMode;
use crate::core::node::Meta;
use crate::core::symbolic::{ConstantForm, Symbolic};
use crate::core::tensor::Payload;
use crate::core::trace::{Atom, Instruction, Recording};
use crate::core::{Mask, Outputs, Params, Prim, Tensor, call_many};
use crate::dense::first_thread::FastLocal;
use crate::dense::random::default_generator;
use crate::dense::{Array, copy};
use crate::rules::basis;
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Mutex;

/// What an operator is in those of its arguments that depend on the (co)tangents.
#[derive(Clone, Copy, PartialEq)]
enum Linearity {
    Linear,
    /// Linear, and its other arguments are added.
    Affine,
    /// A custom function.
    Unknown,
    Other,
}

fn kind(prim: Prim<'_>, params: &Params, args: &[Atom]) -> Linearity {
    if prim.custom().is_some() {
        return Linearity::Unknown;
    }
    let (mut vars, mut others): (Mask, Mask) = (0, 0);
    for (i, a) in args.iter().enumerate() {
        match a {
            Atom::Var(_) => vars |= 1 << i.min(63),
            Atom::Const(t) if t.dtype().is_differentiable() => others |= 1 << i.min(63),
            Atom::Const(_) => {}
        }
    }
    match prim.is_affine(params, vars) {
        false => Linearity::Other,
        true if others != 0 && prim.is_affine(params, vars | others) => Linearity::Affine,
        true => Linearity::Linear,
    }
}

/// Whether an error may have to name the line of this step.
pub fn is_notable(prim: Prim<'_>, params: &Params, args: &[Atom], outs: &[Tensor]) -> bool {
    kind(prim, params, args) != Linearity::Linear || outs.iter().any(|o| !o.dtype().is_differentiable())
}

/// A step that is not linear, or may not be.
pub struct Fault(String);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn fault(i: &Instruction, what: &str) -> Fault {
    let line = i.line.as_ref().map(|l| format!(" (at {l})")).unwrap_or_default();
    Fault(format!("{}(){line} {what}", i.prim.operator()))
}

/// What a look at a recording found.
#[derive(Default)]
pub struct Findings {
    pub fault: Option<Fault>,
    /// Something that is not zero is added, which another step may undo.
    pub added: Option<Fault>,
}

/// Looks at the steps that these variables need.
pub fn inspect(recording: &Recording, results: &[u32]) -> Result<Findings> {
    let mut wanted = vec![false; recording.vars.len()];
    results.iter().for_each(|&v| wanted[v as usize] = true);
    let mut found = Findings::default();
    for (at, i) in recording.instructions.iter().enumerate().rev() {
        let mut used = i.outs.iter().filter(|&&v| wanted[v as usize]).peekable();
        if used.peek().is_none() {
            continue;
        }
        let needed: Vec<bool> = i.outs.iter().map(|&v| wanted[v as usize]).collect();
        let smooth = used.all(|&v| recording.vars[v as usize].dtype.is_differentiable());
        let vars = i.args.iter().filter_map(|a| if let Atom::Var(v) = a { Some(*v as usize) } else { None });
        vars.for_each(|v| wanted[v] = true);
        let added = |a: &Atom| matches!(a, Atom::Const(t) if t.dtype().is_differentiable() && !is_zero(t));
        match kind(i.prim.as_prim(), &i.params, &i.args) {
            _ if recording.unrecorded.binary_search(&at).is_ok() => {
                found.fault = Some(fault(i, "runs where nothing is recorded"))
            }
            _ if !smooth => found.fault = Some(fault(i, "gives what has no derivative")),
            Linearity::Other => found.fault = Some(fault(i, "is not linear")),
            Linearity::Unknown if !passes(i, &recording.vars, &needed)? => {
                found.fault = Some(fault(i, "was tried and is not linear"))
            }
            Linearity::Affine if i.args.iter().any(added) => found.added = Some(fault(i, "takes a constant besides")),
            _ => {}
        }
    }
    Ok(found)
}

/// Whether a value is zero, with its tangents.
pub fn is_zero(t: &Tensor) -> bool {
    vanishes(t, false)
}

/// The same; with `nan`, zero times infinity counts too.
pub fn vanishes(t: &Tensor, nan: bool) -> bool {
    match t.payload() {
        Some(Payload::Dual { primal, tangent }) => vanishes(primal, nan) && vanishes(tangent, nan),
        Some(_) => t.below().is_some_and(|t| vanishes(t, nan)),
        // Without data, what is linear by its steps counts as linear.
        None if t.is_abstract() => true,
        None => match t.symbolic().map(Symbolic::form) {
            Some(ConstantForm::Fill(value)) => is_zero_number(*value, nan),
            // A rule may add constants and take them off again: whether it did, the numbers alone tell.
            _ => t.dense().is_some_and(|a| is_zero_array(a, nan).unwrap_or(false)),
        },
    }
}

fn is_zero_array(a: &Array, nan: bool) -> Result<bool> {
    let flat = a.contiguous()?;
    if let Some(x) = flat.as_slice::<f32>() {
        return Ok(x.iter().all(|&x| x == 0.0 || (nan && x.is_nan())));
    }
    if let Some(x) = flat.as_slice::<f64>() {
        return Ok(x.iter().all(|&x| x == 0.0 || (nan && x.is_nan())));
    }
    let flat = flat.reshape(&Shape::new(&[a.numel()]))?;
    for i in 0..a.numel() {
        if !is_zero_number(flat.get(&[i])?, nan) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_zero_number(x: Scalar, nan: bool) -> bool {
    match x {
        Scalar::Float(x) => x == 0.0 || (nan && x.is_nan()),
        Scalar::Complex(z) => z.re == 0.0 && z.im == 0.0,
        _ => false,
    }
}

/// What was tried and found linear, by signature.
static TRIED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
const KEPT: usize = 4096;

/// Whether the `needed` results of a custom function are linear in its arguments that are variables: by a trial, once for
/// each signature.
fn passes(i: &Instruction, vars: &[Meta], needed: &[bool]) -> Result<bool> {
    let prim = i.prim.as_prim();
    let own = prim.custom().and_then(|c| c.as_any().downcast_ref::<CustomPrimitive>()).and_then(|c| c.signature());
    let arg = |a: &Atom| match a {
        Atom::Var(v) => format!("%{}", vars[*v as usize]),
        Atom::Const(t) => Meta::of(t).to_string(),
    };
    let args = || i.args.iter().map(arg).collect::<Vec<_>>().join(";");
    let key = own.map(|own| format!("{own} {} {needed:?}", args()));
    let known =
        |key: &String| TRIED.lock().unwrap_or_else(|e| e.into_inner()).as_ref().is_some_and(|t| t.contains(key));
    if key.as_ref().is_some_and(known) {
        return Ok(true);
    }
    let linear = stands_trial(i, vars, needed)?;
    if let (Some(key), Some(true)) = (key, linear) {
        let mut tried = TRIED.lock().unwrap_or_else(|e| e.into_inner());
        let tried = tried.get_or_insert_default();
        if tried.len() >= KEPT {
            tried.clear();
        }
        tried.insert(key);
    }
    Ok(linear.unwrap_or(true))
}

thread_local! {
    /// Whether a trial is on its way to the function that is tried; other functions may run on the way.
    static OWN: Cell<bool> = const { Cell::new(false) };
}
static TRIAL: FastLocal<Cell<bool>> = FastLocal::new(&OWN);

/// A function's forward begins: whether it is tried, and must not touch the caller's objects.
#[inline]
pub fn is_tried() -> bool {
    TRIAL.with(|t| t.replace(false))
}

/// The function that is tried runs other functions instead of its forward.
pub fn pass_on() {
    TRIAL.with(|t| t.set(false));
}

/// f(0) = 0 and f(-k u + v) = -k f(u) + f(v), with k so large that limits and thresholds are passed. `None` where operators
/// give values without data, which say nothing.
fn stands_trial(i: &Instruction, vars: &[Meta], needed: &[bool]) -> Result<Option<bool>> {
    let _mode = GradMode::set(false);
    let mut count = 0;
    let mut points: [Vec<(u32, Tensor)>; 4] = Default::default();
    for v in i.args.iter().filter_map(|a| if let Atom::Var(v) = a { Some(*v) } else { None }) {
        if points[0].iter().any(|(known, _)| *known == v) {
            continue;
        }
        let m = &vars[v as usize];
        let (a, b) = (numbers(&mut count, m)?, numbers(&mut count, m)?);
        points[3].push((v, basis::sub(&b, &basis::scale(&a, factor(m.dtype))?)?));
        points[0].push((v, basis::full(&m.shape, m.dtype, 0.0)?));
        points[1].push((v, a));
        points[2].push((v, b));
    }
    let draws = default_generator().position();
    let run = |at: &Vec<(u32, Tensor)>| -> Result<Option<Outputs>> {
        let value = |a: &Atom| match a {
            Atom::Const(t) => t.clone(),
            Atom::Var(v) => {
                at.iter().find(|p| p.0 == *v).map_or_else(|| Tensor::scalar(DType::F32, 0.0), |p| p.1.clone())
            }
        };
        let args: SmallVec<[Tensor; 4]> = i.args.iter().map(value).collect();
        let refs: SmallVec<[&Tensor; 4]> = args.iter().collect();
        let before = TRIAL.with(|t| t.replace(true));
        let outs = call_many(i.prim.as_prim(), &i.params, &refs);
        TRIAL.with(|t| t.set(before));
        default_generator().restore(&draws);
        match outs {
            Ok(outs) => Ok(Some(outs)),
            // An ordinary error says that it does not stand the trial; others are the program's own.
            Err(e) if e.has_no_text() => Err(e),
            Err(_) => Ok(None),
        }
    };
    let mut outs = Vec::new();
    for at in &points {
        match run(at)? {
            Some(o) => outs.push(o),
            None => return Ok(Some(false)),
        }
    }
    if outs.iter().flatten().any(Tensor::is_abstract) {
        return Ok(None);
    }
    for (k, _) in needed.iter().enumerate().filter(|(_, needed)| **needed) {
        let [Some(a), Some(b), Some(c), Some(d)] = [0, 1, 2, 3].map(|run: usize| outs[run].get(k)) else {
            return Ok(Some(false));
        };
        if !agree([a, b, c, d])? {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

fn factor(dtype: DType) -> f64 {
    if matches!(dtype, DType::F16 | DType::BF16) { 256.0 } else { 1048576.0 }
}

/// Numbers from -1 to 1, none of them small; `count` is how many were made before.
fn numbers(count: &mut u64, m: &Meta) -> Result<Tensor> {
    let mut number = || {
        *count += 1;
        let word = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = 0.1 + 0.9 * ((word >> 11) as f64 / (1u64 << 53) as f64);
        if word & 1 == 1 { -x } else { x }
    };
    let values: Vec<f64> = (0..m.shape.numel()).map(|_| number()).collect();
    let t = Tensor::from_slice([values.len()], &values)?;
    basis::cast(&basis::reshape(&t, &m.shape)?, m.dtype)
}

fn elements(t: &Tensor) -> Result<Vec<f64>> {
    let Some(a) = t.innermost() else { return Ok(Vec::new()) };
    copy::cast(a, DType::F64)?.contiguous()?.to_vec::<f64>()
}

fn agree(outs: [&Tensor; 4]) -> Result<bool> {
    let dtype = outs[0].dtype();
    let slack = match dtype {
        DType::F16 => 16.0 * 9.8e-4,
        DType::BF16 => 16.0 * 7.8e-3,
        DType::F64 => 1024.0 * f64::EPSILON,
        _ => 1024.0 * f64::from(f32::EPSILON),
    };
    let [zero, a, b, c] = [elements(outs[0])?, elements(outs[1])?, elements(outs[2])?, elements(outs[3])?];
    if [&a, &b, &c].iter().any(|x| x.len() != zero.len()) {
        return Ok(false);
    }
    let k = factor(dtype);
    let largest = a
        .iter()
        .map(|x| k * x)
        .chain(b.iter().copied())
        .filter(|x| x.is_finite())
        .fold(0.0, |m: f64, x| m.max(x.abs()));
    // An infinite residual gives NaN whether the map is linear or not.
    let same = |(j, &c): (usize, &f64)| {
        let expected = b[j] - k * a[j];
        !expected.is_finite() || (c - expected).abs() <= slack * largest
    };
    Ok(zero.iter().all(|&z| z == 0.0 || z.is_nan()) && c.iter().enumerate().all(same))
}
