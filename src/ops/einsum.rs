//! Sums of products by index labels.

use super::matmul::same_dtype;
use super::value::Value;
use crate::base::promote::promote;
use crate::base::shape::wrap_arguments;
use crate::base::{ErrorKind, Result, Scalar, Shape};
use crate::core::params::Dims;
use crate::core::{Tensor, host};
use crate::ops::signature::{HERE, aligned, ints_of, no_bools};
use crate::rules::basis;
use std::collections::{BTreeMap, HashMap};

/// Letters are themselves; the dimensions of an ellipsis count from here, aligned at the right.
const ELLIPSIS: u32 = 1 << 20;

/// Operands between which a long equation looks for signals.
const ROUND: usize = 256;

type Labels = Vec<u32>;

struct Equation {
    inputs: Vec<Labels>,
    output: Labels,
}

fn parse(equation: &str, ranks: &[usize]) -> Result<Equation> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((l, r)) => (l, Some(r)),
        None => (&text[..], None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != ranks.len() {
        refuse!(
            Runtime,
            "{} operands were given, but the equation '{equation}' has {} terms; give one operand for each",
            ranks.len(),
            terms.len()
        );
    }
    let mut widest = 0;
    let mut inputs = Vec::new();
    for (i, (term, &rank)) in terms.iter().zip(ranks).enumerate() {
        let (labels, extra) = labels(term, |named| {
            rank.checked_sub(named).ok_or_else(|| {
                crate::Error::runtime(format!(
                    "{HERE}(): the number of subscripts in the equation ({named}) is more than the number of \
                     dimensions ({rank}) for operand {i}"
                ))
            })
        })?;
        if labels.len() != rank {
            refuse!(
                Runtime,
                "the number of subscripts in the equation ({}) does not match the number of dimensions \
                 ({rank}) for operand {i} and no ellipsis was given; name each dimension, or write '...' for the rest",
                labels.len()
            );
        }
        widest = widest.max(extra);
        inputs.push(labels);
    }
    let output = match right {
        Some(r) => labels(r, |_| Ok(widest))?.0,
        None => implicit(&inputs, widest),
    };
    for (i, l) in output.iter().enumerate() {
        if output[..i].contains(l) {
            refuse!(Runtime, "output subscript {} appears more than once in the output; name it once", show(*l));
        }
        if *l < ELLIPSIS && !inputs.iter().any(|t| t.contains(l)) {
            refuse!(
                Runtime,
                "output subscript {} does not appear in the equation for any input operand; name it in one of them",
                show(*l)
            );
        }
    }
    Ok(Equation { inputs, output })
}

fn show(label: u32) -> char {
    char::from_u32(label).unwrap_or('.')
}

/// Labels of one term; the dimensions of an ellipsis are numbered from the right.
fn labels(term: &str, ellipsis: impl Fn(usize) -> Result<usize>) -> Result<(Labels, usize)> {
    let named = term.chars().filter(|c| *c != '.').count();
    let parts: Vec<&str> = term.split("...").collect();
    if parts.len() > 2 {
        refuse!(Runtime, "found '.' for which an ellipsis was already found in '{term}'; write '...' once");
    }
    let mut out = Labels::new();
    let extra = if parts.len() == 2 { ellipsis(named)? } else { 0 };
    for (i, part) in parts.iter().enumerate() {
        if i == 1 {
            out.extend((0..extra as u32).rev().map(|k| ELLIPSIS + k));
        }
        for c in part.chars() {
            if !c.is_ascii_alphabetic() {
                refuse!(Runtime, "invalid subscript given '{c}' in '{term}': subscripts must be in [a-zA-Z]");
            }
            out.push(c as u32);
        }
    }
    Ok((out, extra))
}

/// Without an arrow: the ellipsis, then labels that occur once, sorted.
fn implicit(inputs: &[Labels], widest: usize) -> Labels {
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    inputs.iter().flatten().filter(|&&l| l < ELLIPSIS).for_each(|&l| *count.entry(l).or_default() += 1);
    let once = count.into_iter().filter(|&(_, n)| n == 1).map(|(l, _)| l);
    (0..widest as u32).rev().map(|k| ELLIPSIS + k).chain(once).collect()
}

/// An operand under way: its labels are distinct.
struct Term {
    value: Tensor,
    labels: Labels,
}

