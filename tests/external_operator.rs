//! An operator of another crate: `log(exp(a) + exp(b))` by a kernel of its own, under every transform, in programs, and
//! beside the library's operator of the same meaning.

use pullback::prelude::*;
use pullback::primitive::{self, *};

struct LogAddExp;
static LOG_ADD_EXP: LogAddExp = LogAddExp;

/// What share of the sum the first exponential has.
fn share(at: &Point<'_>) -> Result<Tensor> {
    at.input(0)?.sub(at.input(1)?)?.sigmoid()
}

/// The batch of an argument in front.
fn in_front(arg: &BatchArg<'_>, size: usize) -> Result<Tensor> {
    match arg.dim {
        Some(dim) => arg.value.movedim(&[dim as i64], &[0]),
        None => {
            let shape: Vec<i64> =
                std::iter::once(size).chain(arg.value.shape().iter().copied()).map(|n| n as i64).collect();
            arg.value.expand(&shape[..])
        }
    }
}

impl Primitive for LogAddExp {
    fn name(&self) -> &str {
        "external:logaddexp"
    }
    fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
        if args[0] != args[1] {
            return Err(Error::runtime(format!("external:logaddexp(): got {} and {}", args[0], args[1])));
        }
        Ok([args[0].clone()].into_iter().collect())
    }
    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        self.infer(params, &[Meta::of(args[0]), Meta::of(args[1])])?;
        let (a, b) = (args[0].to_vec::<f64>()?, args[1].to_vec::<f64>()?);
        let sum = |(a, b): (&f64, &f64)| a.max(*b) + (-(a - b).abs()).exp().ln_1p();
        Tensor::from_slice(args[0].shape().clone(), &a.iter().zip(&b).map(sum).collect::<Vec<f64>>())
    }
    fn saves(&self, _: &Params, _: Mask) -> Saves {
        Saves { inputs: 0b11, outputs: 0 }
    }
    fn jvp(&self, _: Prim<'_>, _: &Params, at: &Point<'_>, t: &[Option<&Tensor>]) -> Result<Tangents> {
        let (a, zero) = (share(at)?, at.input(0)?.zeros_like()?);
        let (ta, tb) = (t[0].unwrap_or(&zero), t[1].unwrap_or(&zero));
        Ok([Some(tb.add(&a.mul(&ta.sub(tb)?)?)?)].into_iter().collect())
    }
    fn vjp(&self, _: Prim<'_>, _: &Params, at: &Point<'_>, g: &[Option<Tensor>], needs: Mask) -> Result<Tangents> {
        let Some(g) = &g[0] else { return Ok(Tangents::new()) };
        let a = g.mul(&share(at)?)?;
        let b = (needs & 2 != 0).then(|| g.sub(&a)).transpose()?;
        Ok([Some(a), b].into_iter().collect())
    }
    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        let (a, b) = (in_front(&args[0], info.size)?, in_front(&args[1], info.size)?);
        Ok([(call(me, params, &[&a, &b])?, Some(0))].into_iter().collect())
    }
}

fn log_add_exp(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&LOG_ADD_EXP), &Params::None, &[a, b])
}

fn close(got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape(), want.shape());
    let (got, want) = (got.to_vec::<f64>().unwrap(), want.to_vec::<f64>().unwrap());
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} instead of {want:?}");
}

#[test]
fn it_is_found_by_its_name_and_nobody_takes_it() {
    primitive::register(&LOG_ADD_EXP).unwrap();
    primitive::register(&LOG_ADD_EXP).unwrap();
    assert_eq!(<dyn Primitive>::find("external:logaddexp").unwrap().name(), "external:logaddexp");
    struct Sine;
    impl Primitive for Sine {
        fn name(&self) -> &str {
            "sin"
        }
        fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
            Ok(args.iter().cloned().collect())
        }
        fn eval(&self, _: &Params, args: &[&Tensor]) -> Result<Tensor> {
            args[0].sin()
        }
        fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
            Err(Error::not_implemented("sin"))
        }
        fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
            Err(Error::not_implemented("sin"))
        }
        fn batch(&self, _: Prim<'_>, _: &Params, _: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
            Err(Error::not_implemented("sin"))
        }
    }
    static SINE: Sine = Sine;
    let e = primitive::register(&SINE).unwrap_err();
    assert!(e.message().contains("'sin'"), "{e}");
}

#[test]
fn it_has_derivatives_of_any_order_and_batches() -> Result<()> {
    let (a, b) = (Tensor::from([0.3, -1.0, 800.0]), Tensor::from([1.2, -1.0, 2.0]));
    close(&log_add_exp(&a, &b)?, &a.logaddexp(&b)?);
    let own = |[a, b]: &[Tensor; 2]| log_add_exp(a, b)?.square()?.sum_all();
    let known = |[a, b]: &[Tensor; 2]| a.logaddexp(b)?.square()?.sum_all();
    let (g, want) = (grad(own, [&a, &b])?, grad(known, [&a, &b])?);
    let (h, second) = (hessian(own, [&a, &b])?, hessian(known, [&a, &b])?);
    for i in 0..2 {
        close(&g[i], &want[i]);
        for j in 0..2 {
            close(&h[i][j], &second[i][j]);
        }
    }
    let (_, t) = jvp(own, [&a, &b], [&b, &a])?;
    close(&t, &jvp(known, [&a, &b], [&b, &a])?.1);
    let columns = Tensor::stack(&[&a, &b], 1)?;
    let options = VmapOptions::default().in_dims([Some(1), None]);
    let rows = vmap_with(|(x, b)| grad(|x| own(&[x.clone(), b.clone()]), x), (&columns, &b), &options)?;
    close(&rows, &vmap_with(|(x, b)| grad(|x| known(&[x.clone(), b.clone()]), x), (&columns, &b), &options)?);
    Ok(())
}

#[test]
fn it_stands_in_programs_and_runs_without_data() -> Result<()> {
    let (a, b) = (Tensor::from([0.3, -1.0]), Tensor::from([1.2, 0.5]));
    let twice = |[a, b]: &[Tensor; 2]| log_add_exp(a, b)?.add(&log_add_exp(a, b)?);
    let program = trace(twice, [&a, &b])?;
    assert_eq!(program.operators().filter(|o| *o == "external:logaddexp").count(), 2);
    let simplified = program.simplified();
    assert_eq!(simplified.operators().collect::<Vec<_>>(), ["external:logaddexp", "add"]);
    close(&simplified.call(&[a.clone(), b.clone()])?, &a.logaddexp(&b)?.mul(2.0)?);
    let shape = eval_shape(|[a, b]| log_add_exp(a, b), [&a, &b])?;
    assert_eq!((shape.shape(), shape.is_abstract()), (&Shape::from([2]), true));
    let e = eval_shape(|[a, b]| log_add_exp(a, b), [&a, &Tensor::meta([3], DType::F64)]).unwrap_err();
    assert!(e.message().contains("got float64[2] and float64[3]"), "{e}");
    Ok(())
}
