//! A store on a server that is taken away while a run is under way, under `run` and `serve`: restarted, refused, silent.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use testkit::{Echo, FakeProvider, Scratch, Script};

use crate::place::{CommandOutput, Place, questions, suite};
use crate::server::served::Served;

const OPEN: u8 = 0;
/// Connections end, and new ones are refused.
const REFUSING: u8 = 1;
/// Nothing passes, and no connection ends.
const SILENT: u8 = 2;

/// Stands between a store and its server.
struct Way {
    _folder: Scratch,
    url: String,
    mode: Arc<AtomicU8>,
}

impl Way {
    /// `None` where PostgreSQL is not installed, or is not this process's own.
    fn start() -> Option<Self> {
        let cluster = testkit::postgres()?;
        let (socket, address) = (cluster.socket()?, cluster.database().unwrap());
        let folder = testkit::scratch().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let host = folder.path().display().to_string().replace('/', "%2F");
        let url = format!("{}?host={host}&user=karat", address.split_once('?').unwrap().0);
        let mode = Arc::<AtomicU8>::default();
        let shared = Arc::clone(&mode);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (mode, socket) = (Arc::clone(&shared), socket.clone());
                std::thread::spawn(move || connect(&client, socket, &mode));
            }
        });
        Some(Self { _folder: folder, url, mode })
    }

    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }
}

fn connect(client: &UnixStream, socket: PathBuf, mode: &Arc<AtomicU8>) {
    if !is_open(mode) {
        return;
    }
    let server = UnixStream::connect(socket).unwrap();
    let (back, answers, both) = (client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(mode));
    // An idle connection ends as soon as it is refused.
    for stream in [client, &server] {
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    }
    std::thread::spawn(move || pass(answers, back, &both));
    pass(client.try_clone().unwrap(), server, mode);
}

