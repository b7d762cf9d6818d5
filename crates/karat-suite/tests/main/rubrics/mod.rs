//! Rubrics: files, inline ones, the one-question shorthand, and the metrics they make.

mod ready;

use karat_suite::{LoadContext, LoadPurpose, Overrides, Plan};
use karat_types::{FindingMerge, ReferenceUse, Rubric, Scale, ScorerKind, ShowAs};

use crate::world::World;

const SUITE: &str = r#"name: x
params: { tone: calm }
dataset: { rows: [{ id: a, input: q, target: t, sources: [u] }] }
judges: [gpt-4o, cmd:claude]
variants: { taken: [ { recorded: { column: input } } ] }
scorers:
  quality: { rubric: rubrics/quality.yaml, consensus: { method: median, min_judges: 2 }, labels: labels.jsonl }
  polite: { rubric: { ask: "Is the reply polite?" }, judges: [openai:gpt-4o] }
  exact: { metric: exact, min: 95% }
  sums: { metric: summary }
"#;

const QUALITY: &str = r#"schema: karat.rubric/1
id: briefing
version: v1.10
ask: Judge it.
show:
  text: "{{ output }}"
  sources: { value: "{{ sample.sources }}", as: lines, line: "{{ index }} {{ item }} {{ params.tone }}", chunk: { items: 5 } }
  claims: { value: "{{ output }}", as: json, shuffle: true, route: sources }
reference: optional
dimensions:
  fact:  { scale: [1, 5], step: 1, weight: 0.75, anchors: { 5: good, 1: bad } }
  noise: { scale: [0, 1], weight: 0.25, better: lower }
overall: { id: composite, method: weighted_mean, round: 2 }
caps: [ { id: none, when: sample.sources | length == 0, max: { fact: 2 } } ]
diagnostics:
  spans: { each: { at: { index_of: sources }, why: { one_of: [a, b], default: b } }, chunks: all, max: 3 }
  words: { each: text }
examples: 1
invalid: { then: degrade }
"#;

fn plan() -> Plan {
    World::new(&[
        ("karat.yaml", SUITE),
        ("rubrics/quality.yaml", QUALITY),
        ("labels.jsonl", "{\"sample\": \"a\", \"scores\": {\"fact\": 4}}\n"),
    ])
    .plan(&Overrides::default())
}

/// A template in `ask` is not rendered: a warning says so, and names `show`.
#[test]
fn what_is_asked_is_no_template() {
    let warnings = |ask: &str| {
        let suite = SUITE.replace("Is the reply polite?", ask).replace(", labels: labels.jsonl", "");
        let world = World::new(&[("karat.yaml", &suite), ("rubrics/quality.yaml", QUALITY)]);
        world.load(&Overrides::default()).unwrap().warnings().plain()
    };
    let told = warnings("Does it answer {{ sample.input }}?");
    assert!(told.contains("`ask` is not a template") && told.contains("`show: {"), "{told}");
    assert!(!warnings("Is it {polite}?").contains("inserted"));
}

/// BR-03, BR-04, BR-08: where a cap holds, its bound is the score, and so is a value of the scale.
#[test]
fn a_cap_is_a_value_of_its_dimension() {
    let capped = |max: &str| {
        let rubric = QUALITY.replace("max: { fact: 2 }", &format!("max: {max}"));
        let suite = SUITE.replace(", labels: labels.jsonl", "");
        World::new(&[("karat.yaml", &suite), ("rubrics/quality.yaml", &rubric)])
    };
    for (max, told) in [
        ("{ fact: 0 }", "the cap `fact: 0` is not a value of that dimension, which is from 1 to 5 in steps of 1"),
        ("{ fact: 2.5 }", "`fact: 2.5`"),
        ("{ fact: 9 }", "`fact: 9`"),
        ("{ noise: 1.5 }", "which is from 0 to 1"),
    ] {
        let said = capped(max).problems(&Overrides::default());
        assert!(said.contains(told) && said.contains("quality.yaml:14"), "{said}");
    }
    capped("{ fact: 1, noise: 0.5 }").plan(&Overrides::default());
}

