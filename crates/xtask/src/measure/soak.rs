//! `cargo xtask soak NAME`: test scenarios at full size. Builds nothing: run `cargo build --release -p karat` first.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use testkit::{Echo, FakeProvider, RequestLog, Scratch, Script, Soak};

use crate::measure::process::{binary, run_measured};

const CONCURRENCY: usize = 64;

/// Runs a soak with `NAME=NUMBER` sizes; `Ok(false)` when it found a fault.
pub fn run(name: &str, sizes: &[&str], out: &mut dyn Write) -> Result<bool, String> {
    let size = |key, default| size(sizes, key, default);
    match name {
        "kill" => kill(size("kills", 1000)?, size("cells", 200_000)?, out),
        "aa" => crate::measure::aa_study::soak(size("runs", 5_000)? as u64, out),
        "faults" => faults(size("cells", 20_000)?, out),
        "scale" => scale(size("cells", 1_000_000)?, out),
        "service" => service(size("hours", 24)?, size("seed", 1)?, out),
        _ => Err(format!(
            "there is no soak `{name}`; there are: aa (runs=5000), kill (kills=1000 cells=200000), faults (cells=20000), scale (cells=1000000), service (hours=24 seed=1)"
        )),
    }
}

/// The number that `key=` gives among the sizes, or the default.
pub fn size(sizes: &[&str], key: &str, default: usize) -> Result<usize, String> {
    let given = sizes.iter().find_map(|size| size.strip_prefix(key)?.strip_prefix('='));
    given.map_or(Ok(default), |text| text.parse().map_err(|_| format!("`{key}={text}` is not a whole number")))
}

/// BY-04: `kill -9` at many points of one run, then the same canonical report as of an uninterrupted one, with at most
/// (cells + concurrency × kills) calls.
fn kill(kills: usize, cells: usize, out: &mut dyn Write) -> Result<bool, String> {
    let provider = provider(Echo { latency: Duration::from_millis(5), ..Echo::default() })?;
    let place = place(&provider, cells)?;
    let mut killed = 0;
    for round in 0..kills {
        let mut child = binary("karat", place.path(), &["run", "-q", "--resume", "--run-id", "killed"])?
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("starting karat: {error}"))?;
        // Spread over start-up, dispatch, commits and the report.
        std::thread::sleep(Duration::from_millis(20 + (round as u64 * 37) % 400));
        if child.try_wait().map_err(|error| error.to_string())?.is_none() {
            killed += 1;
        }
        let _ = child.kill();
        let _ = child.wait();
    }
    finish(place.path(), &["run", "-q", "--resume", "--run-id", "killed"])?;
    let calls = provider.requests();
    let whole = self::place(&provider, cells)?;
    finish(whole.path(), &["run", "-q", "--run-id", "whole"])?;
    let same = canonical(place.path(), "killed")? == canonical(whole.path(), "whole")?;
    let bound = cells + CONCURRENCY * killed;
    say(
        out,
        &format!("{cells} cells, {killed} kills: {calls} calls (bound {bound}), canonical reports equal: {same}"),
    )?;
    Ok(same && calls <= bound)
}

/// A run of which 30 % of all attempts fail in mixed ways completes, and pays nothing twice.
fn faults(cells: usize, out: &mut dyn Write) -> Result<bool, String> {
    let provider = provider(Echo { fault_rate: 0.3, ..Echo::default() })?;
    let place = place(&provider, cells)?;
    let ended = binary("karat", place.path(), &["run", "-q", "--run-id", "a", "--retries", "10"])?.status();
    let fine = ended.map_err(|error| format!("starting karat: {error}"))?.success();
    let (calls, twice) = (provider.requests(), provider.duplicates());
    say(out, &format!("{cells} cells at 30 % faults: {calls} attempts, {twice} paid twice, exit 0: {fine}"))?;
    Ok(fine && twice == 0)
}

