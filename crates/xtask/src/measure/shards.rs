//! `cargo xtask bench shards`: the wall time of two shards against one process, and a merge of many cells (SC-15). Builds
//! nothing: run `cargo build --release -p karat` first.

use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use testkit::{Echo, FakeProvider, RequestLog, Scratch, Script};

use crate::measure::process::{binary, run_measured, size_of};

/// Largest share of one process's wall time that two shards may take.
const MOST_WALL: f64 = 0.55;

/// Limits of a merge: seconds, and MiB of memory.
const MOST_SECONDS: f64 = 30.0;
const MOST_MIB: u64 = 300;

/// Shards of the merge.
const SHARDS: usize = 4;

/// Runs both; `Ok(false)` when a limit is missed.
pub fn run(cells: usize, merged: usize, out: &mut dyn Write) -> Result<bool, String> {
    Ok(two_shards(cells, out)? & merge(merged, out)?)
}

/// One process with 64 calls in flight of 100 ms, and two shards with as many each.
fn two_shards(cells: usize, out: &mut dyn Write) -> Result<bool, String> {
    let provider = provider(Duration::from_millis(100))?;
    let place = place(&provider, cells)?;
    let one =
        run_measured(binary("karat", place.path(), &["run", "-q", "-j", "64", "--store", "sqlite:one/karat.db"])?)?;
    let begun = now();
    let shards: Vec<Child> = (1..=2).map(|number| start(place.path(), number, 2)).collect::<Result<_, _>>()?;
    wait_for(shards)?;
    let (one, two) = (one.wall.as_secs_f64(), begun.elapsed().as_secs_f64());
    let is_fine = two <= MOST_WALL * one;
    let limit = format!("at most {MOST_WALL}: {is_fine}");
    say(
        out,
        &format!("{cells} cells of 100 ms: one process {one:.2} s, two shards {two:.2} s: {:.3} ({limit})", two / one),
    )?;
    Ok(is_fine)
}

/// Shards of many cells, merged into an empty store, with a report.
fn merge(cells: usize, out: &mut dyn Write) -> Result<bool, String> {
    let provider = provider(Duration::ZERO)?;
    let place = place(&provider, cells)?;
    for number in 1..=SHARDS {
        wait_for(vec![start(place.path(), number, SHARDS)?])?;
    }
    let disk: u64 = (1..=SHARDS).map(|number| size_of(&place.path().join(format!("s{number}")))).sum();
    let mut arguments = vec!["merge", "--run-id", "r", "-q", "--format", "md", "--store", "sqlite:all/karat.db"];
    let paths: Vec<String> = (1..=SHARDS).map(|number| format!("s{number}")).collect();
    arguments.extend(paths.iter().map(String::as_str));
    let first = run_measured(binary("karat", place.path(), &arguments)?)?;
    let again = run_measured(binary("karat", place.path(), &arguments)?)?;
    let report = run_measured(binary(
        "karat",
        place.path(),
        &["report", "r", "--format", "md", "--store", "sqlite:all/karat.db"],
    )?)?;
    let (seconds, peak) = (first.wall.as_secs_f64(), first.peak.max(again.peak) / 1024);
    say(
        out,
        &format!(
            "merge of {cells} cells in {SHARDS} shards ({} MiB): {seconds:.2} s with its report, {peak} MiB; again {:.2} s; the \
             report alone {:.2} s (at most {MOST_SECONDS} s and {MOST_MIB} MiB)",
            disk >> 20,
            again.wall.as_secs_f64(),
            report.wall.as_secs_f64(),
        ),
    )?;
    Ok(seconds < MOST_SECONDS && peak < MOST_MIB)
}

fn start(folder: &Path, number: usize, count: usize) -> Result<Child, String> {
    let (shard, store) = (format!("{number}/{count}"), format!("sqlite:s{number}/karat.db"));
    let arguments = [
        "run", "-q", "-j", "64", "--shard", &shard, "--run-id", "r", "--store", &store, "--format", "md", "-o", &shard,
    ];
    let mut command = binary("karat", folder, &arguments)?;
    command.stdout(std::process::Stdio::null()).spawn().map_err(|error| format!("starting karat: {error}"))
}

fn wait_for(shards: Vec<Child>) -> Result<(), String> {
    for mut shard in shards {
        let status = shard.wait().map_err(|error| format!("waiting for karat: {error}"))?;
        if !status.success() {
            return Err(format!("a shard ended with {status}"));
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

fn provider(latency: Duration) -> Result<FakeProvider, String> {
    FakeProvider::start_on(0, Script::echo(Echo { latency, ..Echo::default() }), RequestLog::Counts)
        .map_err(|error| format!("starting the provider: {error}"))
}

fn place(provider: &FakeProvider, cells: usize) -> Result<Scratch, String> {
    let place = testkit::scratch().map_err(|error| format!("making a folder: {error}"))?;
    let row = |at| format!("{{\"id\":\"q{at}\",\"question\":\"[[answer {at}]]\",\"target\":\"answer {at}\"}}\n");
    let rows: String = (0..cells).map(row).collect();
    let suite = format!(
        "name: shards\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
         models: [ {{ id: mock, provider: openai, model: m, base_url: \"{}\", price: {{ input: 1.0, output: 2.0 }} }} ]\n\
         variants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
         scorers: {{ hit: {{ metric: contains }} }}\nrun: {{ budget_usd: 100000 }}\n",
        provider.base_url()
    );
    for (name, text) in [("data.jsonl", &rows), ("karat.yaml", &suite)] {
        place.write(name, text).map_err(|error| format!("writing {name}: {error}"))?;
    }
    Ok(place)
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").map_err(|error| error.to_string())
}
