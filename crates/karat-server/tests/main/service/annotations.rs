//! Tasks for people over HTTP: what the people of a task see, and what they may not.

use std::collections::BTreeMap;

use http::StatusCode;
use karat_app::{ItemsFrom, Role, TaskRequest, TextFrom};
use karat_server::Purpose;
use karat_types::output_key;
use serde_json::{Value, json};

use crate::place::{Answer, Place};

const SUITE: &str = "
name: SUITEMARK
dataset: { source: data.jsonl, id: id, input: q }
models:
  - { id: MODELMARK1, provider: scripted, with: { reply: 'first {{ user }}' } }
  - { id: MODELMARK2, provider: scripted, with: { reply: 'second {{ user }}' } }
registry: [models.yaml]
judges: [JUDGEMARK]
variants: { VARIANTMARK: [ { prompt: { text: '{{ sample.q }}' } } ] }
scorers:
  SCORERMARK: { rubric: { ask: Good?, show: { answer: '{{ output }}' }, dimensions: { good: { scale: [0, 10] } } } }
";

const MODELS: &str = "
schema: karat.models/1
as_of: 2026-06-01
models:
  - { id: JUDGEMARK, provider: scripted, context_window: 2000000, with: { reply: judge.j2 } }
";

const JUDGE: &str = r#"{"code": {{ code | json }}, "scores": {"good": 7}, "reasoning": "REASONMARK"}"#;

/// A server on a run of these samples, with a task of its outputs.
fn place(samples: usize, change: impl FnOnce(&mut TaskRequest)) -> Place {
    let place = Place::serve();
    let rows = |at| format!("{}\n", json!({ "id": format!("SAMPLEMARK{at}"), "q": format!("about {at}") }));
    place.write("data.jsonl", &(0..samples).map(rows).collect::<String>());
    place.write("karat.yaml", SUITE);
    place.write("models.yaml", MODELS);
    place.write("judge.j2", JUDGE);
    place.run(&place.folder.path().join("karat.yaml").display().to_string(), "RUNMARK");
    let mut request =
        TaskRequest { name: Some("t".to_owned()), ..TaskRequest::new(ItemsFrom::Run("RUNMARK".to_owned())) };
    change(&mut request);
    place.app.tasks().create(&request).unwrap();
    place
}

fn pairs(request: &mut TaskRequest) {
    let questions = "[{ id: better, ask: Which is better?, kind: pairwise }]";
    request.questions = Some(TextFrom::Text(questions.to_owned()));
}

fn post(place: &Place, what: &str, person: &str, body: &Value) -> Answer {
    place.post(&format!("/annotations/t/{what}?as={person}"), &body.to_string())
}

fn succeed(answer: &Answer) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

/// HU-05: no response to a person names model, variant, judge, scorer, run, suite, sample, score, cost, another person or
/// their labels, nor holds the hash of an output; whatever the person asks, and for both kinds of items.
#[test]
fn responses_to_people_are_blind() {
    for is_pair in [false, true] {
        let place = place(6, |request| {
            if is_pair {
                pairs(request)
            }
        });
        let mut responses: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let items = if is_pair { 6 } else { 12 };
        for person in ["annmark", "bobmark"] {
            for at in 0..items {
                let mut ask = |what: &str, body: &Value| {
                    let answer = post(&place, what, person, body);
                    responses.entry(person).or_default().push(answer.text.clone());
                    answer
                };
                let next = succeed(&ask("next", &json!({})));
                let item = next["item"]["id"].as_str().unwrap().to_owned();
                succeed(&ask("draft", &json!({ "item": item })));
                let answers = if is_pair { json!({ "better": "a" }) } else { json!({ "good": 3 }) };
                let label = json!({ "item": item, "answers": answers, "note": format!("note by {person}"), "ms": 7 });
                match at {
                    0 => succeed(&ask("skip", &json!({ "item": item, "reason": "broken", "note": "SKIPMARK" }))),
                    1 => succeed(&ask("flag", &json!({ "item": item, "reason": "harmful", "note": "FLAGMARK" }))),
                    2 => {
                        succeed(&ask("labels", &label));
                        succeed(&ask("undo", &json!({})));
                        succeed(&ask("labels", &label))
                    }
                    _ => succeed(&ask("labels", &label)),
                };
                ask("labels", &json!({ "item": item, "answers": { "nothing": 1 } }));
                ask("labels", &json!({ "item": "x", "answers": {} }));
                ask("next", &json!({ "item": item }));
                if succeed(&ask("next", &json!({})))["item"].is_null() {
                    break;
                }
            }
        }
        let export = place.get("/annotations/t/export?form=jsonl").text;
        let mut forbidden: Vec<String> =
            ["MODELMARK", "VARIANTMARK", "JUDGEMARK", "SCORERMARK", "RUNMARK", "SUITEMARK"]
                .into_iter()
                .chain([
                    "SAMPLEMARK",
                    "REASONMARK",
                    "SKIPMARK",
                    "FLAGMARK",
                    "\"gold\"",
                    "cost",
                    "latency",
                    "alpha",
                    "score",
                ])
                .map(str::to_owned)
                .collect();
        for line in export.lines().skip(1) {
            let item: Value = serde_json::from_str(line).unwrap();
            for output in item["outputs"].as_array().unwrap() {
                forbidden.push(output_key(&output["output"]).to_string());
            }
        }
        // The owner's side does name them, so the words are the right ones.
        assert!(
            ["MODELMARK", "VARIANTMARK", "SAMPLEMARK", "RUNMARK"].iter().all(|mark| export.contains(mark)),
            "{export}"
        );
        for (person, texts) in responses {
            let other = if person == "annmark" { "bobmark" } else { "annmark" };
            for text in &texts {
                for word in forbidden.iter().map(String::as_str).chain([other]) {
                    assert!(!text.contains(word), "{person} reads {word}: {text}");
                }
            }
        }
    }
}

