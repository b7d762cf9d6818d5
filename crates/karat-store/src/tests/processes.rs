//! Several processes with one store.

use std::io::{BufRead, Read, Write};

use super::crash::{given_store, start};
use super::given::*;
use crate::{Store, StoreError, StoreUrl};

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
    let store = given_store();
    write_run(&store, &format!("run of {}", std::process::id()));
}

/// Peers ("database is locked"): processes that make, open and write one store at the same time all succeed, and each
/// reads what the others wrote.
#[test]
fn processes_share_a_store() {
    let folder = folder();
    let children: Vec<_> = (0..3).map(|_| start("tests::processes::writes_a_run_of_its_own", folder.path())).collect();
    let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
    write_run(&store, "own");
    for (mut child, mut output) in children {
        let mut said = String::new();
        output.read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success(), "{said}");
    }
    let runs = store.runs(10).unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert_eq!(ordinals(&store, &run.id), (0..CELLS).collect::<Vec<_>>(), "{}", run.id);
    }
}

#[test]
#[ignore = "a process of its own: see a_run_that_another_process_writes_is_refused"]
fn holds_a_run_until_told_to_end() {
    let store = given_store();
    let _ledger = store.begin(&header("r", 1)).unwrap();
    println!("begun");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// BY-04: two processes do not resume the same run, which would pay for its calls twice; the error names the other.
#[test]
fn a_run_that_another_process_writes_is_refused() {
    let folder = folder();
    let (mut child, mut output) = start("tests::processes::holds_a_run_until_told_to_end", folder.path());
    assert!(output.by_ref().lines().map_while(Result::ok).any(|line| line.contains("begun")));
    let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
    let refused = store.reopen("r").unwrap_err();
    assert!(refused.to_string().contains(&format!("(process {})", child.id())), "{refused}");
    assert!(matches!(refused, StoreError::RunInUse { .. }));
    writeln!(child.stdin.as_mut().unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
    store.reopen("r").unwrap();
}
