//! Records and runs that earlier versions stored.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use karat_app::{
    App, CompareRequest, Correction, DriftRequest, DriftStatus, GateRequest, Invocation, Overrides, Party, ReportTo,
};
use karat_store::{JournalEntry, Store, StoreUrl};
use karat_types::{AnalysisSpec, EarlyRule, Moment, ReportFormat, StopEarlySpec};
use serde_json::json;

use crate::place::{app, execution};

fn few_rows(suite: &str) -> Invocation {
    Invocation { overrides: Overrides { limit: Some(20), ..Overrides::default() }, ..Invocation::of(suite) }
}

/// A run whose suite watches drift by a method that is gone, and stops early by a rule that is gone.
fn old_run(app: &App, id: &str, invocation: &Invocation) {
    let mut plan = app.runs().load(invocation).unwrap();
    let header = Arc::make_mut(&mut plan.header);
    header.analyses.retain(|spec| spec.analysis != "drift");
    let with = json!({ "metric": "quality.composite", "method": "ewma", "lambda": 0.2, "limit": 2.7 });
    let with = with.as_object().unwrap().clone();
    header.analyses.push(AnalysisSpec { analysis: "drift".to_owned(), id: "drift_ewma".to_owned(), with });
    header.run.stop_early = Some(StopEarlySpec { rule: EarlyRule::Asymptotic, ..StopEarlySpec::default() });
    app.runs().run(plan, invocation, execution(id)).unwrap();
}

/// LI-22, F77: a stored run that names what is gone opens, reports, compares, has its gates decided and its series watched; each
/// says what is gone and what to use.
#[test]
fn a_run_with_removed_parts_is_read() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let invocation = few_rows("briefing");
    old_run(&app, "a", &invocation);
    old_run(&app, "b", &invocation);
    let gone = [
        "drift method `ewma` is gone: it raised false incidents in half of all quiet years; use `cusum` for slow",
        "`rule: asymptotic` is gone",
    ];

    let to = ReportTo {
        folder: Some(folder.path().join("made")),
        formats: vec![ReportFormat::Markdown, ReportFormat::Json, ReportFormat::Html],
        ..ReportTo::default()
    };
    app.reports().report_into("a", &to, false).unwrap();
    for file in ["report.md", "report.json", "report.html"] {
        let text = fs::read_to_string(folder.path().join("made").join(file)).unwrap();
        let text = text.replace("<code>", "`").replace("</code>", "`").replace("\\`", "`").replace("\\_", "_");
        gone.iter().for_each(|part| assert!(text.contains(part), "{file}: {part}"));
        assert!(text.contains("drift_ewma"), "{file}");
    }
    app.reports().run_page("a").unwrap();
    let party = |run: &str| Party { run: run.to_owned(), ..Party::default() };
    let request = CompareRequest {
        metrics: Vec::new(),
        correction: Correction::Holm,
        confidence: 0.95,
        margins: BTreeMap::new(),
        mde: BTreeMap::new(),
        allow_changed: false,
        movers: 3,
        outputs: false,
    };
    app.analysis().compare(&party("a"), &party("b"), &request).unwrap();

    fs::write(folder.path().join("gates.yaml"), "gates: [ { finding: drift_ewma.z, min: -100 } ]\n").unwrap();
    let policy = Some(folder.path().join("gates.yaml").display().to_string());
    let report = app.analysis().gate("a", &GateRequest { policy, ..GateRequest::default() }).unwrap();
    let shown = report.markdown();
    assert!(shown.contains("**undecided**: 1 of 1"), "what is not computed never passes: {shown}");

    let asked = DriftRequest { as_of: Some("2026-03-17".to_owned()), ..DriftRequest::default() };
    let old = Invocation::of("briefing");
    let found = app.analysis().drift(&old, &asked).unwrap();
    assert_eq!(found.status(), DriftStatus::Ok);
}

