//! Ids and content from outside never act on a terminal.

use crate::place::{CommandOutput, Place};

/// Controls of C0 and C1, an operating system command, direction overrides, a carriage return.
const HOSTILE: &str = "x\\u009b31my\\u009d0;owned\\u0007\\u202egnp\\r\\u001b[2Jz\\u2066";

/// A suite with a hostile id, input, output, reason and model reply.
fn place() -> Place {
    let place = Place::new();
    place.write(
        "data.jsonl",
        &format!("{{\"id\":\"{HOSTILE}\",\"text\":\"{HOSTILE}\",\"want\":\"{HOSTILE}\"}}\n{{\"id\":\"b\",\"text\":\"fail\",\"want\":\"b\"}}\n"),
    );
    place.write(
        "karat.yaml",
        r#"name: hostile
dataset: { source: data.jsonl, id: id, input: text, reference: want }
models: [ { id: small, provider: scripted, with: { reply: '{{ user }}{% if "fail" in user %}{{ 1 // 0 }}{% endif %}' } } ]
judges: [ { id: judge, provider: scripted, with: { reply: '{"pass": "fail", "reasoning": {{ user | tojson }}}' } } ]
variants: { v: [ { prompt: { text: "{{ sample.text }}" } } ], w: [ { recorded: { column: text } } ] }
scorers:
  same: { metric: exact }
  good: { rubric: { ask: Good?, show: { it: "{{ output }}" }, rationale: { field: reasoning } } }
gates: [ { metric: same, per: sample, min: 1 } ]
policy: { enforce: on_request }
"#,
    );
    place
}

fn check(command: &[&str], result: &CommandOutput) {
    let acts = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    for (name, text) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
        let found: Vec<char> = text.chars().filter(|c| acts(*c)).collect();
        assert_eq!(found, Vec::<char>::new(), "{name} of {command:?}: {text:?}");
    }
}

/// X17: JSON is escaped wherever it is printed, also by exports and into a pipe, and is the same value; JSON lines stay lines.
#[test]
fn printed_json_escapes_what_acts_on_a_terminal() {
    let place = place();
    place.karat(&["run", "--run-id", "a"]);
    place.karat(&["annotate", "create", "a", "--task", "t", "--scorer", "good"]);
    for command in [
        &["export", "jsonl", "a", "-o", "-"][..],
        &["export", "otel", "a", "-o", "-"],
        &["report", "a", "-o", "-", "--format", "json"],
        &["report", "a", "-o", "-", "--format", "cells"],
        &["annotate", "export", "t"],
        &["annotate", "export", "t", "--as", "jsonl"],
    ] {
        let result = place.karat(command);
        check(command, &result);
        let values = serde_json::Deserializer::from_str(&result.stdout).into_iter::<serde_json::Value>();
        assert!(values.collect::<Result<Vec<_>, _>>().is_ok(), "{command:?}: {}", result.all());
    }
    let piped = place.karat(&["export", "jsonl", "a", "-o", "-"]).stdout;
    place.karat(&["export", "jsonl", "a", "-o", "cells.jsonl"]);
    let values = |text: &str| -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert!(piped.contains("\\u202e") && !place.text("cells.jsonl").is_empty());
    assert_eq!(values(&piped), values(&place.text("cells.jsonl")));
}

/// D2: U+009B, U+009D, direction overrides and carriage returns reach the terminal in no command.
#[test]
fn nothing_acts_on_a_terminal() {
    let place = place();
    let first = ["run", "--verbose", "--run-id", "a"];
    check(&first, &place.karat(&first));
    let id = HOSTILE.replace("\\r", "\\u000d");
    let id: String = serde_json::from_str(&format!("\"{id}\"")).unwrap();
    let path = format!("{id}/small/v");
    let commands: &[&[&str]] = &[
        &["run", "--verbose", "--sample", &id],
        &["run", "--json", "--no-cache"],
        &["plan"],
        &["validate"],
        &["show", "a"],
        &["show", "a", "--format", "tsv"],
        &["show", "a", "--json"],
        &["show", "a", "--outputs", "all"],
        &["show", "a", "--sample", &id],
        &["show", "hostile"],
        &["show", "hostile", "--json"],
        &["show", "a", "--sample", "\u{9b}31m\r\u{202e}"],
        &["trace", "a", &path],
        &["trace", "a", &path, "--raw"],
        &["trace", "a", &path, "--json"],
        &["trace", "a", "\u{9b}31m\r\u{202e}"],
        &["why", &path],
        &["why", "0"],
        &["why", "\u{9b}31m\r\u{202e}"],
        &["report", "a"],
        &["report", "a", "-o", "-", "--outputs", "all"],
        &["gate", "a"],
        &["ls"],
        &["invalidate", "a", "--dry-run"],
        &["retry", "a"],
        &["compare", "v", "w"],
        &["show", "\u{9b}31m"],
    ];
    for command in commands {
        check(command, &place.karat(command));
    }
}
