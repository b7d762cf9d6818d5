//! Each codec through every fault.

use std::time::Duration;

use futures::future::join_all;
use karat_providers::{Call, FailedAttempts, Settings};
use karat_types::{CallErrorCode, FinishReason, Role, SilentObserver};
use serde_json::{Value, json};
use testkit::{Behaviour, Echo, Script};
use tokio::time::Instant;

use crate::bench::{Bench, Waits, entry, request, without_port};

const PROTOCOLS: [&str; 2] = ["openai", "anthropic"];

/// The beginning of a gzip body.
const GZIP: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// A Brotli body, which only a header identifies.
const BROTLI: &[u8] = &[0x0b, 0x02, 0x80, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x31, 0x7d, 0x03];

/// An answer with more header lines than hyper reads.
fn many_headers() -> Behaviour {
    let one_more = |answer: Behaviour, at| answer.with_header(format!("x-{at}").leak(), "x");
    (0..101).fold(Behaviour::raw(200, "{}"), one_more)
}

/// A fault: the answers in order, the settings of the call, and the expected number of requests.
struct Fault {
    name: &'static str,
    answers: Vec<Behaviour>,
    set: fn(Bench) -> Bench,
    code: CallErrorCode,
    requests: usize,
}

fn fault(name: &'static str, answer: Behaviour, code: CallErrorCode) -> Fault {
    let requests = if code.is_retryable() { 3 } else { 1 };
    Fault { name, answers: vec![answer], set: |bench| bench.retries(2), code, requests }
}

