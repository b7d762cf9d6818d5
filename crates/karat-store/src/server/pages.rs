//! Stored and queued runs in one list, newest first.
//!
//! A stored run has the place of its row. A queued run has the place behind the run that was newest when it was asked for.
//! It would move when it starts, so a list that is read in pages keeps to the runs that were stored at its first page:
//! each run has one place in it, none comes twice, and none is missed.

use crate::sql::params;
use crate::{Store, StoreError};

/// A place in a list that is read in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPlace {
    /// The run that was newest at the first page.
    pub newest: i64,
    /// The place of the last run that was read.
    pub row: i64,
    /// The number of the last run among queued runs of one place; 0 if it was stored.
    pub queued: i64,
}

impl Store {
    /// Returns the runs behind a place, newest first, each with its place; without a place, the newest.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn runs_behind(&self, place: Option<ListPlace>, limit: usize) -> Result<Vec<(String, ListPlace)>, StoreError> {
        self.read("the list of runs", |connection| {
            let place = match place {
                Some(place) => place,
                None => {
                    let newest = connection.query_row("select coalesce(max(id), 0) from runs", params![], |row| row.get(0))?;
                    ListPlace { newest, row: i64::MAX, queued: 0 }
                }
            };
            let has_queue = connection.has_table("queue")?;
            let queued = match has_queue {
                true => {
                    "union all select run, after_run, seq from queue where not exists
                     (select 1 from runs where runs.name = queue.run and runs.id <= ?1)"
                }
                false => "",
            };
            let mut statement = connection.prepare_cached(&format!(
                "select name, row, queued from (select name, id as row, 0 as queued from runs where id <= ?1 {queued}) as listed
                 where (row, queued) < (?2, ?3) order by row desc, queued desc limit ?4"
            ))?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let runs = statement.query_map(params![place.newest, place.row, place.queued, limit], |row| {
                Ok((row.get(0)?, ListPlace { newest: place.newest, row: row.get(1)?, queued: row.get(2)? }))
            })?;
            Ok(runs.collect::<Result<_, _>>()?)
        })
    }
}