impl Term {
    /// Takes diagonals for repeated labels.
    fn new(value: &Tensor, labels: &Labels) -> Result<Term> {
        let mut t = Term { value: value.clone(), labels: labels.clone() };
        while let Some((i, j)) = repeated(&t.labels) {
            if t.value.shape()[i] != t.value.shape()[j] {
                refuse!(
                    Runtime,
                    "subscript {} is repeated for an operand but the sizes don't match, {} != {}; name dimensions of \
                 other sizes by other letters",
                    show(t.labels[i]),
                    t.value.shape()[j],
                    t.value.shape()[i]
                );
            }
            t.value = super::diagonal::diagonal_at(&t.value, i, j)?;
            let label = t.labels.remove(j);
            t.labels.remove(i);
            t.labels.push(label);
        }
        Ok(t)
    }

    /// Sums the labels that nobody else needs.
    fn sum_out(&mut self, keep: impl Fn(u32) -> bool) -> Result<()> {
        let dims: Dims = (0..self.labels.len()).filter(|&d| !keep(self.labels[d])).collect();
        if !dims.is_empty() {
            self.value = basis::sum(&super::reduce::accumulated(&self.value, None)?, &dims, false)?;
            self.labels.retain(|&l| keep(l));
        }
        Ok(())
    }

    fn size(&self, label: u32) -> Option<usize> {
        self.labels.iter().position(|&l| l == label).map(|d| self.value.shape()[d])
    }

    /// Permuted to the given labels; those that the term lacks get size 1.
    fn arranged(&self, labels: &[u32]) -> Result<Tensor> {
        let order: Dims = labels.iter().filter_map(|l| self.labels.iter().position(|m| m == l)).collect();
        let shape: Shape = labels.iter().map(|&l| self.size(l).unwrap_or(1)).collect();
        basis::reshape(&basis::permute(&self.value, &order)?, &shape)
    }
}

fn repeated(labels: &[u32]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|j| labels[..j].iter().position(|l| *l == labels[j]).map(|i| (i, j)))
}

fn merged(a: &Term, b: &Term, label: u32) -> Result<usize> {
    match (a.size(label), b.size(label)) {
        (Some(x), Some(y)) if x == y || y == 1 => Ok(x),
        (Some(1), Some(y)) => Ok(y),
        (Some(x), Some(y)) => {
            refuse!(
                Runtime,
                "subscript {} has size {y} for one operand and {x} for another; name dimensions of other \
                 sizes by other letters",
                show(label)
            )
        }
        (x, y) => Ok(x.or(y).unwrap_or(1)),
    }
}

/// Both in one dtype: where nothing is summed, a product has the dtype of both together, as that of `mul`.
fn in_one_dtype(a: &mut Tensor, b: &mut Tensor, sums: bool) -> Result<()> {
    // A sum of integers is wider than what nothing was summed of.
    if sums && [&*a, &*b].iter().any(|t| t.dtype().is_differentiable()) {
        same_dtype(&[a, b])?;
    }
    let dtype = promote(a.dtype(), b.dtype());
    *a = basis::cast(a, dtype)?;
    *b = basis::cast(b, dtype)?;
    Ok(())
}

/// The product of two terms as a batched matrix product; labels that `keep` does not hold are summed.
fn contract(mut a: Term, mut b: Term, keep: impl Fn(u32) -> bool) -> Result<Term> {
    let (la, lb) = (a.labels.clone(), b.labels.clone());
    a.sum_out(|l| keep(l) || lb.contains(&l))?;
    b.sum_out(|l| keep(l) || la.contains(&l))?;
    let shared = |t: &Term, l: u32| t.size(l).is_some_and(|n| n != 1);
    if a.value.dtype() != b.value.dtype() {
        let sums = a.labels.iter().any(|&l| !keep(l) && shared(&a, l) && shared(&b, l));
        in_one_dtype(&mut a.value, &mut b.value, sums)?;
    }
    no_bools(ErrorKind::NotImplemented, a.value.dtype())?;
    // A label of size 1 in one operand broadcasts: only labels that both really have are contracted.
    let batch: Labels = a.labels.iter().filter(|&&l| b.labels.contains(&l) && keep(l)).copied().collect();
    let inner: Labels = a.labels.iter().filter(|&&l| b.labels.contains(&l) && !keep(l)).copied().collect();
    let left: Labels = a.labels.iter().filter(|l| !b.labels.contains(l)).copied().collect();
    let right: Labels = b.labels.iter().filter(|l| !a.labels.contains(l)).copied().collect();
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for &l in a.labels.iter().chain(&b.labels) {
        sizes.insert(l, merged(&a, &b, l)?);
    }
    for &l in &inner {
        for t in [&mut a, &mut b] {
            if sizes[&l] != 1 && !shared(t, l) {
                let shape: Shape =
                    t.labels.iter().map(|m| if *m == l { sizes[m] } else { t.size(*m).unwrap_or(1) }).collect();
                t.value = basis::expand(&t.value, &shape)?;
            }
        }
    }
    let group = |labels: &[u32]| -> usize { labels.iter().map(|l| sizes[l]).product() };
    let matrix = |t: &Term, rows: &[u32], cols: &[u32]| -> Result<Tensor> {
        let all: Labels = batch.iter().chain(rows).chain(cols).copied().collect();
        let v = t.arranged(&all)?;
        let mut shape = Shape::new(&v.shape()[..batch.len()]);
        shape.push(group(rows));
        shape.push(group(cols));
        basis::reshape(&v, &shape)
    };
    let out = super::autocast::product(&matrix(&a, &left, &inner)?, &matrix(&b, &inner, &right)?)?;
    let labels: Labels = batch.into_iter().chain(left).chain(right).collect();
    let shape: Shape = labels.iter().map(|l| sizes[l]).collect();
    Ok(Term { value: basis::reshape(&out, &shape)?, labels })
}

