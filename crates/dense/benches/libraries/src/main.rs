//! Our own routines beside those of libraries: `linalg [threads]`, `products`, `chain`, `memory` or `thread`. The figures that decided stand
//! beside the code that they are about.

mod chain;
mod factor;
mod memory;
mod products;
mod thread;

use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(1);
    match args.get(1).map(String::as_str) {
        Some("linalg") => factor::all(threads),
        Some("chain") => chain::all(),
        Some("products") => products::all(),
        Some("memory") => memory::all(),
        Some("thread") => thread::all(),
        _ => eprintln!("usage: libraries linalg [threads] | products | chain | memory | thread"),
    }
}

/// The shortest times of several ways to do one thing, in nanoseconds, taken in turn so that a busy machine disturbs all
/// of them alike.
pub fn race<const N: usize>(mut ways: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    let mut repeats = [1u32; N];
    for (way, repeats) in ways.iter_mut().zip(&mut repeats) {
        way();
        let start = Instant::now();
        way();
        *repeats = (200_000 / start.elapsed().as_nanos().max(1)).clamp(1, 100_000) as u32;
    }
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < 7 || (start.elapsed() < Duration::from_millis(250) && rounds < 300) {
        rounds += 1;
        for (i, way) in ways.iter_mut().enumerate() {
            let start = Instant::now();
            (0..repeats[i]).for_each(|_| way());
            best[i] = best[i].min(start.elapsed().as_nanos() as f64 / f64::from(repeats[i]));
        }
    }
    best
}

/// Nanoseconds, or what is easier to read.
pub fn time(ns: f64) -> String {
    match ns {
        ..1e4 => format!("{ns:.0} ns"),
        1e4..1e7 => format!("{:.1} us", ns / 1e3),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}
