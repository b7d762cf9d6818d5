//! File descriptors: each call in flight takes one, each program that runs a few. Systems let a process have many, and begin
//! with few.

use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many a call in flight may take: those of a program, or its connection and as many that wait unused for the next.
const PER_CALL: u64 = 4;

/// What the process needs beside calls.
const RESERVED: u64 = 256;

/// What held before it was raised.
static ORIGINAL_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// How many this process may have for a run, and how many calls in flight never wait for one with them; `None` where the
/// system sets no bound.
pub fn open_files() -> Option<(u64, u64)> {
    let most = getrlimit(Resource::Nofile).maximum?;
    Some((most, most.saturating_sub(RESERVED) / PER_CALL))
}

/// Raises how many this process may have, where so many calls in flight need more and the system lets it have them. What
/// cannot be had is waited for, call by call.
pub fn raise_open_files(calls: usize) {
    let before = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(calls).unwrap_or(u64::MAX).saturating_mul(PER_CALL).saturating_add(RESERVED);
    let wanted = before.maximum.map_or(wanted, |most| wanted.min(most));
    if before.current.is_some_and(|current| current < wanted)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..before }).is_ok()
    {
        // A later run in this process finds what an earlier one has raised.
        let _ = ORIGINAL_LIMIT.set(before);
    }
}

/// Lets a program that was just started have as many as this process had: some cannot live with more.
pub(crate) fn restore_limit(program: i32) {
    #[cfg(target_os = "linux")]
    if let (Some(before), Some(program)) = (ORIGINAL_LIMIT.get(), rustix::process::Pid::from_raw(program)) {
        // Who has ended already needs none.
        let _ = rustix::process::prlimit(Some(program), Resource::Nofile, *before);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = program;
}

/// Whether something failed because there was no descriptor for it, in this process or on this machine.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