fn faults() -> Vec<Fault> {
    let hasty: fn(Bench) -> Bench = |bench| bench.retries(1).timeout(300);
    let small: fn(Bench) -> Bench = |bench| bench.retries(1).max_response(64 * 1024);
    let brotli = Behaviour::bytes(200, BROTLI).with_header("content-encoding", "br");
    vec![
        fault("rate limited", Behaviour::rate_limited("0"), CallErrorCode::RateLimited),
        fault("server error", Behaviour::server_error(), CallErrorCode::ServerError),
        fault("overloaded", Behaviour::overload(), CallErrorCode::ServerError),
        fault("request timeout", Behaviour::status(408, "too slow"), CallErrorCode::Timeout),
        fault("conflict", Behaviour::status(409, "busy"), CallErrorCode::ServerError),
        fault("too early", Behaviour::status(425, "not yet"), CallErrorCode::ServerError),
        fault("bad request", Behaviour::status(400, "`temperature` is not supported"), CallErrorCode::BadRequest),
        fault("unprocessable", Behaviour::raw(422, r#"{"detail":"no"}"#), CallErrorCode::BadRequest),
        fault("not found", Behaviour::status(404, "no such model"), CallErrorCode::BadRequest),
        fault("wrong key", Behaviour::status(401, "Incorrect API key provided"), CallErrorCode::Auth),
        fault("forbidden", Behaviour::status(403, "no access"), CallErrorCode::Auth),
        fault("malformed", Behaviour::invalid_body(), CallErrorCode::Malformed),
        fault("prose", Behaviour::prose(), CallErrorCode::Malformed),
        fault("nan", Behaviour::nan(), CallErrorCode::Malformed),
        fault("empty body", Behaviour::raw(200, ""), CallErrorCode::Malformed),
        fault("empty object", Behaviour::raw(200, "{}"), CallErrorCode::Malformed),
        Fault { requests: 1, ..fault("compressed", Behaviour::bytes(200, GZIP), CallErrorCode::Malformed) },
        Fault { requests: 1, ..fault("compressed, as it says", brotli, CallErrorCode::Malformed) },
        Fault { requests: 1, ..fault("many headers", many_headers(), CallErrorCode::Malformed) },
        fault("compressed error", Behaviour::bytes(502, GZIP), CallErrorCode::ServerError),
        fault("redirect", Behaviour::redirect("http://127.0.0.1:9/elsewhere"), CallErrorCode::Redirect),
        fault("cut", Behaviour::Cut("a long enough text".to_owned()), CallErrorCode::Cut),
        fault("dropped", Behaviour::Drop, CallErrorCode::Cut),
        Fault { set: hasty, requests: 2, ..fault("hang", Behaviour::Hang, CallErrorCode::Timeout) },
        Fault { set: hasty, requests: 2, ..fault("slow", Behaviour::slow(5_000, "late"), CallErrorCode::Timeout) },
        Fault { set: hasty, requests: 2, ..fault("endless, out of time", Behaviour::Endless, CallErrorCode::Timeout) },
        Fault { set: small, ..fault("endless, too large", Behaviour::Endless, CallErrorCode::TooLarge) },
        fault("huge", Behaviour::Huge(100 * 1024 * 1024), CallErrorCode::TooLarge),
    ]
}

/// PE-07, PE-27, PE-28: every fault ends, with the right code, after a bounded number of attempts.
#[tokio::test]
async fn every_fault_has_its_code_and_its_number_of_attempts() {
    for protocol in PROTOCOLS {
        for Fault { name, answers, set, code, requests } in faults() {
            let bench = set(Bench::new(protocol, Script::sequence(answers)));
            let exchange = bench.ask().await;
            let error = exchange.outcome.clone().expect_err(name);
            assert_eq!((error.code, exchange.attempts as usize), (code, requests), "{protocol}, {name}: {error}");
            assert_eq!(bench.server.requests(), requests, "{protocol}, {name}");
            assert_eq!(exchange.status, error.status, "{protocol}, {name}");
            assert!(exchange.response.len() <= 64 * 1024, "{protocol}, {name}");
        }
    }
}

/// Invariant 10, errors say what to do: a message names the attempt, the problem and the remedy.
#[tokio::test]
async fn errors_name_the_problem_and_the_remedy() {
    let mut messages = Vec::new();
    for Fault { name, answers, set, .. } in faults() {
        let bench = set(Bench::new("openai", Script::sequence(answers)));
        messages.push(format!("{name}: {}", bench.ask().await.outcome.unwrap_err()));
    }
    let mut unreachable = Bench::new("openai", Behaviour::Hang);
    unreachable.spec.base_url = Some("http://127.0.0.1:1/v1".to_owned());
    messages.push(format!("unreachable: {}", unreachable.ask().await.outcome.unwrap_err()));
    let mut keyless = Bench::new("openai", Behaviour::status(401, "who are you?"));
    keyless.spec.api_key_env = None;
    messages.push(format!("no key: {}", keyless.ask().await.outcome.unwrap_err()));
    without_port(|| insta::assert_snapshot!(messages.join("\n\n")));
}

#[tokio::test]
async fn a_fault_that_passes_leaves_a_good_reply() {
    for protocol in PROTOCOLS {
        let passing = [
            Behaviour::rate_limited("0"),
            Behaviour::Drop,
            Behaviour::invalid_body(),
            Behaviour::Cut("half".to_owned()),
            Behaviour::overload(),
            Behaviour::ok("42"),
        ];
        let bench = Bench::new(protocol, Script::sequence(passing)).retries(5);
        let waits = Waits::default();
        let exchange = bench.observed(&request(&[(Role::User, "?")]), &waits).await;
        assert_eq!(exchange.outcome.unwrap().text, "42", "{protocol}");
        assert_eq!((exchange.attempts, exchange.status), (6, Some(200)));
        let seen = waits.seen();
        assert_eq!(seen.iter().map(|(attempt, ..)| *attempt).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        let codes: Vec<CallErrorCode> = seen.into_iter().map(|(.., error)| error.code).collect();
        use CallErrorCode::{Cut, Malformed, RateLimited, ServerError};
        assert_eq!(codes, [RateLimited, Cut, Malformed, Cut, ServerError]);
        let bodies = bench.server.bodies();
        assert!(bodies.iter().all(|body| *body == bodies[0]), "a retry sends the same bytes");
        assert_eq!(bench.server.duplicates(), 0);
    }
}

/// PE-27: the wait lasts as long as the provider says, longer than the backoff.
#[tokio::test]
async fn the_provider_says_how_long_to_wait() {
    let refusal = Behaviour::status(429, "Rate limit reached").with_header("retry-after-ms", "120");
    let bench = Bench::new("openai", Script::sequence([refusal, Behaviour::ok("x")])).retries(1);
    let (start, waits) = (Instant::now(), Waits::default());
    assert!(bench.observed(&request(&[(Role::User, "?")]), &waits).await.outcome.is_ok());
    assert!(waits.seen()[0].1 >= 120 && start.elapsed() >= Duration::from_millis(120));
}

/// F33, RE-36: a wait that only the body of a refusal names is waited for, in each protocol and under each status that
/// may pass.
#[tokio::test]
async fn the_body_says_how_long_to_wait() {
    let words = |text: &str| json!({ "error": { "message": text, "type": "requests" } });
    let info = json!({ "error": { "code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.120s" }] } });
    let bodies = [
        (429, info.clone()),
        (429, json!([info.clone()])),
        (503, words("Overloaded, please retry after 120 milliseconds")),
        (429, words("Rate limit reached. Please try again in 120ms.")),
        (200, json!({ "error": { "code": 429, "message": "Please retry in 0.12s." } })),
    ];
    for protocol in ["openai", "anthropic", "gemini"] {
        for (status, body) in &bodies {
            // No header, or one that says nothing.
            for retry_after in [None, Some("0")] {
                let refusal = Behaviour::raw(*status, body.to_string());
                let refusal = match retry_after {
                    Some(value) => refusal.with_header("retry-after", value),
                    None => refusal,
                };
                let bench = Bench::new(protocol, Script::sequence([refusal, Behaviour::ok("x")])).retries(1);
                let waits = Waits::default();
                let exchange = bench.observed(&request(&[(Role::User, "?")]), &waits).await;
                assert!(waits.seen()[0].1 >= 120, "{protocol} {status} {body}: {:?}", exchange.outcome);
                assert_eq!(bench.server.requests(), 2, "{protocol} {status} {body}");
            }
        }
    }
}

/// RE-36: one refusal pauses the whole model; calls that come later wait, too.
#[tokio::test]
async fn a_wait_named_in_a_body_pauses_the_model() {
    let refusal = Behaviour::status(503, "Please try again in 300ms.");
    let bench = Bench::new("openai", Script::sequence([refusal, Behaviour::ok("x"), Behaviour::ok("y")])).retries(0);
    let (providers, request) = (bench.providers(), request(&[(Role::User, "?")]));
    let call =
        Call { model: "mock", request: &request, body: None, timeout: bench.timeout, retries: 0, jitter_seed: 1 };
    assert!(providers.call(call, &SilentObserver).await.outcome.is_err());
    let start = Instant::now();
    assert!(providers.call(call, &SilentObserver).await.outcome.is_ok());
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
}

/// RE-36: a wait that no longer fits into what a call waits in all ends this call, and no other.
#[tokio::test]
async fn a_wait_beyond_the_rest_ends_this_call_only() {
    let refusal = Behaviour::status(429, "Please try again in 3s.");
    let answers = [refusal.clone(), refusal, Behaviour::ok("x")];
    let mut bench = Bench::new("openai", Script::sequence(answers)).retries(5);
    bench.settings.backoff.total = Duration::from_secs(4);
    let (providers, request) = (bench.providers(), request(&[(Role::User, "?")]));
    let call =
        Call { model: "mock", request: &request, body: None, timeout: bench.timeout, retries: 5, jitter_seed: 1 };
    let error = providers.call(call, &SilentObserver).await.outcome.unwrap_err();
    assert!(error.message.contains("asks for a wait of 3 s") && error.message.contains("`karat retry`"), "{error}");
    assert!(providers.call(call, &SilentObserver).await.outcome.is_ok());
    assert_eq!(bench.server.requests(), 3);
}

/// PE-27: a `retry-after` longer than a call waits ends the call, and the error names it.
#[tokio::test]
async fn a_long_retry_after_ends_the_call() {
    let answers = [Behaviour::rate_limited("86400"), Behaviour::ok("x")];
    let bench = Bench::new("openai", Script::sequence(answers)).retries(5);
    let error = bench.ask().await.outcome.unwrap_err();
    assert_eq!((error.code, bench.server.requests()), (CallErrorCode::RateLimited, 1));
    assert!(error.message.contains("asks for a wait of 86400 s; a call does not wait that long"), "{}", error.message);
}

/// PE-27: such a `retry-after` holds for the other calls, too.
#[tokio::test]
async fn a_wait_of_a_day_ends_all_calls() {
    let bench = Bench::new("openai", Behaviour::rate_limited("86400")).retries(5);
    let (providers, request) = (bench.providers(), request(&[(Role::User, "?")]));
    let call =
        Call { model: "mock", request: &request, body: None, timeout: bench.timeout, retries: 5, jitter_seed: 1 };
    let (first, second) = (providers.call(call, &SilentObserver).await, providers.call(call, &SilentObserver).await);
    assert_eq!((first.attempts, second.attempts, bench.server.requests()), (1, 0, 1));
    assert_eq!(first.outcome, second.outcome);
}

/// PE-03, RE-22, invariant 6, statistics are findings: what is not a count is absent, never a number; the other count holds.
#[tokio::test]
async fn wrong_usage_is_no_usage() {
    let nonsense = |input: &Value| json!({ "prompt_tokens": input, "completion_tokens": 1, "input_tokens": input, "output_tokens": 1 });
    let wrong = [json!(-5), json!("12"), json!(1.5), json!(null), json!([])];
    let cases = wrong.iter().map(|input| Some(nonsense(input))).chain([None, Some(json!("many")), Some(json!(7))]);
    for usage in cases {
        for protocol in PROTOCOLS {
            let bench = Bench::new(protocol, Behaviour::Usage("fine".to_owned(), usage.clone()));
            let reply = bench.ask().await.outcome.unwrap();
            let is_absent = reply.usage.is_none_or(|usage| reply.billing.lacks_input && usage.input_tokens == 0);
            assert!(reply.text == "fine" && is_absent, "{protocol} {usage:?}: {reply:?}");
        }
    }
}

/// BY-05, invariant 6, statistics are findings: an impossible token count is recognized in every protocol, and nothing overflows.
#[tokio::test]
async fn impossible_usage_is_known() {
    for input in [json!(1e300), json!(999_999_999_999_u64), json!(u64::MAX)] {
        let usage = json!({ "prompt_tokens": input, "completion_tokens": input, "input_tokens": input, "output_tokens": input });
        for protocol in PROTOCOLS {
            let bench = Bench::new(protocol, Behaviour::Usage("fine".to_owned(), Some(usage.clone())));
            let usage = bench.ask().await.outcome.unwrap().usage.unwrap();
            assert!(!usage.is_possible() && usage.total() > 0, "{protocol} {input} {usage:?}");
        }
    }
}

#[tokio::test]
async fn a_good_reply_is_read_whatever_its_content_type() {
    for protocol in PROTOCOLS {
        let bench = Bench::new(protocol, Behaviour::ContentType("fine".to_owned(), "text/html; charset=utf-8"));
        let exchange = bench.ask().await;
        let reply = exchange.outcome.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("fine", FinishReason::Stop));
        assert_eq!(reply.model.as_deref(), Some("mock-model"));
        assert!(reply.usage.unwrap().total() > 0);
        assert_eq!((exchange.status, exchange.attempts), (Some(200), 1));
    }
}

