//! `cargo xtask bench postgres`: a store in PostgreSQL against one in a file, in turn, on one fake provider (SC-15). Builds
//! nothing: run `cargo build --release -p karat -p testkit` first.

use std::io::Write;

use crate::measure::bench::{Case, Provider, median, say};
use crate::measure::process::{Usage, binary, run_measured};

/// A line of the table, with its limits.
struct Limit {
    case: Case,
    /// Least part of the file's cells a second.
    rate: f64,
    /// Largest multiple of the file's CPU time; none where the provider takes the time.
    cpu: f64,
}

/// Runs both lines; `Ok(false)` when a limit is not kept.
pub fn run(cells: usize, rounds: usize, out: &mut dyn Write) -> Result<bool, String> {
    let cluster = testkit::postgres().ok_or("PostgreSQL is not installed")?;
    let mut slow = Case::new("call of 50 ms", cells);
    slow.latency_ms = 50;
    let limits = [
        Limit { case: Case::new("call", cells), rate: 0.4, cpu: 2.5 },
        Limit { case: slow, rate: 0.95, cpu: f64::INFINITY },
    ];
    say(out, "what                   cells | file cells/s  ms CPU | server cells/s  ms CPU |  rate   CPU")?;
    let mut is_kept = true;
    for Limit { case, rate: least, cpu: most } in limits {
        let provider = Provider::start(case.latency_ms)?;
        let (mut file, mut server) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let place = case.place(&provider)?;
            file.push(run_measured(binary("karat", place.path(), &["run", "-q", "--run-id", "first"])?)?);
            let place = case.place(&provider)?;
            let database = cluster.database().map_err(|error| format!("making a database: {error}"))?;
            let karat = |arguments: &[&str]| {
                let mut command = binary("karat", place.path(), arguments)?;
                command.env("KARAT_STORE", &database);
                run_measured(command)
            };
            // A store on a server is made once and outlives its runs: its tables are there when a run starts.
            karat(&["ls"])?;
            server.push(karat(&["run", "-q", "--run-id", "first"])?);
        }
        let (file, server) = (median(file), median(server));
        let rate = |took: Usage| case.cells as f64 / took.wall.as_secs_f64();
        let each = |took: Usage| took.cpu.as_secs_f64() * 1e3 / case.cells as f64;
        let (speed, cost) = (rate(server) / rate(file), each(server) / each(file));
        is_kept &= speed >= least && cost <= most;
        say(
            out,
            &format!(
                "{:<20} {:>7} | {:>12.0} {:>7.3} | {:>14.0} {:>7.3} | {speed:>4.2}x {cost:>4.2}x (at least {least}x, at most {most}x)",
                case.name,
                case.cells,
                rate(file),
                each(file),
                rate(server),
                each(server),
            ),
        )?;
    }
    Ok(is_kept)
}
