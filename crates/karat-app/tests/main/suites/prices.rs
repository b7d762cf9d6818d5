//! Prices that a user adds.

use std::io::{Read, Write};
use std::path::Path;

use karat_app::{AddedPrices, App, Invocation, PriceRequest};
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
    let from = file.to_string_lossy().into_owned();
    let done = app.imports().add_prices(&PriceRequest { from, replaces, ..PriceRequest::default() });
    let done = done.map_err(|error| error.to_string())?;
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

/// A server that gives every request this answer; returns its address and the requests that came.
fn serve(answer: String) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/prices.yaml?signature=abcdef", listener.local_addr().unwrap());
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap();
            let _ = sender.send(String::from_utf8_lossy(&head[..length]).into_owned());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, requests)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn update(app: &App, from: &str, is_trial: bool) -> Result<AddedPrices, String> {
    let request = PriceRequest { from: from.to_owned(), replaces: true, is_trial, ..PriceRequest::default() };
    app.imports().add_prices(&request).map_err(|error| format!("{error}; {}", error.hint().unwrap_or_default()))
}

/// RE-25: an address is read without a key, its day is today and its source itself without the query; a trial writes nothing.
#[test]
fn prices_come_from_an_address() {
    let folder = testkit::scratch().unwrap();
    let app = App {
        lookup: Arc::new(|name: &str| (name == "OPENAI_API_KEY").then(|| "sk-not-for-lists".to_owned())),
        ..new_app(folder.path())
    };
    let list = "models: [ { id: \"openai:gpt-9\", price: { input: 3, output: 9 } } ]\n";
    let (address, requests) = serve(ok(list));
    let tried = update(&app, &address, true).unwrap();
    assert_eq!((tried.changes.len(), tried.file.exists()), (1, false));
    let done = update(&app, &address, false).unwrap();
    assert_eq!(done.digest, Some(format!("blake3:{}", blake3::hash(list.as_bytes()).to_hex())));
    let Pricing::Known(price) = &done.changes[0].after else { panic!("{done:?}") };
    let shown = address.split('?').next().unwrap();
    assert_eq!((price.as_of.as_deref(), price.source.as_deref()), (Some("2026-11-26"), Some(shown)));
    assert!(!std::fs::read_to_string(&done.file).unwrap().contains("signature"));
    for request in requests.try_iter() {
        assert!(request.starts_with("GET /prices.yaml?signature=abcdef "), "{request}");
        assert!(!request.to_lowercase().contains("authorization") && !request.contains("sk-not"), "{request}");
    }
}

/// RE-25: what is no list, a redirect, a refusal and an address that is not safe are errors that say what to do, without secrets.
#[test]
fn addresses_that_give_no_prices_are_told() {
    let folder = testkit::scratch().unwrap();
    let app = new_app(folder.path());
    let served = |answer: &str| {
        let (address, _requests) = serve(answer.to_owned());
        update(&app, &address, false).unwrap_err()
    };
    let moved =
        "HTTP/1.1 302 Found\r\nlocation: https://example.com/other\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for (told, part) in [
        (served(moved), "redirects are not followed"),
        (served("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), "404"),
        (served("HTTP/1.1 200 OK\r\ncontent-length: 33554433\r\nconnection: close\r\n\r\n"), "33554432"),
        (served(&ok("<html>sign in</html>")), "a price file needs `models`"),
        (update(&app, "http://example.com/prices.json", false).unwrap_err(), "must begin with `https://`"),
        (update(&app, "https://me:hunter2x@example.com/p.json", false).unwrap_err(), "hold no user name or password"),
        (update(&app, "ftp://example.com/p.json", false).unwrap_err(), "must begin with `https://`"),
    ] {
        assert!(told.contains(part) && !told.contains("signature") && !told.contains("hunter"), "{part}: {told}");
    }
    assert!(!app.home.join("models/added.json").exists());
}
