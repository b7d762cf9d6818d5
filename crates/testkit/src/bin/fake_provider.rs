//! A fake provider on loopback, for use by hand and for soaks.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use testkit::{BatchFaults, Echo, FakeBatches, FakeProvider, RequestLog, Script};

/// Speaks OpenAI's chat completions and Anthropic's messages, and the batch APIs of both, on loopback; replies depend on the request alone.
#[derive(Parser)]
struct Arguments {
    /// Port on 127.0.0.1; 0 is any free one.
    #[arg(long, default_value_t = 8099)]
    port: u16,
    /// Milliseconds before each answer.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Share of attempts that fail, 0 to 1.
    #[arg(long, default_value_t = 0.0)]
    fault_rate: f64,
    /// Seed of the faults.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File with the JSON that models named `judge…` reply with.
    #[arg(long, value_name = "FILE")]
    judge_json: Option<PathBuf>,
    /// Batches: results come in reverse order.
    #[arg(long)]
    shuffle: bool,
    /// Batches: lines of the first batch that expire.
    #[arg(long, default_value_t = 0)]
    expire: usize,
    /// Batches: lines of the first batch that are answered with 500.
    #[arg(long, default_value_t = 0)]
    fail_lines: usize,
    /// Batches: the final status of every batch, such as `failed`.
    #[arg(long)]
    status: Option<String>,
    /// Batches: the first creation is done and never answered.
    #[arg(long)]
    hang_create: bool,
    /// Batches: the first creation is done and answered with 500.
    #[arg(long)]
    lose_create: bool,
    /// Answer 404 for the results of a batch.
    #[arg(long)]
    lose_results: bool,
    /// Fail batches of more lines than this with `token_limit_exceeded`.
    #[arg(long)]
    queue_lines: Option<usize>,
    /// Batches: file that keeps their state.
    #[arg(long, value_name = "FILE")]
    batch_state: Option<PathBuf>,
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let judge = match arguments.judge_json {
        Some(path) => Some(serde_json::from_slice(&std::fs::read(path)?)?),
        None => None,
    };
    let echo = Echo {
        judge,
        fault_rate: arguments.fault_rate,
        seed: arguments.seed,
        latency: Duration::from_millis(arguments.latency_ms),
        ..Echo::default()
    };
    let faults = BatchFaults {
        shuffle: arguments.shuffle,
        expire: arguments.expire,
        fail_lines: arguments.fail_lines,
        status: arguments.status,
        hang_create: arguments.hang_create,
        lose_create: arguments.lose_create,
        lose_results: arguments.lose_results,
        queue_lines: arguments.queue_lines,
        hang_at: None,
        file: arguments.batch_state,
    };
    let script = FakeBatches::new(Script::echo(echo), faults).script();
    let provider = FakeProvider::start_on(arguments.port, script, RequestLog::Counts)?;
    announce(&provider.base_url());
    provider.join();
    Ok(())
}

#[allow(clippy::print_stderr, reason = "a program of its own: the address is for the person who started it")]
fn announce(base_url: &str) {
    eprintln!("fake provider listening on {base_url}");
}