fn rubric(plan: &Plan, scorer: usize) -> &Rubric {
    match &plan.header.scorers[scorer].kind {
        ScorerKind::Rubric(rubric) => &rubric.rubric,
        ScorerKind::Metric { .. } => panic!("no rubric"),
    }
}

#[test]
fn a_rubric_file_keeps_its_order_and_its_words() {
    let plan = plan();
    let quality = rubric(&plan, 0);
    assert_eq!(quality.version.as_deref(), Some("v1.10"));
    assert_eq!(quality.show.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["text", "sources", "claims"]);
    assert_eq!(quality.show[1].form, ShowAs::Lines);
    assert_eq!(quality.show[1].line.as_deref(), Some("{{ index }} {{ item }} {{ \"calm\" }}"));
    assert_eq!(quality.dimensions[0].anchors, [(1.0, "bad".to_owned()), (5.0, "good".to_owned())]);
    assert!(quality.diagnostics[0].chunks == FindingMerge::All && quality.diagnostics[1].fields.is_empty());
    assert_eq!(quality.reference, ReferenceUse::Optional);
    let ScorerKind::Rubric(scorer) = &plan.header.scorers[0].kind else { panic!("no rubric") };
    assert_eq!(scorer.judges, ["gpt-4o", "cmd:claude"]);
    assert_eq!(scorer.reads, ["output", "reference", "sample.sources"]);
    assert_eq!(scorer.labels.len(), 1);
}

#[test]
fn a_question_alone_is_one_pass_or_fail() {
    let plan = plan();
    let polite = rubric(&plan, 1);
    assert_eq!(polite.id, "polite");
    let choices = vec![("pass".to_owned(), 1.0), ("fail".to_owned(), 0.0)];
    assert_eq!((polite.dimensions[0].name.as_str(), &polite.dimensions[0].scale), ("pass", &Scale::Choices(choices)));
    assert_eq!(polite.show.iter().map(|item| item.value.as_str()).collect::<Vec<_>>(), ["{{ input }}", "{{ output }}"]);
}

/// F44: a judge sees the reference only if the rubric says so, whatever else it shows or asks.
#[test]
fn the_reference_is_hidden_unless_the_rubric_says_otherwise() {
    let loaded = |rubric: &str| {
        let suite = format!(
            "name: s\ndataset: {{ source: d.jsonl, id: id, input: q, reference: a }}\njudges: [gpt-4o]\n\
             variants: {{ v: [ {{ recorded: {{ column: q }} }} ] }}\nscorers: {{ tone: {{ rubric: {rubric} }} }}\n"
        );
        World::new(&[("karat.yaml", &suite), ("d.jsonl", "{\"id\": 1, \"q\": \"x\", \"a\": \"y\"}\n")])
            .load(&Overrides::default())
            .unwrap()
    };
    let use_and_reads = |text: &str| {
        let plan = loaded(text).plan().unwrap();
        let ScorerKind::Rubric(scorer) = &plan.header.scorers[0].kind else { panic!("no rubric") };
        (scorer.rubric.reference, scorer.reads.iter().any(|name| name == "reference"))
    };
    for hidden in [
        "{ ask: Is it polite? }",
        "{ ask: Is it polite?, show: { reply: '{{ output }}' } }",
        "{ ask: Grade it., dimensions: { tone: { scale: [1, 5] } } }",
    ] {
        assert_eq!(use_and_reads(hidden), (ReferenceUse::Hidden, false), "{hidden}");
    }
    assert_eq!(use_and_reads("{ ask: Is it right?, reference: optional }"), (ReferenceUse::Optional, true));
    assert_eq!(use_and_reads("{ ask: Is it right?, reference: required }"), (ReferenceUse::Required, true));
    assert_eq!(
        use_and_reads("{ ask: Is it right?, show: { expected: '{{ reference }}' } }"),
        (ReferenceUse::Hidden, true)
    );
    let warned = |text: &str| loaded(text).warnings().plain().contains("does not see the reference");
    assert!(warned("{ ask: Does it agree with the reference? }"));
    assert!(!warned("{ ask: Does it agree with the reference?, reference: optional }"));
    assert!(!warned("{ ask: Does it agree with the reference?, show: { reference: '{{ sample.a }}' } }"));
}