/// HU-05, HU-02: for each person the sides of pairs are balanced within one; an answer is about the output, not the side.
#[test]
fn sides_of_pairs_are_balanced() {
    let place = place(21, pairs);
    for person in ["ann", "bob"] {
        let mut first = 0;
        for _ in 0..21 {
            let next = succeed(&post(&place, "next", person, &json!({})));
            let is_first = next["item"]["a"].as_str().unwrap().starts_with("first");
            assert_ne!(is_first, next["item"]["b"].as_str().unwrap().starts_with("first"));
            first += u32::from(is_first);
            // Both always like the first model.
            let better = if is_first { "a" } else { "b" };
            let label = json!({ "item": next["item"]["id"], "answers": { "better": better } });
            succeed(&post(&place, "labels", person, &label));
            let again = succeed(&post(&place, "next", person, &json!({ "item": next["item"]["id"] })));
            assert_eq!(
                (&again["item"]["a"], &again["item"]["answers"]["better"]),
                (&next["item"]["a"], &json!(better))
            );
        }
        assert!((10..=11).contains(&first), "{person}: {first}");
    }
    let export = place.get("/annotations/t/export?form=jsonl&settled=true").text;
    for line in export.lines().skip(1) {
        let item: Value = serde_json::from_str(line).unwrap();
        let side = item["settled"]["questions"]["better"]["value"].as_str().unwrap();
        let at = usize::from(side == "b");
        assert!(item["outputs"][at]["text"].as_str().unwrap().starts_with("first"), "{item}");
    }
    let found = place.get("/annotations/t/agreement").json();
    assert_eq!(found["questions"][0]["share_equal"]["value"], 1.0);
}

