//! Losses that only a store on a server meets: connections that are lost, a server that crashes, other machines, its settings.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karat_types::*;

use crate::sql::params;
use crate::tests::crash::start_alone;
use crate::tests::test_data::*;
use crate::{Store, StoreError, StoreUrl};

/// Stands between a store and its server, and cuts connections when a COMMIT is sent.
struct Proxy {
    folder: tempfile::TempDir,
    /// The cuts of the next commits.
    cuts: Arc<Mutex<VecDeque<Cut>>>,
    way: Arc<Way>,
}

/// The way of all bytes through a proxy.
#[derive(Default)]
struct Way {
    /// Nothing passes, and no connection ends: packets vanish, or a host is frozen.
    is_silent: AtomicBool,
    /// Connections are ended, and new ones refused.
    is_refusing: AtomicBool,
}

impl Way {
    /// Waits until bytes pass; `false` if connections are refused.
    fn is_open(&self) -> bool {
        while self.is_silent.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
        !self.is_refusing.load(Ordering::SeqCst)
    }
}

/// A connection is cut before or after the server has a COMMIT, or the server comes to the COMMIT late.
#[derive(Clone, Copy)]
enum Cut {
    Before,
    After,
    Late,
}

/// The commits that a client sends: COMMIT itself, and the statement that writes a block in a transaction of its own.
#[derive(Default)]
struct Commits {
    /// The start of the message that runs it, once it is prepared.
    write_block: Option<Vec<u8>>,
}

impl Commits {
    fn is_one(&mut self, message: &[u8]) -> bool {
        let prepared = message.strip_prefix(b"P").and_then(|rest| rest.get(4..));
        if let Some(prepared) = prepared.filter(|text| text.windows(12).any(|part| part == b"write_block(")) {
            let name = prepared.split_inclusive(|byte| *byte == 0).next();
            self.write_block = name.map(<[u8]>::to_vec);
        }
        // Bind: its length, the empty name of the portal, then the name of the statement.
        let bound = message.strip_prefix(b"B").and_then(|rest| rest.get(5..));
        let is_block = bound.zip(self.write_block.as_deref()).is_some_and(|(bound, name)| bound.starts_with(name));
        is_block || message.ends_with(b"commit\0")
    }
}

impl Proxy {
    fn start(server: &Path) -> Self {
        let folder = folder();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (server, cuts) = (server.to_owned(), Arc::<Mutex<VecDeque<Cut>>>::default());
        let (due, way) = (Arc::clone(&cuts), Arc::<Way>::default());
        let ways = Arc::clone(&way);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (due, way, server) = (Arc::clone(&due), Arc::clone(&ways), server.clone());
                std::thread::spawn(move || {
                    if way.is_open() {
                        pass(client, UnixStream::connect(&server).unwrap(), &due, &way);
                    }
                });
            }
        });
        Self { folder, cuts, way }
    }

    /// The address of a database by way of the proxy.
    fn url(&self, address: &str) -> StoreUrl {
        let (database, _) = address.split_once('?').unwrap();
        format!("{database}?host={}&user=karat", self.folder.path().display()).parse().unwrap()
    }

    fn cut(&self, cuts: [Cut; 2]) {
        self.cuts.lock().unwrap().extend(cuts);
    }

    fn is_done(&self) -> bool {
        self.cuts.lock().unwrap().is_empty()
    }
}