/// The contract: a metric's name is the scorer's id, with `.dimension` where it has several.
#[test]
fn metrics_have_the_names_of_the_contract() {
    let plan = plan();
    let shown: Vec<_> = plan
        .header
        .metrics
        .iter()
        .map(|metric| format!("{} {:?} {} {:?}", metric.name, metric.range, metric.binary, metric.better))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    assert_eq!(plan.metric(0, "composite"), Some(2));
    assert_eq!(plan.metric(1, "pass"), Some(3));
    assert_eq!(plan.metric(0, "nothing"), None);
    assert_eq!(plan.header.scorers[2].bound.min, Some(0.95));
}

/// SU-06: without judges a rubric scorer is off, and the plan says so.
#[test]
fn without_judges_a_rubric_scorer_is_off() {
    let world = World::new(&[
        (
            "karat.yaml",
            &SUITE.replace("judges: [gpt-4o, cmd:claude]", "judges: []").replace(", judges: [openai:gpt-4o]", ""),
        ),
        ("rubrics/quality.yaml", QUALITY),
        ("labels.jsonl", "{\"sample\": \"a\", \"scores\": {\"fact\": 4}}\n"),
    ]);
    let plan = world.plan(&Overrides::default());
    assert_eq!(plan.header.scorers.iter().map(|scorer| scorer.id.as_str()).collect::<Vec<_>>(), ["exact", "sums"]);
    assert_eq!(plan.notes.len(), 2);
    let named = Overrides { judges: vec!["gpt-4o".to_owned()], ..Overrides::default() };
    let plan = world.plan(&named);
    assert_eq!(plan.header.judges.iter().map(|judge| judge.id.as_str()).collect::<Vec<_>>(), ["gpt-4o"]);
    assert!(
        plan.warnings.to_string().contains("a consensus of 2 judges is asked for, but there is 1"),
        "{}",
        plan.warnings
    );
    let both = Overrides { judges: vec!["gpt-4o".to_owned(), "openai:gpt-4.1".to_owned()], ..Overrides::default() };
    let three = World::new(&[
        ("karat.yaml", &SUITE.replace("min_judges: 2", "min_judges: 3")),
        ("rubrics/quality.yaml", QUALITY),
        ("labels.jsonl", "{\"sample\": \"a\", \"scores\": {\"fact\": 4}}\n"),
    ]);
    let warnings = three.plan(&both).warnings.to_string();
    assert!(warnings.contains("of 3 judges is asked for, but there are 2"), "CL-16: {warnings}");
    assert!(warnings.contains("with a warning per cell"), "CL-16: {warnings}");
}

/// CL-08, CL-13: nothing that a labels file says is averaged or lost unseen: who scores an output twice, keys that are
/// misspelt and a file without labels are told where they stand.
#[test]
fn labels_that_would_vanish_are_refused() {
    let problems = |labels: &str| {
        World::new(&[("karat.yaml", SUITE), ("rubrics/quality.yaml", QUALITY), ("labels.jsonl", labels)])
            .problems(&Overrides::default())
            .to_string()
    };
    let label = |by: &str, fact: u8| {
        format!("{{\"sample\": \"a\", \"output\": \"x\", \"annotator\": \"{by}\", \"scores\": {{\"fact\": {fact}}}}}\n")
    };
    let twice = problems(&format!("{}{}{}", label("ann", 1), label("bob", 2), label("ann", 4)));
    assert!(
        twice.contains("labels.jsonl:3") && twice.contains("has already scored `fact` of this output in line 1"),
        "{twice}"
    );
    let misspelt = problems(&label("ann", 1).replace("annotator", "anotator"));
    assert!(misspelt.contains("a label has no `anotator`") && misspelt.contains("annotator"), "{misspelt}");
    assert!(problems("\n").contains("the file has no labels"));
}

