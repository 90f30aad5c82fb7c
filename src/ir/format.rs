//! Programs as bytes, and back.
//!
//! NOTE the format. The name of the format and its version; inputs, variables, steps and outputs in this order; a checksum
//! of all before it. Numbers are words of 64 bits, little-endian. Primitives are known by their names and parameters by
//! their words ([`params`](crate::core::params)). Nothing that is read is believed: each step is asked for the shapes of
//! its results, which must be those that were written, so that what runs is what a trace could have recorded.

use super::passes::Body;
use super::{Output, Program};
use crate::bail;
use crate::base::{DType, Error, Result, Shape};
use crate::core::node::Meta;
use crate::core::origin::Line;
use crate::core::params::{Field, Parameters, Words, malformed, to_words};
use crate::core::primitive::PrimBuf;
use crate::core::trace::{Atom, Instruction};
use crate::core::{Params, Primitive, Tensor};
use crate::dense::Array;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const NAME: &[u8; 8] = b"pullback";
const VERSION: u64 = 1;

impl Program {
    /// The program as bytes, from which [`Program::from_bytes`] makes it again, also in another process or on another
    /// machine. Constants are part of it, users' lines as text.
    ///
    /// # Errors
    /// `Runtime` for what lives in this process alone: custom functions, tensors that are read from outside when the
    /// program runs, and parameters that hold objects, such as a generator.
    ///
    /// ```
    /// use pullback::{Tensor, ir::Program, trace};
    /// let x = Tensor::from_slice([2], &[1.0, 3.0])?;
    /// let program = trace(|x| Ok(vec![x[0].sin()?.sum_all()?]), &[x.clone()])?;
    /// let again = Program::from_bytes(&program.to_bytes()?)?;
    /// assert_eq!(again.to_string(), program.to_string());
    /// assert_eq!(again.call(&[x.clone()])?[0].to_vec::<f64>()?, program.call(&[x])?[0].to_vec::<f64>()?);
    /// assert!(Program::from_bytes(b"something else").is_err());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if !self.captures.is_empty() {
            bail!(
                Runtime,
                "to_bytes(): the program reads {} tensors from outside each time that it runs; make them arguments of \
                 the function that is traced",
                self.captures.len()
            );
        }
        let mut out = ProgramWriter(NAME.to_vec());
        out.word(VERSION);
        out.word(self.inputs as u64);
        out.word(self.vars.len() as u64);
        self.vars.iter().for_each(|m| out.meta(m));
        out.word(self.steps.len() as u64);
        self.steps.iter().try_for_each(|s| out.step(&s.instruction, &self.vars))?;
        out.word(self.outputs.len() as u64);
        for o in &self.outputs {
            match o {
                Output::Var(v) => out.variable(*v),
                Output::Const(t) => out.constant(t)?,
            }
        }
        let sum = checksum(&out.0);
        out.word(sum);
        Ok(out.0)
    }

    /// The program that [`Program::to_bytes`] wrote.
    ///
    /// # Errors
    /// `Value` for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Program> {
        let mut from = Reader::open(bytes)?;
        let inputs = from.count()?;
        let vars = from.list(Reader::meta)?;
        if inputs > vars.len() {
            return Err(malformed());
        }
        // Variables that are known so far.
        let mut known = vec![false; vars.len()];
        known[..inputs].fill(true);
        let instructions = from.list(|from| from.step(&vars, &mut known))?;
        let outputs = from.list(|from| match from.word()? {
            0 => from.known(&known).map(Output::Var),
            1 => from.array().map(|a| Output::Const(a.into())),
            _ => Err(malformed()),
        })?;
        if !from.rest.is_empty() {
            return Err(malformed());
        }
        Ok(Program::of(Body { inputs, captures: Vec::new(), instructions, vars, outputs }))
    }
}

/// Not against forgery, but against damage: whoever forges bytes meets the checks of their contents.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, b: &u8| (sum ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

struct ProgramWriter(Vec<u8>);

impl ProgramWriter {
    fn word(&mut self, word: u64) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    /// Bytes with their number in front.
    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn meta(&mut self, m: &Meta) {
        self.bytes(m.dtype.name().as_bytes());
        self.word(m.shape.rank() as u64);
        m.shape.iter().for_each(|&d| self.word(d as u64));
    }

    fn variable(&mut self, var: u32) {
        self.word(0);
        self.word(var.into());
    }

    fn constant(&mut self, t: &Tensor) -> Result<()> {
        let Some(array) = t.dense() else {
            bail!(Runtime, "to_bytes(): the program holds a constant that belongs to a transform, or has no data");
        };
        self.word(1);
        self.meta(&Meta::of(t));
        self.bytes(array.contiguous()?.bytes()?);
        Ok(())
    }