fn pass(mut from: UnixStream, mut to: UnixStream, mode: &AtomicU8) {
    let mut bytes = [0; 64 << 10];
    loop {
        let count = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => 0,
            Err(_) => break,
        };
        if !is_open(mode) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Waits while nothing passes; `false` if connections are refused.
fn is_open(mode: &AtomicU8) -> bool {
    while mode.load(Ordering::SeqCst) == SILENT {
        std::thread::sleep(Duration::from_millis(5));
    }
    mode.load(Ordering::SeqCst) == OPEN
}

fn bench(way: &Way, provider: &FakeProvider, cells: usize) -> Place {
    let place = Place::with_store(&way.url);
    place.write("data.jsonl", &questions(cells));
    place.write("karat.yaml", &suite(&provider.base_url()).replace("max_concurrency: 16", "max_concurrency: 4"));
    place
}

fn provider() -> FakeProvider {
    FakeProvider::start(Script::echo(Echo { latency: Duration::from_millis(50), ..Echo::default() })).unwrap()
}

fn wait_for_calls(provider: &FakeProvider, calls: usize) {
    (0..2_000).take_while(|_| provider.requests() < calls).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    assert!(provider.requests() >= calls);
}

fn start_run(place: &Place) -> Child {
    let mut command = place.command(&["run", "--run-id", "r"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

const JSON: &str = "Content-Type: application/json\r\n";
const ORDER: &str = r#"{"suite": "karat.yaml", "run_id": "r"}"#;

/// X13, X14: a server that is away for a moment delays a run, whichever command makes it, and no call is made twice.
#[test]
fn a_run_outlasts_a_restart_of_its_store() {
    let (Some(way), provider) = (Way::start(), provider()) else { return };
    let place = bench(&way, &provider, 60);
    let run = start_run(&place);
    wait_for_calls(&provider, 10);
    way.set(REFUSING);
    std::thread::sleep(Duration::from_secs(2));
    way.set(OPEN);
    let result = CommandOutput::of(run.wait_with_output().unwrap());
    assert_eq!((result.code, provider.requests()), (0, 60), "{}", result.all());

    let (Some(way), provider) = (Way::start(), self::provider()) else { return };
    let place = bench(&way, &provider, 60);
    let served = Served::start(&place, &[]);
    assert_eq!(served.ask("POST /eval/run", JSON, ORDER).0, 202);
    wait_for_calls(&provider, 10);
    way.set(REFUSING);
    std::thread::sleep(Duration::from_secs(2));
    way.set(OPEN);
    served.wait_for("r", "completed");
    assert_eq!(provider.requests(), 60);
    assert_eq!(served.end(), Some(0));
}

/// X14: a server says within a moment that its store does not answer, whether it refuses or is silent.
#[test]
fn health_does_not_wait_for_a_silent_store() {
    let (Some(way), provider) = (Way::start(), provider()) else { return };
    let place = bench(&way, &provider, 1);
    let served = Served::start(&place, &[]);
    assert_eq!(served.ask("GET /healthz", "", "").0, 200);
    for mode in [SILENT, REFUSING] {
        way.set(mode);
        let asked = std::thread::scope(|scope| {
            let asked = scope.spawn(|| served.ask("GET /healthz", "", ""));
            (0..500).take_while(|_| !asked.is_finished()).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
            assert!(asked.is_finished(), "it hangs");
            asked.join().unwrap()
        });
        assert_eq!(asked.0, 503, "{}", asked.1);
        assert_eq!(served.ask("GET /livez", "", "").0, 200);
    }
    way.set(OPEN);
    (0..200).take_while(|_| served.ask("GET /healthz", "", "").0 != 200).for_each(|_| {
        std::thread::sleep(Duration::from_millis(50));
    });
    assert_eq!(served.ask("GET /healthz", "", "").0, 200);
}

/// X13: TERM ends a run soon after its 20 seconds, not after the minute that a store is waited for, also while that is silent.
#[test]
fn a_signal_ends_a_run_that_waits_for_its_store() {
    let (Some(way), provider) = (Way::start(), provider()) else { return };
    let place = bench(&way, &provider, 60);
    let mut run = start_run(&place);
    wait_for_calls(&provider, 10);
    way.set(SILENT);
    Command::new("kill").args(["-TERM", &run.id().to_string()]).status().unwrap();
    let ended = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        run.try_wait().unwrap().is_some()
    });
    let _ = run.kill();
    assert!(ended, "it hangs");
    way.set(OPEN);
    place.succeed(&["resume", "r"]);
    assert!(provider.requests() <= 64, "{}", provider.requests());
}

/// Absences of more than a minute.
mod long {
    use super::*;

    /// X13, X14: a store that is away for long ends a run with a message, and `resume` continues it.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn a_long_absence_ends_a_run() {
        for mode in [REFUSING, SILENT] {
            let (Some(way), provider) = (Way::start(), provider()) else { return };
            let place = bench(&way, &provider, 60);
            let run = start_run(&place);
            wait_for_calls(&provider, 10);
            way.set(mode);
            let waiting = std::thread::spawn(move || CommandOutput::of(run.wait_with_output().unwrap()));
            (0..700)
                .take_while(|_| !waiting.is_finished())
                .for_each(|_| std::thread::sleep(Duration::from_millis(100)));
            assert!(waiting.is_finished(), "it hangs");
            let result = waiting.join().unwrap();
            assert!(result.code == 1 && result.stderr.contains("does not answer"), "{}", result.all());
            assert!(result.stderr.contains("karat resume r"), "{}", result.all());
            way.set(OPEN);
            place.succeed(&["resume", "r"]);
            assert!(provider.requests() <= 64, "{}", provider.requests());
        }
    }

    /// X14, F104: a server outlives its store, says so once, and its run goes on by itself, however often it is asked meanwhile.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn a_server_outlives_its_store() {
        for mode in [REFUSING, SILENT] {
            let (Some(way), provider) = (Way::start(), provider()) else { return };
            let place = bench(&way, &provider, 60);
            let served = Served::start_logged(&place, &[]);
            assert_eq!(served.ask("POST /eval/run", JSON, ORDER).0, 202);
            wait_for_calls(&provider, 10);
            way.set(mode);
            for _ in 0..150 {
                std::thread::sleep(Duration::from_millis(500));
                assert_eq!(served.ask("GET /healthz", "", "").0, 503);
            }
            way.set(OPEN);
            served.wait_for("r", "completed");
            assert!(provider.requests() <= 64, "{}", provider.requests());
            let log = served.end_with_log();
            assert!(log.contains("goes on once the store answers") && log.contains("answers again"), "{log}");
            assert!(log.matches("sending alerts:").count() <= 3, "{log}");
        }
    }
}
