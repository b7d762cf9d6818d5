//! Runs whose store is on a server.

use testkit::FakeProvider;
use testkit::{Echo, Script};

use crate::place::{Place, questions, suite};

/// SC-05, SC-06: commands do the same with a store on a server, and reports have the same bytes; nothing is asked again, also
/// not from another directory.
#[test]
fn commands_work_with_a_store_on_a_server() {
    let Some(place) = Place::on_server() else { return };
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let fill = |place: &Place| {
        place.write("data.jsonl", &questions(40));
        place.write("karat.yaml", &suite(&provider.base_url()));
    };
    fill(&place);
    place.succeed(&["run", "--run-id", "a"]);
    assert_eq!(provider.requests(), 40);
    let file = Place::new();
    fill(&file);
    file.succeed(&["run", "--run-id", "a"]);
    assert_eq!(place.canonical("a"), file.canonical("a"));
    assert_eq!(provider.requests(), 80);
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!(provider.requests(), 80, "results are found by content");
    assert!(place.succeed(&["ls"]).stdout.contains("finished") || place.succeed(&["ls"]).stdout.contains('b'));
    assert!(place.succeed(&["show", "a"]).stdout.contains("q7"));
    place.succeed(&["compare", "a", "b"]);
    place.succeed(&["retry", "a"]);
    place.succeed(&["store", "check"]);
    let doctor = place.karat(&["doctor"]);
    assert!(doctor.all().contains("PostgreSQL") && doctor.all().contains("fsync"), "{}", doctor.all());
    assert!(!place.path().join(".karat/karat.db").exists());
    let refused = place.karat(&["store", "backup", "copy.db"]);
    assert!(refused.code != 0 && refused.stderr.contains("pg_dump"), "{}", refused.all());
}

/// SC-08: `store copy` moves runs between a file and a server; canonical reports stay.
#[test]
fn a_store_is_copied_by_command() {
    let Some(place) = Place::on_server() else { return };
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let file = Place::new();
    file.write("data.jsonl", &questions(20));
    file.write("karat.yaml", &suite(&provider.base_url()));
    file.succeed(&["run", "--run-id", "a"]);
    file.succeed(&["store", "copy", "sqlite:.karat/karat.db", place.store()]);
    assert_eq!(place.canonical("a"), file.canonical("a"));
    let result = file.karat(&["store", "copy", "sqlite:.karat/karat.db", place.store()]);
    assert!(result.code != 0 && result.stderr.contains("empty store"), "{}", result.all());
}

/// SC-05: the password of an address is in no message, whatever is wrong with it.
#[test]
fn a_password_is_in_no_message() {
    let place = Place::new();
    for store in [
        "postgres://me:s3cret@127.0.0.1:1/db",
        "postgres://me:s3cret@db.example.com/db?sslmode=disable",
        "postgres://me:s3cret@127.0.0.1:1/db?schema=No",
        "postgres://me:s3cret@[/db",
        "postgres:///db?host=/nowhere&password=s3cret",
    ] {
        for command in [&["ls"][..], &["doctor"], &["run", "--help"]] {
            let output = place.command(command).env("KARAT_STORE", store).output().unwrap();
            let result = crate::place::CommandOutput::of(output).all();
            assert!(!result.contains("s3cret"), "{result}");
        }
    }
}
