//! The supervisor of the process, systemd or another: it is told that the server is ready, alive and stopping, in the
//! protocol of `sd_notify`. A server whose dispatcher hangs ends, so that it is started again.

use std::time::Duration;

use crate::runs::dispatcher::{HUNG, Pulse};

/// Time between two looks at the dispatcher.
const PERIOD: Duration = Duration::from_secs(5);

/// Sends a state to the supervisor, if there is one that listens.
pub(crate) fn notify(state: &str) {
    // Without a supervisor, or with one that is gone, there is nobody to tell.
    let _ = send(state);
}

#[cfg(target_os = "linux")]
fn send(state: &str) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    #[expect(clippy::disallowed_methods, reason = "the address is the supervisor's, not a setting of the user")]
    let Some(address) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match address.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn send(_: &str) -> std::io::Result<()> {
    Ok(())
}

/// Watches the dispatcher on a thread of its own, as long as it lives.
///
/// # Errors
/// The system refuses a thread.
pub(crate) fn watch(pulse: Pulse) -> std::io::Result<()> {
    let watch = move || {
        while !pulse.is_stopping() {
            if pulse.age() > HUNG {
                pulse.note(&format!(
                    "the server ends, to be started again: for {} s it has not looked at its queue, which is a bug in karat",
                    HUNG.as_secs()
                ));
                end_hung();
            }
            notify("WATCHDOG=1");
            std::thread::sleep(PERIOD);
        }
    };
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "a server that hangs looks healthy; its supervisor starts it again")]
fn end_hung() -> ! {
    std::process::exit(1)
}