fn pass(mut client: UnixStream, mut server: UnixStream, cuts: &Mutex<VecDeque<Cut>>, way: &Arc<Way>) {
    let (mut answers, mut back, both) = (server.try_clone().unwrap(), client.try_clone().unwrap(), Arc::clone(way));
    std::thread::spawn(move || {
        let mut bytes = [0; 64 << 10];
        while let Ok(count @ 1..) = answers.read(&mut bytes) {
            if !both.is_open() || back.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = back.shutdown(Shutdown::Both);
        let _ = answers.shutdown(Shutdown::Both);
    });
    let (mut bytes, mut commits) = ([0; 64 << 10], Commits::default());
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        let message = &bytes[..count];
        if !way.is_open() {
            break;
        }
        if commits.is_one(message)
            && let Some(cut) = cuts.lock().unwrap().pop_front()
        {
            // The answer goes nowhere, whether the server has the COMMIT or not.
            let _ = client.shutdown(Shutdown::Both);
            if matches!(cut, Cut::Late) {
                std::thread::sleep(Duration::from_millis(100));
            }
            if !matches!(cut, Cut::Before) {
                let _ = server.write_all(message);
            }
            break;
        }
        if server.write_all(message).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}

/// Writes cells one by one and checks that each is there once, and that each append wrote one block.
fn every_append_counts_once(store: &Store, cells: u64, mut each: impl FnMut(u64)) {
    let ledger = store.begin(&header("r", cells)).unwrap();
    block_on(async {
        for ordinal in 0..cells {
            each(ordinal);
            ledger.append(whole_cell(ordinal)).await.unwrap();
        }
        ledger.finish(RunStatus::Finished, Moment(9)).await.unwrap();
    });
    let count = |query: &str| store.writing().query_row(query, params![], |row| row.get::<i64>(0)).unwrap();
    assert_eq!(count("select count(*) from blocks") as u64, cells);
    assert_eq!(count("select count(*) from cells") as u64, cells);
    assert_eq!(ordinals(store, "r"), (0..cells).collect::<Vec<_>>());
    let spending = store.account("r").unwrap().spending;
    assert_eq!((spending.calls, spending.spent), (cells, Money(1_500 * i128::from(cells))));
    (0..cells).for_each(|ordinal| assert!(store.step(key(&format!("cell {ordinal}"))).unwrap().is_some()));
}

fn cut_commits(cuts: u32) {
    let Some(cluster) = testkit::postgres() else { return };
    let (Some(socket), address) = (cluster.socket(), cluster.database().unwrap()) else { return };
    let proxy = Proxy::start(&socket);
    let store = Store::open(&proxy.url(&address)).unwrap();
    let kinds = [Cut::Late, Cut::Before, Cut::After];
    let mut orders = kinds.iter().flat_map(|first| kinds.map(|second| [*first, second])).cycle();
    every_append_counts_once(&store, u64::from(cuts) * 3, |ordinal| {
        // A block is one statement at first, and several with a COMMIT after a loss.
        if ordinal % 6 == 1 {
            assert!(proxy.is_done());
            proxy.cut(orders.next().unwrap());
        }
    });
    assert!(proxy.is_done());
}

/// SC-07: a connection that is lost while COMMIT is sent leaves no block twice and none lost, whether the server has it or
/// not.
#[test]
fn a_lost_commit_is_found_or_repeated() {
    cut_commits(8);
}

/// X13: a server that has become silent is an error of each statement and commit, of reading, writing and claiming, within
/// the patience of the store; what asks after that does not wait that long again, and all goes on once it answers.
#[test]
fn a_silent_server_is_not_waited_for_without_end() {
    let Some(cluster) = testkit::postgres() else { return };
    let (Some(socket), address) = (cluster.socket(), cluster.database().unwrap()) else { return };
    let proxy = Proxy::start(&socket);
    let store = Store::open(&proxy.url(&address)).unwrap();
    let ledger = store.begin(&header("r", 9)).unwrap();
    block_on(ledger.append(whole_cell(0))).unwrap();
    assert_eq!(store.runs(9).unwrap().len(), 1);
    store.patience().set_limit(Duration::from_millis(1_200));
    proxy.way.is_silent.store(true, Ordering::SeqCst);
    let since = tokio::time::Instant::now();
    let is_away = |error: &StoreError| matches!(error, StoreError::Away { .. });
    let reading = std::thread::spawn({
        let store = store.clone();
        move || store.runs(9).unwrap_err()
    });
    let lost = block_on(ledger.append(whole_cell(1))).unwrap_err();
    assert!(is_away(lost.cause()), "{lost}");
    assert!(is_away(&reading.join().unwrap()));
    for error in [
        store.runs(9).unwrap_err(),
        store.keep_vectors(&[(key("v"), vec![1.0])]).unwrap_err(),
        store.begin(&header("s", 9)).unwrap_err(),
    ] {
        assert!(is_away(&error), "{error}");
    }
    assert!(store.patience().is_over());
    drop(ledger);
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    store.patience().set_limit(Duration::from_secs(30));
    proxy.way.is_silent.store(false, Ordering::SeqCst);
    let ledger = store.reopen("r").unwrap();
    block_on(ledger.append(whole_cell(2))).unwrap();
    let stored = ordinals(&store, "r");
    assert!(stored == [0, 2] || stored == [0, 1, 2], "{stored:?}");
}

/// X13: a statement that takes its time is waited for: the server says on another connection that it works on it.
#[test]
fn a_slow_answer_is_waited_for() {
    let Some(cluster) = testkit::postgres() else { return };
    let store = Store::open(&cluster.database().unwrap().parse().unwrap()).unwrap();
    store.patience().set_limit(Duration::from_secs(6));
    let slow = "select 1 from (select pg_sleep(2.5)) as slept";
    assert_eq!(store.writing().query_row(slow, params![], |row| row.get::<i64>(0)).unwrap(), 1);
    assert!(!store.patience().is_over());
}

/// X14: a server that refuses connections for a while loses nothing, and one that refuses them for long is an error that ends
/// with the patience, sooner when the process is asked to end.
#[test]
fn a_refusing_server_is_waited_for_as_long_as_the_patience_lasts() {
    let Some(cluster) = testkit::postgres() else { return };
    let (Some(socket), address) = (cluster.socket(), cluster.database().unwrap()) else { return };
    let proxy = Proxy::start(&socket);
    let store = Store::open(&proxy.url(&address)).unwrap();
    let ledger = store.begin(&header("r", 9)).unwrap();
    block_on(ledger.append(whole_cell(0))).unwrap();
    let refuse = |is_refusing| proxy.way.is_refusing.store(is_refusing, Ordering::SeqCst);
    refuse(true);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(ledger.append(whole_cell(1))));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        refuse(false);
        waiting.join().unwrap().unwrap();
        refuse(true);
        let stopped = scope.spawn(|| block_on(ledger.append(whole_cell(2))));
        std::thread::sleep(Duration::from_millis(100));
        store.patience().shorten(Duration::from_millis(100));
        let error = stopped.join().unwrap().unwrap_err();
        assert!(matches!(error.cause(), StoreError::Away { .. }), "{error}");
    });
    let direct = Store::open(&address.parse().unwrap()).unwrap();
    assert_eq!(ordinals(&direct, "r"), [0, 1]);
}

