//! Ready rubrics that a suite uses by name, and dimensions that are counted.

use karat_suite::{Overrides, Plan};
use karat_types::{Rubric, Scale, ScorerKind};

use crate::world::World;

fn suite(rubric: &str) -> String {
    format!(
        "name: x\ndataset: {{ rows: [{{ id: a, input: q, target: t, passages: [p] }}] }}\njudges: [gpt-4o]\n\
         variants: {{ taken: [ {{ recorded: {{ column: input }} }} ] }}\nscorers:\n  faith: {{ rubric: {rubric} }}\n"
    )
}

fn plan(rubric: &str) -> Plan {
    World::new(&[("karat.yaml", &suite(rubric))]).plan(&Overrides::default())
}

fn problems(rubric: &str) -> String {
    World::new(&[("karat.yaml", &suite(rubric))]).problems(&Overrides::default())
}

fn rubric_of(plan: &Plan) -> &Rubric {
    match &plan.header.scorers[0].kind {
        ScorerKind::Rubric(rubric) => &rubric.rubric,
        ScorerKind::Metric { .. } => panic!("no rubric"),
    }
}

const USED: &str = "{ use: faithfulness, show: { context: \"{{ sample.passages }}\" } }";

/// TG-40: a ready rubric is its file with the suite's keys laid over it, and the merge is its identity.
#[test]
fn suite_lays_its_keys_over_a_ready_rubric() {
    let used = plan(USED);
    let rubric = rubric_of(&used);
    assert_eq!((rubric.id.as_str(), rubric.version.as_deref()), ("faithfulness", Some("1")));
    let shown: Vec<_> =
        rubric.show.iter().map(|item| (item.name.as_str(), item.value.as_str(), item.required)).collect();
    let expected = [
        ("question", "{{ input }}", false),
        ("context", "{{ sample.passages }}", true),
        ("answer", "{{ output.text | default(output) }}", false),
    ];
    assert_eq!(shown, expected);
    let written = include_str!("../../../../../rubrics/faithfulness.yaml")
        .replace("{ value: \"\",", "{ value: \"{{ sample.passages }}\",");
    let world = World::new(&[("karat.yaml", &suite("rubrics/own.yaml")), ("rubrics/own.yaml", &written)]);
    assert_eq!(rubric_of(&world.plan(&Overrides::default())), rubric, "a written file is the same rubric");
    let changed =
        plan(&USED.replace("show:", "version: \"2\", dimensions: { faithfulness: ~, tone: { scale: [1, 5] } }, show:"));
    let changed = rubric_of(&changed);
    assert_eq!((changed.version.as_deref(), changed.dimensions[0].name.as_str()), (Some("2"), "tone"));
    assert_eq!(changed.ask, rubric.ask);
}

/// TG-40: a rubric file may lay its keys over a ready rubric as well.
#[test]
fn file_may_use_a_ready_rubric() {
    let world = World::new(&[("karat.yaml", &suite("r.yaml")), ("r.yaml", USED)]);
    assert_eq!(rubric_of(&world.plan(&Overrides::default())), rubric_of(&plan(USED)));
}

/// TG-40: names that do not exist, and values that the suite must give, are told when the suite is read.
#[test]
fn ready_rubrics_say_what_they_lack() {
    let told = problems("{ use: faithfulness }");
    assert!(told.contains("rubric `faithfulness` needs `show: { context: .. }`"), "{told}");
    assert!(told.contains("karat.yaml:6") && told.contains("context: the texts that the answer may rest on"), "{told}");
    let told = problems("{ use: faithfullness }");
    assert!(
        told.contains("there is no ready rubric `faithfullness`") && told.contains("did you mean `faithfulness`?"),
        "{told}"
    );
    let told = problems(&USED.replace("show:", "asks: x, show:"));
    assert!(told.contains("unknown key `asks` in a rubric"), "{told}");
    let told = problems(&USED.replace("show:", "dimensions: { tone: { weight: 2 } }, show:"));
    assert!(told.contains("a dimension needs one of `scale`, `choices`, `counted`"), "{told}");
    let told = problems(&USED.replace("show:", "file: r.yaml, show:"));
    assert!(told.contains("cannot be combined with `file`"), "{told}");
    let told = problems("{ ask: Is it?, show: { answer: \"\" } }");
    assert!(told.contains("rubric `faith` needs `show: { answer: .. }`"), "{told}");
}

const COUNTED: &str = "{ ask: Check., diagnostics: { claims: { each: { text: text, verdict: { one_of: [yes, no] } } } }, dimensions: { share: { counted: { in: claims, where: verdict == \"yes\" } } } }";

/// TG-41: a counted dimension goes from 0 to 1; a list or field that does not exist is told when the suite is read.
#[test]
fn counted_dimensions_must_fit_their_list() {
    let planned = plan(COUNTED);
    let dimension = &rubric_of(&planned).dimensions[0];
    assert_eq!(dimension.scale, Scale::Range { lo: 0.0, hi: 1.0, step: None });
    assert_eq!(dimension.counted.as_ref().unwrap().condition, "verdict == \"yes\"");
    assert_eq!((planned.header.metrics[0].name.as_str(), planned.header.metrics[0].range), ("faith", Some((0.0, 1.0))));
    for (from, to, told) in [
        ("in: claims", "in: claim", "`diagnostics` has no list `claim`"),
        ("where: verdict ==", "where: verdct ==", "an item of `claims` has no `verdct`"),
        ("== \"yes\"", "== \"maybe\"", "`where` names none of the words of `verdict`"),
        ("counted: {", "chunks: max, counted: {", "a dimension that is `counted` takes no `chunks`"),
        ("counted: {", "scale: [1, 5], counted: {", "`counted` cannot be combined with `scale`"),
        ("dimensions:", "overall: { method: given }, dimensions:", "all of them are `counted`"),
        (
            "dimensions: {",
            "breakdowns: { b: { over: [x], scores: { s: { counted: { in: claims, where: item } } } } }, dimensions: {",
            "`counted` cannot be used in a breakdown",
        ),
    ] {
        let said = problems(&COUNTED.replacen(from, to, 1));
        assert!(said.contains(told), "{told}: {said}");
    }
}
