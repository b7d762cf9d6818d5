//! Cascades of judges in suites: what a plan has of them, and what is refused.

use karat_suite::Overrides;
use karat_types::{CascadeSpec, PASS, ScorerKind, UnsureRule};

use crate::world::World;

const SUITE: &str = r#"name: bench
dataset: { source: data.jsonl, id: id, input: question, reference: target }
models: [gpt-5-mini]
judges: [gpt-5, gpt-5-mini]
variants:
  direct: [ { prompt: { text: "{{ sample.question }}" } } ]
scorers:
  hit: { metric: exact }
  quality:
    rubric: { ask: How good is it?, dimensions: { tone: { scale: [0, 10] }, facts: { scale: [0, 10] } } }
    cascade: { first: gpt-5-mini }
"#;

fn world(suite: &str) -> World {
    World::new(&[("karat.yaml", suite), ("data.jsonl", "{\"id\": \"a\", \"question\": \"2+2?\", \"target\": \"4\"}\n")])
}

/// SL-20: a judge that goes first becomes a scorer of its own after the one it goes before, and is not asked twice; the
/// built-in metric `pass` counts neither.
#[test]
fn a_first_judge_is_a_scorer_of_its_own() {
    let plan = world(SUITE).plan(&Overrides::default()).header;
    let ids: Vec<&str> = plan.scorers.iter().map(|scorer| scorer.id.as_str()).collect();
    assert_eq!(ids, ["hit", "quality", "quality-first"]);
    let judges = |at: usize| match &plan.scorers[at].kind {
        ScorerKind::Rubric(rubric) => rubric.judges.clone(),
        ScorerKind::Metric { .. } => Vec::new(),
    };
    assert_eq!((judges(1), judges(2)), (vec!["gpt-5".to_owned()], vec!["gpt-5-mini".to_owned()]));
    let cascade = plan.scorers[1].cascade.as_ref().unwrap();
    assert_eq!((cascade.first.as_str(), cascade.share, &cascade.unsure), ("quality-first", 0.1, &UnsureRule::Standard));
    assert!(plan.scorers[2].is_first_judge && plan.scorers[2].cascade.is_none());
    let first = |name: &str| plan.first_metric(plan.metric(name).unwrap()).map(|at| plan.metrics[at].name.as_str());
    assert_eq!(first("quality.facts"), Some("quality-first.facts"));
    assert_eq!(first("quality-first.facts"), None);
    assert_eq!(plan.metric(PASS), None, "one check alone is not a `pass`");
}

/// SL-20: the condition, the share, a metric that goes first, and no draws at all for unsure cells.
#[test]
fn a_cascade_has_its_keys() {
    let with = |cascade: &str, first: &str| {
        let suite = SUITE.replace("cascade: { first: gpt-5-mini }", cascade).replace("hit: { metric: exact }", first);
        world(&suite).plan(&Overrides::default()).header
    };
    let of = |plan: &karat_types::PlanHeader| -> CascadeSpec {
        plan.scorers.iter().find_map(|scorer| scorer.cascade.clone()).unwrap()
    };
    let plan = with("cascade: { first: gpt-5-mini, share: 20%, unsure: first.tone < 3 }", "hit: { metric: exact }");
    let found = of(&plan);
    assert_eq!((found.share, found.unsure), (0.2, UnsureRule::Where("first.tone < 3".to_owned())));
    let plan = with("cascade: { first: gpt-5-mini, unsure: false }", "hit: { metric: exact }");
    assert_eq!(of(&plan).unsure, UnsureRule::Never);
    let other = "hit: { rubric: { ask: Is it kind?, dimensions: { tone: { scale: [0, 10] }, facts: { scale: [0, 10] } } }, judges: [gpt-5-mini] }";
    let plan = with("cascade: { first: hit }", other);
    assert_eq!((plan.scorers.len(), of(&plan).first.as_str()), (2, "hit"));
    assert_eq!(plan.first_metric(plan.metric("quality.tone").unwrap()), plan.metric("hit.tone"));
}

/// SL-20: what cannot work is refused at its place, with what to do.
#[test]
fn wrong_cascades_are_refused() {
    let said = |cascade: &str| {
        let suite = SUITE.replace("cascade: { first: gpt-5-mini }", cascade);
        world(&suite).problems(&Overrides::default())
    };
    let cases = [
        ("cascade: { first: gpt-5-mini, share: 2% }", "`share` is 2 %", "write at least `5%`"),
        ("cascade: { first: quality }", "a scorer cannot go before itself", "name a cheaper judge"),
        ("cascade: { first: gpt-nonsense }", "gpt-nonsense", "karat.yaml:11"),
        ("cascade: { first: hit }", "`hit` has no score that stands for `quality.tone`", "the same dimensions"),
        ("cascade: { share: 10% }", "`first`", "karat.yaml:11"),
        ("cascade: { first: gpt-5-mini, unsure: frist < 3 }", "there is no name `frist` here", "did you mean `first`?"),
        ("cascade: { first: gpt-5-mini }\n    reduce: median", "a cascade estimates means", "remove `reduce`"),
        (
            "cascade: { first: gpt-5-mini }\n    versus: all",
            "cannot be combined with `cascade`",
            "remove one of the two",
        ),
    ];
    for (cascade, what, hint) in cases {
        let said = said(cascade);
        assert!(said.contains(what) && said.contains(hint), "{cascade}\n{said}");
    }
    let on_metric = SUITE.replace("hit: { metric: exact }", "hit: { metric: exact, cascade: { first: gpt-5 } }");
    assert!(world(&on_metric).problems(&Overrides::default()).contains("`cascade` needs a scorer with a rubric"));
}

/// SL-20: a judge that goes first needs another after it, whoever names the judges.
#[test]
fn a_first_judge_is_not_the_only_one() {
    let only = SUITE.replace("judges: [gpt-5, gpt-5-mini]", "judges: [gpt-5-mini]");
    let own = SUITE.replace("cascade: {", "judges: [gpt-5-mini]\n    cascade: {");
    let flag = Overrides { judges: vec!["gpt-5-mini".to_owned()], ..Overrides::default() };
    let owns = SUITE.replace("cascade: {", "judges: [gpt-5]\n    cascade: {");
    for (suite, overrides) in
        [(&only, &Overrides::default()), (&own, &Overrides::default()), (&SUITE.to_owned(), &flag), (&owns, &flag)]
    {
        let said = world(suite).problems(overrides);
        let what = "the first judge `gpt-5-mini` is also the only judge of `quality`";
        assert!(said.contains(what) && said.contains("name another judge under `judges`"), "{suite}\n{said}");
        assert!(said.contains("karat.yaml:11") || said.contains("karat.yaml:12"), "{said}");
    }
    let off = owns.replace("judges: [gpt-5]\n", "judges: []\n").replace("[gpt-5, gpt-5-mini]", "[gpt-5-mini]");
    assert_eq!(world(&off).plan(&Overrides::default()).header.scorers.len(), 1, "no judge at all");
}

/// SL-20: without judges the scorer is off, and so is what goes before it.
#[test]
fn a_cascade_without_judges_is_off() {
    let suite = SUITE.replace("judges: [gpt-5, gpt-5-mini]", "judges: []");
    let plan = world(&suite).plan(&Overrides::default());
    assert_eq!(plan.header.scorers.len(), 1);
    assert!(plan.notes.iter().any(|note| note.contains("`quality` is off")), "{:?}", plan.notes);
}
