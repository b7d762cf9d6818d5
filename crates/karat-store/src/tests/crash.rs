//! Crashes: a process is killed while it writes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use karat_types::*;

use super::test_data::*;
use crate::{Store, StoreError};

/// Starts one of this file's ignored tests as a child process and passes it the address of
/// the store of a folder.
pub fn start(test: &str, folder: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "{}", url_in(folder)).unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

/// Runs one of the ignored tests as a process of its own, to its end.
pub fn start_alone(test: &str) {
    let arguments = ["--exact", test, "--ignored", "--nocapture"];
    let output = Command::new(std::env::current_exe().unwrap()).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}", String::from_utf8_lossy(&output.stdout));
}

/// Opens the store whose address [`start`] passed.
pub fn open_passed_store() -> Store {
    let mut address = String::new();
    std::io::stdin().read_line(&mut address).unwrap();
    Store::open(&address.trim_end().parse().unwrap()).unwrap()
}

/// Waits until the child has printed this many lines.
fn count_lines(output: &mut BufReader<ChildStdout>, times: u64) -> u64 {
    output.lines().map_while(Result::ok).filter(|line| line.contains("durable")).take(times as usize).count() as u64
}

#[test]
#[ignore = "a process of its own: see kill_9_loses_nothing_that_was_acknowledged"]
fn writes_until_it_is_killed() {
    let store = open_passed_store();
    let ledger = store.begin(&header("r", 1_000_000)).or_else(|_| store.reopen("r")).unwrap();
    let next = store.finished_cells("r").unwrap().cells.len();
    block_on(async {
        for ordinal in next..1_000_000 {
            ledger.append(whole_cell(ordinal)).await.unwrap();
            println!("durable {ordinal}");
        }
    });
}

/// PE-20, PE-25, BY-04: after `kill -9`, everything acknowledged is there, complete and in order, and the run can be
/// resumed at once.
#[test]
pub(crate) fn kill_9_loses_nothing_that_was_acknowledged() {
    kill_after(&[1, 40, 7, 150]);
}

/// Kills a writing process each time it has acknowledged so many appends.
fn kill_after(acknowledgments: &[u64]) {
    let folder = folder();
    let mut acknowledged = 0;
    for times in acknowledgments.iter().copied() {
        let (mut child, mut output) = start("tests::crash::writes_until_it_is_killed", folder.path());
        acknowledged += count_lines(&mut output, times);
        child.kill().unwrap();
        // Lines that were printed between the last one read and the kill were acknowledged too.
        acknowledged += count_lines(&mut output, u64::MAX >> 1);
        child.wait().unwrap();

        let store = Store::open(&url_in(folder.path())).unwrap();
        // A server may still be at the commit of the process that was killed. Its turn ends with it.
        drop(store.writing().begin().unwrap());
        let cells = rows(&store, "r");
        let count = cells.len() as u64;
        assert!((acknowledged..=acknowledged + 1).contains(&count), "{count} of {acknowledged} acknowledged");
        for (ordinal, (_, _, _, cell, _)) in (0..).zip(&cells) {
            assert_eq!(cell.ordinal, ordinal);
            assert!(store.step(cell.key).unwrap().is_some() && store.call(Some("r"), cell.calls[0]).unwrap().is_some());
        }
        assert!(store.account("r").unwrap().paid.is_empty());
        assert_eq!(store.latest_unfinished(key("suite"), None).unwrap().unwrap().id, "r");
        acknowledged = count;
    }
}

/// Invariant 5, a paid call is durable: wherever the log on disk ends, the readable part is a prefix of the appends, each of them complete or
/// absent.
#[test]
fn a_torn_log_gives_a_prefix_of_whole_appends() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 100)).unwrap();
    block_on(async {
        for ordinal in 0..8 {
            let mut records = whole_cell(ordinal);
            records.extend((0..3).map(|judge| Record::Judgment(judgment(ordinal, 0, judge, "j").into())));
            ledger.append(records).await.unwrap();
        }
    });
    let database = store.path();
    let log = fs::read(database.with_file_name("karat.db-wal")).unwrap();
    let mut seen = Vec::new();
    for tenth in 0..=60 {
        let copy = super::test_data::folder();
        let url = url_in(copy.path());
        fs::copy(database, url.path()).unwrap();
        fs::write(copy.path().join("karat.db-wal"), &log[..log.len() * tenth / 60]).unwrap();
        let torn = Store::open(&url).unwrap();
        let cells = match torn.run("r") {
            Err(StoreError::NoSuchRun { .. }) => 0,
            run => {
                assert_eq!(run.unwrap().id, "r");
                let cells = rows(&torn, "r");
                assert!(cells.iter().all(|(.., judgments)| judgments.len() == 3));
                assert_eq!(ordinals(&torn, "r"), (0..cells.len() as u64).collect::<Vec<_>>());
                assert_eq!(torn.account("r").unwrap().spending.calls, cells.len() as u64);
                cells.len()
            }
        };
        seen.push(cells);
    }
    assert!(seen.is_sorted() && seen.first() == Some(&0) && seen.last() == Some(&8), "{seen:?}");
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// SC-07: after two hundred kills of Karat on a server, nothing that was acknowledged is lost.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn two_hundred_kills_lose_nothing_on_a_server() {
        on_server(|| kill_after(&(0..200).map(|n| 1 + n * 37 % 29).collect::<Vec<u64>>()));
    }
}
