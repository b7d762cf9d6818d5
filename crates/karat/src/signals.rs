//! Ctrl-C and SIGTERM: the first stops the run in order, the second ends the process at once.

use karat_app::Stop;
use karat_types::Exit;

use crate::printer::Printer;

/// Watches for signals on a thread of its own until the process ends.
pub fn watch(stop: Stop, printer: Printer) {
    let watching = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            wait_for_signal().await;
            stop.set();
            printer
                .say("stopping after the calls in flight, whose results are kept; press Ctrl-C again to end at once");
            wait_for_signal().await;
        });
        end_now();
    };
    // Without the thread Ctrl-C ends the process at once, which is safe, only less orderly.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watching);
}

/// Sets `stop` at the first signal, on a thread of its own. The second ends the process at once.
pub fn stop_on_signal(stop: Stop) {
    let watching = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            wait_for_signal().await;
            stop.set();
            wait_for_signal().await;
        });
        end_now();
    };
    // Without the thread Ctrl-C ends the process at once, and nothing is lost.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watching);
}

/// Keeps the process alive when a file reaches its size limit (`ulimit -f`): with a handler for SIGXFSZ the write returns
/// an error, without one the system ends the process.
#[cfg(unix)]
pub fn handle_file_size_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    const SIGXFSZ: i32 = 25;
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    // The handler stays after the runtime is dropped. Without one, `karat resume` continues the run.
    let _ = runtime.block_on(async { signal(SignalKind::from_raw(SIGXFSZ)) });
}

#[cfg(not(unix))]
pub fn handle_file_size_limit() {}

#[cfg(unix)]
async fn wait_for_signal() {
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
async fn wait_for_signal() {
    let _ = tokio::signal::ctrl_c().await;
}

#[expect(clippy::disallowed_methods, reason = "the user asked twice; all paid results are in the ledger")]
fn end_now() {
    karat_app::end_processes();
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
