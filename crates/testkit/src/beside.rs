//! Times a piece of work, and the same work in Python.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::process::Command;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use crate::scratch;

const ROUNDS: usize = 7;

/// The time and the result of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// The median of several rounds, after a warm-up round.
    pub seconds: f64,
    /// The result, to check that compared work does the same.
    pub result: f64,
}

/// Times a piece of work.
#[expect(clippy::disallowed_methods, reason = "measures time")]
pub fn time_work(work: impl Fn() -> f64) -> Timing {
    let result = black_box(work());
    let mut times = [0.0; ROUNDS].map(|_: f64| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    });
    times.sort_by(f64::total_cmp);
    Timing { seconds: times[ROUNDS / 2], result }
}

/// Times the same work in Python, by name. The script is called with the input as a JSON file and prints
/// `{name: [seconds, result]}`. Empty when the interpreter (`PYTHON`, otherwise `python3`) or a package is missing.
///
/// # Errors
/// The input cannot be written, or the script printed something else.
#[expect(clippy::disallowed_methods, reason = "a benchmark's interpreter is chosen in the environment")]
pub fn time_in_python(script: &str, input: &impl Serialize) -> io::Result<BTreeMap<String, Timing>> {
    let place = scratch()?;
    let file = place.write("input.json", serde_json::to_vec(input)?)?;
    let interpreter = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let said = match Command::new(interpreter).arg(script).arg(file).output() {
        Ok(output) if output.status.success() => output.stdout,
        _ => return Ok(BTreeMap::new()),
    };
    let found: BTreeMap<String, Value> = serde_json::from_slice(&said)?;
    found
        .into_iter()
        .map(|(name, timed)| {
            let (seconds, result) = serde_json::from_value(timed)?;
            Ok((name, Timing { seconds, result }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_timed_and_its_result_kept() {
        let timed = time_work(|| (0..1_000).map(f64::from).sum());
        assert!(timed.seconds > 0.0 && timed.result.to_bits() == 499_500.0_f64.to_bits(), "{timed:?}");
    }
}