fn evaluate(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
    let Some(first) = operands.first() else {
        refuse!(Runtime, "must provide at least one operand; give the tensors after the equation")
    };
    let ranks: Vec<usize> = operands.iter().map(|t| t.rank()).collect();
    let eq = parse(equation, &ranks)?;
    let mut terms: Vec<Term> =
        operands.iter().zip(&eq.inputs).map(|(t, l)| Term::new(t, l)).collect::<Result<Vec<_>>>()?;
    terms.reverse();
    let Some(mut acc) = terms.pop() else { return Ok((*first).clone()) };
    // How many of the terms that are left have each label.
    let mut left: HashMap<u32, usize> = HashMap::new();
    terms.iter().flat_map(|t| &t.labels).for_each(|&l| *left.entry(l).or_default() += 1);
    while let Some(next) = terms.pop() {
        next.labels.iter().for_each(|l| *left.entry(*l).or_default() -= 1);
        acc = contract(acc, next, |l| eq.output.contains(&l) || left.get(&l).is_some_and(|&n| n > 0))?;
        if terms.len().is_multiple_of(ROUND) {
            host::poll()?;
        }
    }
    acc.sum_out(|l| eq.output.contains(&l))?;
    acc.arranged(&eq.output)
}

/// The letter of a subscript that is given as a number: upper-case ones come first.
fn letter(subscript: &Value) -> Result<char> {
    match subscript {
        Value::Number(Scalar::Int(n @ 0..26)) => Ok((b'A' + *n as u8) as char),
        Value::Number(Scalar::Int(n @ 26..52)) => Ok((b'a' + (*n - 26) as u8) as char),
        Value::Number(n) => refuse!(
            Runtime,
            "not expecting the subscript {n}: subscripts in lists must be ints within [0, 52); number dimensions from 0 on"
        ),
        v => refuse!(Type, "subscripts in lists must be ints or '...', not {}", v.type_name()),
    }
}

/// The term that a list of subscripts stands for.
fn term_of(list: &Value) -> Result<String> {
    let (Value::List(items) | Value::Tuple(items)) = list else {
        refuse!(
            Type,
            "each operand must come with a list of subscripts behind it, but got {}; call einsum(x, [0, 1]), or give an equation \
             first",
            list.type_name()
        );
    };
    let mut term = String::new();
    for v in items {
        match v {
            Value::Str(s) if s == "Ellipsis" => term.push_str("..."),
            v => term.push(letter(v)?),
        }
    }
    Ok(term)
}

/// The equation and the operands of a call with lists: operands and their subscripts in turn, and perhaps those of the result.
fn of_lists<'a>(first: &'a Tensor, rest: &'a Value) -> Result<(String, Vec<&'a Tensor>)> {
    let (Value::List(items) | Value::Tuple(items)) = rest else { return Ok((term_of(rest)?, vec![first])) };
    if items.iter().all(|v| matches!(v, Value::Number(_) | Value::Str(_))) {
        // One list of subscripts was taken for the list of the other arguments.
        return Ok((term_of(rest)?, vec![first]));
    }
    let (mut equation, mut operands) = (term_of(&items[0])?, vec![first]);
    for pair in items[1..].chunks(2) {
        match pair {
            [Value::Tensor(t), list] => {
                equation = format!("{equation},{}", term_of(list)?);
                operands.push(t);
            }
            [list] if !matches!(list, Value::Tensor(_)) => equation = format!("{equation}->{}", term_of(list)?),
            _ => refuse!(
                Type,
                "operands and lists of subscripts must alternate, but got {} in place of an operand and its list; give them as \
                 in einsum(x, [0, 1], y, [1, 2], [0, 2])",
                pair.iter().map(Value::type_name).collect::<Vec<_>>().join(" and ")
            ),
        }
    }
    Ok((equation, operands))
}

