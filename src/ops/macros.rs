//! The macros that declare entries. They hold no logic: they name things and hand them to ordinary functions.

/// Declares a table of operators written as Rust functions:
///
/// ```text
/// ops! { TABLE:
///     /// Documentation, with a runnable Python example.
///     fn logsumexp = "logsumexp" | "special.logsumexp" (input: &Tensor, dim: &[i64], keepdim: bool = false) -> Tensor
///         [METHOD] { … body returning Result<Tensor> … }
/// }
/// ```
///
/// After `;` come keyword-only parameters. The bracket lists [`super::Flags`]; `of PRIMITIVE` may follow it, for an entry
/// that checks and converts its arguments and runs this primitive; `as Product` names a shortcut (`__fast!`). `node
/// "SumBackward0" / dim "SumBackward1"` names the nodes of results, and those of calls that give `dim`, where PyTorch's
/// do not follow from the path. A parameter may declare what it must be: `dim: i64 as
/// Dim` is an integer to callers and a checked dimension to the body ([`super::signature`]). Other keywords for it follow:
/// `A: &Tensor as Square | input`. An entry that gives a named tuple says which: `-> Named as sort(values, indices)`; its
/// body gets that as `NAMED`.
#[doc(hidden)]
#[macro_export]
macro_rules! ops {
    ($table:ident : $(
        $(#[doc = $doc:literal])*
        fn $name:ident = $path:literal $(| $alias:literal)*
            ( $($p:ident : $t:ty $(as $k:ty)? $(| $syn:ident)* $(= $d:expr)?),* $(,)?
              $(; $($kp:ident : $kt:ty $(as $kk:ty)? $(= $kd:expr)?),+ $(,)?)? )
            -> $ret:ty $(as $class:ident($($field:ident),+))? [ $($flag:ident),* ]
            $(node $node:literal $(/ $by:ident $other_node:literal)?)? $(of $prim:path)? $(as $short:ident)? $body:block
    )*) => {
        $(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, non_snake_case)]
            pub fn $name ( $($p: $t,)* $($($kp: $kt,)+)? ) -> $crate::base::Result<$ret> {
                const FLAGS: $crate::ops::Flags =
                    $crate::ops::Flags::NONE $(.or($crate::ops::Flags::$flag))*;
                $(const NAMED: &$crate::ops::named::NamedType = &$crate::__named!($class $($field)+);)?
                $crate::ops::signature::named($path, FLAGS, move || -> $crate::base::Result<$ret> {
                    $crate::__declared! { ($($p)*) $({$p $($k)?})* $($({$kp $($kk)?})+)? }
                    $body
                })
            }
        )*

        $(
            $crate::__method! {
                [$($flag)*] [$($doc)*] $name ($($p: $t),*) ($($($($kd)?),+)?) -> $ret
            }
        )*

        #[allow(non_snake_case)]
        pub(crate) static $table: &[$crate::ops::Entry] = &[$(
            $crate::ops::Entry {
                name: $path,
                aliases: &[$($alias),*],
                primitive: $crate::__primitive!($($prim)?),
                params: &[
                    $($crate::__param!($p, $t, [$($k)?], [$($syn)*], false $(, $d)?),)*
                    $($($crate::__param!($kp, $kt, [$($kk)?], [], true $(, $kd)?),)+)?
                ],
                returns: <$ret as $crate::ops::value::IntoValue>::RETURNS,
                named: $crate::__class!($($class $($field)+)?),
                doc: concat!($($doc, "\n"),*),
                flags: $crate::ops::Flags::NONE $(.or($crate::ops::Flags::$flag))*,
                nodes: $crate::__nodes!([$($p)* $($($kp)+)?] $($node $($by $other_node)?)?),
                run: |values| {
                    let mut slots = values.iter();
                    $($crate::__arg!(slots, $path, $p, $t $(, $d)?);)*
                    $($($crate::__arg!(slots, $path, $kp, $kt $(, $kd)?);)+)?
                    let _ = &slots;
                    self::$name( $($p,)* $($($kp,)+)? ).map($crate::ops::value::IntoValue::into_value)
                },
                fast: $crate::__fast!($name $($short)?),
            }
        ),*];
    };
}