fn crash_server(crashes: u32) {
    let Some(cluster) = testkit::postgres() else { return };
    let url: StoreUrl = cluster.database().unwrap().parse().unwrap();
    let store = Store::open(&url).unwrap();
    let is_writing = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let crashed = scope.spawn(|| {
            while !is_writing.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            for _ in 0..crashes {
                std::thread::sleep(Duration::from_millis(150));
                assert!(cluster.crash(Duration::from_millis(50)).unwrap());
            }
        });
        every_append_counts_once(&store, 400 * u64::from(crashes), |ordinal| {
            is_writing.store(ordinal > 0, Ordering::SeqCst);
            // As long as it crashes, there is something to write.
            if !crashed.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        crashed.join().unwrap();
    });
}

#[test]
#[ignore = "a process with a server of its own: see a_crash_of_the_server_loses_nothing"]
fn writes_while_its_server_crashes() {
    crash_server(2);
    refuse_server_without_fsync();
}

/// SC-07: a run goes on after its server has crashed; what it had acknowledged is there, once.
#[test]
fn a_crash_of_the_server_loses_nothing() {
    if testkit::postgres().is_some_and(|cluster| cluster.socket().is_some()) {
        start_alone("sql::postgres::tests::losses::writes_while_its_server_crashes");
    }
}

#[test]
#[ignore = "a process with a server of its own: see long::twenty_crashes_of_the_server_lose_nothing"]
fn writes_while_its_server_crashes_twenty_times() {
    crash_server(20);
}

/// SC-07: a server that does not wait for its disk is refused, unless the user insists.
fn refuse_server_without_fsync() {
    let Some(cluster) = testkit::postgres() else { return };
    let address = cluster.database().unwrap();
    cluster.query(&address, "alter system set fsync = off").unwrap();
    cluster.query(&address, "select pg_reload_conf()").unwrap();
    let url: StoreUrl = address.parse().unwrap();
    let refused = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        Store::open(&url).err()
    });
    let said = refused.unwrap().to_string();
    assert!(said.contains("fsync=off") && said.contains("--allow-unsafe-postgres"), "{said}");
    Store::open(&url.without_durability()).unwrap();
}

/// SC-06: what one process has committed, another finds at once, although many write.
#[test]
fn a_result_is_found_as_soon_as_it_is_committed() {
    let Some(cluster) = testkit::postgres() else { return };
    let url: StoreUrl = cluster.database().unwrap().parse().unwrap();
    let reader = Store::open(&url).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (url, reader) = (&url, &reader);
            scope.spawn(move || {
                let store = Store::open(url).unwrap();
                let ledger = store.begin(&header(&format!("run {writer}"), 100)).unwrap();
                for n in 0..40 {
                    let name = format!("{writer} {n}");
                    let output = Arc::new(serde_json::json!(name));
                    block_on(ledger.append(vec![Record::Step(step(&name, &output).into())])).unwrap();
                    reader.catch_up().unwrap();
                    assert!(reader.step(key(&name)).unwrap().is_some(), "{name}");
                }
            });
        }
    });
}

