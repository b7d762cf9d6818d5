//! The limit of open files. Each call in flight needs a descriptor, each running program a few. Systems allow many, and
//! start processes with few.

use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of a call in flight: those of a program, or a connection and as many idle ones.
const PER_CALL: u64 = 4;

/// Descriptors that the process needs beside calls.
const RESERVED: u64 = 256;

/// The limit before it was raised.
static ORIGINAL_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// The number of descriptors this process may have, and the number of calls in flight that never wait for one; `None`
/// if the system sets no limit.
pub fn open_files() -> Option<(u64, u64)> {
    let most = getrlimit(Resource::Nofile).maximum?;
    Some((most, most.saturating_sub(RESERVED) / PER_CALL))
}

/// Raises the limit of this process if so many calls in flight need more and the system allows it. Beyond that, calls
/// wait for descriptors.
pub fn raise_open_files(calls: usize) {
    let before = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(calls).unwrap_or(u64::MAX).saturating_mul(PER_CALL).saturating_add(RESERVED);
    let wanted = before.maximum.map_or(wanted, |most| wanted.min(most));
    if before.current.is_some_and(|current| current < wanted)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..before }).is_ok()
    {
        // A second run in this process must not take the raised limit for the original one.
        let _ = ORIGINAL_LIMIT.set(before);
    }
}

/// Restores the original limit in a program that was just started: some programs misbehave with a high one.
pub(crate) fn restore_limit(program: i32) {
    #[cfg(target_os = "linux")]
    if let (Some(before), Some(program)) = (ORIGINAL_LIMIT.get(), rustix::process::Pid::from_raw(program)) {
        // The program may have ended already.
        let _ = rustix::process::prlimit(Some(program), Resource::Nofile, *before);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = program;
}

/// Returns whether an operation failed for lack of a descriptor, in this process or on this machine.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