/// BY-05: an answer whose head is too large may have been billed, with and without a proxy.
#[tokio::test]
async fn many_headers_are_of_unknown_cost() {
    let mut bench = Bench::new("openai", many_headers()).retries(2);
    let direct = bench.ask().await;
    let proxy = bench.server.url();
    bench.settings.secret =
        Settings::new(move |name| ["HTTP_PROXY", "MOCK_KEY"].contains(&name).then(|| proxy.clone())).secret;
    bench.spec = entry(json!({ "base_url": "http://models.invalid/v1" }));
    let through = bench.ask().await;
    for exchange in [direct, through] {
        let code = exchange.outcome.clone().unwrap_err().code;
        assert_eq!(
            (code, exchange.attempts, exchange.failed_attempts.unknown),
            (CallErrorCode::Malformed, 1, 1),
            "{exchange:?}"
        );
    }
}

/// A gateway that unpacks an answer and leaves the header does no harm.
#[tokio::test]
async fn an_unpacked_answer_is_read_whatever_its_header() {
    let body = r#"{"choices":[{"message":{"content":"42"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    for coding in ["gzip", "br", "identity"] {
        let answer = Behaviour::raw(200, body).with_header("content-encoding", coding);
        assert_eq!(Bench::new("openai", answer).ask().await.outcome.unwrap().text, "42", "{coding}");
    }
}