/// The method of `Tensor` of an entry with the flag `METHOD`: what can be given by keyword only takes its default.
#[doc(hidden)]
#[macro_export]
macro_rules! __method {
    ( [] $($rest:tt)* ) => {};
    ( [METHOD $($flag:ident)*] [$title:literal $($doc:literal)*] $name:ident
        ($p0:ident : $t0:ty $(, $p:ident : $t:ty)*) ($($default:expr),*) -> $ret:ty
    ) => {
        impl $crate::core::Tensor {
            #[doc = $title]
            #[inline]
            #[allow(clippy::too_many_arguments, clippy::needless_lifetimes)]
            pub fn $name<'a>(
                &'a self
                $(, $p: impl $crate::ops::signature::Given<'a, fn($t)>)*
            ) -> $crate::base::Result<$ret> {
                self::$name(self.into() $(, $p.given())* $(, $default)*)
            }
        }
    };
    ( [$other:ident $($flag:ident)*] $($rest:tt)* ) => {
        $crate::__method! { [$($flag)*] $($rest)* }
    };
}

/// The same, for functions of one tensor.
#[doc(hidden)]
#[macro_export]
macro_rules! __unary_method {
    ( [$($flag:ident)*] [$($doc:literal)*] $name:ident ) => {
        $crate::__method! {
            [$($flag)*] [$($doc)*] $name (input: &$crate::core::Tensor) () -> $crate::core::Tensor
        }
    };
}

