//! Following a run while it is written.

use karat_types::*;

use super::test_data::*;
use crate::{FollowPosition, ROWS_OF_COMMIT, RunChange, Store};

/// Number, kind and ordinal of each change, and the new place.
fn look(store: &Store, from: FollowPosition) -> (Vec<(u64, &'static str, u64)>, Money, FollowPosition) {
    let (mut seen, mut spent) = (Vec::new(), Money::ZERO);
    let to = store.follow("r", from, &mut |change| match change {
        RunChange::Cell { seq, cell } => seen.push((seq, "cell", cell.ordinal)),
        RunChange::Judgment { seq, ordinal, .. } => seen.push((seq, "judgment", ordinal)),
        RunChange::Spent(money) => spent += money,
    });
    (seen, spent, to.unwrap())
}

/// DB-21, SV-06: each look gives what was added since the last, in order and once, with the numbers that a look from the
/// beginning gives; rows of other runs are none of it.
#[test]
fn every_change_is_seen_once_under_the_same_number() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 9)).unwrap();
    let other = store.begin(&header("other", 9)).unwrap();
    assert_eq!(look(&store, FollowPosition::default()), (Vec::new(), Money::ZERO, FollowPosition::default()));
    let mut place = FollowPosition::default();
    let (mut all, mut all_spent) = (Vec::new(), Money::ZERO);
    for at in 0..4 {
        block_on(async {
            ledger.append(whole_cell(at)).await.unwrap();
            other.append(whole_cell(at)).await.unwrap();
            ledger.append(vec![Record::Judgment(judgment(at, 0, 0, "j").into())]).await.unwrap();
        });
        let (seen, spent, to) = look(&store, place);
        assert_eq!(seen.iter().map(|(_, kind, of)| (*kind, *of)).collect::<Vec<_>>(), [("cell", at), ("judgment", at)]);
        assert!(seen.iter().all(|(seq, ..)| *seq > place.end() && *seq < to.end()));
        assert_eq!(look(&store, to), (Vec::new(), Money::ZERO, to));
        all.extend(seen);
        all_spent += spent;
        place = to;
    }
    assert!(all.is_sorted_by(|(a, ..), (b, ..)| a < b), "{all:?}");
    assert!(all.iter().all(|(seq, ..)| *seq > ROWS_OF_COMMIT));
    assert_eq!(look(&store, FollowPosition::default()), (all, all_spent, place));
    assert_eq!(all_spent, store.account("r").unwrap().spending.spent);
    assert_eq!(store.run_status("r").unwrap(), RunStatus::Running);
    drop(ledger);
    assert_eq!(store.run_status("r").unwrap(), RunStatus::Interrupted);
}

/// SV-03: pages of runs neither repeat nor miss one while runs are added.
#[test]
fn pages_of_runs_stay_while_runs_are_added() {
    let folder = folder();
    let store = store_in(&folder);
    let begin = |id: &str| drop(store.begin(&header(id, 1)).unwrap());
    ["a", "b", "c", "d", "e"].into_iter().for_each(begin);
    assert_eq!(store.runs_before(None, 2).unwrap(), ["e", "d"]);
    begin("f");
    assert_eq!(store.runs_before(Some("d"), 2).unwrap(), ["c", "b"]);
    assert_eq!(store.runs_before(Some("b"), 2).unwrap(), ["a"]);
    assert!(store.runs_before(Some("nope"), 2).is_err());
}
