//! How the Python extension is linked: what small operators run lies together (`link/hot.ld`), and functions that came out
//! the same are there once. Rust's own linker (lld) can do both; with another one the extension is linked as it comes.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=link/hot.ld");
    println!("cargo:rerun-if-env-changed=PULLBACK_PLAIN_LINK");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|v| v == value);
    let optimised = is("OPT_LEVEL", "3");
    if optimised && env::var_os("PULLBACK_PLAIN_LINK").is_none() && links_with_lld() {
        let script = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("link/hot.ld");
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
        // By itself: a path may have a comma.
        println!("cargo:rustc-cdylib-link-arg=-T{}", script.display());
    }
}

/// Whether this compiler brings lld along and links with it, which nobody has changed.
fn links_with_lld() -> bool {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = env::var_os("RUSTC_LINKER").is_some() || flags.contains("linker") || flags.contains("fuse-ld");
    if chosen || env::var("TARGET").is_ok_and(|t| t != TARGET) {
        return false;
    }
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(out) = Command::new(compiler).args(["--print", "sysroot"]).output() else { return false };
    let root = String::from_utf8_lossy(&out.stdout);
    Path::new(root.trim()).join("lib/rustlib").join(TARGET).join("bin/gcc-ld/ld.lld").exists()
}
