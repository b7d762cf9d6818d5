//! Several processes on one store.

use std::io::{BufRead, Read, Write};

use super::crash::{open_passed_store, start};
use super::test_data::*;
use crate::{Store, StoreError};

const CELLS: u64 = 200;

fn write_run(store: &Store, run: &str) {
    let ledger = store.begin(&header(run, CELLS)).unwrap();
    block_on(async {
        for ordinal in 0..CELLS {
            ledger.append(whole_cell(ordinal)).await.unwrap();
        }
    });
}

#[test]
#[ignore = "a process of its own: see processes_share_a_store"]
fn writes_a_run_of_its_own() {
    let store = open_passed_store();
    write_run(&store, &format!("run of {}", std::process::id()));
}

/// "database is locked": processes that create, open and write one store at the same time all succeed, and each reads
/// the results of the others.
#[test]
pub(crate) fn processes_share_a_store() {
    let folder = folder();
    let children: Vec<_> = (0..3).map(|_| start("tests::processes::writes_a_run_of_its_own", folder.path())).collect();
    let store = Store::open(&url_in(folder.path())).unwrap();
    write_run(&store, "own");
    for (mut child, mut output) in children {
        let mut output_line = String::new();
        output.read_to_string(&mut output_line).unwrap();
        assert!(child.wait().unwrap().success(), "{output_line}");
    }
    let runs = store.runs(10).unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert_eq!(ordinals(&store, &run.id), (0..CELLS).collect::<Vec<_>>(), "{}", run.id);
    }
}

#[test]
#[ignore = "a process of its own: see a_run_has_one_writing_process"]
fn holds_a_run_until_stopped() {
    let store = open_passed_store();
    let _ledger = store.begin(&header("r", 1)).unwrap();
    println!("started");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// BY-04: two processes cannot resume the same run, which would pay for its calls twice; the error names the other
/// process.
#[test]
pub(crate) fn a_run_has_one_writing_process() {
    let folder = folder();
    let (mut child, mut output) = start("tests::processes::holds_a_run_until_stopped", folder.path());
    assert!(output.by_ref().lines().map_while(Result::ok).any(|line| line.contains("started")));
    let store = Store::open(&url_in(folder.path())).unwrap();
    let refused = store.reopen("r").unwrap_err();
    assert!(refused.to_string().contains(&format!("(process {})", child.id())), "{refused}");
    assert!(matches!(refused, StoreError::RunInUse { .. }));
    writeln!(child.stdin.as_mut().unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
    store.reopen("r").unwrap();
}
