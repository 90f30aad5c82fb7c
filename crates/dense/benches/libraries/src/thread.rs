//! The value of a thread: by the address of the first thread, and by the standard library. Compiled twice: a library that
//! is loaded while a program runs, as the Python module is, asks the system's loader for its thread-local values.

use pullback_dense::dense::first_thread::{self, FastLocal};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

thread_local! {
    static VALUE: Cell<u64> = const { Cell::new(0) };
}
static FAST: FastLocal<Cell<u64>> = FastLocal::new(&VALUE);

fn step(c: &Cell<u64>) {
    c.set(c.get() + 1);
}

// Not inlined: in a loop the compiler would look once.
#[inline(never)]
fn by_first_thread() {
    FAST.with(step);
}

#[inline(never)]
fn by_standard_library() {
    VALUE.with(step);
}

/// Tenths of a nanosecond that a look takes: our way, or the usual one.
#[unsafe(no_mangle)]
pub extern "C" fn look(ours: bool) -> u64 {
    const TURNS: u64 = 1_000_000;
    first_thread::claim();
    let way: fn() = black_box(if ours { by_first_thread } else { by_standard_library });
    let run = || {
        let start = Instant::now();
        (0..TURNS).for_each(|_| way());
        start.elapsed().as_nanos() as u64 * 10 / TURNS
    };
    (0..20).map(|_| run()).min().unwrap_or(0)
}

/// Prints the figures of the executable and of the library beside it.
#[allow(dead_code)]
pub fn all() {
    let print = |place: &str, look: extern "C" fn(bool) -> u64| {
        println!("{place}: ours {} tenths of a ns, thread_local! {}", look(true), look(false));
    };
    print("in the executable", look);
    let library = std::env::current_exe().unwrap().with_file_name("libloaded.so\0");
    // SAFETY: the path ends in a zero byte, and the library has a function of this name and type.
    unsafe {
        let handle = libc::dlopen(library.to_str().unwrap().as_ptr().cast(), libc::RTLD_NOW);
        let found = libc::dlsym(handle, c"look".as_ptr());
        assert!(!found.is_null(), "{} was not built", library.display());
        print(
            "in a library that was loaded",
            std::mem::transmute::<*mut libc::c_void, extern "C" fn(bool) -> u64>(found),
        );
    }
}