/// LI-21, LI-22: a suite that names what is gone is refused at its place, by `--set` too.
#[test]
fn a_suite_with_removed_parts_is_refused() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = |analysis: &str| {
        let path = folder.path().join("karat.yaml");
        fs::write(folder.path().join("d.jsonl"), "{\"id\":1,\"q\":\"a\",\"gold\":\"a\",\"day\":\"2026-01-01\"}\n")
            .unwrap();
        let text = format!(
            "name: old\ndataset: {{ source: d.jsonl, id: id, input: q, reference: gold, date: day }}\n\
             models: [ {{ id: echo, provider: scripted, with: {{ reply: '{{{{ user }}}}' }} }} ]\n\
             variants: {{ v: [ {{ prompt: {{ text: '{{{{ sample.q }}}}' }} }} ] }}\nscorers: {{ hit: {{ metric: exact }} }}\n\
             analyses:\n  - {{ analysis: drift, with: {{ metric: hit, {analysis} }} }}\n"
        );
        fs::write(&path, text).unwrap();
        Invocation::of(path.display().to_string())
    };
    let refused =
        |invocation: &Invocation| app.runs().load(invocation).err().map(|error| error.to_string()).unwrap_or_default();
    for method in ["ewma", "page_hinkley"] {
        let said = refused(&suite(&format!("method: {method}")));
        assert!(
            said.contains("karat.yaml:7:") && said.contains(&format!("drift method `{method}` is gone: ")),
            "{said}"
        );
        assert!(said.contains("use `cusum` for slow changes, `e_detector` for a promised rate"), "{said}");
        assert_eq!(said.matches("error").count(), 1, "{said}");
    }
    let both = refused(&suite("method: ewma, lambda: 0.2, strek: 2"));
    assert!(both.contains("`lambda` is gone") && both.contains("unknown option `strek`"), "{both}");
    assert_eq!(refused(&suite("method: cusum")), "");
    let mut set = suite("method: cusum");
    set.overrides.set = vec![("run.stop_early.rule".to_owned(), "asymptotic".to_owned())];
    assert!(refused(&set).contains("`rule: asymptotic` is gone"), "{}", refused(&set));
}

/// BR-13, invariant 7, formats have versions: an alert that was raised when all systems were one series still stands where there is one system.
#[test]
fn an_alert_without_a_system_stands() {
    let folder = testkit::scratch().unwrap();
    let store = StoreUrl::in_folder(folder.path());
    let app = app(folder.path());
    let invocation = few_rows("briefing");
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution("a")).unwrap();
    let body = json!({
        "rule": {
            "analysis": "drift", "judge": null, "prompt_version": null,
            "options": {
                "metric": "quality.composite", "method": "median_mad", "short": 7, "long": 30, "z": 1.5, "streak": 2, "floor": 0.05,
                "min_short": 3, "min_long": 7, "k": null, "h": null, "lambda": null, "limit": null, "worse": null,
            },
        },
        "as_of": "2026-03-18",
        "alerts": [{ "day": "2026-03-18", "short_median": 1.0, "long_median": 3.45, "z": -3.27, "n_short": 7, "n_long": 18 }],
        "series": [],
    });
    Store::open(&store)
        .unwrap()
        .add_journal_entry("briefing", "drift_alert", &JournalEntry { at: Moment(0), body })
        .unwrap();
    let drift = |as_of: &str| {
        let asked = DriftRequest { as_of: Some(as_of.to_owned()), ..DriftRequest::default() };
        app.analysis().drift(&invocation, &asked).unwrap()
    };
    let found = drift("2026-03-18");
    let one = found.iter().next().unwrap();
    assert_eq!((found.status(), one.drift.alerts[0].z), (DriftStatus::Alert, -3.27));
    assert_eq!(one.drift.system.as_deref(), Some("published"));
    assert_eq!(drift("2026-03-17").status(), DriftStatus::Ok);
}
