//! Accuracy of the bodies against the standard library and against tables computed with many digits.

// Tables of reference values.
#![allow(clippy::approx_constant)]

use super::*;

/// References that Rust has not, or not accurately enough.
mod c {
    unsafe extern "C" {
        pub safe fn acosh(x: f64) -> f64;
        pub safe fn atanh(x: f64) -> f64;
        pub safe fn erf(x: f64) -> f64;
        pub safe fn erfc(x: f64) -> f64;
    }
}

type Fast32 = V<f32, true, false>;
type Plain32 = V<f32, false, false>;
type Fast64 = V<f64, true, false>;
type Plain64 = V<f64, false, false>;

/// Distance in units of the last place of the reference, for single precision.
fn ulps32(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got as f64 == want || got == want as f32 {
        return 0.0;
    }
    let unit = ((want as f32).abs().next_up() as f64 - (want as f32).abs() as f64).max(2f64.powi(-149));
    (got as f64 - want).abs() / unit
}

fn ulps64(got: f64, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == want {
        return 0.0;
    }
    (got - want).abs() / (want.abs().next_up() - want.abs())
}

/// `n` points from `lo` to `hi`, evenly spaced, or in the exponent if `lo` is positive and much smaller.
fn grid(lo: f64, hi: f64, n: usize) -> impl Iterator<Item = f64> {
    let log = lo > 0.0 && hi / lo > 1e3;
    (0..n).map(move |i| {
        let t = (i as f64 + 0.37) / n as f64;
        if log { lo * (hi / lo).powf(t) } else { lo + (hi - lo) * t }
    })
}

macro_rules! worst {
    ($lane:ty, $float:ty, $ulps:ident, $name:ident, $reference:expr, $lo:expr, $hi:expr) => {{
        let mut worst = (0.0f64, 0.0);
        for x in grid($lo, $hi, 40_000) {
            let x = x as $float;
            let y = <$lane>::load(x).$name();
            if y.flag() {
                continue;
            }
            let e = $ulps(y.store(), $reference(x as f64));
            if e > worst.0 {
                worst = (e, x as f64);
            }
        }
        worst
    }};
}

macro_rules! accuracy {
    ($($name:ident: $reference:expr, $lo:expr, $hi:expr, $max32:expr, $max64:expr;)*) => {$({
        let a = worst!(Fast32, f32, ulps32, $name, $reference, $lo, $hi);
        let b = worst!(Plain32, f32, ulps32, $name, $reference, $lo, $hi);
        let c = worst!(Fast64, f64, ulps64, $name, $reference, $lo, $hi);
        let d = worst!(Plain64, f64, ulps64, $name, $reference, $lo, $hi);
        assert!(a.0 <= $max32 && b.0 <= $max32 + 0.5, "{}: f32 {a:?} {b:?}", stringify!($name));
        assert!(c.0 <= $max64 && d.0 <= $max64 + 0.5, "{}: f64 {c:?} {d:?}", stringify!($name));
    })*};
}

