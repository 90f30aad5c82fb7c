//! Memory from the operating system.

use std::alloc::{GlobalAlloc, Layout, System};

/// Whether single slabs of a larger mapping can be given back.
pub const CAN_SPLIT: bool = cfg!(all(unix, not(miri)));
/// From this size on, blocks are mapped on their own and ask for huge pages.
pub const HUGE: usize = 8 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// A block aligned to `align`, straight from the system; null if there is none. For [`unmap`].
#[cfg(all(unix, not(miri)))]
pub fn map(bytes: usize, align: usize) -> *mut u8 {
    let Some(padded) = bytes.checked_add(align) else { return std::ptr::null_mut() };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new anonymous mapping touches nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), padded, access, kind, -1, 0) }.cast::<u8>();
    if base.cast() == libc::MAP_FAILED {
        return std::ptr::null_mut();
    }
    let before = base.align_offset(align);
    let after = padded - before - bytes;
    // SAFETY: the margins are parts of our mapping that nobody uses; sizes are multiples of the page size.
    unsafe {
        let ptr = base.add(before);
        if before > 0 {
            libc::munmap(base.cast(), before);
        }
        if after > 0 {
            libc::munmap(ptr.add(bytes).cast(), after);
        }
        ptr
    }
}

/// # Safety
/// `bytes` bytes at `ptr` come from [`map`], as a whole or (where [`CAN_SPLIT`]) in part, and are not used again.
#[cfg(all(unix, not(miri)))]
pub unsafe fn unmap(ptr: *mut u8, bytes: usize, _align: usize) {
    // SAFETY: by the contract. If the mapping cannot be split (there is a limit to their number), at least the
    // pages are given back.
    unsafe {
        if libc::munmap(ptr.cast(), bytes) != 0 {
            libc::madvise(ptr.cast(), bytes, libc::MADV_DONTNEED);
        }
    }
}

#[cfg(not(all(unix, not(miri))))]
pub fn map(bytes: usize, align: usize) -> *mut u8 {
    system_alloc(bytes, align)
}

/// # Safety
/// As for the system's `dealloc`.
#[cfg(not(all(unix, not(miri))))]
pub unsafe fn unmap(ptr: *mut u8, bytes: usize, align: usize) {
    // SAFETY: passed on.
    unsafe { System.dealloc(ptr, Layout::from_size_align_unchecked(bytes, align)) }
}

fn system_alloc(bytes: usize, align: usize) -> *mut u8 {
    match Layout::from_size_align(bytes, align) {
        // SAFETY: callers never ask for zero bytes.
        Ok(layout) => unsafe { System.alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// One block above the carved sizes, 64-byte aligned; null if there is none.
pub fn alloc_block(bytes: usize) -> *mut u8 {
    if bytes < HUGE {
        return system_alloc(bytes, super::ALIGN);
    }
    let ptr = map(bytes, HUGE_PAGE);
    #[cfg(all(target_os = "linux", not(miri)))]
    if !ptr.is_null() {
        // SAFETY: advice about our own mapping; a refusal changes nothing.
        unsafe { libc::madvise(ptr.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    ptr
}

/// # Safety
/// `ptr` comes from [`alloc_block`] with the same size and is not used again.
pub unsafe fn free_block(ptr: *mut u8, bytes: usize) {
    // SAFETY: the same choice as in `alloc_block`.
    unsafe {
        if bytes < HUGE {
            System.dealloc(ptr, Layout::from_size_align_unchecked(bytes, super::ALIGN));
        } else {
            unmap(ptr, bytes, HUGE_PAGE);
        }
    }
}

/// Blocks from this size on are compared with the memory that is free: reading the system's figures takes microseconds,
/// writing so much a hundredth of a second.
pub const LARGE: usize = 1 << 28;

/// Memory that this process may use: that of the machine, or less if its control group says so.
pub fn physical_bytes() -> usize {
    static BYTES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *BYTES.get_or_init(|| machine_bytes().min(group_figure("memory.max").unwrap_or(usize::MAX)))
}

/// Memory that can be had now: what the machine has free or can free, and what the control group still allows. Where
/// the system does not say, all of it.
pub fn available_bytes() -> usize {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| figure(&text, "MemAvailable:"));
    let machine = machine.map_or(usize::MAX, |kib| kib.saturating_mul(1024));
    machine.min(group_available().unwrap_or(usize::MAX)).min(physical_bytes())
}

/// What the control group still allows. Its files' pages count as used there, and are given back when memory runs out.
fn group_available() -> Option<usize> {
    let (most, used) = (group_figure("memory.max")?, group_figure("memory.current")?);
    let stat = std::fs::read_to_string("/sys/fs/cgroup/memory.stat").unwrap_or_default();
    let files = figure(&stat, "file").unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(files)))
}

fn group_figure(name: &str) -> Option<usize> {
    std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
}

/// The number behind a name, one of which stands in each line.
fn figure(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find(|l| l.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Physical memory of the machine.
#[cfg(unix)]
fn machine_bytes() -> usize {
    // SAFETY: sysconf only reads system configuration.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    if pages > 0 && size > 0 { (pages as usize).saturating_mul(size as usize) } else { usize::MAX }
}

#[cfg(not(unix))]
fn machine_bytes() -> usize {
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_whole_name() {
        let text = "anon 7\nfile_mapped 5\nfile 12\nMemAvailable:   34 kB\n";
        assert_eq!(
            (figure(text, "file"), figure(text, "MemAvailable:"), figure(text, "slab")),
            (Some(12), Some(34), None)
        );
    }

    #[test]
    fn what_is_free_is_less_than_what_there_is() {
        assert!((1 << 20..=physical_bytes()).contains(&available_bytes()));
    }
}
