//! Functions computed one element at a time in double precision.

unsafe extern "C" {
    safe fn lgamma_r(x: f64, sign: &mut i32) -> f64;
    #[link_name = "erf"]
    safe fn c_erf(x: f64) -> f64;
    #[link_name = "erfc"]
    safe fn c_erfc(x: f64) -> f64;
}

pub fn erf(x: f64) -> f64 {
    c_erf(x)
}
pub fn erfc(x: f64) -> f64 {
    c_erfc(x)
}
pub fn erfcx(x: f64) -> f64 {
    (x * x).exp() * erfc(x)
}
pub fn lgamma(x: f64) -> f64 {
    let mut s = 0;
    lgamma_r(x, &mut s)
}
pub fn erfinv(x: f64) -> f64 {
    ndtri((x + 1.0) / 2.0) / std::f64::consts::SQRT_2
}
pub fn ndtri(p: f64) -> f64 {
    let (mut lo, mut hi) = (-40.0, 40.0);
    for _ in 0..80 {
        let mid: f64 = 0.5 * (lo + hi);
        if 0.5 * erfc(-mid / std::f64::consts::SQRT_2) < p { lo = mid } else { hi = mid }
    }
    lo
}
pub fn digamma(x: f64) -> f64 {
    let mut x = x;
    let mut acc = 0.0;
    while x < 10.0 {
        acc -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    acc + x.ln() - 0.5 / x - z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z / 240.0)))
}
pub fn trigamma(x: f64) -> f64 {
    let mut x = x;
    let mut acc = 0.0;
    while x < 10.0 {
        acc += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    acc + 1.0 / x + z / 2.0 + z / x * (1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0 - z / 30.0)))
}
