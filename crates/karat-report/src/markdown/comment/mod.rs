//! The comment on a pull request: a short report that replaces the one before it.
//!
//! - `document`: the part of report.json that a comment needs, so a stored run and a report file give the same comment
//! - `examples`: the outputs of the worst cells, from the rows of a run or from report.json
//! - `sections`: the text
//!
//! The first line is a marker that names the suite; whoever posts the comment finds the earlier one by it. Reports of any size
//! fit into [`MOST`] characters: lists are cut until they do.

mod document;
mod examples;
mod sections;

use document::CommentDocument;
use examples::Outputs;

use crate::json::{self, CellsFile};
use crate::shared::report::{RenderError, Report};

/// Largest length of a comment, in characters. GitHub accepts 65,536, GitLab more.
pub const MOST: usize = 60_000;

/// Numbers of list entries to try, until the comment fits.
const SIZES: [usize; 6] = [40, 20, 10, 5, 2, 0];

/// Returns the comment on a stored run.
///
/// # Errors
/// Rows that cannot be read.
pub fn comment(report: Report<'_>) -> Result<String, RenderError> {
    // Without its cells a report is small, whatever the size of the run.
    let none = CellsFile { path: String::new(), n: 0, blake3: String::new() };
    let mut bytes = Vec::new();
    json::write_beside_cells(report, &none, &mut bytes)?;
    let document: CommentDocument = serde_json::from_slice(&bytes).map_err(std::io::Error::from)?;
    let outputs = Outputs::of_rows(&document, report.rows)?;
    Ok(fit(&document, &outputs))
}

/// Returns the comment on the run of a `report.json`.
///
/// # Errors
/// A text that describes the problem: the bytes are no report.
pub fn comment_of_document(bytes: &[u8]) -> Result<String, String> {
    let document = CommentDocument::read(bytes)?;
    let outputs = Outputs::of_document(&document, bytes)?;
    Ok(fit(&document, &outputs))
}

/// Returns the longest comment that fits.
fn fit(document: &CommentDocument, outputs: &Outputs) -> String {
    let mut text = String::new();
    for size in SIZES {
        text = sections::comment(document, outputs, size);
        if text.chars().count() <= MOST {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document(gates: usize, output: &str) -> Value {
        let gate = |at: usize| {
            json!({"id": format!("g{at}"), "metric": "hit", "verdict": "fail", "observed": 0.5, "bound": "min",
                "threshold": 0.9, "interval": [0.4, 0.6], "level": 0.95, "n": 40, "reason": "<b>@all</b> ".repeat(200)})
        };
        let worst = |at: u64| {
            json!({"ordinal": at, "sample": format!("s{at}"), "system": "m/v", "trial": 0,
                "shortfalls": [{"metric": "hit", "value": 0.0, "threshold": 0.4}], "why": "no match"})
        };
        json!({
            "schema": "karat.report/1",
            "run": {"id": "r1", "suite": "my suite -->", "status": "finished", "git_commit": "abc"},
            "totals": {"samples": 40, "cells": 40, "planned": 40, "errors": 1, "unscored": 0},
            "verdict": "fail",
            "gates": (0..gates).map(gate).collect::<Vec<_>>(),
            "cost": {"actual_cost_usd": 0.25, "estimated_cost_usd": 0.5},
            "analyses": {"failures": {"below": {"hit": 0.4}, "cells": 5, "of": 40, "worst": (0..5).map(worst).collect::<Vec<_>>()}},
            "cells": (0..5).map(|at| json!({"ordinal": at, "output": output})).collect::<Vec<_>>(),
        })
    }

    fn rendered(gates: usize, output: &str) -> String {
        comment_of_document(document(gates, output).to_string().as_bytes()).unwrap()
    }

    /// SV-29: the first line is the marker, and a comment has the verdict, gates with interval and n, three examples, the
    /// cost and how to repeat the run.
    #[test]
    fn a_comment_has_all_parts() {
        let text = rendered(1, "wrong");
        assert!(text.starts_with("<!-- karat:my-suite -->\n"), "{text}");
        assert_eq!(text.lines().next().unwrap().matches("-->").count(), 1, "{text}");
        for part in ["fail", "0.400 to 0.600", "| 40 |", "$0.25", "karat run", "karat trace", "`s0`", "`s2`"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("`s3`"), "{text}");
    }

    /// SV-29: a comment of any report fits, and texts from outside neither leave their fence nor notify anybody.
    #[test]
    fn a_large_report_fits() {
        let text = rendered(4_000, &"````\n<!-- karat:other -->\n@all ".repeat(500));
        assert!(text.chars().count() <= MOST, "{}", text.chars().count());
        assert!(text.contains("karat run"), "{text}");
        assert_eq!(text.matches("<!--").count(), 1, "{text}");
        assert!(text.contains("`````"), "the fence is longer than any in the output: {text}");
        let mut in_fence = false;
        for line in text.lines() {
            if line.starts_with("`````") {
                in_fence = !in_fence;
            } else {
                assert!(in_fence || !line.contains("@all"), "{line}");
            }
        }
    }

    /// SV-29: another file is refused with its problem.
    #[test]
    fn other_files_are_refused() {
        assert!(comment_of_document(b"{").unwrap_err().contains("not JSON"));
        assert!(comment_of_document(b"{\"schema\": \"x/1\"}").unwrap_err().contains("`x/1`"));
        assert!(comment_of_document(b"{}").unwrap_err().contains("not a report"));
    }
}