/// HU-14: a token of the role `annotate` opens the queue of its own task and nothing else; the other routes are 403.
#[test]
fn a_person_sees_the_own_queue_only() {
    let place = place(3, |_| {});
    let other = TaskRequest { name: Some("u".to_owned()), ..TaskRequest::new(ItemsFrom::Run("RUNMARK".to_owned())) };
    place.app.tasks().create(&other).unwrap();
    let token = place.app.service().invite_annotator("t", "ann", None).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.text);
    let ask =
        |method: &str, path: &str| place.send(method, path, &[&bearer, "Content-Type: application/json"], "{}").status;
    assert_eq!(ask("POST", "/annotations/t/next"), StatusCode::OK);
    assert_eq!(ask("POST", "/annotations/u/next"), StatusCode::FORBIDDEN);
    assert_eq!(ask("POST", "/annotations/t/next?as=bob"), StatusCode::FORBIDDEN);
    let routes = [
        ("GET", "/"),
        ("GET", "/runs/RUNMARK"),
        ("GET", "/eval/runs"),
        ("GET", "/eval/runs/RUNMARK/report"),
        ("GET", "/suites"),
        ("GET", "/schedules"),
        ("GET", "/incidents"),
        ("GET", "/outbox"),
        ("GET", "/traces"),
        ("GET", "/metrics"),
        ("GET", "/annotations"),
        ("GET", "/annotations/t"),
        ("GET", "/annotations/t/agreement"),
        ("GET", "/annotations/t/export"),
        ("GET", "/annotate/t/owner"),
        ("POST", "/annotations"),
        ("POST", "/annotations/t/adjudicate"),
        ("POST", "/annotations/t/close"),
        ("POST", "/eval/run"),
        ("POST", "/eval/plan"),
        ("POST", "/traces?dataset=x"),
    ];
    for (method, path) in routes {
        assert_eq!(ask(method, path), StatusCode::FORBIDDEN, "{method} {path}");
    }
    let gone = place.send("POST", "/annotations/t@9/next", &[&bearer, "Content-Type: application/json"], "{}");
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    assert!(!gone.text.contains("hint"), "a hint names other tasks: {}", gone.text);
    // A token of the same role that is for no task.
    let stray = place.app.service().create_token("stray", Role::Annotate, None).unwrap();
    let stray = format!("Authorization: Bearer {}", stray.text);
    assert_eq!(
        place.send("POST", "/annotations/t/next", &[&stray, "Content-Type: application/json"], "{}").status,
        StatusCode::FORBIDDEN
    );
    let reader = place.app.service().create_token("reader", Role::Read, None).unwrap();
    let reader = format!("Authorization: Bearer {}", reader.text);
    for path in ["/annotations", "/annotations/t"] {
        assert_eq!(place.send("GET", path, &[&reader], "").status, StatusCode::FORBIDDEN, "{path}");
    }
    let id = token.id;
    place.app.service().revoke_token(&id).unwrap();
    assert_eq!(ask("POST", "/annotations/t/next"), StatusCode::UNAUTHORIZED);
}

/// HU-12, HU-14: a label that is sent twice with one key is stored once; a request says what is wrong with it.
#[test]
fn a_repeated_label_is_stored_once() {
    let place = place(2, |_| {});
    let next = succeed(&post(&place, "next", "ann", &json!({})));
    let label = json!({ "item": next["item"]["id"], "answers": { "good": 4 } }).to_string();
    let send = || {
        place.send(
            "POST",
            "/annotations/t/labels?as=ann",
            &["Idempotency-Key: k1", "Content-Type: application/json"],
            &label,
        )
    };
    let (first, second) = (send(), send());
    assert_eq!((first.status, &first.text), (StatusCode::OK, &second.text));
    assert_eq!(second.header("idempotency-replayed"), "true");
    let audit = place.get("/annotations/t/export?audit=true").text;
    assert_eq!(audit.lines().count(), 2, "{audit}");
    for (what, body, status) in [
        ("labels", json!({ "item": next["item"]["id"], "answers": { "good": 11 } }), StatusCode::BAD_REQUEST),
        ("labels", json!({ "item": "x", "answers": {} }), StatusCode::NOT_FOUND),
        ("next", json!({ "itm": "x" }), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(post(&place, what, "ann", &body).status, status, "{body}");
    }
    assert_eq!(place.post("/annotations/t/next", "{}").status, StatusCode::BAD_REQUEST);
    assert_eq!(place.post("/annotations/none/next?as=ann", "{}").status, StatusCode::NOT_FOUND);
    assert_eq!(place.post("/annotations/t/close", "").status, StatusCode::OK);
    assert_eq!(post(&place, "labels", "ann", &serde_json::from_str(&label).unwrap()).status, StatusCode::CONFLICT);
}

/// HU-14, HU-01: a task is made, listed and shown over HTTP; files cannot be named, and `karat view` changes nothing.
#[test]
fn a_task_is_made_over_http() {
    let place = place(2, |_| {});
    let body = json!({ "run": "RUNMARK", "task": "web", "k": 3, "n": 2, "assign": ["a", "b", "c"], "guidelines": "Be strict." });
    let made = succeed(&place.post("/annotations", &body.to_string()));
    assert_eq!((&made["task"], &made["version"], &made["items"]), (&json!("web"), &json!(1), &json!(2)));
    let listed = succeed(&place.get("/annotations"));
    assert_eq!((&listed["items"][0]["task"], &listed["items"][0]["labels_per_item"]), (&json!("web"), &json!(3)));
    let view = succeed(&place.get("/annotations/web"));
    assert_eq!((&view["questions"][0]["id"], &view["guidelines"]), (&json!("good"), &json!("Be strict.")));
    let files = json!({ "run": "RUNMARK", "select": "ids:/etc/passwd" });
    assert_eq!(place.post("/annotations", &files.to_string()).status, StatusCode::BAD_REQUEST);
    let view = Place::new(Purpose::View { style: false });
    assert_eq!(view.post("/annotations", &body.to_string()).status, StatusCode::FORBIDDEN);
}
