//! `cargo xtask vectors DIR`: checks statistics, metrics and bills against oracle vectors.
//!
//! A vector file is `{"statistic", "cases": [{"name", "input", "expected", "tolerance"}]}`. An
//! adapter turns a case's input into the actual result in the shape of `expected`; [`tolerance`]
//! compares the two. Adapters know fields, never case names, so other vectors of the same form run
//! through the same code.

use std::{fs, io::Write, path::Path};

use serde_json::Value;

mod adapters;
pub mod input;
pub mod tolerance;

/// Computes the actual result of one case from its `input`, in the shape of its `expected`.
pub type Adapter = fn(&Value) -> Result<Value, String>;

/// Every statistic with an adapter, by the stem of its vector file.
const REGISTRY: &[&[(&str, Adapter)]] = &[
    adapters::agreement::ADAPTERS,
    adapters::billing::ADAPTERS,
    adapters::classify::ADAPTERS,
    adapters::compare::ADAPTERS,
    adapters::correction::ADAPTERS,
    adapters::describe::ADAPTERS,
    adapters::drift::ADAPTERS,
    adapters::inference::ADAPTERS,
    adapters::power::ADAPTERS,
    adapters::preference::ADAPTERS,
    adapters::retrieval::ADAPTERS,
    adapters::text::ADAPTERS,
];

/// Statistics that Karat no longer has. Their vectors are kept for the day on which one is wanted again; any other file without an
/// adapter fails.
const WITHDRAWN: &[Withdrawn] = &[
    Withdrawn::File("confseq_asymptotic"),
    Withdrawn::File("confseq_betting"),
    Withdrawn::File("confseq_empbern"),
    Withdrawn::File("ewma"),
    Withdrawn::File("gate_early_stop"),
    Withdrawn::File("group_sequential"),
    Withdrawn::File("isotonic"),
    Withdrawn::File("krippendorff_bootstrap"),
    Withdrawn::File("label_budget"),
    Withdrawn::File("noninferiority"),
    Withdrawn::File("page_hinkley"),
    Withdrawn::File("ppi_mean"),
    Withdrawn::File("recalibration_cv"),
    Withdrawn::File("sequential_paired"),
    Withdrawn::File("stratified_mean"),
    Withdrawn::File("variance_components"),
    Withdrawn::Cases { file: "power", input: "solve", value: "n_miller" },
    Withdrawn::Cases { file: "power", input: "solve", value: "n_two_proportions" },
    Withdrawn::Field { file: "power", expected: "mde_normal_approx" },
    Withdrawn::Field { file: "wilcoxon", expected: "hodges_lehmann" },
];

