//! Replies that are paid: found by the content key of their call, whichever run made it.
//!
//! Those of earlier parts of this run come first. Then come those of other runs: they are used if they can be read, and if
//! the request that they answer is the one of today.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_store::{PaidCalls, PaidElsewhere, Store, StoreError};
use karat_types::{CallErrorCode, CallRecord, CellError, Key};

/// The paid calls that no cell or judgment uses yet, or whose cell is re-run.
pub(crate) struct PaidReplies {
    calls: PaidCalls,
    /// The calls of other runs; `None` if this run reuses nothing from them.
    elsewhere: Option<PaidElsewhere>,
    /// Calls of saved steps whose cost a cell has reported by now.
    told: Mutex<HashSet<Key>>,
    /// Replies of other runs that were used.
    taken: Mutex<HashSet<Key>>,
    /// Replies that turned out to be unusable again.
    useless: Mutex<HashSet<Key>>,
}

impl PaidReplies {
    pub fn new(calls: PaidCalls, elsewhere: Option<PaidElsewhere>) -> Self {
        let (told, taken, useless) = Default::default();
        Self { calls, elsewhere, told, taken, useless }
    }

    /// The record of a call that an earlier part of this run has paid for and whose answer can be used.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn reply(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        if lock(&self.useless).contains(&key) { Ok(None) } else { self.calls.get(store, key) }
    }

    /// The record of a call that another run has paid for.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn reply_of_another_run(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        match &self.elsewhere {
            Some(elsewhere) if !lock(&self.useless).contains(&key) => elsewhere.get(store, key),
            _ => Ok(None),
        }
    }

    /// The damage by which replies of other runs are lost.
    pub fn damage(&self) -> &[StoreError] {
        self.elsewhere.as_ref().map_or(&[], |elsewhere| &elsewhere.damaged)
    }

    /// Notes that a reply of another run is used.
    pub fn take(&self, key: Key) {
        lock(&self.taken).insert(key);
    }

    /// Reads the calls that other processes have made since.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        self.elsewhere.as_ref().map_or(Ok(()), |elsewhere| elsewhere.refresh(store))
    }

    /// Returns whether the cost of a call stands in no row, or only in a row that is re-run.
    pub fn is_unreported(&self, key: Key) -> bool {
        self.calls.contains(key)
    }

    /// Discards those of these calls' replies that were paid before, if the error lies in them: if a tool failed, only those
    /// of programs and services, because the model's are good. Returns `false` if there are none, so that asking again
    /// changes nothing. Only now does it show that a reply was unreadable beside a call that failed.
    pub fn give_up(&self, store: &Store, calls: &[Key], error: &CellError) -> bool {
        let is_unread = error.code == CellError::UNREADABLE || error.code == CallErrorCode::Malformed.as_str();
        let is_tool = error.code == CellError::TOOL;
        let of_tool = |key: &Key| {
            let record = self.reply(store, *key);
            record.is_ok_and(|record| record.is_some_and(|it| matches!(it.model.as_str(), "command" | "http")))
        };
        let taken = lock(&self.taken);
        let kept: Vec<&Key> = (calls.iter())
            .filter(|key| self.calls.is_of_rerun(**key) || taken.contains(*key))
            .filter(|key| is_unread || (is_tool && of_tool(key)))
            .collect();
        let mut useless = lock(&self.useless);
        kept.into_iter().filter(|key| useless.insert(**key)).count() > 0
    }

    /// Returns whether the run was stopped between attempts of this call, one of which reported impossible counts.
    ///
    /// # Errors
    /// The record of these attempts cannot be read.
    pub fn was_impossible(&self, store: &Store, key: Key) -> Result<Option<bool>, StoreError> {
        Ok(self.calls.interrupted_call(store, key)?.map(|record| record.impossible))
    }

    /// The calls among these, made for a saved step, whose cost no cell has reported: the first cell to ask reports it.
    pub fn take_unreported(&self, calls: &[Key]) -> Vec<Key> {
        let mut told = lock(&self.told);
        calls.iter().copied().filter(|key| self.calls.contains(*key) && told.insert(*key)).collect()
    }
}

fn lock(keys: &Mutex<HashSet<Key>>) -> MutexGuard<'_, HashSet<Key>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_store::StoreUrl;
    use karat_types::{Moment, Money, Record, RunHeader, RunStatus};

    use super::*;

    const PLAN: &str = r#"{"schema": "karat.plan/1", "suite": "t", "suite_hash": "", "plan_hash": "00000000000000000000000000000000",
        "dataset": {"rows": 1, "hash": "", "sources": [], "clustered": false}, "models": [], "judges": [], "variants": [], "systems": [], "trials": 1,
        "scorers": [], "metrics": [], "run": {"max_concurrency": 1, "timeout_ms": 1, "retries": 0, "seed": 0, "cache": "reuse"},
        "tokenizer": ""}"#;

    fn header(run: &str) -> RunHeader {
        RunHeader {
            id: run.to_owned(),
            plan: Arc::new(serde_json::from_str(PLAN).unwrap()),
            started_at: Moment(0),
            completed_at: None,
            status: RunStatus::Running,
            version: String::new(),
            shard: None,
            git_commit: None,
            invocation: serde_json::Value::Null,
        }
    }

    fn call(key: Key) -> CallRecord {
        CallRecord {
            key,
            model: "m".to_owned(),
            request: "{}".into(),
            response: "{}".into(),
            status: Some(200),
            usage: None,
            cost: Some(Money(1)),
            cost_source: karat_types::CostSource::Table,
            reserved: Money(1),
            latency_ms: 1.0,
            attempts: 1,
            impossible: false,
            finish: None,
            error: None,
        }
    }

    /// F103, X7: a paid call of this run, and one of another run, is found by its key; a store that cannot be read is an
    /// error, and never makes a paid call look unpaid.
    #[tokio::test]
    async fn an_unreadable_store_makes_no_call_look_unpaid() {
        let folder = testkit::scratch().unwrap();
        let url = StoreUrl::in_folder(folder.path());
        let store = Store::open(&url).unwrap();
        let (own, other) = (Key::of("own", b""), Key::of("other", b""));
        for (run, key) in [("killed", other), ("r", own)] {
            let ledger = store.begin(&header(run)).unwrap();
            ledger.append(vec![Record::Call(call(key))]).await.unwrap();
        }
        let elsewhere = store.paid_elsewhere("r", Moment(i64::MIN)).unwrap();
        let paid = PaidReplies::new(store.account("r").unwrap().paid, Some(elsewhere));
        assert_eq!(paid.reply(&store, own).unwrap(), Some(call(own)));
        assert_eq!(paid.reply_of_another_run(&store, other).unwrap(), Some(call(other)));
        assert_eq!((paid.reply(&store, other).unwrap(), paid.reply_of_another_run(&store, own).unwrap()), (None, None));
        let unread = Store::open(&url).unwrap();
        std::fs::remove_file(url.path()).unwrap();
        assert!(paid.reply(&unread, own).is_err() && paid.reply_of_another_run(&unread, other).is_err());
    }
}
