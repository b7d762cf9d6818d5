//! `source: "traces:NAME"` and `traces`.

use std::sync::Arc;

use karat_suite::{Overrides, TraceFiles, trace_rules};

use crate::world::World;

const SUITE: &str = "\
name: answers
dataset: { source: \"traces:faq\", days: 1 }
variants: { live: [ { recorded: { from: \"{{ sample.output }}\" } } ] }
scorers: { short: { metric: length, max: 100 } }
traces: { faq: { sample: 50%, per_day: 100, keep: 30d } }
privacy: { redact: [email] }
";

fn line(id: &str, trace: &str, day: &str, p: f64) -> String {
    format!(
        "{{\"id\":\"{id}\",\"trace_id\":\"{trace}\",\"time\":\"{day}T10:00:00.000Z\",\"input\":\"q\",\"output\":\"{id} of {day}\",\"p\":{p}}}\n"
    )
}

fn overrides(traces: World, as_of: &str) -> Overrides {
    let mut overrides = Overrides { as_of: Some(as_of.to_owned()), ..Overrides::default() };
    overrides.context.traces = TraceFiles::new(Arc::new(traces));
    overrides
}

fn ids(traces: World, as_of: &str) -> Vec<String> {
    let plan = World::new(&[("karat.yaml", SUITE)]).plan(&overrides(traces, as_of));
    plan.rows().map(|sample| sample.unwrap().id.to_string()).collect()
}

/// SV-22: a suite reads the rows of its days; of rows with one id the last; a line without an end is not read.
#[test]
fn the_rows_of_a_day_are_the_last_of_each_id() {
    let second =
        line("a", "01", "2026-03-02", 1.0) + &line("b", "02", "2026-03-02", 1.0) + &line("a", "01", "2026-03-02", 1.0);
    let traces = World::new(&[
        ("faq/2026-03-01.jsonl", &line("old", "03", "2026-03-01", 1.0)),
        ("faq/2026-03-02.jsonl", &(second + "{\"id\":\"half")),
        ("faq/2026-04-02.jsonl", "not read: another month\n"),
    ]);
    assert_eq!(ids(traces.clone(), "2026-03-02"), ["b", "a"]);
    assert_eq!(ids(traces, "2026-03-01"), ["old"]);
}

/// SV-22: where the share of a day was halved, all of its rows are thinned to the smaller share.
#[test]
fn rows_of_two_shares_are_thinned_to_the_smaller_one() {
    let rows =
        (0..400).map(|n| line(&n.to_string(), &format!("{n:032x}"), "2026-03-02", if n < 300 { 1.0 } else { 0.25 }));
    let traces = World::new(&[("faq/2026-03-02.jsonl", &rows.collect::<String>())]);
    let kept = ids(traces, "2026-03-02");
    assert!((70..130).contains(&kept.len()), "{}", kept.len());
    assert!(kept.iter().all(|id| karat_traces::share_of(&format!("{:032x}", id.parse::<u32>().unwrap())) < 0.25));
}

/// SV-22: a dataset that nobody has sent yet, and a day without rows, say so.
#[test]
fn traces_that_are_not_there_are_a_clear_error() {
    let traces = World::new(&[("fap/2026-03-02.jsonl", &line("a", "01", "2026-03-02", 1.0))]);
    let problems = World::new(&[("karat.yaml", SUITE)]).problems(&overrides(traces, "2026-03-02"));
    assert!(problems.contains("there are no traces of the name `faq`"), "{problems}");
    assert!(problems.contains("did you mean `fap`"), "{problems}");
    let traces = World::new(&[("faq/2026-03-02.jsonl", &line("a", "01", "2026-03-02", 1.0))]);
    let problems = World::new(&[("karat.yaml", SUITE)]).problems(&overrides(traces, "2026-03-05"));
    assert!(problems.contains("the dataset has no rows of 2026-03-05"), "{problems}");
}

/// SV-22: a server reads the rules of its traces without the rest of the suite.
#[test]
fn rules_are_read_without_the_rest_of_the_suite() {
    let suite = SUITE.replace("metric: length", "metric: no_such_metric");
    let rules = trace_rules(Arc::new(World::new(&[("karat.yaml", &suite)])), "karat.yaml").unwrap();
    let rule = &rules["faq"];
    assert_eq!((rule.share.share.probability(), rule.share.per_day, rule.keep_days), (0.5, Some(100), Some(30)));
    assert_eq!(rule.privacy.redact, ["email"]);
    for (written, message) in [
        ("sample: 0", "`sample` is a share above 0"),
        ("sample: 2", "`sample`"),
        ("per_day: 0", "`per_day`"),
        ("keep: soon", "`keep`"),
        ("smaple: 1", "`smaple`"),
    ] {
        let suite = SUITE.replace("sample: 50%, per_day: 100, keep: 30d", written);
        let problems = trace_rules(Arc::new(World::new(&[("karat.yaml", &suite)])), "karat.yaml").unwrap_err().plain();
        assert!(problems.contains(message), "{written}: {problems}");
    }
}
