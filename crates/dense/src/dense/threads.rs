//! Parallel loops over a fixed list of tasks, on a thread pool of our own.
//!
//! The caller cuts the work into tasks whose number does not depend on the number of threads; who runs a task is
//! nobody's business, so results are the same bits for any thread count. The calling thread works too. Helpers are
//! jobs on a lazily built rayon pool that claim tasks from a shared counter; the caller waits for claimed tasks only,
//! never for a helper that has not woken up, so a late (or, after a fork, missing) worker costs nothing.
//!
//! Between tasks a loop looks whether its result is still wanted ([`cancellation_point`]).

mod cancel;
mod detached;

pub use cancel::{SignalSource, TURN, cancellable, cancellation_point, install};
pub use detached::{detached, is_short};

use crate::bail;
use crate::base::Result;
use cancel::CancelFlag;
use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

/// Work expected to take at least this long is worth releasing the GIL for, and worth a second thread.
pub const RELEASE_NS: usize = 20_000;

/// Whether a caller that holds a lock (the GIL) should let go of it for work of about `ns` nanoseconds.
#[inline]
pub const fn worth_releasing(ns: usize) -> bool {
    ns >= RELEASE_NS
}

/// More threads than this are never started, whatever was asked for.
const MAX_WORKERS: usize = 1024;
/// Turns of the waiting loop before the caller goes to sleep: a few microseconds.
const SPINS: usize = 4000;

thread_local! {
    /// This thread is running a task of some loop.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// The number of threads asked for; 0 until the first question.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The pool and its number of workers. The lock itself is replaced after a fork, for it may be held there for ever.
type Slot = Mutex<Option<(usize, Arc<rayon::ThreadPool>)>>;
static POOL: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// Sets how many threads (the caller's included) work on one operation. 1 leaves the pool alone altogether.
///
/// # Errors
/// `Runtime` if `n < 1`, as in PyTorch.
pub fn set_num_threads(n: i64) -> Result<()> {
    match usize::try_from(n) {
        Ok(n) if n > 0 => THREADS.store(n, Ordering::Relaxed),
        _ => bail!(Runtime, "set_num_threads(): argument 'n' expects a positive integer, got {n}"),
    }
    Ok(())
}

/// How many threads work on one operation: what [`set_num_threads`] was given, else `PULLBACK_NUM_THREADS`,
/// `RAYON_NUM_THREADS` or `OMP_NUM_THREADS`, else the number of processors that this process may use.
#[inline]
pub fn get_num_threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => default_threads(),
        n => n,
    }
}

#[cold]
fn default_threads() -> usize {
    let asked = ["PULLBACK_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"]
        .iter()
        .filter_map(|name| parse_count(&std::env::var(name).ok()?))
        .next();
    let n = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    // Someone may have set the number in the meantime: that wins.
    match THREADS.compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => n,
        Err(set) => set,
    }
}

/// A positive count; OpenMP allows a list with one entry per nesting depth, of which the first counts.
fn parse_count(text: &str) -> Option<usize> {
    text.split(',').next()?.trim().parse().ok().filter(|&n| n > 0)
}

/// Whether this thread is running a task of a parallel loop (so that loops inside it are serial).
#[inline]
pub fn is_worker() -> bool {
    BUSY.get()
}

/// To be called in the child of a fork: forgets the pool, whose threads exist only in the parent. It is leaked (its
/// locks may be held) and built again when needed. The pool installs this itself as an atfork handler where there
/// are such; calling it once more does no harm. Allocates nothing and takes no lock.
pub fn after_fork() {
    POOL.store(std::ptr::null_mut(), Ordering::Release);
}

/// Runs `f(0)`, …, `f(tasks - 1)`, in any order and on any threads, and returns when all are done.
///
/// Serial, in order, if there is one task or one thread, or if this thread is running a task already. If tasks
/// panic, those not yet begun are skipped and the first panic continues here.
#[inline]
pub fn run(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    if tasks < 2 {
        return (0..tasks).for_each(f);
    }
    if BUSY.get() || get_num_threads() < 2 {
        return run_serial(tasks, f);
    }
    run_parallel(tasks, f);
}

fn run_serial(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    f(0);
    for i in 1..tasks {
        cancellation_point();
        f(i);
    }
}

/// Runs `f` on consecutive ranges of `0..n`, each of `chunk` elements (the last may be shorter).
pub fn run_chunks(n: usize, chunk: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let chunk = chunk.max(1);
    run(n.div_ceil(chunk), &|i| f(i * chunk..n.min((i + 1) * chunk)));
}

fn run_parallel(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    let helpers = (get_num_threads().min(tasks) - 1).min(MAX_WORKERS);
    let Some(pool) = pool() else {
        return run_serial(tasks, f);
    };
    // SAFETY: only the lifetime changes. `f` is called for claimed tasks only, all are claimed when `work` returns
    // here, and `wait` returns when all claimed ones are done; so nobody calls `f` after this function.
    let f = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(f) };
    let job = Arc::new(ParallelLoop {
        f,
        tasks,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        stop: CancelFlag::new(),
        payload: Mutex::new(None),
        caller: std::thread::current(),
    });
    for _ in 0..helpers {
        let job = job.clone();
        pool.spawn(move || job.work());
    }
    job.work();
    job.wait();
    if let Some(payload) = lock(&job.payload).take() {
        resume_unwind(payload);
    }
}