#[test]
fn elementary_functions_are_within_a_few_ulps() {
    accuracy! {
        exp: f64::exp, -103.0, 88.7, 1.1, 1.1;
        exp: f64::exp, -745.0, 709.7, 1.1, 1.1;
        exp: f64::exp, -1.0, 1.0, 1.1, 1.1;
        exp2: f64::exp2, -149.0, 127.9, 1.1, 1.1;
        expm1: f64::exp_m1, -20.0, 88.0, 1.6, 2.1;
        expm1: f64::exp_m1, -1.0, 1.0, 1.6, 2.1;
        expm1: f64::exp_m1, 1e-30, 1.0, 1.6, 2.1;
        log: f64::ln, 1e-40, 1e38, 1.3, 1.1;
        log: f64::ln, 0.5, 2.0, 1.3, 1.1;
        log1p: f64::ln_1p, -0.999, 3.0, 1.4, 1.6;
        log1p: f64::ln_1p, 1e-30, 1e30, 1.4, 1.6;
        log2: f64::log2, 1e-40, 1e38, 2.4, 2.1;
        log2: f64::log2, 0.5, 2.0, 2.4, 2.1;
        log10: f64::log10, 1e-40, 1e38, 2.6, 2.1;
        log10: f64::log10, 0.5, 2.0, 2.6, 2.1;
        sin: f64::sin, -8.0, 8.0, 2.6, 2.1;
        sin: f64::sin, 1e-20, 1e9, 2.6, 2.1;
        cos: f64::cos, -8.0, 8.0, 2.6, 2.1;
        cos: f64::cos, 1e-20, 1e9, 2.6, 2.1;
        tan: f64::tan, -8.0, 8.0, 3.2, 3.1;
        tan: f64::tan, 1e-20, 1e9, 3.2, 3.1;
        asin: f64::asin, -1.0, 1.0, 2.5, 2.1;
        asin: f64::asin, 1e-30, 1.0, 2.5, 2.1;
        acos: f64::acos, -1.0, 1.0, 1.3, 1.6;
        atan: f64::atan, -5.0, 5.0, 1.7, 1.6;
        atan: f64::atan, 1e-30, 1e30, 1.7, 1.6;
        sinh: f64::sinh, -89.0, 89.0, 1.7, 2.1;
        sinh: f64::sinh, 1e-30, 2.0, 1.7, 2.1;
        cosh: f64::cosh, -89.0, 89.0, 1.5, 1.6;
        cosh: f64::cosh, -710.0, 710.0, 1.5, 1.6;
        tanh: f64::tanh, -10.0, 10.0, 2.5, 3.1;
        tanh: f64::tanh, 1e-30, 20.0, 2.5, 3.1;
        asinh: f64::asinh, -10.0, 10.0, 1.8, 2.6;
        asinh: f64::asinh, 1e-30, 1e38, 1.8, 2.6;
        acosh: c::acosh, 1.0, 10.0, 1.8, 3.1;
        acosh: c::acosh, 1.0, 1e38, 1.8, 3.1;
        atanh: c::atanh, -1.0, 1.0, 2.2, 3.1;
        atanh: c::atanh, 1e-30, 1.0, 2.2, 3.1;
    }
}

#[test]
fn error_functions_are_within_a_few_ulps() {
    accuracy! {
        erf: c::erf, -5.0, 5.0, 1.1, 1.6;
        erf: c::erf, 1e-30, 6.0, 1.1, 1.6;
        erfc: c::erfc, -6.0, 9.0, 4.1, 4.1;
        erfc: c::erfc, -6.0, 26.0, 4.1, 4.1;
        sigmoid: |x: f64| 1.0 / (1.0 + (-x).exp()), -87.0, 87.0, 2.2, 3.1;
        sigmoid: |x: f64| 1.0 / (1.0 + (-x).exp()), -700.0, 700.0, 2.2, 3.1;
        softplus: |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p(), -87.0, 87.0, 1.7, 2.1;
        log_sigmoid: |x: f64| x.min(0.0) - (-x.abs()).exp().ln_1p(), -87.0, 87.0, 1.7, 2.1;
    }
}

