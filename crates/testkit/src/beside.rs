//! Timing: a piece of work here, and beside it the same work in Python.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::process::Command;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use crate::scratch;

const ROUNDS: usize = 7;

/// How long a piece of work takes, and what it comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// The median of several rounds, behind one that is not measured.
    pub seconds: f64,
    /// The work's result, so that two that are compared can be seen to do the same.
    pub result: f64,
}

/// Times a piece of work.
#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
pub fn timed(work: impl Fn() -> f64) -> Timed {
    let result = black_box(work());
    let mut times = [0.0; ROUNDS].map(|_: f64| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    });
    times.sort_by(f64::total_cmp);
    Timed { seconds: times[ROUNDS / 2], result }
}

/// What a Python script says of the same work on this input, by name: it is called with a JSON file and prints
/// `{name: [seconds, result]}`. Empty where the interpreter (`PYTHON`, else `python3`) or a package is missing.
///
/// # Errors
/// The input cannot be written, or the script printed something else.
#[expect(clippy::disallowed_methods, reason = "a benchmark's interpreter is chosen in the environment")]
pub fn timed_in_python(script: &str, input: &impl Serialize) -> io::Result<BTreeMap<String, Timed>> {
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
            Ok((name, Timed { seconds, result }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_timed_and_its_result_kept() {
        let timed = timed(|| (0..1_000).map(f64::from).sum());
        assert!(timed.seconds > 0.0 && timed.result.to_bits() == 499_500.0_f64.to_bits(), "{timed:?}");
    }
}