/// The same, for functions of two operands.
#[doc(hidden)]
#[macro_export]
macro_rules! __binary_method {
    ( [] $($rest:tt)* ) => {};
    ( [METHOD $($flag:ident)*] [$title:literal $($doc:literal)*] $name:ident ) => {
        impl $crate::core::Tensor {
            #[doc = $title]
            #[inline]
            pub fn $name<'a>(
                &'a self,
                other: impl Into<$crate::ops::value::Operand<'a>>,
            ) -> $crate::base::Result<$crate::core::Tensor> {
                self::$name(self, other)
            }
        }
    };
    ( [$other:ident $($flag:ident)*] $($rest:tt)* ) => {
        $crate::__binary_method! { [$($flag)*] $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __param {
    ($p:ident, $t:ty, [$($k:ty)?], [$($syn:ident)*], $kwonly:literal $(, $d:expr)?) => {
        $crate::ops::Param {
            name: {
                const NAME: &str = stringify!($p);
                $crate::ops::macros::plain(NAME)
            },
            aliases: &[$(stringify!($syn)),*],
            kind: <$t as $crate::ops::Arg<'_>>::KIND,
            optional: <$t as $crate::ops::Arg<'_>>::OPTIONAL,
            default: $crate::__default!($($d)?),
            keyword_only: $kwonly,
            declared: $crate::__declared_name!($($k)?),
        }
    };
}

/// Checks the arguments that declare what they must be, in order.
#[doc(hidden)]
#[macro_export]
macro_rules! __declared {
    ( ($($all:ident)*) ) => {};
    ( ($($all:ident)*) {$p:ident} $($rest:tt)* ) => {
        $crate::__declared! { ($($all)*) $($rest)* }
    };
    ( ($first:ident $($all:ident)*) {$p:ident $k:ty} $($rest:tt)* ) => {
        let $p = <$k as $crate::ops::signature::Declared<_>>::check($p, $crate::ops::signature::ArgumentPlace {
            name: {
                const NAME: &str = stringify!($p);
                $crate::ops::macros::plain(NAME)
            },
            subject: $crate::ops::signature::Subject::subject(&$first),
        })?;
        $crate::__declared! { ($first $($all)*) $($rest)* }
    };
}

/// `refuse!(Value, "argument 'dim' …")` returns an error of that kind from the body of an operator, whose name is put
/// before the text.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse {
    ($kind:ident, $($arg:tt)*) => {
        return Err($crate::ops::signature::refused($crate::base::ErrorKind::$kind, format_args!($($arg)*)))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __primitive {
    () => {
        None
    };
    ($prim:path) => {
        Some(&$prim)
    };
}

/// The names of nodes: by default the path.
#[doc(hidden)]
#[macro_export]
macro_rules! __nodes {
    ([$($p:ident)*]) => {
        None
    };
    ([$($p:ident)*] $node:literal) => {
        Some(&$crate::ops::entry::NodeNames::one($node))
    };
    ([$($p:ident)*] $node:literal $by:ident $other:literal) => {
        Some(const { &$crate::ops::entry::NodeNames::two($node, &[$(stringify!($p)),*], stringify!($by), $other) })
    };
}

/// The shortcut of an entry, by how its function takes tensors.
#[doc(hidden)]
#[macro_export]
macro_rules! __fast {
    ($name:ident) => {
        $crate::ops::entry::Fast::No
    };
    ($name:ident Sum) => {
        $crate::ops::entry::Fast::Binary(|a, b| $name(a.into(), b.into(), None))
    };
    ($name:ident Product) => {
        $crate::ops::entry::Fast::Product(|a, b, _| $name(a, b))
    };
    ($name:ident Affine) => {
        $crate::ops::entry::Fast::Product($name)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __named {
    ($class:ident $($field:ident)+) => {
        $crate::ops::named::NamedType { name: stringify!($class), fields: &[$(stringify!($field)),+] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __class {
    () => {
        None
    };
    ($class:ident $($field:ident)+) => {
        Some(&$crate::__named!($class $($field)+))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __declared_name {
    () => {
        None
    };
    ($k:ty) => {
        Some(<$k as $crate::ops::signature::KindOf>::NAME)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    () => {
        None
    };
    ($d:expr) => {
        Some(stringify!($d))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __arg {
    ($slots:ident, $path:literal, $p:ident, $t:ty, $d:expr) => {
        let $p: $t = match $slots.next() {
            None | Some($crate::ops::Value::Missing) => $d,
            Some(v) => $crate::ops::macros::argument($path, stringify!($p), v)?,
        };
    };
    ($slots:ident, $path:literal, $p:ident, $t:ty) => {
        let $p: $t = match $slots.next() {
            Some(v) => $crate::ops::macros::argument($path, stringify!($p), v)?,
            None => return Err($crate::ops::macros::missing($path, stringify!($p))),
        };
    };
}

/// The name without a raw-identifier prefix.
pub const fn unraw(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'r' && bytes[1] == b'#' {
        return name.split_at(2).1;
    }
    name
}

/// The parameter name without a raw-identifier prefix or a trailing underscore, both of which keywords force.
pub const fn plain(name: &'static str) -> &'static str {
    let name = unraw(name);
    let bytes = name.as_bytes();
    if bytes.len() > 1 && bytes[bytes.len() - 1] == b'_' {
        return name.split_at(name.len() - 1).0;
    }
    name
}

#[inline]
pub fn argument<'a, T: super::Arg<'a>>(op: &str, name: &'static str, v: &'a super::Value) -> crate::base::Result<T> {
    T::from_value(v).map_err(|e| e.context(&format!("{op}(): argument '{}'", plain(name))))
}

#[cold]
pub fn missing(op: &str, name: &'static str) -> crate::base::Error {
    crate::base::Error::type_(format!("{op}(): missing required argument '{}'", plain(name)))
}

/// Declares unary pointwise operators: for each a primitive, named as its kernel in `dense::pointwise::kernels`, and an
/// entry. `d[x]` names the values that the derivative reads: `x` the input, `y` the output, both, or none; the formula is
/// an expression over tensors that gives `Result<Tensor>` or a `Partial`.
///
/// ```text
/// unary! { TABLE, PRIMITIVES:
///     /// Sine of each element, in radians.
///     sin = "sin" | "special.sin" kernel SIN [METHOD] d[x] cos(x);
/// }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! unary {
    ($table:ident, $primitives:ident : $(
        $(#[doc = $doc:literal])*
        $name:ident = $path:literal $(| $alias:literal)* kernel $kernel:ident
            [ $($flag:ident),* ] d[ $($read:ident)* ] $d:expr ;
    )*) => {
        $(
            #[doc = concat!("The primitive `", $path, "`.")]
            pub static $kernel: $crate::rules::Pointwise = $crate::rules::Pointwise {
                name: $path,
                kernel: &$crate::dense::pointwise::kernels::$kernel,
                partials: &[$crate::__partial!([$($read)*] $d)],
            };
        )*
        pub(crate) static $primitives: &[&dyn $crate::core::Primitive] = &[$(&$kernel),*];
        $crate::__unary_entries! { $table: $(
            $(#[doc = $doc])*
            $name = $path $(| $alias)* runs unary($kernel) [ $($flag),* ];
        )* }
    };
}

/// Declares entries of one tensor that run a pointwise primitive.
#[doc(hidden)]
#[macro_export]
macro_rules! __unary_entries {
    ($table:ident : $(
        $(#[doc = $doc:literal])*
        $name:ident = $path:literal $(| $alias:literal)* runs $run:ident($prim:path) [ $($flag:ident),* ];
    )*) => {
        $(
            $(#[doc = $doc])*
            #[inline]
            pub fn $name(input: &$crate::core::Tensor) -> $crate::base::Result<$crate::core::Tensor> {
                $crate::ops::promote::$run(&$prim, input)
            }
        )*

        $( $crate::__unary_method! { [$($flag)*] [$($doc)*] $name } )*

        #[allow(non_snake_case)]
        pub(crate) static $table: &[$crate::ops::Entry] = &[$(
            $crate::ops::Entry {
                name: $path,
                aliases: &[$($alias),*],
                primitive: Some(&$prim),
                params: &[$crate::__param!(input, &$crate::core::Tensor, [], [], false)],
                returns: "Tensor",
                named: None,
                doc: concat!($($doc, "\n"),*),
                flags: $crate::ops::Flags::NONE $(.or($crate::ops::Flags::$flag))*,
                nodes: None,
                run: |values| {
                    let mut slots = values.iter();
                    $crate::__arg!(slots, $path, input, &$crate::core::Tensor);
                    $name(input).map($crate::ops::Value::Tensor)
                },
                fast: $crate::ops::entry::Fast::Unary($name),
            }
        ),*];
    };
}

/// Saves of a partial: `x` or `a` is input 0, `b` input 1, `c` input 2, `y` the output.
#[doc(hidden)]
#[macro_export]
macro_rules! __reads {
    ($($read:ident)*) => {
        $crate::core::primitive::Saves {
            inputs: 0 $(| $crate::ops::macros::input_bit(stringify!($read)))*,
            outputs: 0 $(| $crate::ops::macros::output_bit(stringify!($read)))*,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __read {
    ($point:ident $x:ident) => {
        let $x: &$crate::core::Tensor = $crate::ops::macros::read($point, stringify!($x))?;
    };
}

/// The value that a derivative reads under this name.
#[inline(always)]
pub fn read<'a>(point: &crate::core::Point<'a>, name: &str) -> crate::base::Result<&'a crate::core::Tensor> {
    match input_bit(name) {
        0 => point.output(0),
        bit => point.input(bit.trailing_zeros() as usize),
    }
}

pub const fn input_bit(name: &str) -> u64 {
    match name.as_bytes() {
        b"x" | b"a" => 1,
        b"b" => 2,
        b"c" => 4,
        _ => 0,
    }
}
pub const fn output_bit(name: &str) -> u64 {
    matches!(name.as_bytes(), b"y") as u64
}

/// Declares binary pointwise operators over tensors and numbers. One derivative per argument:
/// `da[b] b, db[a] a`.
#[doc(hidden)]
#[macro_export]
macro_rules! binary {
    ($table:ident, $primitives:ident : $($rest:tt)*) => {
        $crate::binary! { $table, $primitives of $crate::ops::value::Operand<'_> : $($rest)* }
    };
    ($table:ident, $primitives:ident of $first:ty : $(
        $(#[doc = $doc:literal])*
        $name:ident = $path:literal $(| $alias:literal)* kernel $kernel:ident $rule:ident [ $($flag:ident),* ]
            $(node $node:literal / $by:ident $other_node:literal)?
            da[ $($ra:ident)* ] $da:expr , db[ $($rb:ident)* ] $db:expr ;
    )*) => {
        $(
            #[doc = concat!("The primitive `", $path, "`.")]
            pub static $kernel: $crate::rules::Pointwise = $crate::rules::Pointwise {
                name: $path,
                kernel: &$crate::dense::pointwise::kernels::$kernel,
                partials: &[$crate::__partial!([$($ra)*] $da), $crate::__partial!([$($rb)*] $db)],
            };
        )*
        pub(crate) static $primitives: &[&dyn $crate::core::Primitive] = &[$(&$kernel),*];
        $crate::__binary_entries! { $table, $first: $(
            $(#[doc = $doc])*
            $name = $path $(| $alias)* runs binary($kernel, $crate::ops::promote::PromotionRule::$rule)
                [ $($flag),* ] $(node $node / $by $other_node)?;
        )* }
    };
}

/// Declares entries of two tensors or numbers that run a pointwise primitive.
#[doc(hidden)]
#[macro_export]
macro_rules! __binary_entries {
    ($table:ident, $first:ty : $(
        $(#[doc = $doc:literal])*
        $name:ident = $path:literal $(| $alias:literal)* runs $run:ident($prim:path $(, $how:expr)?)
            [ $($flag:ident),* ] $(node $node:literal / $by:ident $other_node:literal)?;
    )*) => {
        $(
            $(#[doc = $doc])*
            #[inline]
            pub fn $name<'a>(
                input: impl Into<$crate::ops::value::Operand<'a>>,
                other: impl Into<$crate::ops::value::Operand<'a>>,
            ) -> $crate::base::Result<$crate::core::Tensor> {
                $crate::ops::promote::$run(&$prim, $($how,)? input.into(), other.into())
            }
        )*

        $( $crate::__binary_method! { [$($flag)*] [$($doc)*] $name } )*

        #[allow(non_snake_case)]
        pub(crate) static $table: &[$crate::ops::Entry] = &[$(
            $crate::ops::Entry {
                name: $path,
                aliases: &[$($alias),*],
                primitive: Some(&$prim),
                params: &[
                    $crate::__param!(input, $first, [], [], false),
                    $crate::__param!(other, $crate::ops::value::Operand<'_>, [], [], false),
                ],
                returns: "Tensor",
                named: None,
                doc: concat!($($doc, "\n"),*),
                flags: $crate::ops::Flags::NONE $(.or($crate::ops::Flags::$flag))*,
                nodes: $crate::__nodes!([input other] $($node $by $other_node)?),
                run: |values| {
                    let mut slots = values.iter();
                    $crate::__arg!(slots, $path, input, $first);
                    $crate::__arg!(slots, $path, other, $crate::ops::value::Operand<'_>);
                    $name(input, other).map($crate::ops::Value::Tensor)
                },
                fast: $crate::ops::entry::Fast::Binary(|a, b| $name(a, b)),
            }
        ),*];
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __partial {
    ([$($read:ident)*] $d:expr) => {
        Some($crate::rules::PartialRule {
            saves: $crate::__reads!($($read)*),
            rule: |point| {
                let _ = point;
                $($crate::__read!(point $read);)*
                $crate::rules::IntoPartial::into_partial($d)
            },
        })
    };
}

/// Declares unary pointwise operators whose results are constants for every derivative, such as predicates.
#[doc(hidden)]
#[macro_export]
macro_rules! predicate {
    ($table:ident, $primitives:ident : $(
        $(#[doc = $doc:literal])*
        $name:ident = $path:literal $(| $alias:literal)* kernel $kernel:ident [ $($flag:ident),* ] ;
    )*) => {
        $crate::__constants! { $primitives: $($path $kernel)* }
        $crate::__unary_entries! { $table: $(
            $(#[doc = $doc])*
            $name = $path $(| $alias)* runs constant_unary($kernel) [ $($flag),* ];
        )* }
    };
}

/// Declares comparisons and logical operators of two tensors or numbers: results are bool, without a derivative.
#[doc(hidden)]
#[macro_export]
macro_rules! compare {
    ($table:ident, $primitives:ident : $(
        $(#[doc = $doc:literal])*
        $name:ident = $path:literal $(| $alias:literal)* kernel $kernel:ident [ $($flag:ident),* ] ;
    )*) => {
        $crate::__constants! { $primitives: $($path $kernel)* }
        $crate::__binary_entries! { $table, &$crate::core::Tensor: $(
            $(#[doc = $doc])*
            $name = $path $(| $alias)* runs comparison($kernel) [ $($flag),* ];
        )* }
    };
}

/// Declares pointwise primitives without a derivative, and the list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __constants {
    ($primitives:ident : $($path:literal $kernel:ident)*) => {
        $(
            #[doc = concat!("The primitive `", $path, "`.")]
            pub static $kernel: $crate::rules::Pointwise =
                $crate::rules::Pointwise::constant($path, &$crate::dense::pointwise::kernels::$kernel);
        )*
        pub(crate) static $primitives: &[&dyn $crate::core::Primitive] = &[$(&$kernel),*];
    };
}
