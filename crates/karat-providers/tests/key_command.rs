//! TG-56: keys that a program prints.

use std::path::Path;

use karat_providers::{Exchange, Providers};
use karat_types::{CallErrorCode, Role};
use testkit::{Behaviour, Scratch, Script, scratch};

use crate::bench::{Bench, request};

/// A bench whose key is printed by a shell script. The script runs in a folder of its own, which is `$1`.
fn bench(folder: &Path, script: &str, replies: impl Into<Script>) -> Bench {
    let mut bench = Bench::new("openai", replies);
    bench.spec.api_key_env = None;
    let words = ["sh", "-c", script, "sh", folder.to_str().unwrap()];
    bench.spec.api_key_command = words.map(str::to_owned).to_vec();
    bench
}

async fn ask(bench: &Bench, providers: &Providers) -> Exchange {
    let ask = request(&[(Role::User, "What is 6 × 7?")]);
    let call = karat_providers::Call {
        model: "mock",
        request: &ask,
        body: None,
        timeout: bench.timeout,
        retries: bench.retries,
        jitter_seed: 1,
    };
    providers.call(call, &karat_types::SilentObserver).await
}

fn keys(bench: &Bench) -> Vec<String> {
    bench
        .server
        .received_requests()
        .iter()
        .map(|it| it.header("authorization").unwrap_or_default().to_owned())
        .collect()
}

/// Counts its runs in a file, and prints a key with the number.
const COUNTING: &str = "echo x >> $1/runs; echo secret-key-number-$(wc -l < $1/runs | tr -d ' ')";

fn place() -> Scratch {
    scratch().unwrap()
}

/// TG-56: the key is printed once for many calls.
#[tokio::test]
async fn a_printed_key_is_kept() {
    let place = place();
    let bench = bench(place.path(), COUNTING, Behaviour::ok("42"));
    let providers = bench.providers();
    let answers = futures::future::join_all((0..5).map(|_| ask(&bench, &providers))).await;
    assert!(answers.iter().all(|answer| answer.outcome.is_ok()));
    assert_eq!(keys(&bench), vec!["Bearer secret-key-number-1"; 5]);
}

/// TG-56: a refused key is printed again and the request sent again, once; this takes no retry.
#[tokio::test]
async fn a_refused_key_is_printed_again_once() {
    let place = place();
    let refused = || Behaviour::status(401, "expired");
    let bench = bench(place.path(), COUNTING, Script::sequence([refused(), Behaviour::ok("42"), Behaviour::ok("42")]));
    let providers = bench.providers();
    assert!(ask(&bench, &providers).await.outcome.is_ok());
    assert!(ask(&bench, &providers).await.outcome.is_ok());
    let [first, second] = ["Bearer secret-key-number-1", "Bearer secret-key-number-2"];
    assert_eq!(keys(&bench), [first, second, second]);
    let stubborn = self::bench(place.path(), COUNTING, refused());
    let exchange = ask(&stubborn, &stubborn.providers()).await;
    let error = exchange.outcome.unwrap_err();
    assert_eq!((error.code, stubborn.server.received_requests().len()), (CallErrorCode::Auth, 2));
    assert!(error.message.contains("check the key in `api_key_command`"), "{}", error.message);
}

/// TG-56: a printed key is removed from everything that is stored or shown, also when a server repeats it.
#[tokio::test]
async fn a_printed_key_is_never_stored() {
    let place = place();
    let echo = "the key secret-key-number-1 was used";
    let bench = bench(place.path(), COUNTING, Script::sequence([Behaviour::ok(echo), Behaviour::status(400, echo)]));
    let providers = bench.providers();
    for exchange in [ask(&bench, &providers).await, ask(&bench, &providers).await] {
        assert!(!format!("{exchange:?}").contains("secret-key"), "{exchange:?}");
    }
}

/// TG-56: a program that fails is named with what it said, never with what it printed.
#[tokio::test]
async fn a_program_that_prints_no_key_is_named() {
    let place = place();
    for (script, said) in [
        ("echo 'you are not logged in' >&2; exit 3", "it ended with exit status 3 and said \"you are not logged in"),
        ("echo half-of-a-key; exit 1", "it ended with exit status 1; run"),
        ("echo half-of-a-key; echo no >&2; echo more >&2; exit 3", "it ended with exit status 3 and said \"no\"; run"),
        ("echo half-of-a-key; echo 'bad half-of-a-key' >&2; exit 3", "it ended with exit status 3; run"),
        ("true", "it printed nothing"),
        ("printf 'one\\ntwo'", "it printed characters that no header may contain"),
    ] {
        let bench = bench(place.path(), script, Behaviour::ok("42"));
        let error = ask(&bench, &bench.providers()).await.outcome.unwrap_err();
        assert!(error.message.contains(said) && error.message.contains("in a shell"), "{script}: {}", error.message);
        assert!(!error.message.trim_end_matches(script).contains("\"half-of"), "{}", error.message);
        assert_eq!(bench.server.received_requests().len(), 0);
    }
}

/// TG-56: a program that fails is run once in a run: its model's other calls fail at once, and none is counted as made.
#[tokio::test]
async fn a_failed_program_is_not_run_again() {
    let place = place();
    let bench = bench(place.path(), "echo x >> $1/runs; echo no >&2; exit 3", Behaviour::ok("42"));
    let providers = bench.providers();
    for _ in 0..3 {
        let exchange = ask(&bench, &providers).await;
        assert_eq!(exchange.attempts, 0);
        let error = exchange.outcome.unwrap_err();
        assert!(error.code == CallErrorCode::Auth && error.message.contains("said \"no\""), "{}", error.message);
    }
    assert_eq!(std::fs::read_to_string(place.path().join("runs")).unwrap(), "x\n");
}