#[test]
fn powers_angles_and_lengths_are_within_a_few_ulps() {
    let mut worst = [(0.0f64, 0.0, 0.0); 9];
    let mut note = |k: usize, e: f64, x: f64, y: f64| {
        if e > worst[k].0 {
            worst[k] = (e, x, y);
        }
    };
    for (i, x) in grid(1e-8, 1e8, 600).enumerate() {
        for y in grid(-13.0, 13.0, 601) {
            let y = if i % 3 == 0 { y * 3.0 } else { y };
            let (a, b) = (x as f32, y as f32);
            note(0, ulps32(Fast32::load(a).pow(Fast32::load(b)).store(), (a as f64).powf(b as f64)), x, y);
            note(1, ulps64(Fast64::load(x).pow(Fast64::load(y)).store(), x.powf(y)), x, y);
            note(2, ulps64(Plain64::load(x).pow(Plain64::load(y)).store(), x.powf(y)), x, y);
            let z = if i % 2 == 0 { -x } else { x };
            let c = z as f32;
            note(3, ulps32(Fast32::load(b).atan2(Fast32::load(c)).store(), (b as f64).atan2(c as f64)), z, y);
            note(4, ulps64(Fast64::load(y).atan2(Fast64::load(z)).store(), y.atan2(z)), z, y);
            note(5, ulps32(Fast32::load(b).hypot(Fast32::load(c)).store(), (b as f64).hypot(c as f64)), z, y);
            note(6, ulps64(Fast64::load(y).hypot(Fast64::load(z)).store(), y.hypot(z)), z, y);
            let w = 1.0 + y * 1e-3;
            note(7, ulps64(Fast64::load(w).pow(Fast64::load(x)).store(), w.powf(x)), w, x);
            note(
                8,
                ulps32(Fast32::load(w as f32).pow(Fast32::load(a)).store(), (w as f32 as f64).powf(a as f64)),
                w,
                x,
            );
        }
    }
    let bounds = [0.51, 1.6, 1.6, 1.6, 1.6, 0.51, 2.1, 1.6, 0.51];
    for (k, (e, x, y)) in worst.iter().enumerate() {
        assert!(*e <= bounds[k], "function {k}: {e} ulp at ({x}, {y})");
    }
}

/// What a row stores: the careful value where the fast one is flagged.
macro_rules! value {
    ($lane:ty, $x:expr, $name:ident) => {{
        let y = <$lane>::load($x).$name();
        if y.flag() { <$lane as Lane>::Exact::load($x).$name().store() } else { y.store() }
    }};
}

/// Values that take other paths.
const SPECIAL: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    1e-320,
    -1e-320,
    1e-45,
    1e30,
    -1e30,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    4503599627370497.0,
    1e5,
];

#[test]
fn scalar_functions_equal_tables() {
    let check = |name: &str, table: &[(f64, f64)], f: fn(f64) -> f64, tolerance: f64| {
        for &(x, want) in table {
            let got = f(x);
            assert!((got - want).abs() <= tolerance * want.abs(), "{name}({x}) = {got}, not {want}");
        }
    };
    check("lgamma", &LGAMMA, scalar::lgamma, 1e-14);
    check("digamma", &DIGAMMA, scalar::digamma, 1e-14);
    check("trigamma", &TRIGAMMA, scalar::trigamma, 1e-14);
    check("erfinv", &ERFINV, scalar::erfinv, 1e-15);
    check("ndtri", &NDTRI, scalar::ndtri, 1e-15);
    check("log_ndtr", &LOG_NDTR, scalar::log_ndtr, 1e-14);
    check("erfcx", &ERFCX, error_function::erfcx::<f64, true>, 1e-15);
    for (s, q, want) in ZETA {
        let got = scalar::zeta(s, q);
        assert!((got - want).abs() <= 1e-13 * want.abs(), "zeta({s}, {q}) = {got}, not {want}");
    }
}

#[test]
fn special_values_are_those_of_the_standard() {
    macro_rules! same {
        ($($name:ident: $reference:expr;)*) => {$(for x in SPECIAL {
            let want: f64 = ($reference)(x);
            for got in [value!(Fast64, x, $name), value!(Plain64, x, $name)] {
                assert!(ulps64(got, want) <= 3.0, "{}({x:e}) = {got:e}, not {want:e}", stringify!($name));
                assert!(want != 0.0 || got.is_sign_negative() == want.is_sign_negative(), "{}({x}): sign of zero", stringify!($name));
            }
            let x = x as f32;
            let want: f64 = ($reference)(x as f64);
            let got = value!(Fast32, x, $name);
            assert!(ulps32(got, want) <= 3.5, "{}({x:e}f32) = {got:e}, not {want:e}", stringify!($name));
        })*};
    }
    same! {
        exp: f64::exp; exp2: f64::exp2; expm1: f64::exp_m1; log: f64::ln; log1p: f64::ln_1p; log2: f64::log2;
        log10: f64::log10; sin: f64::sin; cos: f64::cos; tan: f64::tan; asin: f64::asin; acos: f64::acos;
        atan: f64::atan; sinh: f64::sinh; cosh: f64::cosh; tanh: f64::tanh; asinh: f64::asinh; acosh: c::acosh;
        atanh: c::atanh; erf: c::erf; erfc: c::erfc; sqrt: f64::sqrt; floor: f64::floor; ceil: f64::ceil;
        trunc: f64::trunc; round: f64::round_ties_even;
    }
}

