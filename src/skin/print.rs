//! Arrays as text, in PyTorch's format.

use crate::base::{DType, Result, Scalar};
use crate::core::{Meta, host};
use crate::dense::Array;
use std::cell::Cell;
use std::sync::Mutex;

/// How arrays are printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintOptions {
    /// Digits after the point.
    pub precision: usize,
    /// Arrays with more elements are summarised.
    pub threshold: usize,
    /// Items at each end of a summarised dimension.
    pub edge_items: usize,
    pub line_width: usize,
    /// Scientific notation: always, never, or as the values need.
    pub sci_mode: Option<bool>,
}

impl PrintOptions {
    pub const DEFAULT: PrintOptions =
        PrintOptions { precision: 4, threshold: 1000, edge_items: 3, line_width: 80, sci_mode: None };
}

static OPTIONS: Mutex<PrintOptions> = Mutex::new(PrintOptions::DEFAULT);

/// The options of the process.
pub fn options() -> PrintOptions {
    *OPTIONS.lock().unwrap_or_else(|e| e.into_inner())
}
pub fn set_options(options: PrintOptions) {
    *OPTIONS.lock().unwrap_or_else(|e| e.into_inner()) = options;
}

/// The indices of each dimension that are printed, with `None` for the ellipsis.
struct ElementGrid {
    kept: Vec<Vec<Option<usize>>>,
    /// Elements that were looked at.
    seen: Cell<usize>,
}

impl ElementGrid {
    fn new(shape: &[usize], o: &PrintOptions, summarize: bool) -> ElementGrid {
        let edge = o.edge_items;
        let along = |&n: &usize| {
            if !summarize || (n <= edge.saturating_mul(2) && edge > 0) {
                return (0..n).map(Some).collect();
            }
            let ends = (0..edge).map(Some).chain([None]).chain((n - edge.min(n)..n).map(Some));
            ends.collect()
        };
        ElementGrid { kept: shape.iter().map(along).collect(), seen: Cell::new(0) }
    }

    /// Calls `f` for every printed element.
    fn visit(&self, a: &Array, f: &mut dyn FnMut(Scalar)) -> Result<()> {
        let mut index = Vec::with_capacity(self.kept.len());
        self.descend(a, &mut index, f)
    }

    fn descend(&self, a: &Array, index: &mut Vec<usize>, f: &mut dyn FnMut(Scalar)) -> Result<()> {
        let Some(kept) = self.kept.get(index.len()) else {
            host::turn(self.seen.replace(self.seen.get().wrapping_add(1)))?;
            f(a.get(index)?);
            return Ok(());
        };
        for &i in kept.iter().flatten() {
            index.push(i);
            self.descend(a, index, f)?;
            index.pop();
        }
        Ok(())
    }
}

/// One notation and one width for all printed elements.
struct Formatter {
    float: bool,
    int_mode: bool,
    sci: bool,
    width: usize,
    precision: usize,
}

impl Formatter {
    fn new(float: bool, o: &PrintOptions, values: &[Scalar]) -> Result<Formatter> {
        let mut f = Formatter { float, int_mode: true, sci: false, width: 1, precision: o.precision };
        if !float {
            f.width = widest(values, |v| integer(*v).len())?;
            return Ok(f);
        }
        let finite = |x: &f64| x.is_finite() && *x != 0.0;
        let shown: Vec<f64> = values.iter().map(|v| v.as_f64()).filter(finite).collect();
        if shown.is_empty() {
            return Ok(f);
        }
        let (min, max) = shown.iter().fold((f64::MAX, 0.0_f64), |(lo, hi), x| (lo.min(x.abs()), hi.max(x.abs())));
        f.int_mode = shown.iter().all(|x| *x == x.ceil());
        f.sci = o.sci_mode.unwrap_or(max / min > 1000.0 || max > 1e8 || min < 1e-4);
        let width = |x: &f64| match (f.sci, f.int_mode) {
            (true, _) => scientific(*x, f.precision).len(),
            (false, true) => format!("{x:.0}").len() + 1,
            (false, false) => format!("{x:.*}", f.precision).len(),
        };
        f.width = widest(&shown, width)?;
        Ok(f)
    }

