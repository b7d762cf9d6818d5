//! Messages arrive at least once, with the same id, and nothing secret is stored.

use karat_app::Invocation;
use testkit::{Behaviour, ReceivedRequest, Script};

use super::world::{World, execution};

const HOUR_MS: i64 = 3_600_000;

/// SV-18: a receiver that fails twice gets the message at the third attempt, each time with the same id.
#[test]
fn a_message_keeps_its_id_over_attempts() {
    let world = World::new(Script::by(|request: &ReceivedRequest| match request.number {
        0 | 1 => Behaviour::raw(500, "{}"),
        _ => Behaviour::raw(200, "{}"),
    }));
    world.write_days(-20..20, |_| 2);
    let app = world.app();
    world.night(&app);
    let waiting = &app.service().outbox(None).unwrap()[0];
    assert_eq!((waiting.state.as_str(), waiting.attempts), ("pending", 1));
    assert_eq!(waiting.error, "the receiver answered 500");
    app.service().deliver_due().unwrap();
    assert_eq!(world.receiver.requests(), 1, "not before its time");
    world.advance(7_000);
    app.service().deliver_due().unwrap();
    // Killed between the attempt and its end: another process sends it.
    world.advance(HOUR_MS);
    assert_eq!(world.app().service().deliver_due().unwrap().sent, 1);
    let requests = world.receiver.received_requests();
    let ids: Vec<&str> = requests.iter().filter_map(|request| request.header("webhook-id")).collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(world.app().service().outbox(Some("sent")).unwrap().len(), 1);
}

/// SV-18: a receiver that is gone gets no more attempts; another alert is told; a person can retry.
#[test]
fn a_dead_message_is_told_by_another_alert() {
    let world = World::new(Script::by(|request: &ReceivedRequest| match request.number {
        0 => Behaviour::raw(410, "{}"),
        _ => Behaviour::raw(200, "{}"),
    }));
    world.edit(
        "    quiet: 0\n",
        "    quiet: 0\n  backup: { send: slack, with: { url: \"${HOOK}\" }, events: [delivery_failed] }\n",
    );
    world.write_days(-20..20, |_| 2);
    let app = world.app();
    world.night(&app);
    let dead = app.service().outbox(Some("dead")).unwrap();
    assert_eq!((dead.len(), dead[0].alert.as_str()), (1, "oncall"));
    let told = world.receiver.received_requests().pop().unwrap().json();
    assert!(told["text"].as_str().unwrap().contains("could not be delivered"), "{told}");
    app.service().retry_message(&dead[0].id).unwrap();
    assert_eq!(app.service().deliver_due().unwrap().sent, 1);
}

/// SV-16: a message shows the worst cells of its metric, without characters that deceive.
#[test]
fn a_message_shows_the_worst_cells() {
    let world = World::accepting();
    world.write_days(-20..20, |_| 2);
    world.night(&world.app());
    let message = world.receiver.received_requests().remove(0).json();
    let data = &message["data"];
    assert_eq!((&data["event"], &data["subject"]), (&"gate_failed".into(), &"hit >= 0.6".into()));
    assert_eq!((&data["run_id"], &data["n"]), (&"support-nightly-20270301T0130Z".into(), &10.into()));
    let samples: Vec<&str> =
        data["examples"].as_array().unwrap().iter().filter_map(|it| it["sample"].as_str()).collect();
    assert_eq!(samples, ["2027-02-28-2", "2027-02-28-3", "2027-02-28-4"], "ties keep the order of the plan");
    assert!(!message.to_string().contains('\u{202e}'));
}

/// F75, SV-16: redaction, with all rules on, hides what it names and no cell; of an object the parts are shown that the list
/// of failures shows, or else its members, never JSON.
#[test]
fn a_redacted_dataset_shows_its_cells() {
    let all = "privacy: { redact: [email, phone, card, iban, api_key], patterns: { idea: 'no idea' } }\n";
    for (analysis, expected) in [
        ("", "score: 1\ntext: <!channel> [idea] "),
        ("  - { analysis: failures, with: { show: [$.text] } }\n", "text: <!channel> [idea] "),
    ] {
        let world = World::accepting();
        world.edit("gates:", &format!("{analysis}{all}gates:"));
        world.edit("hit: { metric: contains }", "hit: { metric: contains, output: $.text }");
        world.write_days(-20..20, |_| 2);
        let path = world.folder.path().join("data.jsonl");
        let rows = std::fs::read_to_string(&path).unwrap();
        let objects = rows.lines().map(|line| {
            let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["answer"] = serde_json::json!({ "score": 1, "text": row["answer"] });
            format!("{row}\n")
        });
        std::fs::write(&path, objects.collect::<String>()).unwrap();
        world.night(&world.app());
        let message = world.receiver.received_requests().remove(0).json();
        let examples = message["data"]["examples"].as_array().unwrap();
        assert_eq!(examples.len(), 3, "{message}");
        assert!(examples[0]["output"].as_str().unwrap().starts_with(expected.trim_end()), "{message}");
    }
}

