//! What the core asks of Python: signals, the interpreter lock, tracebacks, warnings; and the anomaly mode.

use crate::process::gil;
use crate::types::errors::{self, PyResult, to_error};
use crate::types::raised;
use pullback::base::Result;
use pullback::core::host::{self, Anomaly, Host};
use pullback::dense::threads::{self, SignalSource};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How often a sweep gives way to other threads. A thread that waits for the interpreter insists after 5 ms in which
/// nobody let go of it; letting go more often only wakes it, mostly too late.
const TURN: Duration = Duration::from_millis(6);

thread_local! {
    static LAST_TURN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Signal handlers run, and threads that wait for the interpreter get it.
fn poll() -> Result<()> {
    let polled = Python::try_attach(|py| -> PyResult<()> {
        py.check_signals()?;
        let now = Instant::now();
        if LAST_TURN.get().is_none_or(|last| now.duration_since(last) >= TURN) {
            py.detach(|| ());
            LAST_TURN.set(Some(Instant::now()));
        }
        Ok(())
    });
    polled.unwrap_or(Ok(())).map_err(to_error)
}

/// The thread whose calls run signal handlers.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Long work listens on the main thread, and only while it has let go of the interpreter: whoever did that ([`released`],
/// the door) turns the unwinding into an exception.
fn hears() -> bool {
    MAIN.get().is_none_or(|main| *main == thread::current().id()) && !gil::is_held()
}

/// Signal handlers run.
fn listen() -> Result<()> {
    Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(())).map_err(to_error)
}

fn remember_main(py: Python<'_>) -> PyResult<()> {
    let modules = py.import("sys")?.getattr("modules")?;
    let is_main = match modules.cast::<PyDict>()?.get_item("threading")? {
        Some(threading) => {
            let ident = |name: &str| threading.call_method0(name)?.getattr("ident")?.extract::<u64>();
            ident("main_thread")? == ident("current_thread")?
        }
        // The module is most of what an import would cost, and who has not loaded it has started no thread with it.
        None => is_first(),
    };
    if is_main {
        let _ = MAIN.set(thread::current().id());
    }
    Ok(())
}

/// Whether this is the thread that the process began with, as far as the system says.
#[cfg(target_os = "linux")]
fn is_first() -> bool {
    // SAFETY: both only answer a question. The call by its number, since glibc has a name for it from 2.30 on.
    unsafe { libc::c_long::from(libc::getpid()) == libc::syscall(libc::SYS_gettid) }
}

#[cfg(not(target_os = "linux"))]
fn is_first() -> bool {
    true
}

fn released(f: &mut (dyn FnMut() + Send)) {
    if !gil::is_held() {
        return f();
    }
    Python::attach(|py| py.detach(f));
}

fn traceback() -> String {
    let stack = |py: Python<'_>| -> PyResult<String> {
        let lines: Vec<String> = py.import("traceback")?.call_method0("format_stack")?.extract()?;
        Ok(lines.concat())
    };
    let text = |py: Python<'_>| {
        stack(py).unwrap_or_else(|e| {
            raised::put_off(py, &e);
            String::new()
        })
    };
    Python::try_attach(text).unwrap_or_default()
}

fn warn(text: &str) -> Result<()> {
    let warned = Python::try_attach(|py| errors::warn::<PyUserWarning>(py, text));
    warned.unwrap_or(Ok(())).map_err(to_error)
}

/// 0: off, 1: nodes remember where they were made, 2: and sweeps stop at NaN. Gives the mode before.
#[pyfunction]
fn _set_anomaly(mode: u8) -> u8 {
    let mode = match mode {
        0 => Anomaly::Off,
        1 => Anomaly::Trace,
        _ => Anomaly::Check,
    };
    host::set_anomaly(mode) as u8
}

#[pyfunction]
fn _set_warn_always(on: bool) {
    host::set_warn_always(on);
}

/// Whether recorded operators remember where they were called.
#[pyfunction]
fn is_anomaly_enabled() -> bool {
    host::anomaly() != Anomaly::Off
}

/// Whether `backward` stops at gradients that are not numbers.
#[pyfunction]
fn is_anomaly_check_nan_enabled() -> bool {
    host::anomaly() != Anomaly::Trace
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    host::install(Host { poll, released, traceback, warn });
    remember_main(m.py())?;
    threads::install(SignalSource { is_listening: hears, poll: listen });
    let autograd = crate::types::submodule(m, "autograd")?;
    autograd.add_function(wrap_pyfunction!(_set_anomaly, &autograd)?)?;
    m.add_function(wrap_pyfunction!(_set_warn_always, m)?)?;
    m.add_function(wrap_pyfunction!(is_anomaly_enabled, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(is_anomaly_check_nan_enabled, m)?)?)
}