/// SC-07: a process whose run another one has taken writes nothing more to it.
#[test]
fn a_run_that_was_taken_is_not_written() {
    let Some(cluster) = testkit::postgres() else { return };
    let url: StoreUrl = cluster.database().unwrap().parse().unwrap();
    let (store, other) = (Store::open(&url).unwrap(), Store::open(&url).unwrap());
    let ledger = store.begin(&header("r", 9)).unwrap();
    block_on(ledger.append(whole_cell(0))).unwrap();
    // The machine of the first process was cut off for longer than a claim lasts.
    let lapse = "update claims set until = clock_timestamp() - interval '1 second'";
    other.writing().execute(lapse, params![]).unwrap();
    let taken = other.reopen("r").unwrap();
    let refused = block_on(ledger.append(whole_cell(1))).unwrap_err();
    assert!(matches!(refused.cause(), StoreError::RunLost(run) if run == "r"), "{refused}");
    block_on(taken.append(whole_cell(2))).unwrap();
    assert_eq!(ordinals(&store, "r"), [0, 2]);
}

/// SC-08: a store is copied into a server and back with the same rows; runs go on in the copy, and a store with content is
/// not copied over.
#[test]
fn a_store_is_copied_to_a_server_and_back() {
    let Some(cluster) = testkit::postgres() else { return };
    let (from, to) = (folder(), folder());
    let file = store_in(&from);
    for run in ["one", "two"] {
        let ledger = file.begin(&header(run, 50)).unwrap();
        block_on(async {
            for ordinal in 0..50 {
                ledger.append(whole_cell(ordinal)).await.unwrap();
            }
            ledger.append(vec![Record::Judgment(judgment(3, 0, 0, "j").into())]).await.unwrap();
        });
    }
    file.add_journal_entry("suite", "kind", &crate::JournalEntry { at: Moment(1), body: "é".into() }).unwrap();
    let server = Store::open(&cluster.database().unwrap().parse().unwrap()).unwrap();
    let copied = file.copy_to(&server).unwrap();
    assert!(copied > 200, "{copied}");
    let back = store_in(&to);
    assert_eq!(server.copy_to(&back).unwrap(), copied);
    for store in [&server, &back] {
        for run in ["one", "two"] {
            assert_eq!(rows(store, run), rows(&file, run));
            assert_eq!(store.account(run).unwrap().spending, file.account(run).unwrap().spending);
        }
        assert!(store.step(key("cell 7")).unwrap().is_some() && store.judgment(key("j")).unwrap().is_some());
        let ledger = store.begin(&header("three", 50)).unwrap();
        block_on(ledger.append(whole_cell(0))).unwrap();
        assert_eq!(ordinals(store, "three"), [0]);
        assert_eq!(store.resolve("latest").unwrap(), "three");
    }
    assert!(matches!(file.copy_to(&server), Err(StoreError::Unsupported(_))));
}

/// SC-06, SC-08: a server has the tables and columns of a file, in a schema of its own; a newer one is refused.
#[test]
fn a_server_has_the_tables_of_a_file() {
    let Some(cluster) = testkit::postgres() else { return };
    let address = cluster.database().unwrap();
    let other = format!("{}&schema=another", address.split("&schema=").next().unwrap());
    let urls: Vec<StoreUrl> = [&address, &other].map(|address| address.parse().unwrap()).into();
    // Several processes make the tables at once.
    let stores: Vec<Store> = std::thread::scope(|scope| {
        let opened: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn({
                    let url = &urls[n % 2];
                    move || Store::open(url).unwrap()
                })
            })
            .collect();
        opened.into_iter().map(|opened| opened.join().unwrap()).collect()
    });
    let (one, two) = (&stores[0], &stores[1]);
    drop(one.begin(&header("r", 1)).unwrap());
    assert_eq!((one.runs(9).unwrap().len(), two.runs(9).unwrap().len()), (1, 0));
    assert_eq!(Store::open_to_read(&urls[0]).unwrap().runs(9).unwrap().len(), 1);
    one.writing().execute("update meta set value = 99 where key = 'schema'", params![]).unwrap();
    assert!(matches!(Store::open(&urls[0]), Err(StoreError::Newer { found: 99, .. })));
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// SC-07: the same with fifty connections.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn fifty_lost_commits_are_found_or_repeated() {
        cut_commits(50);
    }

    /// SC-07: the same with twenty crashes.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn twenty_crashes_of_the_server_lose_nothing() {
        start_alone("sql::postgres::tests::losses::writes_while_its_server_crashes_twenty_times");
    }
}
