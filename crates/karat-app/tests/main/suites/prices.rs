//! Prices that a user adds.

use std::path::Path;

use karat_app::{App, Invocation, PriceOrigin};
use karat_types::{Clock, Moment, Pricing};
use std::sync::Arc;

use crate::place::app;

/// 2026-11-26.
struct November;

impl Clock for November {
    fn now(&self) -> Moment {
        Moment(1_795_651_200_000)
    }
}

fn new_app(folder: &Path) -> App {
    App { clock: Arc::new(November), ..app(folder) }
}

fn add(app: &App, folder: &Path, text: &str, replaces: bool) -> Result<Vec<String>, String> {
    let file = folder.join("prices.yaml");
    std::fs::write(&file, text).unwrap();
    let done = app.imports().add_prices(&file, &PriceOrigin::default(), replaces).map_err(|error| error.to_string())?;
    Ok(done
        .changes
        .into_iter()
        .map(|change| format!("{} {} {}", change.id, input(change.before), input(Some(change.after))))
        .collect())
}

fn input(price: Option<Pricing>) -> String {
    match price {
        Some(Pricing::Known(price)) => (price.base.rates.input as f64 / 1e9).to_string(),
        other => format!("{other:?}"),
    }
}

fn priced(id: &str, input: f64, as_of: &str) -> String {
    format!("as_of: {as_of}\nsource: list\nmodels: [ {{ id: \"{id}\", price: {{ input: {input}, output: 9 }} }} ]\n")
}

const SUITE: &str = "name: s\ndataset: { rows: [ { id: a, input: q } ] }\nMODELS\nvariants: { v: [ { prompt: { text: \"{{ input }}\" } } ] }\nscorers: { l: { metric: length } }\n";

/// The input price of the only model of a suite.
fn planned(app: &App, folder: &Path, models: &str) -> String {
    let path = folder.join("karat.yaml");
    std::fs::write(&path, SUITE.replace("MODELS", models)).unwrap();
    let plan = app.runs().load(&Invocation::of(path.to_string_lossy())).unwrap_or_else(|error| panic!("{error}"));
    format!("{} {}", input(Some(plan.header.models[0].price.clone())), app.imports().old_prices(&plan).join("; "))
}

/// TG-53: `add` refuses known models, `update` changes them and says so; the order is built-in, added, registry file, entry.
#[test]
fn added_prices_stand_above_the_built_in_ones() {
    let folder = testkit::scratch().unwrap();
    let (app, path) = (new_app(folder.path()), folder.path());
    assert!(
        add(&app, path, &priced("gpt-5", 2.0, "2026-11-01"), false)
            .unwrap_err()
            .contains("the model `gpt-5` is known already")
    );
    assert!(!path.join("models/added.json").exists());
    assert_eq!(add(&app, path, &priced("openai:gpt-9", 3.0, "2026-11-01"), false).unwrap(), ["openai:gpt-9 None 3"]);
    assert!(add(&app, path, &priced("openai:gpt-9", 3.0, "2026-11-01"), false).is_err(), "now it is known");
    assert_eq!(add(&app, path, &priced("openai:gpt-9", 4.0, "2026-11-02"), true).unwrap(), ["openai:gpt-9 3 4"]);
    assert_eq!(add(&app, path, &priced("openai:gpt-9", 4.0, "2026-11-02"), true).unwrap(), Vec::<String>::new());
    assert_eq!(add(&app, path, &priced("gpt-5", 2.0, "2026-11-01"), true).unwrap(), ["gpt-5 1.25 2"]);
    assert_eq!(planned(&app, path, "models: [\"openai:gpt-9\"]"), "4 ");
    assert_eq!(planned(&app, path, "models: [gpt-5]"), "2 ");
    std::fs::write(path.join("own.yaml"), "models: [ { id: gpt-5, like: gpt-5, price: { input: 5, output: 9 } } ]")
        .unwrap();
    assert_eq!(planned(&app, path, "registry: [own.yaml]\nmodels: [gpt-5]"), "5 ");
    let entry = "registry: [own.yaml]\nmodels: [ { id: gpt-5, like: gpt-5, price: { input: 6, output: 9 } } ]";
    assert_eq!(planned(&app, path, entry), "6 ");
    assert!(app.project().registry(None).unwrap().get("openai:gpt-9").is_some());
}

/// TG-53: prices that are older than 180 days are told, with their day and source.
#[test]
fn old_prices_are_told() {
    let folder = testkit::scratch().unwrap();
    let (app, path) = (new_app(folder.path()), folder.path());
    add(&app, path, &priced("openai:gpt-9", 3.0, "2026-05-30"), false).unwrap();
    assert_eq!(planned(&app, path, "models: [\"openai:gpt-9\"]"), "3 ", "180 days are not too old");
    add(&app, path, &priced("openai:gpt-9", 3.0, "2026-05-29"), true).unwrap();
    let told = planned(&app, path, "models: [\"openai:gpt-9\"]");
    assert!(told.contains("the price of openai:gpt-9 is 181 days old (2026-05-29, list)"), "{told}");
}

/// TG-53: a kept file that cannot be read stops every use of it, with its name.
#[test]
fn damaged_prices_are_told() {
    let folder = testkit::scratch().unwrap();
    let app = new_app(folder.path());
    std::fs::create_dir_all(folder.path().join("models")).unwrap();
    std::fs::write(folder.path().join("models/added.json"), "{").unwrap();
    let error = app.project().registry(None).unwrap_err().to_string();
    assert!(error.contains("added.json") && error.contains("not valid JSON"), "{error}");
}
