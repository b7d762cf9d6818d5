//! The language's example suites load as far as this version goes; the shipped presets load as a whole.

use std::sync::Arc;

use karat_suite::{Diagnostics, DiskFiles, Overrides, Registry, Suite};
use karat_types::ScorerKind;
use proptest::prelude::*;

use crate::world::{World, catalog};

fn load(path: &str) -> Result<Suite, Diagnostics> {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    Suite::load(Arc::new(DiskFiles), &path, &Overrides::default(), &catalog(), &Registry::builtin())
}

/// LI-05: every example suite parses with the catalog's names; what is reported is a file that is not there.
#[test]
fn the_example_suites_only_miss_files() {
    for name in ["claims", "summary", "briefing", "rag", "spans", "answers-daily", "support-bot"] {
        let problems = match load(&format!("fixtures/suites/{name}.yaml")) {
            Ok(suite) => suite.warnings().clone(),
            Err(problems) => problems,
        };
        for problem in problems.iter() {
            let expected =
                ["there is no file", "cannot be listed", "`unknown-v0`", "`days` needs to know the last day"];
            assert!(expected.iter().any(|text| problem.message.contains(text)), "{name}: {problem}");
        }
        assert!(!problems.is_empty(), "{name}");
    }
}

/// CL-26: the shipped presets are plans.
#[test]
fn the_presets_become_plans() {
    let claims = load("presets/claims/karat.yaml").unwrap_or_else(|problems| panic!("{}", problems.plain()));
    let plan = claims.plan().unwrap();
    assert_eq!((plan.header.dataset.rows, plan.header.systems.len()), (6, 20));
    assert!(plan.header.metric("quality.overallScore").is_some());
    let faq = load("presets/faq/karat.yaml").unwrap_or_else(|problems| panic!("{}", problems.plain()));
    assert_eq!(faq.plan().unwrap().header.systems.len(), 2);
}