/// SV-16: messages about a sensitive dataset show no cell.
#[test]
fn a_sensitive_dataset_is_not_shown() {
    let world = World::accepting();
    world.edit("schedules:", "privacy: { sensitive: true, keep_content: true }\nschedules:");
    world.write_days(-20..20, |_| 2);
    world.night(&world.app());
    let message = world.receiver.received_requests().remove(0).json();
    assert_eq!(message["data"]["examples"].as_array().unwrap().len(), 0);
}

/// SV-17: a test message arrives, and nothing is stored; a variable that is not set is named.
#[test]
fn a_test_message_is_sent_once() {
    let world = World::accepting();
    assert_eq!(world.app().service().test_alert(&world.suite(), "oncall").unwrap(), Ok(()));
    assert_eq!(world.received(), [("alert.test".to_owned(), "test".to_owned())]);
    world.edit("${HOOK}", "${OTHER_HOOK}");
    let problem = world.app().service().test_alert(&world.suite(), "oncall").unwrap().unwrap_err();
    assert_eq!(problem, "the environment variable OTHER_HOOK is not set");
    assert_eq!(world.app().service().test_alert(&world.suite(), "none").unwrap_err().hint().unwrap(), "alerts: oncall");
}

/// SV-15: an incident is acknowledged and closed by hand.
#[test]
fn people_acknowledge_and_close_incidents() {
    let world = World::accepting();
    world.write_days(-20..20, |_| 2);
    let app = world.app();
    world.night(&app);
    let id = app.service().incidents(Some("open")).unwrap()[0].id.clone();
    app.service().ack_incident(&id).unwrap();
    assert_eq!(app.service().incidents(Some("acknowledged")).unwrap().len(), 1);
    app.service().close_alert_incident(&id).unwrap();
    assert_eq!(app.service().incidents(Some("closed")).unwrap().len(), 1);
    assert_eq!(app.service().ack_incident(&id).unwrap().state, "closed", "it stays as it is");
    assert!(app.service().ack_incident("inc_none").is_err());
}

/// SV-15: a run of the command line alerts when it is asked to, once; so does one that cannot start.
#[test]
fn a_run_of_the_command_line_alerts_when_asked() {
    let world = World::accepting();
    world.write_days(-20..20, |_| 2);
    let app = world.app();
    let mut invocation = Invocation::of(world.suite());
    invocation.overrides.as_of = Some("2027-02-28".to_owned());
    let plan = app.runs().load(&invocation).unwrap();
    let end = app.runs().run(plan, &invocation, execution()).unwrap();
    let first = app.service().alert_of_outcome(&invocation, Ok(&end)).unwrap();
    assert!(first.messages.iter().any(|line| line.contains("gate_failed opened")), "{first:?}");
    assert!(app.service().alert_of_outcome(&invocation, Ok(&end)).unwrap().messages.is_empty());
    let failed = app.runs().load(&Invocation::of("gone/karat.yaml")).err().unwrap();
    let failure = app.service().alert_of_outcome(&invocation, Err(&failed)).unwrap();
    assert!(failure.messages.iter().any(|line| line.contains("run_failed opened")), "{failure:?}");
}

/// F112: an alert whose receiver is slow delays no other one, and gets one message at a time; a foreground ends after its 20
/// seconds, those of attempts included.
#[test]
fn a_slow_receiver_delays_no_other_alert() {
    let world = World::new(Script::by(|request: &ReceivedRequest| match request.path.ends_with("/slow") {
        true => Behaviour::Slow(std::time::Duration::from_secs(2), Box::new(Behaviour::raw(200, "{}"))),
        false => Behaviour::raw(200, "{}"),
    }));
    world.edit("url: \"${HOOK}\"", "url: \"${HOOK}/slow\"");
    world.edit(
        "    quiet: 0\n",
        "    quiet: 0\n  backup: { send: slack, with: { url: \"${HOOK}\" }, events: [gate_failed, drift], quiet: 0 }\n",
    );
    world.edit("decide: point }", "decide: point }, { metric: hit, min: 70%, decide: point }");
    world.write_days(-20..20, |_| 2);
    let app = world.app();
    let due = app.service().due_run(&world.suite(), "nightly", None).unwrap();
    app.service().claim_due_run(&due).unwrap();
    app.service().run_due(&due, execution()).unwrap();
    let of = |alert: &str, state: &str| {
        let messages = app.service().outbox(Some(state)).unwrap();
        messages.iter().filter(|message| message.alert == alert).count()
    };
    let (slow, fast) = (of("oncall", "pending"), of("backup", "pending"));
    assert!(slow >= 2 && fast >= 2, "{slow} {fast}");
    let mut delivery = app.service().delivery();
    for _ in 0..90 {
        delivery.step().unwrap();
        if of("backup", "sent") == fast {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!((of("backup", "sent"), of("oncall", "sent")), (fast, 0));
    let slow_requests = || world.receiver.received_requests().iter().filter(|it| it.path.ends_with("/slow")).count();
    assert_eq!(slow_requests(), 1, "one at a time");
    assert_eq!(delivery.finish().unwrap().sent, 1);
    assert_eq!((of("oncall", "sent"), slow_requests()), (1, 1), "no other one is started");
    assert_eq!(app.service().deliver_now().unwrap().sent as usize, slow - 1);
}