    fn format(&self, v: Scalar) -> String {
        let text = if !self.float {
            integer(v)
        } else {
            let x = v.as_f64();
            match (self.sci, self.int_mode) {
                _ if x.is_nan() => "nan".into(),
                _ if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.into(),
                (true, _) => scientific(x, self.precision),
                (false, true) => format!("{x:.0}."),
                (false, false) => format!("{x:.*}", self.precision),
            }
        };
        format!("{text:>width$}", width = self.width)
    }
}

/// The largest width of some numbers, and 1 at least.
fn widest<T>(values: &[T], width: impl Fn(&T) -> usize) -> Result<usize> {
    values.iter().enumerate().try_fold(1, |most, (i, v)| {
        host::turn(i)?;
        Ok(most.max(width(v)))
    })
}

fn integer(v: Scalar) -> String {
    match v {
        Scalar::Bool(true) => "True".into(),
        Scalar::Bool(false) => "False".into(),
        v => v.as_i64().to_string(),
    }
}

/// `1.2346e-05`: Rust writes the exponent without sign and padding.
fn scientific(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(d) => ('-', d),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// One formatter, or two for complex numbers.
struct ElementPrinter<'a> {
    array: &'a Array,
    grid: ElementGrid,
    real: Formatter,
    imag: Option<Formatter>,
    options: PrintOptions,
}

impl ElementPrinter<'_> {
    fn number(&self, v: Scalar) -> String {
        let Some(imag) = &self.imag else { return self.real.format(v) };
        let z = v.as_complex();
        let re = self.real.format(Scalar::Float(z.re));
        let im = format!("{}j", imag.format(Scalar::Float(z.im)));
        let im = im.trim_start();
        let sign = if im.starts_with(['+', '-']) { "" } else { "+" };
        format!("{re}{sign}{im}")
    }

    fn vector(&self, index: &mut Vec<usize>, indent: usize) -> Result<String> {
        let width = self.real.width + 2 + self.imag.as_ref().map_or(0, |f| f.width + 1);
        let per_line = (self.options.line_width.saturating_sub(indent) / width).max(1);
        let mut items = Vec::new();
        for i in &self.grid.kept[index.len()] {
            items.push(match i {
                None if self.options.edge_items == 0 => "...".into(),
                None => " ...".to_string(),
                Some(i) => {
                    host::turn(self.grid.seen.replace(self.grid.seen.get().wrapping_add(1)))?;
                    index.push(*i);
                    let v = self.array.get(index)?;
                    index.pop();
                    self.number(v)
                }
            });
        }
        let lines: Vec<String> = items.chunks(per_line).map(|l| l.join(", ")).collect();
        Ok(format!("[{}]", lines.join(&format!(",\n{}", " ".repeat(indent + 1)))))
    }

    fn block(&self, index: &mut Vec<usize>, indent: usize) -> Result<String> {
        let left = self.array.rank() - index.len();
        if left == 0 {
            return Ok(self.number(self.array.get(index)?));
        }
        if left == 1 {
            return self.vector(index, indent);
        }
        let mut parts = Vec::new();
        for i in &self.grid.kept[index.len()] {
            parts.push(match i {
                None => "...".to_string(),
                Some(i) => {
                    index.push(*i);
                    let text = self.block(index, indent + 1)?;
                    index.pop();
                    text
                }
            });
        }
        Ok(format!("[{}]", parts.join(&format!(",{}{}", "\n".repeat(left - 1), " ".repeat(indent + 1)))))
    }
}

/// The elements of an array, `[1., 2.]`; further lines are indented by `indent`.
pub fn elements(array: &Array, indent: usize) -> Result<String> {
    if array.numel() == 0 {
        return Ok("[]".into());
    }
    let o = options();
    let grid = ElementGrid::new(array.shape(), &o, array.numel() > o.threshold);
    let mut values = Vec::new();
    grid.visit(array, &mut |v| values.push(v))?;
    let (real, imag) = if array.dtype().is_complex() {
        let part = |f: fn(Scalar) -> f64| values.iter().map(|v| Scalar::Float(f(*v))).collect::<Vec<_>>();
        let real = Formatter::new(true, &o, &part(|v| v.as_complex().re))?;
        (real, Some(Formatter::new(true, &o, &part(|v| v.as_complex().im))?))
    } else {
        (Formatter::new(array.dtype().is_float(), &o, &values)?, None)
    };
    ElementPrinter { array, grid, real, imag, options: o }.block(&mut Vec::new(), indent)
}