fn any_suite() -> impl Strategy<Value = String> {
    let good = include_str!("../../../../fixtures/suites/claims.yaml");
    let cut = (0..good.len(), 0..good.len(), "\\PC{0,12}").prop_map(move |(from, to, by)| {
        let floor = |mut at: usize| {
            while !good.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (from, to) = (floor(from.min(to)), floor(from.max(to)));
        format!("{}{by}{}", &good[..from], &good[to..])
    });
    prop_oneof!["(?s).{0,200}", "([a-z]{1,8}: ?[\\[\\]{}\"'a-z0-9:, \\n-]{0,40}\\n){0,8}", cut]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any address is either applied or reported.
    #[test]
    fn setting_never_panics(address in "(variants|dataset|scorers|run|judges|x)?[a-z0-9.{}é ]{0,24}", value in "\\PC{0,16}") {
        let overrides = Overrides { set: vec![(address, value)], ..Overrides::default() };
        let suite = include_str!("../../../../fixtures/suites/support-bot.yaml");
        if let Err(problems) = World::new(&[("karat.yaml", suite)]).load(&overrides) {
            prop_assert!(!problems.plain().is_empty());
        }
    }

    /// Loading any text returns a suite or diagnostics that can be displayed.
    #[test]
    fn loading_never_panics(text in any_suite()) {
        let world = World::new(&[("karat.yaml", &text), ("data/corpus.json", "[{\"videoId\": 1}]")]);
        if let Err(problems) = world.load(&Overrides::default()) {
            prop_assert!(problems.has_errors());
            prop_assert!(!problems.plain().is_empty() && !problems.render_coloured().is_empty());
        }
    }
}

/// CL-09: recorded files that no sample asks for are named, with those of a mistyped variant; other files are not.
#[test]
fn recorded_files_of_no_sample_are_named() {
    let suite = "name: x\nparams: { notes: { path: notes } }\ndataset: { rows: [{ id: a }, { id: b-1 }] }\nvariants:\n  one: [ { recorded: { from: \"{{ params.notes }}/{{ sample.id }}-chat-recall.md\", missing: skip } } ]\n  two: [ { recorded: { from: \"notes/{{ sample.id }}-chat-precision.md\", missing: skip } } ]\n";
    let world = World::new(&[
        ("karat.yaml", suite),
        ("notes/a-chat-recall.md", "x"),
        ("notes/b-1-chat-precision.md", "x"),
        ("notes/list.txt", "x"),
    ]);
    assert_eq!(world.load(&Overrides::default()).unwrap().warnings().to_string(), "");
    let world = world.with("notes/b-chat-recall.md", "x").with("notes/a-chat-recal.md", "x");
    let said = world.load(&Overrides::default()).unwrap().warnings().to_string();
    assert!(said.contains("belong to no sample: a-chat-recal.md, b-chat-recall.md"), "{said}");
    let part = Overrides { samples: vec!["a".to_owned()], ..Overrides::default() };
    assert_eq!(world.load(&part).unwrap().warnings().to_string(), "");
}

/// F3: a row of recorded outputs that cannot be read is an error with its place, under every `missing`: it never counts as
/// absent. `NaN` and infinities are null.
#[test]
fn recorded_rows_that_cannot_be_read_are_errors() {
    let suite = |missing: &str| {
        format!(
            "name: x\ndataset: {{ rows: [{{ id: a }}, {{ id: b }}] }}\nvariants: {{ v: [ {{ recorded: {{ from: out.jsonl, column: o, \
             missing: {missing} }} }} ] }}\n"
        )
    };
    let good = "{\"id\": \"a\", \"o\": \"x\", \"p\": NaN}\n\n{\"id\": \"b\", \"o\": \"NaN\", \"p\": -Infinity}\n";
    for missing in ["error", "skip", "empty"] {
        let world = World::new(&[("karat.yaml", &suite(missing)), ("out.jsonl", good)]);
        assert!(world.load(&Overrides::default()).is_ok());
        for (broken, place, problem) in [
            (
                "{\"id\": \"a\", \"o\": 1}\n{\"id\": \"b\", \"o\": nan}\n",
                "out.jsonl:2\n",
                "invalid JSON: expected ident",
            ),
            (
                "{\"id\": \"a\", \"o\": \n{\"id\": \"b\", \"o\": 1}\n",
                "out.jsonl:1\n",
                "invalid JSON: it ends too early",
            ),
            ("{\"id\": \"a\", \"o\": 1}\n[1]\n", "out.jsonl:2\n", "a row must be an object"),
            ("[{\"id\": \"a\", \"o\": 1},\n 7]", "out.jsonl:2\n", "a row must be an object"),
            ("[{\"id\": \"a\", \"o\": 1},\n {]", "out.jsonl:2\n", "invalid JSON"),
            ("{\"a\": {\"o\": 1},\n \"b\": {\"o\": 1, \"o\": 2}}", "out.jsonl:2\n", "duplicate key \"o\""),
            ("id,o\na,1\nb,2\n", "out.jsonl:1\n", "invalid JSON"),
        ] {
            let told = world.clone().with("out.jsonl", broken).problems(&Overrides::default());
            assert!(told.contains(&format!("--> {place}")) && told.contains(problem), "{broken}: {told}");
        }
        let told =
            world.with_bytes("out.jsonl", b"{\"id\": \"a\"}\n{\"id\": \"\xff\"}\n").problems(&Overrides::default());
        assert!(told.contains("out.jsonl:2\n") && told.contains("this line is not UTF-8 text"), "{told}");
    }
}

/// F117: with the judge `none` outputs are made alone: what reads grades waits, with a note, and everything else stays.
#[test]
fn outputs_can_be_made_without_judges() {
    let suite = "name: n\ndataset: { rows: [ { id: a, o: x } ], id: id, input: o }\njudges: [ { id: j, provider: stub } ]\n\
                 variants: { v: [ { recorded: { column: o } } ] }\n\
                 scorers:\n  q: { rubric: { ask: a, dimensions: { x: { scale: [1, 5] } } } }\n  e: { metric: exact, value: x }\n\
                 analyses: [ agreement, { analysis: failures, with: { below: { \"q.*\": 4 } } } ]\n\
                 gates: [ { metric: q, min: 4 }, { metric: e, min: 1 } ]\n";
    let world = World::new(&[("karat.yaml", suite)]);
    let plan = |judges: &[&str]| {
        let judges = judges.iter().map(|judge| (*judge).to_owned()).collect();
        world.plan(&Overrides { judges, ..Overrides::default() })
    };
    let (judged, alone) = (plan(&[]), plan(&["none"]));
    assert_eq!((judged.header.judges.len(), judged.rules.gates.len(), judged.header.analyses.len()), (1, 2, 2));
    assert_eq!((alone.header.judges.len(), alone.rules.gates.len(), alone.header.analyses.len()), (0, 1, 1));
    assert_eq!(alone.header.scorers.iter().map(|scorer| scorer.id.as_str()).collect::<Vec<_>>(), ["e"]);
    let notes = alone.notes.join("\n");
    assert!(notes.contains("left out until judges grade these outputs: 1 of 2 gates and 1 of 2 analyses"), "{notes}");
}

/// F114: a suite may choose its variants, by a parameter too; the command line wins, and a name of no variant is told with its
/// place.
#[test]
fn a_suite_may_choose_its_variants() {
    let suite = |variants: &str| {
        format!(
            "name: n\nparams: {{ which: \"\" }}\ndataset: {{ rows: [ {{ id: a, o: x }} ], id: id, input: o }}\n\
             variants: {{ v: [ {{ recorded: {{ column: o }} }} ], w: [ {{ recorded: {{ column: o }} }} ] }}\n\
             scorers: {{ e: {{ metric: exact, value: x }} }}\nrun: {{ {variants} }}\n"
        )
    };
    let chosen = |variants: &str, overrides: &Overrides| -> Vec<String> {
        let plan = World::new(&[("karat.yaml", &suite(variants))]).plan(overrides);
        plan.header.variants.iter().map(|variant| variant.id.clone()).collect()
    };
    let by_parameter = "variants: [\"{{ params.which or 'v' }}\"]";
    let asked = Overrides { params: vec![("which".to_owned(), "w".to_owned())], ..Overrides::default() };
    let named = Overrides { variants: vec!["w".to_owned()], ..Overrides::default() };
    assert_eq!(chosen("trials: 1", &Overrides::default()), ["v", "w"]);
    assert_eq!(chosen(by_parameter, &Overrides::default()), ["v"]);
    assert_eq!(chosen(by_parameter, &asked), ["w"]);
    assert_eq!(chosen("variants: [v]", &named), ["w"]);
    let told = World::new(&[("karat.yaml", &suite("variants: [x]"))]).problems(&Overrides::default());
    assert!(told.contains("karat.yaml:6:") && told.contains("`x`"), "{told}");
}

/// F52: a question about one output asks whether it passes; about two, which is better.
#[test]
fn pairs_are_asked_for_the_better_one() {
    let suite = |versus: &str| {
        format!(
            "name: n\ndataset: {{ rows: [ {{ id: a, o: x, p: y }} ], id: id, input: o }}\njudges: [ {{ id: j, provider: stub }} ]\n\
             variants: {{ v: [ {{ recorded: {{ column: o }} }} ], w: [ {{ recorded: {{ column: p }} }} ] }}\n\
             scorers: {{ q: {{ rubric: {{ ask: How friendly is it? }}{versus} }} }}\n"
        )
    };
    for (versus, name) in [("", "pass"), (", versus: all", "better"), (", versus: \"variant:v\"", "better")] {
        let plan = World::new(&[("karat.yaml", &suite(versus))]).plan(&Overrides::default());
        let ScorerKind::Rubric(judged) = &plan.header.scorers[0].kind else { panic!("a rubric is expected") };
        let names: Vec<&str> = judged.rubric.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        assert_eq!((names, plan.header.metrics[0].name.as_str()), (vec![name], "q"));
    }
}