/// BY-09: memory does not grow with the run: 300 MiB are enough for a million cells, and their report takes seconds.
fn scale(cells: usize, out: &mut dyn Write) -> Result<bool, String> {
    let provider = provider(Echo::default())?;
    let place = place(&provider, cells)?;
    let run = run_measured(binary("karat", place.path(), &["run", "-q", "--run-id", "a", "--format", "md"])?)?;
    let report = || run_measured(binary("karat", place.path(), &["report", "a", "--format", "both"])?);
    // The second one finds its file of cells as the first one left it.
    let (with_cells, report) = (report()?, report()?);
    let store = place.path().join(".karat").join("karat.db");
    let disk = std::fs::metadata(store).map_or(0, |of| of.len()) >> 20;
    let peak = run.peak.max(with_cells.peak) / 1024;
    say(
        out,
        &format!(
            "{cells} cells: {:.0} cells/s, {:.3} ms CPU a cell, peak {peak} MiB, store {disk} MiB; md and json in {:.2} s ({:.2} s CPU), with cells.jsonl anew {:.2} s ({:.2} s CPU)",
            cells as f64 / run.wall.as_secs_f64(),
            run.cpu.as_secs_f64() * 1e3 / cells as f64,
            report.wall.as_secs_f64(),
            report.cpu.as_secs_f64(),
            with_cells.wall.as_secs_f64(),
            with_cells.cpu.as_secs_f64()
        ),
    )?;
    Ok(peak < 300 && provider.requests() == cells)
}

/// SV-07, SV-13, SV-18: a day of `karat serve` in minutes, with kills, outages, a full disk and a clock that jumps. The clock
/// is set, so the program is that of `cargo build -p karat`: a release follows the system's.
fn service(hours: usize, seed: usize, out: &mut dyn Write) -> Result<bool, String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/karat");
    let program =
        program.canonicalize().map_err(|_| format!("{} is missing: cargo build -p karat", program.display()))?;
    let hours = u32::try_from(hours).map_err(|error| error.to_string())?;
    let soak = Soak { program, hours, seed: seed as u64, step: Duration::from_millis(1_300), compared: 40 };
    let summary = soak.run()?;
    say(out, summary.to_string().trim_end())?;
    Ok(summary.is_kept())
}

fn provider(echo: Echo) -> Result<FakeProvider, String> {
    FakeProvider::start_on(0, Script::echo(echo), RequestLog::Counts)
        .map_err(|error| format!("starting the provider: {error}"))
}

fn place(provider: &FakeProvider, cells: usize) -> Result<Scratch, String> {
    let place = testkit::scratch().map_err(|error| format!("making a folder: {error}"))?;
    let rows: String = (0..cells)
        .map(|i| format!("{{\"id\":\"q{i}\",\"question\":\"[[answer {i}]]\",\"target\":\"answer {i}\"}}\n"))
        .collect();
    let suite = format!(
        "name: soak\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
         models: [ {{ id: mock, provider: openai, model: m, base_url: \"{}\", price: {{ input: 1.0, output: 2.0 }} }} ]\n\
         variants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
         scorers: {{ hit: {{ metric: contains }} }}\n\
         run: {{ max_concurrency: {CONCURRENCY}, budget_usd: 100000 }}\n",
        provider.base_url()
    );
    place
        .write("data.jsonl", rows)
        .and_then(|_| place.write("karat.yaml", suite))
        .map_err(|error| error.to_string())?;
    Ok(place)
}

fn finish(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = binary("karat", folder, arguments)?.output().map_err(|error| format!("starting karat: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("karat {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
}

fn canonical(folder: &Path, run: &str) -> Result<Vec<u8>, String> {
    let reports = folder.join("report");
    let target = reports.display().to_string();
    finish(folder, &["report", run, "--canonical", "--format", "json", "-o", &target])?;
    let mut bytes = Vec::new();
    for file in ["report.json", "cells.jsonl"] {
        bytes.extend(std::fs::read(reports.join(file)).unwrap_or_default());
    }
    if bytes.is_empty() { Err(format!("no report of {run}")) } else { Ok(bytes) }
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").map_err(|error| error.to_string())
}