/// A tensor without data, as PyTorch prints it.
pub fn describe_meta(meta: &Meta, prefix: &str, suffixes: &[String], dtype_prefix: &str) -> String {
    let dims: Vec<String> = meta.shape.iter().map(usize::to_string).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    let mut text = format!("{prefix}..., device='meta', size=({}{comma})", dims.join(", "));
    if meta.dtype != crate::base::promote::default_float() {
        text.push_str(&format!(", dtype={dtype_prefix}{}", meta.dtype));
    }
    suffixes.iter().for_each(|s| text.push_str(&format!(", {s}")));
    text.push(')');
    text
}

/// `tensor([1., 2.], dtype=…, suffix, …)`: the elements between a prefix and what the reader must also know.
/// Without `dtype_prefix` the dtype is left out.
pub fn describe(array: &Array, prefix: &str, suffixes: &[String], dtype_prefix: &str) -> Result<String> {
    use crate::base::promote::default_float;
    let indent = prefix.chars().count();
    let dtype = array.dtype();
    let complex = if default_float() == DType::F64 { DType::C128 } else { DType::C64 };
    let mut all = Vec::new();
    if array.numel() == 0 {
        if array.rank() != 1 {
            let dims: Vec<String> = array.shape().iter().map(usize::to_string).collect();
            all.push(format!("size=({})", dims.join(", ")));
        }
        if dtype != default_float() {
            all.push(format!("dtype={dtype_prefix}{dtype}"));
        }
    } else if ![default_float(), complex, DType::I64, DType::Bool].contains(&dtype) {
        all.push(format!("dtype={dtype_prefix}{dtype}"));
    }
    all.extend_from_slice(suffixes);
    let mut text = format!("{prefix}{}", elements(array, indent)?);
    let mut last = text.chars().rev().take_while(|c| *c != '\n').count() + 2;
    for s in &all {
        let n = s.chars().count();
        if last + n + 2 > options().line_width {
            text.push_str(&format!(",\n{}{s}", " ".repeat(indent)));
            last = indent + n;
        } else {
            text.push_str(&format!(", {s}"));
            last += n + 2;
        }
    }
    text.push(')');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(shape: &[usize], values: &[f32]) -> String {
        describe(&Array::from_slice(shape, values).unwrap(), "tensor(", &[], "pullback.").unwrap()
    }

    #[test]
    fn notation_follows_the_values() {
        assert_eq!(show(&[3], &[1.0, 2.0, 3.0]), "tensor([1., 2., 3.])");
        assert_eq!(show(&[2], &[1.5, -2.25]), "tensor([ 1.5000, -2.2500])");
        assert_eq!(show(&[2], &[0.00001, 1.0]), "tensor([1.0000e-05, 1.0000e+00])");
        assert_eq!(show(&[3], &[f32::NAN, 1.0, f32::NEG_INFINITY]), "tensor([nan, 1., -inf])");
        assert_eq!(show(&[], &[2.5]), "tensor(2.5000)");
        assert_eq!(show(&[0], &[]), "tensor([])");
        assert_eq!(show(&[0, 3], &[]), "tensor([], size=(0, 3))");
    }

    #[test]
    fn blocks_are_indented_and_summarised() {
        assert_eq!(show(&[2, 2], &[1., 2., 3., 4.]), "tensor([[1., 2.],\n        [3., 4.]])");
        let long: Vec<f32> = (0..2000).map(|x| x as f32).collect();
        assert_eq!(
            show(&[2000], &long),
            "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])"
        );
        assert_eq!(show(&[1, 1, 2], &[1., 2.]), "tensor([[[1., 2.]]])");
    }

    #[test]
    fn other_dtypes_say_so() {
        let d = |a: &Array| describe(a, "tensor(", &["requires_grad=True".into()], "p.").unwrap();
        let a = Array::from_slice([2], &[1.0_f64, 2.0]).unwrap();
        assert_eq!(d(&a), "tensor([1., 2.], dtype=p.float64, requires_grad=True)");
        let b = Array::from_slice([2], &[true, false]).unwrap();
        assert_eq!(d(&b), "tensor([ True, False], requires_grad=True)");
        let z =
            Array::from_slice([2], &[num_complex::Complex::new(1.0_f32, -2.0), num_complex::Complex::new(0.5, 0.0)]);
        assert_eq!(d(&z.unwrap()), "tensor([1.0000-2.j, 0.5000+0.j], requires_grad=True)");
    }
}
