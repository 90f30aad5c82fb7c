//! The error function and its complements. Polynomials are minimax fits of our own.

use super::exp::{exp_normal, exp_with};
use super::fp::Fp;

/// erf(x)/x - 1 in z = x² on |x| ≤ 1.
const NEAR_32: [f64; 7] =
    [0.1283791657, -0.37612625825, 0.11283585152, -0.026853812073, 0.0051883279321, -0.00080101956062, 7.8538672354e-5];
const NEAR_64: [f64; 12] = [
    0.1283791670955125657,
    -0.37612638903183519558,
    0.11283791670944185269,
    -0.02686617064311153229,
    0.0052239776061188799205,
    -0.00085483259293297901164,
    0.00012055293577272877876,
    -0.000014924712308029718495,
    1.6447131635680484113e-6,
    -1.6206314196309947138e-7,
    1.3710982108482451943e-8,
    -7.7794714069574145114e-10,
];
/// ln(erfc(t)) in v = t - 1, where it is well conditioned, for t from 1 to 4 (6).
const FAR_32: [f64; 7] =
    [-1.8496055165, -2.6389668158, -0.84311833939, -0.04150067126, 0.0098908557746, -0.0018261317451, 0.0001855645953];
const FAR_64: [f64; 18] = [
    -1.8496055099332482903,
    -2.638967514234775793,
    -0.84310725635941204095,
    -0.041561098025088712886,
    0.010033825179180755126,
    -0.0019779012160153118178,
    0.00023731643510969945048,
    0.000026296327272260341182,
    -0.000027198975707580507048,
    9.6713843435904943564e-6,
    -2.1319502780761332534e-6,
    2.0482166712005886057e-7,
    5.8005395158796422591e-8,
    -3.3388540103156340693e-8,
    8.5179645281786786484e-9,
    -1.3189477357555480363e-9,
    1.1930848993494561182e-10,
    -4.8641580225601911027e-12,
];
/// (1 + 2x) exp(x²) erfc(x) in (x - 4)/(x + 4) for all x ≥ 0.
const SCALED_32: [f64; 14] = [
    1.23299511741,
    -0.139621111928,
    0.0153797711194,
    0.0680968835708,
    -0.101040972453,
    0.0937345614128,
    -0.0663188964172,
    0.0371597392793,
    -0.0162306960095,
    0.00505023265339,
    -0.000708848643713,
    -0.000222872593165,
    0.00011410962618,
    -7.84878205864e-6,
];
const SCALED_64: [f64; 24] = [
    1.23299511862555253984,
    -0.139621116840562094788,
    0.015379652102610964412,
    0.0680970542546518846932,
    -0.101039066035883826895,
    0.0937328349995382140019,
    -0.0663303658200385105385,
    0.037167515521274304715,
    -0.0161977339835253077682,
    0.0050319701025676089608,
    -0.000757773697885651176942,
    -0.000199257287589502964355,
    0.000150623071774203256761,
    -0.0000243973807583007503112,
    -0.0000112250565441395911977,
    0.00000570598258753361255945,
    2.97961515667649874472e-7,
    -8.20404287234569026446e-7,
    7.11905186859481455138e-8,
    1.0585819840238582902e-7,
    -1.63867910157024695656e-8,
    -1.21560838955226046082e-8,
    1.57645270795670438723e-9,
    8.9821936900909788896e-10,
];

#[inline(always)]
pub fn erf<T: Fp, const F: bool>(x: T) -> T {
    let (a, top) = (x.abs(), T::either(4.0, 6.0));
    let t = if a > top { top } else { a };
    let g = (t - T::of(1.0)).poly::<F, 7, 18>(&FAR_32, &FAR_64);
    let g = if g > T::of(0.0) { T::of(0.0) } else { g };
    let far = T::of(1.0) - exp_normal::<T, F>(g);
    if a > T::of(1.0) { far.copysign(x) } else { near::<T, F>(x) }
}

/// erf(x) for |x| ≤ 1.
#[inline(always)]
fn near<T: Fp, const F: bool>(x: T) -> T {
    // The first coefficient is less by one, so that the last bit of x counts.
    (x * x).poly::<F, 7, 12>(&NEAR_32, &NEAR_64).fma::<F>(x, x)
}

/// x² and what its rounding lost.
#[inline(always)]
fn square<T: Fp, const F: bool>(x: T) -> (T, T) {
    let h = x * x;
    if F {
        return (h, x.fma::<F>(x, -h));
    }
    // Dekker's product: the upper half of the bits squares exactly.
    let c = x * T::either(4097.0, 134217729.0);
    let hi = c - (c - x);
    let lo = x - hi;
    (h, ((hi * hi - h) + (hi + hi) * lo) + lo * lo)
}

/// exp(x²) erfc(x) for x ≥ 0.
#[inline(always)]
fn scaled<T: Fp, const F: bool>(x: T) -> T {
    let t = (x - T::of(4.0)) / (x + T::of(4.0));
    // Its limit, where the quotient of infinities is none.
    let t = if x > T::either(1e9, 1e17) { T::of(1.0) } else { t };
    t.poly::<F, 14, 24>(&SCALED_32, &SCALED_64) / (x + x + T::of(1.0))
}

#[inline(always)]
pub fn erfc<T: Fp, const F: bool>(x: T) -> T {
    let (a, top) = (x.abs(), T::either(11.0, 28.0));
    let a = if a > top { top } else { a };
    let (h, l) = square::<T, F>(a);
    let y = scaled::<T, F>(a) * exp_with::<T, F>(-h, -l, T::of(0.0));
    let y = if x < T::of(0.0) { T::of(2.0) - y } else { y };
    if a < T::of(0.5) { T::of(1.0) - near::<T, F>(x) } else { y }
}

#[inline(always)]
pub fn erfcx<T: Fp, const F: bool>(x: T) -> T {
    let a = x.abs();
    let y = scaled::<T, F>(a);
    let b = if a > T::of(30.0) { T::of(30.0) } else { a };
    let (h, l) = square::<T, F>(b);
    let e = exp_with::<T, F>(h, l, T::of(1.0));
    if x < T::of(0.0) { e - y } else { y }
}
