//! Runs release binaries and measures wall time, CPU time and peak memory. Reads `/proc`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The resources that a process used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// From start to end.
    pub wall: Duration,
    /// User and system time, the process alone.
    pub cpu: Duration,
    /// Peak of resident memory in KiB.
    pub peak: u64,
}

/// A release binary as a command in a folder.
pub fn binary(name: &str, folder: &Path, arguments: &[&str]) -> Result<Command, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release").join(name);
    if !path.exists() {
        return Err(format!("{} is missing: cargo build --release -p karat -p testkit", path.display()));
    }
    let mut command = Command::new(path);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

/// Runs a command to its end and measures it.
#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
pub fn run_measured(mut command: Command) -> Result<Usage, String> {
    let name = command.get_program().display().to_string();
    let before = children_cpu()?;
    let start = Instant::now();
    let spawned = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("starting {name}: {error}"))?;
    let stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut text));
        text
    });
    let status_file = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    let status = loop {
        peak = peak_of(&status_file).max(peak);
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let wall = start.elapsed();
    let stderr = reader.join().unwrap_or_default();
    if !status.success() {
        return Err(format!("{name} ended with {status}: {stderr}"));
    }
    Ok(Usage { wall, cpu: children_cpu()?.saturating_sub(before), peak })
}

/// CPU time of all children that have exited.
fn children_cpu() -> Result<Duration, String> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|error| format!("reading CPU times: {error}"))?;
    // Behind the name in parentheses; the 16th and 17th field of the line, in ticks of a hundredth of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn peak_of(status: &Path) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Bytes of all files below a folder.
pub fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(of) if of.is_dir() => size_of(&entry.path()),
            Ok(of) => of.len(),
            Err(_) => 0,
        })
        .sum()
}
