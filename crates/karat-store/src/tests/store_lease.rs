//! Several runs on one store at the same moment.

use karat_types::Key;

use super::test_data::*;
use crate::{Store, StoreError};

/// BY-06: two runs on one store notice each other and what the other writes, one of them makes a shared result, and
/// each is alone when the other ends.
#[test]
pub(crate) fn one_of_two_runs_makes_a_shared_result() {
    let folder = folder();
    let store = || Store::open(&url_in(folder.path())).unwrap();
    let (one, other) = (store(), store());
    let ledgers = [one.begin(&header("one", 1)).unwrap(), other.begin(&header("other", 1)).unwrap()];
    let first = one.open_lease("one").unwrap();
    assert!(!first.has_peers());
    let second = other.open_lease("other").unwrap();
    assert!(first.has_peers() && second.has_peers());
    second.announce();
    assert!(first.peers_are_aware() && !second.peers_are_aware());
    first.announce();
    assert!(second.peers_are_aware());
    let [key, another] = [1, 2].map(|n| Key::of("test", &[n]));
    let lease = first.lease(key).unwrap();
    assert!(second.lease(key).is_none());
    let more = second.lease(another).unwrap();
    drop(lease);
    let lease = second.lease(key).unwrap();
    assert!(first.lease(key).is_none());
    block_on(ledgers[0].append(whole_cell(0))).unwrap();
    assert!(second.peers_have_written() && !second.peers_have_written() && !first.peers_have_written());
    drop((second, lease, more));
    assert!(!first.has_peers() && first.lease(key).is_some());
}

/// A run that cannot detect others gets an error.
#[test]
fn undetectable_peers_are_an_error() {
    let folder = folder();
    let store = Store::open(&url_in(folder.path())).unwrap();
    let _ledger = store.begin(&header("r", 1)).unwrap();
    std::fs::create_dir(folder.path().join("karat.db-lease.lock")).unwrap();
    assert!(matches!(store.open_lease("r"), Err(StoreError::Lease { .. })));
}

/// BY-04: a link to the database is the same store with the same locks.
#[test]
fn a_link_has_the_same_locks() {
    let folder = folder();
    let store = Store::open(&url_in(folder.path())).unwrap();
    let _ledger = store.begin(&header("r", 1)).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(folder.path().join("karat.db"), &link).unwrap();
    let linked = Store::open(&format!("sqlite:{}", link.display()).parse().unwrap()).unwrap();
    assert!(matches!(linked.reopen("r"), Err(StoreError::RunInUse { .. })));
    let _there = store.open_lease("r").unwrap();
    assert!(linked.open_lease("r").unwrap().has_peers());
}