#[test]
fn special_values_of_two_arguments_are_those_of_the_standard() {
    for x in SPECIAL {
        for y in SPECIAL {
            macro_rules! same {
                ($($name:ident: $reference:expr;)*) => {$({
                    let want: f64 = ($reference)(x, y);
                    for got in [Fast64::load(x).$name(Fast64::load(y)).store(), Plain64::load(x).$name(Plain64::load(y)).store()] {
                        assert!(ulps64(got, want) <= 3.0 && (want != 0.0 || got.is_sign_negative() == want.is_sign_negative()),
                            "{}({x:e}, {y:e}) = {got:e}, not {want:e}", stringify!($name));
                    }
                    let (a, b) = (x as f32, y as f32);
                    let want: f64 = ($reference)(a as f64, b as f64);
                    let got = Fast32::load(a).$name(Fast32::load(b)).store();
                    assert!(ulps32(got, want) <= 3.0, "{}({a:e}, {b:e})f32 = {got:e}, not {want:e}", stringify!($name));
                })*};
            }
            same! { pow: f64::powf; atan2: f64::atan2; hypot: f64::hypot; }
        }
    }
}

// Computed with mpmath, 40 digits.
const LGAMMA: [(f64, f64); 33] = [
    (1e-300, 690.77552789821370518),
    (1e-10, 23.025850929882735237),
    (0.1, 2.252712651734205902),
    (0.4999, 0.57256131860411841589),
    (0.5, 0.57236494292470008707),
    (0.9, 0.066376239734742954426),
    (0.9999999, 5.7721574684441928263e-8),
    (1.0000001, -5.772155829918507097e-8),
    (1.3, -0.10817480950786047846),
    (1.4999, -0.12078588195849393823),
    (1.5, -0.12078223763524522235),
    (1.9999, -0.000042275208772153458011),
    (2.0001, 0.000042281658112919946317),
    (2.4, 0.21685932244884157388),
    (2.5, 0.28468287047291915963),
    (3.0, 0.69314718055994530942),
    (3.7, 1.4280723266653881292),
    (5.5, 3.9578139676187162939),
    (7.9999, 8.5249597975833072323),
    (8.0, 8.5251613610654143002),
    (9.3, 11.252022385979148263),
    (20.5, 40.83150097453079811),
    (171.0, 706.57306224578734711),
    (100000.0, 1051287.7089736568949),
    (1000000000000000.0, 33538776394910668.91),
    (1e+305, 7.0128845336318389096e+307),
    (-0.3, 1.4648400508576025305),
    (-0.9, 2.3580731673920324679),
    (-1.5, 0.86004701537648101451),
    (-3.4, -1.1211918156538383952),
    (-7.1, -6.4082993719630874329),
    (-20.7, -43.105133189536223951),
    (-100.3, -363.76620618267625945),
];
const DIGAMMA: [(f64, f64); 25] = [
    (1e-300, -9.9999999999999997494e+299),
    (1e-10, -10000000000.5772153),
    (0.1, -10.423754940411076232),
    (0.5, -1.9635100260214234794),
    (0.99, -0.59378630405559515926),
    (1.0, -0.57721566490153286061),
    (1.2, -0.28903989659218835183),
    (1.46, -0.0015805619870834521062),
    (1.4616321449683, -6.0255005057672802187e-14),
    (1.5, 0.036489973978576520559),
    (1.99, 0.41631470604541495081),
    (2.0, 0.42278433509846713939),
    (2.5, 0.70315664064524318723),
    (5.1, 1.5280095290559889758),
    (9.99, 2.250700372831201122),
    (10.0, 2.2517525890667211076),
    (37.5, 3.610948344596338412),
    (100000000.0, 18.420680738952365464),
    (-0.1, 9.2450730500529480423),
    (-0.25, 2.9141391202135278304),
    (-0.3, 2.1133097796353988734),
    (-1.5, 0.70315664064524318723),
    (-2.5000001, 1.1031556867205797084),
    (-10.3, 4.6624034935820870175),
    (-50.77, 0.37368424838555842048),
];
const TRIGAMMA: [(f64, f64); 12] = [
    (1e-05, 10000000001.64490839),
    (0.1, 101.4332991507927477),
    (0.5, 4.9348022005446793094),
    (1.0, 1.6449340668482264365),
    (2.5, 0.49035775610023486497),
    (9.9, 0.10628304162874059193),
    (10.1, 0.10407283129749604449),
    (100.0, 0.010050166663333571395),
    (1000000.0, 1.0000005000001666667e-6),
    (-0.3, 13.945160267805722489),
    (-1.5, 9.3792466449891237539),
    (-7.77, 22.446918020133287098),
];
const ERFINV: [(f64, f64); 13] = [
    (1e-20, 8.8622692545275796504e-21),
    (1e-05, 8.862269254759594528e-6),
    (0.1, 0.088855990494257691974),
    (0.5, 0.47693627620446987338),
    (0.84, 0.99353562834730418718),
    (0.86, 1.0435418436397588376),
    (0.9, 1.1630871536766741628),
    (0.99, 1.8213863677184494559),
    (0.9999, 2.7510639057120796917),
    (0.99999999, 4.0522372432687633554),
    (0.9999999999999999, 5.8635847487551679272),
    (-0.3, -0.27246271472675434502),
    (-0.95, -1.3859038243496776766),
];
const NDTRI: [(f64, f64); 11] = [
    (1e-300, -37.047096299361199237),
    (1e-100, -21.273453560965324294),
    (1e-20, -9.2623400897984075796),
    (1e-05, -4.2648907939228246102),
    (0.01, -2.3263478740408410931),
    (0.07, -1.4757910281791706856),
    (0.08, -1.4050715603096325447),
    (0.3, -0.52440051270804081597),
    (0.7, 0.52440051270804065631),
    (0.95, 1.6448536269514722843),
    (0.999, 3.0902323061678132778),
];
const LOG_NDTR: [(f64, f64); 11] = [
    (-100000.0, -5000000012.4318639983),
    (-40.0, -804.60844201375378817),
    (-10.0, -53.231285150512470578),
    (-2.0, -3.7831843336820319488),
    (-1.0001, -1.8411741625414107474),
    (-0.9999, -1.8408691354861396077),
    (-0.1, -0.77615459273027332557),
    (0.0, -0.69314718055994530942),
    (0.5, -0.36894641528865639307),
    (3.0, -0.0013508099647481937988),
    (8.0, -6.2209605742717860585e-16),
];
const ERFCX: [(f64, f64); 11] = [
    (-26.0, 7.6577249314905683515e+293),
    (-3.0, 16205.988853999586625),
    (-0.5, 1.9523604891825570933),
    (0.0, 1.0),
    (1e-05, 0.99998871630832829263),
    (0.3, 0.73459933456765514992),
    (1.0, 0.42758357615580700441),
    (3.0, 0.17900115118138995042),
    (10.0, 0.056140992743822585858),
    (50.0, 0.0112815362653237725),
    (80.0, 0.0070518189570391030171),
];
const ZETA: [(f64, f64, f64); 10] = [
    (2.0, 1.0, 1.6449340668482264365),
    (1.5, 0.3, 8.2377616714597234206),
    (3.0, 2.5, 0.1181020258208637015),
    (30.0, 1.2, 0.0042127202864608799433),
    (2.0, 1000000.0, 1.0000005000001666667e-6),
    (1.001, 3.0, 999.07763492951640055),
    (4.0, -1.5, 32.432379369864603737),
    (5.0, -2.3, -405.77798902371881041),
    (120.0, 2.0, 7.523163845262640051e-37),
    (60.0, 0.5, 1152921504606846976.0),
];