#[tokio::test]
async fn a_redirect_is_never_followed() {
    let target = Bench::new("openai", Behaviour::ok("stolen"));
    let to = format!("{}/chat/completions", target.server.base_url());
    for status in [301, 302, 303, 307, 308] {
        let answer = Behaviour::raw(status, "").with_header("location", to.clone());
        let error = Bench::new("openai", answer).ask().await.outcome.unwrap_err();
        assert_eq!((error.code, error.status), (CallErrorCode::Redirect, Some(status)));
    }
    assert_eq!(target.server.requests(), 0);
}

/// PE-34: neither waits nor failed attempts count as latency.
#[tokio::test]
async fn latency_is_that_of_the_last_attempt() {
    let answers = [Behaviour::slow(5_000, "x"), Behaviour::slow(30, "y")];
    let bench = Bench::new("openai", Script::sequence(answers)).timeout(2_000).retries(1);
    let exchange = bench.ask().await;
    assert_eq!(exchange.outcome.unwrap().text, "y");
    assert!((30.0..2_000.0).contains(&exchange.latency_ms), "{}", exchange.latency_ms);
}

/// BY-09, PE-27: large answers that hang half way withhold memory from others no longer than their own timeout, as many
/// at once as their received bytes fit the limit.
#[tokio::test]
async fn large_answers_that_hang_hold_up_good_ones_until_their_timeout() {
    const HUNG: usize = 60;
    let (good, hung) = (Behaviour::ok("x".repeat(1 << 20)), vec![b' '; 128 << 10]);
    let hangs = Behaviour::Stall { announced: 8 << 20, body: hung.into() };
    let bench = Bench::new("openai", Script::always(good).but_when(|received| received.number < HUNG, hangs));
    let (providers, ask, timeout) = (bench.providers(), request(&[(Role::User, "?")]), Duration::from_millis(400));
    let call = Call { model: "mock", request: &ask, body: None, timeout, retries: 0, jitter_seed: 1 };
    let begun = Instant::now();
    let hung = join_all((0..HUNG).map(|_| providers.call(call, &SilentObserver)));
    let good = async {
        while bench.server.requests() < HUNG {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let call = Call { timeout: bench.timeout, ..call };
        let good = join_all((0..10).map(|_| providers.call(call, &SilentObserver))).await;
        assert!(good.iter().all(|exchange| exchange.outcome.as_ref().is_ok_and(|reply| reply.text.len() == 1 << 20)));
        begun.elapsed()
    };
    let (hung, took) = tokio::join!(hung, good);
    assert!(hung.iter().all(|exchange| exchange.outcome.as_ref().is_err_and(|it| it.code == CallErrorCode::Timeout)));
    // There is memory for 24 of them, and one continues without.
    assert!(took < timeout * 8, "{took:?}");
}

/// PE-24: calls beyond the limit wait, and all of them end.
#[tokio::test]
async fn no_more_calls_are_in_flight_than_the_model_allows() {
    let mut bench = Bench::new("openai", Behaviour::slow(100, "x"));
    bench.spec.limits.concurrency = Some(2);
    let providers = bench.providers();
    let ask = request(&[(Role::User, "?")]);
    let call = Call { model: "mock", request: &ask, body: None, timeout: bench.timeout, retries: 0, jitter_seed: 1 };
    let calls = || providers.call(call, &SilentObserver);
    let all = tokio::join!(calls(), calls(), calls(), calls(), calls(), calls());
    assert!(all.0.outcome.is_ok() && all.5.outcome.is_ok());
    assert_eq!((bench.server.requests(), bench.server.peak()), (6, 2));
}

/// If one attempt in three fails, every call still succeeds, and nothing is paid twice.
#[tokio::test]
async fn a_bad_day_is_survived() {
    let echo = Echo { fault_rate: 0.33, ..Echo::default() };
    let bench = Bench::new("openai", Script::echo(echo)).retries(12);
    let providers = bench.providers();
    for n in 0..60 {
        let ask = request(&[(Role::User, &format!("Say [[{n}]]."))]);
        let call =
            Call { model: "mock", request: &ask, body: None, timeout: bench.timeout, retries: 12, jitter_seed: n };
        let reply = providers.call(call, &SilentObserver).await.outcome.unwrap();
        assert_eq!(reply.text, n.to_string());
    }
    assert!(bench.server.requests() > 70);
    assert_eq!(bench.server.duplicates(), 0);
}

/// A byte order mark is not part of the answer.
#[tokio::test]
async fn a_marked_answer_is_read() {
    let bodies = [
        ("openai", r#"{"choices":[{"message":{"content":"42"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#),
        ("anthropic", r#"{"content":[{"type":"text","text":"42"}],"usage":{"input_tokens":3,"output_tokens":1}}"#),
    ];
    for (protocol, body) in bodies {
        let reply = Bench::new(protocol, Behaviour::raw(200, format!("\u{feff}{body}"))).ask().await.outcome.unwrap();
        assert_eq!((reply.text.as_str(), reply.usage.unwrap().input_tokens), ("42", 3), "{protocol}");
    }
    let refused = Behaviour::raw(400, "\u{feff}{\"error\":{\"message\":\"too long\"}}");
    let error = Bench::new("openai", refused).ask().await.outcome.unwrap_err();
    assert!(error.message.contains("answered 400, \"too long\""), "{error}");
}

/// BY-05: if no connection is made in time, nothing was sent, so nothing can have been billed.
#[tokio::test]
async fn a_connect_timeout_was_not_billed() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // It accepts no connection, and its queue is full.
    let short = Duration::from_millis(100);
    let mut waiting = Vec::new();
    while let Ok(stream) = tokio::time::timeout(short, tokio::net::TcpStream::connect(address)).await {
        waiting.push(stream);
    }
    let mut bench = Bench::new("openai", Behaviour::ok("x"));
    bench.settings.connect_timeout = Duration::from_millis(200);
    bench.spec.base_url = Some(format!("http://{address}/v1"));
    let exchange = bench.ask().await;
    assert_eq!(exchange.failed_attempts, FailedAttempts::default());
    let error = exchange.outcome.unwrap_err();
    assert_eq!(error.code, CallErrorCode::Connect);
    assert!(error.message.contains("cannot be reached (no connection within 200ms)"), "{}", error.message);
}

/// TG-12, RE-37: a reply without content is asked for once more, whatever the number of retries, and then it is the reply. Both
/// are paid.
#[tokio::test]
async fn an_empty_message_is_retried_once() {
    for content in ["null", "\"\"", "\" \"", "null, \"reasoning_content\": \"hm\""] {
        let usage = r#""usage":{"prompt_tokens":7,"completion_tokens":1}"#;
        let body = format!(r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"stop"}}],{usage}}}"#);
        let bench = Bench::new("openai", Behaviour::raw(200, &body)).retries(5);
        let exchange = bench.ask().await;
        assert!(exchange.outcome.unwrap().is_empty(), "{content}");
        assert_eq!((bench.server.requests(), exchange.failed_attempts.usage().input_tokens), (2, 7), "{content}");
    }
    for finish in ["length", "vanished", "content_filter"] {
        let body = format!(r#"{{"choices":[{{"message":{{"content":null}},"finish_reason":"{finish}"}}]}}"#);
        let bench = Bench::new("openai", Behaviour::raw(200, &body)).retries(5);
        assert!(bench.ask().await.outcome.is_ok(), "{finish}");
        assert_eq!(bench.server.requests(), 1, "{finish}");
    }
}

