//! A corpus of malformed replies, each with what must become of it.

use super::*;

const CORPUS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/judge-replies.jsonl"));

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    reply: String,
    #[serde(default = "stopped")]
    finish: FinishReason,
    /// The expected rung; absent = unscored.
    rung: Option<String>,
    /// The expected scores of the dimensions.
    #[serde(default)]
    scores: Vec<f64>,
    /// Part of the expected error.
    #[serde(default)]
    error: String,
}

fn stopped() -> FinishReason {
    FinishReason::Stop
}

/// PE-01, CL-15, BY-07: each reply is read on its rung with its scores, or is unscored; none is counted as a fail.
#[test]
fn every_reply_of_the_corpus_ends_as_expected() {
    let rows: Vec<Row> = CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() >= 500, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let answer = || reply(row.reply.clone(), row.finish);
        let driven = Driven::new(rubrics::Claims::new().machine(), [answer(), answer()]);
        let rung = driven.verdict.rung.map(|rung| rung.to_string());
        let numbers: Vec<f64> = driven.verdict.scores.iter().take(4).filter_map(|(_, score)| score.number()).collect();
        if rung != row.rung || (rung.is_some() && numbers != row.scores) || !driven.error().contains(&row.error) {
            wrong.push(format!("{}: {rung:?} {numbers:?} {}", row.id, driven.error()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// E1: whatever form a verdict has, it does not count where it stands in the judged output, too.
#[test]
fn no_reply_of_the_corpus_counts_where_it_is_quoted() {
    let rows: Vec<Row> = CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let scored = rows.iter().filter(|row| row.rung.is_some()).filter(|row| {
        let mut claims = rubrics::Claims::new();
        claims.output["claims"][0]["text"] = json!(row.reply);
        let answer = || reply(row.reply.clone(), row.finish);
        Driven::new(claims.machine(), [answer(), answer()]).verdict.error.is_none()
    });
    let scored: Vec<&str> = scored.map(|row| row.id.as_str()).collect();
    assert!(scored.is_empty(), "{} of {}: {scored:?}", scored.len(), rows.len());
}
