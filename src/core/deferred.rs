//! Products that wait until somebody reads them. Forward mode over reverse mode (a Hessian-vector product) computes the
//! gradient beside its tangent, and mostly nobody asks for the gradient.

use super::params::Params;
use super::primitive::{Prim, Primitive};
use super::tensor::Tensor;
use super::thread;
use crate::base::{DType, Result, Shape};
use crate::dense::Array;
use once_cell::race::OnceBox;
use std::sync::{Mutex, PoisonError};

/// The result of a primitive of two arrays, in memory once a kernel has asked for it.
pub struct Deferred {
    dtype: DType,
    shape: Shape,
    prim: &'static dyn Primitive,
    params: Params,
    /// Their memory stays as it is while they are held here. Given back once the result is there.
    operands: Mutex<Option<[Tensor; 2]>>,
    array: OnceBox<Array>,
}

impl Deferred {
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements in memory.
    ///
    /// # Errors
    /// `Runtime` if there is no memory for them.
    #[inline]
    pub fn array(&self) -> Result<&Array> {
        match self.array.get() {
            Some(array) => Ok(array),
            None => self.make(),
        }
    }

    /// Runs without a lock: threads that ask at the same time compute the same.
    #[cold]
    fn make(&self) -> Result<&Array> {
        let operands = self.operands.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some([a, b]) = &operands {
            let made = self.prim.eval(&self.params, &[a, b])?.array()?.clone();
            self.array.get_or_init(|| Box::new(made));
            drop(self.operands.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        self.array.get().ok_or_else(|| crate::Error::internal("a deferred product has lost its operands"))
    }
}

/// Lets products wait while `f` runs.
pub fn allowed<R>(f: impl FnOnce() -> R) -> R {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            thread::this(|t| t.deferring.set(self.0));
        }
    }
    let _back = Back(thread::this(|t| t.deferring.replace(true)));
    f()
}

/// Whether elements may be read later: nobody outside the library writes to them.
fn stays(t: &Tensor) -> bool {
    t.in_memory().is_some_and(|a| a.buffer().is_none_or(|b| !b.is_still_exported()))
}

/// `prim` of two arrays, later, where products may wait and these can be kept.
///
/// # Errors
/// Those of the primitive's shape rule.
pub fn deferred(prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Option<Tensor>> {
    let (Prim::Static(prim), &[a, b]) = (prim, args) else { return Ok(None) };
    if !thread::this(|t| t.deferring.get()) || !stays(a) || !stays(b) {
        return Ok(None);
    }
    let inferred = prim.infer(params, &[super::Meta::of(a), super::Meta::of(b)])?;
    let [meta] = &inferred[..] else { return Ok(None) };
    Ok(Some(Tensor::from(Deferred {
        dtype: meta.dtype,
        shape: meta.shape.clone(),
        prim,
        params: params.clone(),
        operands: Mutex::new(Some([a.clone(), b.clone()])),
        array: OnceBox::new(),
    })))
}