/// One parallel loop, shared by its caller and the helpers.
struct ParallelLoop {
    f: &'static (dyn Fn(usize) + Sync),
    tasks: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    /// Set when a task panics: those not yet begun are skipped.
    stop: CancelFlag,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

impl ParallelLoop {
    /// Claims tasks and runs them until none is left.
    fn work(&self) {
        let outer = BUSY.replace(true);
        let before = self.stop.enter();
        let mut first = true;
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.tasks {
                break;
            }
            if !self.stop.is_set() {
                let task = || {
                    if !std::mem::take(&mut first) {
                        cancellation_point();
                    }
                    (self.f)(i);
                };
                if let Err(payload) = catch_unwind(AssertUnwindSafe(task)) {
                    self.fail(payload);
                }
            }
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.tasks {
                self.caller.unpark();
            }
        }
        CancelFlag::leave(before);
        BUSY.set(outer);
    }

    /// Keeps the first panic that says why the loop ends early.
    #[cold]
    fn fail(&self, payload: Box<dyn Any + Send>) {
        let mut first = lock(&self.payload);
        if first.as_ref().is_none_or(|p| cancel::is_cancellation(&**p)) {
            *first = Some(payload);
        }
        drop(first);
        self.stop.set();
    }

    /// Waits until all tasks are done: a little while awake, then asleep, listening now and then.
    fn wait(&self) {
        for _ in 0..SPINS {
            if self.done.load(Ordering::Acquire) == self.tasks {
                return;
            }
            std::hint::spin_loop();
        }
        while self.done.load(Ordering::Acquire) != self.tasks {
            std::thread::park_timeout(cancel::TURN);
            if let Err(payload) = catch_unwind(cancellation_point) {
                self.fail(payload);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool for the present number of threads; `None` if the system gives us no threads.
fn pool() -> Option<Arc<rayon::ThreadPool>> {
    let workers = (get_num_threads() - 1).min(MAX_WORKERS);
    let mut slot = lock(slot());
    if let Some((n, pool)) = slot.as_ref()
        && *n == workers
    {
        return Some(pool.clone());
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .thread_name(|i| format!("pullback-{i}"))
        .build()
        .ok()
        .map(Arc::new)?;
    // The old pool's threads end by themselves once the loops that use it are over.
    *slot = Some((workers, pool.clone()));
    Some(pool)
}

fn slot() -> &'static Slot {
    let mut slot = POOL.load(Ordering::Acquire);
    if slot.is_null() {
        #[cfg(all(unix, not(miri)))]
        watch_forks();
        let fresh = Box::into_raw(Box::new(Slot::new(None)));
        slot = match POOL.compare_exchange(slot, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => {
                // SAFETY: nobody else has seen `fresh`.
                drop(unsafe { Box::from_raw(fresh) });
                theirs
            }
        };
    }
    // SAFETY: slots are never freed once published.
    unsafe { &*slot }
}

#[cfg(all(unix, not(miri)))]
fn watch_forks() {
    extern "C" fn child() {
        after_fork();
    }
    static ONCE: AtomicBool = AtomicBool::new(false);
    if !ONCE.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler only stores a null pointer. If it cannot be registered, `after_fork` remains.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
    }
}

/// The number of threads is global: tests that change it hold this while they do.
#[cfg(test)]
pub(crate) fn test_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    lock(&TURN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_task_runs_once_for_any_number_of_threads() {
        let _turn = test_turn();
        for threads in [1, 2, 5] {
            set_num_threads(threads).unwrap();
            for tasks in [0, 1, 2, 3, 1000] {
                let counts: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
                run(tasks, &|i| {
                    assert!(threads == 1 || tasks < 2 || is_worker());
                    run(3, &|_| {
                        counts[i].fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 3));
                assert!(!is_worker());
            }
        }
        set_num_threads(2).unwrap();
    }

    #[test]
    fn panics_reach_the_caller_and_leave_the_pool_usable() {
        let _turn = test_turn();
        set_num_threads(2).unwrap();
        let caught = catch_unwind(|| run(100, &|i| assert!(i != 57, "task {i}"))).unwrap_err();
        assert_eq!(caught.downcast_ref::<String>().unwrap(), "task 57");
        assert!(!is_worker());
        let sum = AtomicUsize::new(0);
        run_chunks(1000, 7, &|r| {
            sum.fetch_add(r.sum::<usize>(), Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 499_500);
    }

    #[test]
    fn many_callers_share_the_pool() {
        let _turn = test_turn();
        set_num_threads(3).unwrap();
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for n in 0..200 {
                        let sum = AtomicUsize::new(0);
                        run(n, &|i| {
                            sum.fetch_add(i, Ordering::Relaxed);
                        });
                        assert_eq!(sum.into_inner(), n * n.saturating_sub(1) / 2);
                    }
                });
            }
        });
    }

    #[test]
    fn counts_below_one_are_refused() {
        for n in [0, -3, i64::MIN] {
            let e = set_num_threads(n).unwrap_err();
            assert_eq!(e.kind(), crate::base::ErrorKind::Runtime);
            assert!(e.message().contains(&format!("positive integer, got {n}")));
        }
        assert_eq!(parse_count(" 4,2"), Some(4));
        assert_eq!(parse_count("0"), None);
        assert_eq!(parse_count("many"), None);
    }

    /// A child of a fork has no workers: loops must still finish there.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn loops_finish_after_a_fork() {
        let _turn = test_turn();
        set_num_threads(3).unwrap();
        run(10, &|_| ());
        // SAFETY: the child calls only what must work after a fork, and leaves by `_exit`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let sum = AtomicUsize::new(0);
            for _ in 0..10 {
                run(100, &|i| {
                    sum.fetch_add(i, Ordering::Relaxed);
                });
            }
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(if sum.into_inner() == 49_500 { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: `pid` is our child.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7);
    }
}