/// A part of the vectors that nothing computes any more.
enum Withdrawn {
    File(&'static str),
    /// Cases whose input has this value.
    Cases {
        file: &'static str,
        input: &'static str,
        value: &'static str,
    },
    /// A field of what is expected.
    Field {
        file: &'static str,
        expected: &'static str,
    },
}

/// The index of the checked-in vectors: it names the statistic of each file.
const INDEX: &str = include_str!("../../../../fixtures/vectors/index.json");

/// At most this many mismatches of a case are listed.
const SHOWN: usize = 5;

/// Checks every vector file of `dir` and writes one line per statistic.
///
/// `Ok(false)` on any mismatch, unknown statistic, case without an expectation, or when the folder
/// holds no case at all.
///
/// # Errors
/// When the folder cannot be read or the output cannot be written.
pub fn run(dir: &Path, out: &mut impl Write) -> Result<bool, String> {
    let files = vector_files(dir)?;
    let mut total = Tally::default();
    for path in &files {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let (tally, complaints) = match load(path).and_then(|file| check_file(stem, &file)) {
            Ok(checked) => checked,
            Err(problem) => (Tally { failed: 1, ..Tally::default() }, vec![problem]),
        };
        let judged = tally.passed + tally.failed;
        let line = match tally.withdrawn {
            0 => format!("{stem:<24} {}/{judged}", tally.passed),
            _ if judged == 0 => format!("{stem:<24} withdrawn"),
            cases => format!("{stem:<24} {}/{judged}, withdrawn: {cases}", tally.passed),
        };
        let written =
            writeln!(out, "{line}").and_then(|()| complaints.iter().try_for_each(|line| writeln!(out, "    {line}")));
        written.map_err(|e| format!("writing the result of {stem}: {e}"))?;
        total.passed += tally.passed;
        total.failed += tally.failed;
        total.withdrawn += tally.withdrawn;
    }
    if total.passed + total.failed == 0 {
        let _ = writeln!(out, "{}: no vectors found; pass the folder of the *.json vector files", dir.display());
    }
    let withdrawn = if total.withdrawn > 0 { format!(", {} withdrawn", total.withdrawn) } else { String::new() };
    writeln!(out, "{} passed, {} failed{withdrawn}", total.passed, total.failed)
        .map_err(|e| format!("writing the summary: {e}"))?;
    Ok(total.failed == 0 && total.passed > 0)
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    withdrawn: usize,
}

/// The vector files below `dir`, in name order, without the index.
fn vector_files(dir: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|e| {
        format!("reading the vectors in {}: {e}; pass the folder of the *.json vector files", dir.display())
    })?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| format!("listing {}: {e}", dir.display()))?.path();
        let is_json = path.extension().is_some_and(|e| e == "json");
        if is_json && path.file_stem().is_some_and(|s| s != "index") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn load(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("reading {}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("parsing {}: {e}", path.display()))
}

/// The adapter for a file, by its stem, else by the statistic it says it holds.
fn adapter(stem: &str, statistic: &str) -> Option<Adapter> {
    let by_stem = |stem: &str| {
        let found = REGISTRY.iter().copied().flatten().find(|(name, _)| *name == stem);
        found.map(|(_, adapter)| *adapter)
    };
    by_stem(stem).or_else(|| by_stem(&stem_of_statistic(statistic)?))
}

fn stem_of_statistic(statistic: &str) -> Option<String> {
    let index: Value = serde_json::from_str(INDEX).ok()?;
    let entry = index["files"].as_array()?.iter().find(|e| e["statistic"] == statistic)?;
    Some(entry["file"].as_str()?.trim_end_matches(".json").to_owned())
}

fn check_file(stem: &str, file: &Value) -> Result<(Tally, Vec<String>), String> {
    let cases =
        file["cases"].as_array().filter(|cases| !cases.is_empty()).ok_or_else(|| format!("{stem}: no cases"))?;
    let statistic = file["statistic"].as_str().unwrap_or_default();
    let known = stem_of_statistic(statistic).unwrap_or_default();
    let withdrawn = || {
        WITHDRAWN.iter().filter(|it| {
            let (Withdrawn::File(file) | Withdrawn::Cases { file, .. } | Withdrawn::Field { file, .. }) = it;
            *file == stem || *file == known
        })
    };
    if withdrawn().any(|it| matches!(it, Withdrawn::File(_))) {
        return Ok((Tally { withdrawn: cases.len(), ..Tally::default() }, Vec::new()));
    }
    let Some(adapter) = adapter(stem, statistic) else {
        let tally = Tally { failed: cases.len(), ..Tally::default() };
        let complaint =
            format!("{stem}: no adapter for this statistic ({statistic}); add one to crates/xtask/src/vectors");
        return Ok((tally, vec![complaint]));
    };
    let mut tally = Tally::default();
    let mut complaints = Vec::new();
    for case in cases {
        let name = case["name"].as_str().unwrap_or("(unnamed)");
        let is_gone = |it: &Withdrawn| matches!(it, Withdrawn::Cases { input, value, .. } if case["input"][*input].as_str() == Some(*value));
        if withdrawn().any(is_gone) {
            tally.withdrawn += 1;
            continue;
        }
        let mut case = case.clone();
        for it in withdrawn() {
            if let (Withdrawn::Field { expected, .. }, Some(fields)) = (it, case["expected"].as_object_mut()) {
                fields.remove(*expected);
            }
        }
        let problems = check_case(stem, adapter, &case);
        if problems.is_empty() {
            tally.passed += 1;
            continue;
        }
        tally.failed += 1;
        complaints.extend(problems.iter().take(SHOWN).map(|p| format!("{name}: {p}")));
        if problems.len() > SHOWN {
            complaints.push(format!("{name}: and {} more", problems.len() - SHOWN));
        }
    }
    Ok((tally, complaints))
}

fn check_case(stem: &str, adapter: Adapter, case: &Value) -> Vec<String> {
    let (Some(input), Some(expected)) = (case.get("input"), case.get("expected")) else {
        return vec!["skipped: the case lacks input or expected".to_owned()];
    };
    if expected.as_object().is_some_and(serde_json::Map::is_empty) {
        return vec!["skipped: nothing is expected".to_owned()];
    }
    let tolerance = match tolerance::Tolerance::of_case(case) {
        Ok(tolerance) => tolerance,
        Err(problem) => return vec![problem],
    };
    match adapter(input) {
        Ok(actual) if lacks_oracle(stem, expected, &actual) => Vec::new(),
        Ok(actual) => tolerance.mismatches(expected, &actual),
        Err(problem) => vec![problem],
    }
}

/// Where the oracle has no value although the statistic is defined. SciPy's noncentral t is NaN for about half of all
/// arguments in tails below 1e-20, so two-sided powers that are 1 to the last digit stand as null in the vectors.
fn lacks_oracle(stem: &str, expected: &Value, actual: &Value) -> bool {
    let is_certain = actual["power"].as_f64().is_some_and(|power| power > 1.0 - 1e-12);
    stem == "power" && expected.get("power").is_some_and(Value::is_null) && is_certain
}

#[cfg(test)]
mod tests;
