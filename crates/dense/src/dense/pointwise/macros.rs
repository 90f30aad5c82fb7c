//! `pointwise_kernel!`: a kernel from scalar bodies.

/// Declares a `static` [`Kernel`](crate::dense::pointwise::Kernel).
///
/// ```ignore
/// pointwise_kernel! { SIN(x) { float => x.sin() } }
/// pointwise_kernel! { pub MUL(a, b) { float => a * b, int => a * b, bool => a & b } }
/// pointwise_kernel! { LT(a, b) -> bool { float => a.lt(b), int => a.lt(b), bool => a.lt(b) } }
/// pointwise_kernel! { WHERE(c: bool, a, b) { any => if c { a } else { b } } }
/// ```
///
/// The groups: `float` is f32 and f64 (half precision through f32), variables are
/// [`Real`](crate::dense::math::Real); `int` is the five integer dtypes, variables are
/// [`Int`](crate::dense::math::Int); `bool` has plain bools; `complex` is complex64 and complex128, variables are
/// [`Cplx`](crate::dense::math::Cplx); `any` is every dtype, for bodies that only move values. `float_serial`, `int_serial`
/// and `complex_serial` have one loop for all instruction sets: for what none does on vectors, as division of integers,
/// and for what programs rarely do with such numbers.
/// `-> bool` makes a predicate, `-> real` gives the real dtype of a complex one (floats stay), `-> complex` the complex
/// dtype of a float one. The name in error messages is the lower-cased identifier.
#[doc(hidden)]
#[macro_export]
macro_rules! pointwise_kernel {
    ($(#[$meta:meta])* $vis:vis $name:ident $args:tt { $($group:ident => $body:expr),+ $(,)? }) => {
        $crate::pointwise_kernel!(@kernel [$(#[$meta])* $vis] $name $args Same { $($group => $body),+ });
    };
    ($(#[$meta:meta])* $vis:vis $name:ident $args:tt -> bool { $($group:ident => $body:expr),+ $(,)? }) => {
        $crate::pointwise_kernel!(@kernel [$(#[$meta])* $vis] $name $args Bool { $($group => $body),+ });
    };
    ($(#[$meta:meta])* $vis:vis $name:ident $args:tt -> real { $($group:ident => $body:expr),+ $(,)? }) => {
        $crate::pointwise_kernel!(@kernel [$(#[$meta])* $vis] $name $args Real { $($group => $body),+ });
    };
    ($(#[$meta:meta])* $vis:vis $name:ident $args:tt -> complex { $($group:ident => $body:expr),+ $(,)? }) => {
        $crate::pointwise_kernel!(@kernel [$(#[$meta])* $vis] $name $args Complex { $($group => $body),+ });
    };
    (@kernel [$($front:tt)*] $name:ident $args:tt $out:ident { $($group:ident => $body:expr),+ }) => {
        $($front)* static $name: $crate::dense::pointwise::Kernel = {
            const UPPER: &str = stringify!($name);
            const LOWER: [u8; UPPER.len()] = $crate::dense::pointwise::lowercase(UPPER);
            const NAME: &str = match std::str::from_utf8(&LOWER) {
                Ok(s) => s,
                Err(_) => UPPER,
            };
            const ARITY: u8 = $crate::pointwise_kernel!(@arity $args);
            const CONDITION: bool = $crate::pointwise_kernel!(@condition $args);
            let kernel = $crate::dense::pointwise::Kernel::new(
                NAME, ARITY, $crate::dense::pointwise::OutDtype::$out, CONDITION,
            );
            $(let kernel = $crate::pointwise_kernel!(@group $group kernel $args $out $body);)+
            kernel
        };
    };
    (@arity ($a:ident $(: bool)?)) => { 1 };
    (@arity ($a:ident $(: bool)?, $b:ident)) => { 2 };
    (@arity ($a:ident $(: bool)?, $b:ident, $c:ident)) => { 3 };
    (@condition ($a:ident : bool $($rest:tt)*)) => { true };
    (@condition $args:tt) => { false };

    // A body: one generic implementation, and rows for each dtype of the group.
    (@group float $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Real [R: $crate::dense::math::Real] R $args $out $body);
        let kernel = $crate::pointwise_kernel!(
            @rows $kernel $args F32 $crate::dense::math::V<f32, false, false>, $crate::dense::math::V<f32, true, false>);
        $crate::pointwise_kernel!(
            @rows kernel $args F64 $crate::dense::math::V<f64, false, false>, $crate::dense::math::V<f64, true, false>)
    }};
    (@group float_serial $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Real [R: $crate::dense::math::Real] R $args $out $body);
        let kernel = $crate::pointwise_kernel!(@serial $kernel $args F32 $crate::dense::math::V<f32, false, false>);
        $crate::pointwise_kernel!(@serial kernel $args F64 $crate::dense::math::V<f64, false, false>)
    }};
    (@group complex $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Cplx [R: $crate::dense::math::Cplx] R $args $out $body);
        let kernel = $crate::pointwise_kernel!(
            @rows $kernel $args C64 $crate::dense::math::Z<$crate::dense::math::V<f32, false, true>>,
            $crate::dense::math::Z<$crate::dense::math::V<f32, true, true>>);
        $crate::pointwise_kernel!(
            @rows kernel $args C128 $crate::dense::math::Z<$crate::dense::math::V<f64, false, true>>,
            $crate::dense::math::Z<$crate::dense::math::V<f64, true, true>>)
    }};
    (@group complex_serial $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Cplx [R: $crate::dense::math::Cplx] R $args $out $body);
        let kernel = $crate::pointwise_kernel!(
            @serial $kernel $args C64 $crate::dense::math::Z<$crate::dense::math::V<f32, false, true>>);
        $crate::pointwise_kernel!(@serial kernel $args C128 $crate::dense::math::Z<$crate::dense::math::V<f64, false, true>>)
    }};
    (@group int $kernel:ident $args:tt $out:ident $body:expr) => {
        $crate::pointwise_kernel!(@integers rows $kernel $args $out $body)
    };
    (@group int_serial $kernel:ident $args:tt $out:ident $body:expr) => {
        $crate::pointwise_kernel!(@integers serial $kernel $args $out $body)
    };
    (@integers $rows:ident $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Int [R: $crate::dense::math::Int] R $args $out $body);
        let kernel = $crate::pointwise_kernel!(@$rows $kernel $args U8 $crate::dense::math::W<u8>);
        let kernel = $crate::pointwise_kernel!(@$rows kernel $args I8 $crate::dense::math::W<i8>);
        let kernel = $crate::pointwise_kernel!(@$rows kernel $args I16 $crate::dense::math::W<i16>);
        let kernel = $crate::pointwise_kernel!(@$rows kernel $args I32 $crate::dense::math::W<i32>);
        $crate::pointwise_kernel!(@$rows kernel $args I64 $crate::dense::math::W<i64>)
    }};
    (@group bool $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Bool [] bool $args $out $body);
        $crate::pointwise_kernel!(@rows $kernel $args Bool bool)
    }};
    (@group any $kernel:ident $args:tt $out:ident $body:expr) => {{
        struct K;
        $crate::pointwise_kernel!(@body Any [R: $crate::dense::math::Lane] R $args $out $body);
        let kernel = $crate::pointwise_kernel!(@rows $kernel $args Bool $crate::dense::math::Raw<u8>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args U8 $crate::dense::math::Raw<u8>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args I8 $crate::dense::math::Raw<u8>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args I16 $crate::dense::math::Raw<u16>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args F16 $crate::dense::math::Raw<u16>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args BF16 $crate::dense::math::Raw<u16>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args I32 $crate::dense::math::Raw<u32>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args F32 $crate::dense::math::Raw<u32>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args I64 $crate::dense::math::Raw<u64>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args F64 $crate::dense::math::Raw<u64>);
        let kernel = $crate::pointwise_kernel!(@rows kernel $args C64 $crate::dense::math::Raw<u64>);
        $crate::pointwise_kernel!(@rows kernel $args C128 $crate::dense::math::Raw<[u64; 2]>)
    }};

    (@body $kind:ident [$($generics:tt)*] $var:ident ($($arg:ident $(: $ty:ident)?),+) $out:ident $body:expr) => {
        impl<$($generics)*> $crate::dense::pointwise::Body<($($crate::pointwise_kernel!(@ty $var $($ty)?),)+)> for K {
            type Out = $crate::pointwise_kernel!(@out $kind $var $out);
            #[inline(always)]
            #[allow(unused_variables, unused_imports)]
            fn call(($($arg,)+): ($($crate::pointwise_kernel!(@ty $var $($ty)?),)+)) -> Self::Out {
                use $crate::dense::math::prelude::*;
                $body
            }
        }
    };
    (@rows $kernel:ident $args:tt $dtype:ident $lane:ty) => {
        $crate::pointwise_kernel!(@rows $kernel $args $dtype $lane, $lane)
    };
    (@rows $kernel:ident ($($arg:ident $(: $ty:ident)?),+) $dtype:ident $base:ty, $fused:ty) => {
        // SAFETY: the loops are over one lane type of this dtype for each operand, and give what the body does.
        unsafe {
            $kernel.with::<
                $crate::dense::pointwise::Rows<K, ($($crate::pointwise_kernel!(@ty $base, $($ty)?),)+)>,
                $crate::dense::pointwise::Rows<K, ($($crate::pointwise_kernel!(@ty $fused, $($ty)?),)+)>,
            >($crate::base::DType::$dtype)
        }
    };
    (@serial $kernel:ident ($($arg:ident $(: $ty:ident)?),+) $dtype:ident $lane:ty) => {
        // SAFETY: as above.
        unsafe {
            $kernel.with_serial::<
                $crate::dense::pointwise::Rows<K, ($($crate::pointwise_kernel!(@ty $lane, $($ty)?),)+)>,
            >($crate::base::DType::$dtype)
        }
    };
    (@ty $var:ident) => { $var };
    (@ty $var:ident bool) => { bool };
    (@ty $var:ty,) => { $var };
    (@ty $var:ty, bool) => { bool };
    (@out Real $var:ident Same) => { $var };
    (@out Real $var:ident Real) => { $var };
    (@out Real $var:ident Complex) => { $crate::dense::math::Z<$var> };
    (@out Cplx $var:ident Same) => { $var };
    (@out Cplx $var:ident Real) => { <$var as $crate::dense::math::Cplx>::Re };
    (@out Int $var:ident Real) => { $var };
    (@out $kind:ident $var:ident Same) => { $var };
    (@out $kind:ident $var:ident Bool) => { bool };
}