/// F8, RE-37: a reply that the provider broke off is asked for twice more at most, and all three are paid; what it would break
/// off again is not asked for again.
#[tokio::test]
async fn broken_replies_are_asked_for_twice_more() {
    use CallErrorCode::{BadRequest, ServerError, Unsupported};
    for (protocol, body, code, requests) in [
        ("openai", r#"{"choices":[{"message":{"content":"Pa"},"finish_reason":"error"}]}"#, ServerError, 3),
        ("gemini", r#"{"candidates":[{"content":{"parts":[{"text":"Pa"}]},"finishReason":"OTHER"}]}"#, ServerError, 3),
        ("gemini", r#"{"candidates":[{"finishReason":"MISSING_THOUGHT_SIGNATURE"}]}"#, BadRequest, 1),
        ("anthropic", r#"{"content":[{"type":"text","text":"Pa"}],"stop_reason":"pause_turn"}"#, Unsupported, 1),
    ] {
        let bench = Bench::new(protocol, Behaviour::raw(200, body)).retries(9);
        let exchange = bench.ask().await;
        assert_eq!(exchange.outcome.as_ref().unwrap_err().code, code, "{body}");
        assert_eq!((bench.server.requests(), exchange.failed_attempts.bills.len()), (requests, requests), "{body}");
        assert_eq!(exchange.failed_attempts.unknown, 0, "{body}");
    }
}

/// F7: half a character in a reply is replaced, after one call, in every protocol; so are bytes that are not text.
#[tokio::test]
async fn half_characters_are_replaced_in_one_call() {
    for (protocol, body) in [
        ("openai", r#"{"choices":[{"message":{"content":"nice \ud83d"},"finish_reason":"stop"}]}"#),
        ("anthropic", r#"{"content":[{"type":"text","text":"nice \ud83d"}],"stop_reason":"end_turn"}"#),
        ("gemini", r#"{"candidates":[{"content":{"parts":[{"text":"nice \ud83d"}]},"finishReason":"STOP"}]}"#),
        (
            "openai-responses",
            r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"nice \ud83d"}]}]}"#,
        ),
    ] {
        let bench = Bench::new(protocol, Behaviour::raw(200, body)).retries(5);
        let reply = bench.ask().await.outcome.unwrap();
        assert_eq!((reply.text.as_str(), reply.was_mended), ("nice \u{fffd}", true), "{protocol}");
        assert_eq!(bench.server.requests(), 1, "{protocol}");
    }
    let cut = b"{\"choices\":[{\"message\":{\"content\":\"nice \xf0\x9f\x98\"},\"finish_reason\":\"stop\"}]}";
    let bench = Bench::new("openai", Behaviour::bytes(200, cut)).retries(5);
    let reply = bench.ask().await.outcome.unwrap();
    assert_eq!((reply.text.as_str(), reply.was_mended, bench.server.requests()), ("nice \u{fffd}", true, 1));
    let call = r#"{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":\"\\ud83d\"}"}}]}}]}"#;
    let reply = Bench::new("openai", Behaviour::raw(200, call)).ask().await.outcome.unwrap();
    assert_eq!(reply.tool_calls[0].arguments, serde_json::json!({"a": "\u{fffd}"}));
}

/// RE-23: the cost that a header states is read with the reply.
#[tokio::test]
async fn a_header_states_the_cost() {
    let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let answer = Behaviour::raw(200, body).with_header("x-litellm-response-cost", "0.25");
    let mut bench = Bench::new("openai", answer);
    bench.spec.with = serde_json::from_str(r#"{"cost": {"header": "X-LiteLLM-Response-Cost"}}"#).unwrap();
    let reply = bench.ask().await.outcome.unwrap();
    assert_eq!(reply.billing.reported, Some(karat_types::Money(250_000_000)));
}
