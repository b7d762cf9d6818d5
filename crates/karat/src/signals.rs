//! Ctrl-C and SIGTERM: the first one stops the run in order, the second one ends the process at once. A file that may
//! not grow ends nothing.

use karat_app::Stop;
use karat_types::Exit;

use crate::printer::Printer;

/// Watches on a thread of its own until the process ends.
pub fn watch(stop: Stop, printer: Printer) {
    let watching = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            interrupted().await;
            stop.set();
            printer.say("stopping: calls under way are awaited and kept; once more to end at once");
            interrupted().await;
        });
        end();
    };
    // Without the thread Ctrl-C ends the process at once, which is safe, only less orderly.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watching);
}

/// A file that may not grow (`ulimit -f`) is an error of the write, which whoever writes says; without a
/// handler the system ends the process.
#[cfg(unix)]
pub fn outlive_full_files() {
    use tokio::signal::unix::{SignalKind, signal};
    const SIGXFSZ: i32 = 25;
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    // Once there is a handler it stays; where there can be none, a full file ends the process, and `resume` goes on.
    let _ = runtime.block_on(async { signal(SignalKind::from_raw(SIGXFSZ)) });
}

#[cfg(not(unix))]
pub fn outlive_full_files() {}

#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut term) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
    }
}

#[cfg(not(unix))]
async fn interrupted() {
    let _ = tokio::signal::ctrl_c().await;
}

#[expect(clippy::disallowed_methods, reason = "the user asked twice; what was paid is in the ledger")]
fn end() {
    karat_app::end_processes();
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
