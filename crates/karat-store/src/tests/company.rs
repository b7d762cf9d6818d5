//! Several runs on one store at the same moment.

use karat_types::Key;

use super::given::*;
use crate::{Store, StoreError, StoreUrl};

/// BY-06: of two that run on one store each sees the other and what it writes, and one makes what both need; with one of
/// them gone the other is alone.
#[test]
fn one_of_two_makes_a_result() {
    let folder = folder();
    let store = || Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
    let (one, other) = (store(), store());
    let ledgers = [one.begin(&header("one", 1)).unwrap(), other.begin(&header("other", 1)).unwrap()];
    let first = one.company("one").unwrap();
    assert!(!first.is_there());
    let second = other.company("other").unwrap();
    assert!(first.is_there() && second.is_there());
    second.be_aware();
    assert!(first.is_aware() && !second.is_aware());
    first.be_aware();
    assert!(second.is_aware());
    let [key, another] = [1, 2].map(|n| Key::of("test", &[n]));
    let lease = first.take(key).unwrap();
    assert!(second.take(key).is_none());
    let more = second.take(another).unwrap();
    drop(lease);
    let lease = second.take(key).unwrap();
    assert!(first.take(key).is_none());
    block_on(ledgers[0].append(whole_cell(0))).unwrap();
    assert!(second.has_written() && !second.has_written() && !first.has_written());
    drop((second, lease, more));
    assert!(!first.is_there() && first.take(key).is_some());
}

/// Who cannot see others says so.
#[test]
fn who_sees_nobody_says_so() {
    let folder = folder();
    let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
    let _ledger = store.begin(&header("r", 1)).unwrap();
    std::fs::create_dir(folder.path().join("karat.db-company.lock")).unwrap();
    assert!(matches!(store.company("r"), Err(StoreError::Company { .. })));
}

/// BY-04: a link to the database is the same store, so its locks are the same, too.
#[test]
fn a_link_leads_to_the_same_locks() {
    let folder = folder();
    let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
    let _ledger = store.begin(&header("r", 1)).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(folder.path().join("karat.db"), &link).unwrap();
    let linked = Store::open(&format!("sqlite:{}", link.display()).parse().unwrap()).unwrap();
    assert!(matches!(linked.reopen("r"), Err(StoreError::RunInUse { .. })));
    let _there = store.company("r").unwrap();
    assert!(linked.company("r").unwrap().is_there());
}