ops! { TABLE:
    /// Sum of products over labelled dimensions, in Einstein's convention.
    ///
    /// >>> import pullback
    /// >>> pullback.einsum("ij,j->i", pullback.ones(2, 3), pullback.ones(3))
    /// tensor([3., 3.])
    fn einsum = "einsum" (equation: &str, operands: Vec<&Tensor>) -> Tensor [VARIADIC, PRODUCT, VIEW, OR_COPY]
        node "ViewBackward0" {
        evaluate(equation, &operands)
    }

    /// What `einsum` makes of its only operand, as a view of it.
    fn einsum_member = "einsum:member" (input: &Tensor, equation: &str) -> Tensor [INTERNAL, PRODUCT, VIEW] {
        evaluate(equation, &[input])
    }

    /// `einsum` with lists of numbers for subscripts: `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
    fn einsum_lists = "einsum:lists" (first: &Tensor, rest: &Value) -> Tensor [INTERNAL, PRODUCT, VIEW, OR_COPY] {
        let (equation, operands) = of_lists(first, rest)?;
        evaluate(&equation, &operands)
    }

    /// Contraction of dimensions of two tensors: the last `dims` of the first with the first `dims` of the second, or
    /// the two lists of dimensions given.
    ///
    /// >>> import pullback
    /// >>> pullback.tensordot(pullback.ones(2, 3), pullback.ones(3, 4), dims=1).shape
    /// pullback.Size([2, 4])
    fn tensordot = "tensordot" (a: &Tensor, b: &Tensor, dims: &Value = &Value::Int(2)) -> Tensor [PRODUCT] node "ViewBackward0" {
        let (da, db) = contracted(a, b, dims)?;
        same_dtype(&[a, b])?;
        let mut la: Labels = (0..a.rank() as u32).collect();
        let lb: Labels = (0..b.rank()).map(|d| match db.iter().position(|&k| k == d) {
            Some(i) => da[i] as u32,
            None => 1000 + d as u32,
        }).collect();
        let out: Labels = la.iter().chain(&lb).filter(|l| !(la.contains(l) && lb.contains(l))).copied().collect();
        let (x, y) = (Term::new(a, &std::mem::take(&mut la))?, Term::new(b, &lb)?);
        let product = || contract(x, y, |l| out.contains(&l))?.arranged(&out);
        // A sum of all products is that of `dot`, which is in no list.
        if out.is_empty() { super::autocast::without(product) } else { product() }
    }
}

/// The dimensions that `tensordot` sums over, by pairs.
fn contracted(a: &Tensor, b: &Tensor, dims: &Value) -> Result<(Dims, Dims)> {
    let wrap = |v: &Value, t: &Tensor| -> Result<Dims> {
        match ints_of("dims", v)? {
            Some(d) if t.rank() == 0 && !d.is_empty() => refuse!(
                Index,
                "argument 'dims': dimension specified as {} but tensor has no dimensions; give dims=0",
                d[0]
            ),
            Some(d) => wrap_arguments(HERE, "dims", &d, t.rank()),
            None => Ok(Dims::new()),
        }
    };
    let (da, db) = match dims {
        Value::Tuple(v) | Value::List(v) if v.len() == 2 => (wrap(&v[0], a)?, wrap(&v[1], b)?),
        v => {
            let n = ints_of("dims", v)?.and_then(|d| d.first().copied()).unwrap_or(2);
            let most = a.rank().min(b.rank());
            if n < 0 || n as usize > most {
                refuse!(
                    Runtime,
                    "argument 'dims' must be from 0 to {most}, the smaller rank of both tensors, or two \
                    lists of dimensions, but got dims={n}"
                );
            }
            ((a.rank() - n as usize..a.rank()).collect(), (0..n as usize).collect())
        }
    };
    aligned(("dims[0]", da.len()), ("dims[1]", db.len()))?;
    for (&i, &j) in da.iter().zip(&db) {
        let (x, y) = (a.shape()[i], b.shape()[j]);
        if x != y && x != 1 && y != 1 {
            refuse!(
                Runtime,
                "contracted dimensions need to match, but first has size {x} in dim {i} and second has size {y} in \
                 dim {j}; name dimensions of one size in 'dims'"
            );
        }
    }
    Ok((da, db))
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