    fn step(&mut self, i: &Instruction, vars: &[Meta]) -> Result<()> {
        let place = i.line.as_ref().map(|l| format!(" at {l}")).unwrap_or_default();
        let PrimBuf::Static(prim) = i.prim else {
            bail!(Runtime, "to_bytes(): the custom function {}{place} lives in this process alone", i.prim.operator());
        };
        let words = to_words(&i.params, <dyn Parameters>::types()).map_err(|what| {
            Error::runtime(format!("to_bytes(): {}(){place} has what cannot be saved: {what}", i.prim.operator()))
        })?;
        // What could not be read back, such as results whose shapes depend on data, is not written.
        check_step(prim, &i.params, &i.args, &i.outs, vars).map_err(|e| {
            Error::runtime(format!("to_bytes(): {}(){place} cannot be saved: {}", prim.name(), e.message()))
        })?;
        self.bytes(prim.name().as_bytes());
        self.word(words.len() as u64);
        words.into_iter().for_each(|w| self.word(w));
        self.word(i.args.len() as u64);
        for arg in &i.args {
            match arg {
                Atom::Var(v) => self.variable(*v),
                Atom::Const(t) => self.constant(t)?,
            }
        }
        self.word(i.outs.len() as u64);
        i.outs.iter().for_each(|&v| self.word(v.into()));
        self.bytes(i.line.as_ref().map(Line::to_string).unwrap_or_default().as_bytes());
        Ok(())
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// What is between the head and the checksum, if both are right.
    fn open(bytes: &'a [u8]) -> Result<Reader<'a>> {
        let Some(rest) = bytes.strip_prefix(NAME) else {
            bail!(Value, "these bytes are no program: they do not begin with '{}'", String::from_utf8_lossy(NAME));
        };
        let mut from = Reader { rest };
        match from.word()? {
            VERSION => {}
            version => bail!(
                Value,
                "the program was saved in version {version} of the format, and this release of pullback reads version \
                 {VERSION}; trace the function again"
            ),
        }
        let Some((body, sum)) = bytes.split_last_chunk::<8>() else { return Err(malformed()) };
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(malformed());
        }
        from.rest = from.rest.get(..from.rest.len().saturating_sub(8)).unwrap_or(&[]);
        Ok(from)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u64> {
        let bytes = self.take(8)?.try_into().map_err(|_| malformed())?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A number of things that take a byte each at least, so that a damaged one asks for no memory.
    fn count(&mut self) -> Result<usize> {
        let n = usize::try_from(self.word()?).map_err(|_| malformed())?;
        if n > self.rest.len() { Err(malformed()) } else { Ok(n) }
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        (0..self.count()?).map(|_| item(self)).collect()
    }

    fn text(&mut self) -> Result<&'a str> {
        let n = self.count()?;
        std::str::from_utf8(self.take(n)?).map_err(|_| malformed())
    }

    fn meta(&mut self) -> Result<Meta> {
        let name = self.text()?;
        let dtype = DType::ALL.iter().find(|d| d.name() == name).ok_or_else(malformed)?;
        let sizes: Vec<usize> = self.list(|from| usize::try_from(from.word()?).map_err(|_| malformed()))?;
        Ok(Meta { dtype: *dtype, shape: Shape::from(sizes).checked("from_bytes")? })
    }

    fn array(&mut self) -> Result<Array> {
        let Meta { dtype, shape } = self.meta()?;
        let n = self.count()?;
        Array::from_bytes(dtype, shape, self.take(n)?)
    }

    /// A variable that has a value here.
    fn known(&mut self, known: &[bool]) -> Result<u32> {
        let var = u32::try_from(self.word()?).map_err(|_| malformed())?;
        if known.get(var as usize) == Some(&true) { Ok(var) } else { Err(malformed()) }
    }

    fn step(&mut self, vars: &[Meta], known: &mut [bool]) -> Result<Instruction> {
        let name = self.text()?;
        let Some(prim) = <dyn Primitive>::find(name) else {
            bail!(Value, "the program has an operator '{name}', which this release of pullback does not have");
        };
        let words = self.list(Reader::word)?;
        let mut words = Words::new(&words, <dyn Parameters>::types());
        let params = Params::take(&mut words)?;
        if !words.is_empty() {
            return Err(malformed());
        }
        let args = self.list(|from| match from.word()? {
            0 => from.known(known).map(Atom::Var),
            1 => from.array().map(|a| Atom::Const(a.into())),
            _ => Err(malformed()),
        })?;
        let outs: Vec<u32> = self.list(|from| u32::try_from(from.word()?).map_err(|_| malformed()))?;
        check_step(prim, &params, &args, &outs, vars)
            .map_err(|e| Error::value(format!("the program is damaged: {}", e.message())))?;
        for &v in &outs {
            // Each variable is computed once.
            if std::mem::replace(known.get_mut(v as usize).ok_or_else(malformed)?, true) {
                return Err(malformed());
            }
        }
        let line = match self.text()? {
            "" => None,
            text => Some(Line(Arc::new(text.to_string()))),
        };
        Ok(Instruction { prim: PrimBuf::Static(prim), params, args: args.into(), outs: outs.into(), line })
    }
}

/// Whether the operator gives results of these dtypes and shapes for arguments of those.
fn check_step(prim: &dyn Primitive, params: &Params, args: &[Atom], outs: &[u32], vars: &[Meta]) -> Result<()> {
    let metas: Vec<Meta> = args
        .iter()
        .map(|a| match a {
            Atom::Var(v) => vars[*v as usize].clone(),
            Atom::Const(t) => Meta::of(t),
        })
        .collect();
    let impossible = |why: &str| {
        Error::value(format!(
            "{}() with the parameters {params:?} does not give what the program says for {}{why}",
            prim.name(),
            metas.iter().map(Meta::to_string).collect::<Vec<_>>().join(", ")
        ))
    };
    // Shape rules may index by parameters that operators have checked before they become a primitive's.
    let inferred = catch_unwind(AssertUnwindSafe(|| prim.infer(params, &metas)))
        .map_err(|_| impossible(""))?
        .map_err(|e| impossible(&format!(": {}", e.message())))?;
    let declared = outs.iter().map(|&v| vars.get(v as usize));
    if inferred.len() != outs.len() || !declared.zip(&inferred).all(|(d, i)| d == Some(i)) {
        return Err(impossible(""));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
