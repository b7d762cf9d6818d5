//! The judge of a preset where a preset tests real models.

use std::path::Path;
use std::sync::Arc;

use karat_app::{App, Invocation};
use karat_types::PlanHeader;

use crate::place::{app, execution};

/// An app that knows these variables.
fn with_keys(folder: &Path, keys: &'static [&'static str]) -> App {
    let lookup = move |name: &str| keys.contains(&name).then(|| format!("key-of-{name}-0123456789"));
    App { lookup: Arc::new(lookup), ..app(folder) }
}

fn invocation(suite: &str, models: &[&str], judges: &[&str]) -> Invocation {
    let mut invocation = Invocation::of(suite);
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    (invocation.overrides.models, invocation.overrides.judges) = (owned(models), owned(judges));
    invocation
}

fn judges(header: &PlanHeader) -> Vec<&str> {
    header.judges.iter().map(|judge| judge.id.as_str()).collect()
}

const ALL: &[&str] = &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"];

/// F45: a preset's scripts grade scripts only; real models get one real judge of another family, one with a key first, and a
/// note says so.
#[test]
fn a_preset_takes_a_real_judge_of_another_family() {
    let folder = testkit::scratch().unwrap();
    let chosen = |suite: &str, models: &[&str], keys| {
        let plan = with_keys(folder.path(), keys).runs().load(&invocation(suite, models, &[])).unwrap();
        let note = plan.notes.iter().any(|note| note.contains("--judges names another one"));
        assert_eq!(note, plan.chosen_judge.is_some(), "{:?}", plan.notes);
        judges(&plan.header).join(" ")
    };
    assert_eq!(chosen("claims", &[], ALL), "sim-judge-strict sim-judge-lenient");
    assert_eq!(chosen("claims", &["sim-faithful"], ALL), "sim-judge-strict sim-judge-lenient");
    for suite in ["claims", "spans", "agent"] {
        assert_eq!(chosen(suite, &["claude-sonnet-4"], ALL), "gpt-4.1", "{suite}");
        assert_eq!(chosen(suite, &["gpt-5-mini"], ALL), "claude-haiku-4-5-20251001", "{suite}");
    }
    assert_eq!(chosen("claims", &["sim-faithful", "gpt-5-mini"], ALL), "claude-haiku-4-5-20251001");
    assert_eq!(chosen("claims", &["gpt-5-mini"], &["GEMINI_API_KEY", "OPENAI_API_KEY"]), "gemini-2.5-flash");
    assert_eq!(chosen("claims", &["starter"], ALL), "mistral-medium-2508");
    // Without any key the plan can be read, and its price.
    assert_eq!(chosen("claims", &["gpt-5-mini"], &[]), "claude-haiku-4-5-20251001");
}

/// F45: without a key for a judge the run is refused, and the message names `--judges`.
#[test]
fn a_run_without_a_key_for_its_judge_is_refused() {
    let folder = testkit::scratch().unwrap();
    let app = with_keys(folder.path(), &["OPENAI_API_KEY"]);
    let asked = invocation("claims", &["gpt-5-mini"], &[]);
    let refused = app.runs().run(app.runs().load(&asked).unwrap(), &asked, execution("one")).unwrap_err();
    let told = format!("{refused} {}", refused.hint().unwrap_or_default());
    assert!(told.contains("no key for a judge") && told.contains("--judges"), "{told}");
    assert!(told.contains("claude-haiku-4-5-20251001 needs ANTHROPIC_API_KEY"), "{told}");
}

/// F45: scripts that are named on purpose grade real models with a warning, in a preset and in a suite of one's own.
#[test]
fn scripted_judges_of_real_models_are_warned_of() {
    let folder = testkit::scratch().unwrap();
    let app = with_keys(folder.path(), ALL);
    let named = app.runs().load(&invocation("claims", &["gpt-5-mini"], &["sim-judge-strict"])).unwrap();
    assert_eq!((judges(&named.header), named.chosen_judge), (vec!["sim-judge-strict"], None));
    let warning = "`sim-judge-strict` is a script and grades a real model (`gpt-5-mini`)";
    assert!(named.notes.iter().any(|note| note.starts_with(warning)), "{:?}", named.notes);
    assert_eq!(app.runs().load(&invocation("claims", &[], &[])).unwrap().header.script_warning(), None);
    let suite = folder.path().join("karat.yaml");
    std::fs::write(folder.path().join("d.jsonl"), "{\"id\": 1, \"q\": \"x\"}\n").unwrap();
    std::fs::write(
        &suite,
        "name: own\ndataset: { source: d.jsonl, id: id, input: q }\nmodels: [gpt-5-mini]\njudges: [stub]\n\
         variants: { v: [ { prompt: { text: '{{ input }}' } } ] }\nscorers: { kind: { rubric: { ask: Is it kind? } } }\n",
    )
    .unwrap();
    let own = app.runs().load(&Invocation::of(suite.display().to_string())).unwrap();
    assert_eq!(judges(&own.header), ["stub"]);
    assert!(own.header.script_warning().unwrap().contains("`stub` is a script"));
}

/// F45: a key in the environment alone changes nothing; a line says what real models would cost.
#[test]
fn a_key_alone_spends_nothing() {
    let folder = testkit::scratch().unwrap();
    let offer = |keys, models: &[&str]| {
        let app = with_keys(folder.path(), keys);
        let asked = invocation("claims", models, &[]);
        let plan = app.runs().load(&asked).unwrap();
        app.runs().starter_offer(&asked, &plan)
    };
    assert_eq!((offer(&[], &[]), offer(ALL, &["sim-faithful"])), (None, None));
    let told = offer(ALL, &[]).unwrap();
    assert!(told.contains("`karat run claims --models starter` asks real models, for about $"), "{told}");
    let part = offer(&["OPENAI_API_KEY"], &[]).unwrap();
    assert!(part.contains("once ANTHROPIC_API_KEY, GEMINI_API_KEY, MISTRAL_API_KEY is set"), "{part}");
}