/// CL-12, CL-14: what no judge could be asked with is told when the suite is read, with its place.
#[test]
fn rubrics_that_cannot_be_asked_are_refused() {
    let two = QUALITY.replace("shuffle: true,", "shuffle: true, chunk: { items: 3 },");
    let own = format!("{QUALITY}prompt: {{ system: s.md, user: u.md }}\n");
    for (rubric, wanted, place) in [
        (two, "only one value under `show` can have `chunk`", "rubrics/quality.yaml:8:"),
        (own, "this prompt lacks `{{ format }}`", "rubrics/quality.yaml:20:"),
    ] {
        let world = World::new(&[
            ("karat.yaml", SUITE),
            ("rubrics/quality.yaml", &rubric),
            ("rubrics/s.md", "Judge. {{ dimensions }}"),
            ("rubrics/u.md", "{{ sections }}"),
            ("labels.jsonl", "{\"sample\": \"a\", \"scores\": {\"fact\": 4}}\n"),
        ]);
        let said = world.problems(&Overrides::default());
        assert!(said.contains(wanted) && said.contains(place), "{said}");
    }
}

/// CL-08: labels of another dataset are one warning, not one each.
#[test]
fn labels_of_another_dataset_are_one_warning() {
    let labels = "{\"sample\": \"x\", \"output\": \"o\", \"scores\": {\"fact\": 4}}\n".repeat(9);
    let world = World::new(&[("karat.yaml", SUITE), ("rubrics/quality.yaml", QUALITY), ("labels.jsonl", &labels)]);
    let said = world.plan(&Overrides::default()).warnings.to_string();
    assert_eq!(said.matches("which is not in the dataset").count(), 1, "{said}");
    assert!(said.contains("8 more rows have the same problem"), "{said}");
    let calibrating = Overrides {
        context: LoadContext { purpose: LoadPurpose::Calibrate, ..LoadContext::default() },
        ..Overrides::default()
    };
    assert_eq!(world.problems(&calibrating).matches("which is not in the dataset").count(), 9);
}

/// CL-08, CL-13: labels off the scale, of a mistyped dimension or of no sample are errors with file, line and hint; a
/// file that several scorers share is checked for each.
#[test]
fn labels_must_fit_what_is_scored() {
    let labels = concat!(
        "\u{feff}{\"sample\": \"a\", \"scores\": {\"fact\": 4, \"exact\": 1}}\n\n",
        "{\"sample\": \"a\", \"output\": \"fact\", \"scores\": {\"fact\": 400}}\n",
        "{\"sample\": 7, \"scores\": {\"fatc\": 1}}\n",
        "{\"sample\": \"a\", \"scores\": {\"quality.fact\": \"high\"}}\n",
        "{\"sample\": null, \"scores\": {\"fact\": 1}}\n",
        "{\"sample\": \"a\", \"scores\": [1]}\n",
        "{\"sample\": \"a\", \"scores\": {\"fact\": true}}\n",
        "{\"sample\": \"a\", \"output\": \"x\"}\n",
        "{\"sample\": \"a\", \"output\": \"x\", \"scores\": {\"fact\": null}}\n",
    );
    let world = World::new(&[("karat.yaml", SUITE), ("rubrics/quality.yaml", QUALITY), ("labels.jsonl", labels)]);
    let said = world.problems(&Overrides::default());
    for wanted in [
        "labels.jsonl:3:46",
        "`fact` is 400, but its scale is 1 to 5",
        "labels.jsonl:4:26",
        "this scorer has no dimension `fatc`",
        "did you mean `fact`?",
        "`quality.fact` is \"high\"",
        "labels.jsonl:6:1",
        "labels.jsonl:7:1",
        "labels.jsonl:8:28",
        "`fact` is true",
        "labels.jsonl:9:1",
        "labels.jsonl:10:1",
        "this label has no `scores`",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert_eq!(said.matches("labels.jsonl").count(), 8, "{said}");
}
