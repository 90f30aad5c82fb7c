//! Special functions of one argument.

kernels! {
    ERF(x) { float => x.erf() }
    ERFC(x) { float => x.erfc() }
    ERFINV(x) { float => x.erfinv() }
    LGAMMA(x) { float => x.lgamma() }
    DIGAMMA(x) { float => x.digamma() }
    TRIGAMMA(x) { float => x.trigamma() }
}
