//! Writing transactions, and the wait for a store that is locked or away.

use karat_types::RunStatus;
use rusqlite::ErrorCode;
use tokio::time::Instant;

use crate::StoreError;
use crate::error::{Attempt, BUSY_SECONDS};
use crate::format::run_status_code;
use crate::sql::{Connection, Patience, Transaction, params};

/// Repeats an attempt while another process keeps the store locked or its server is away. The store's connections wait
/// within each attempt.
///
/// # Errors
/// The last one, once the patience is over; any other at once.
pub(crate) fn wait_out<T>(
    patience: &Patience,
    mut attempt: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let since = Instant::now();
    loop {
        let outcome = attempt();
        if !matches!(outcome, Err(StoreError::Busy { .. } | StoreError::Away { .. })) {
            // Another error may be that of a connection that was lost in a transaction.
            if outcome.is_ok() {
                patience.note_back();
            }
            return outcome;
        }
        patience.note_away(since);
        if patience.is_over() {
            return outcome.map_err(|error| match error {
                StoreError::Busy { path, waited_s, holder } => {
                    StoreError::Busy { path, waited_s: waited_s.max(since.elapsed().as_secs()), holder }
                }
                error => error,
            });
        }
    }
}

/// Starts a writing transaction. If another process keeps the store locked, the error names it.
pub(crate) fn begin<'c>(connection: &'c Connection, attempt: Attempt<'_>) -> Result<Transaction<'c>, StoreError> {
    connection.begin().map_err(|error| match error.sqlite_code() {
        Some(ErrorCode::DatabaseBusy) => {
            StoreError::Busy { path: attempt.path.to_owned(), waited_s: BUSY_SECONDS, holder: holder(connection) }
        }
        _ => attempt.error(error),
    })
}

/// Returns the likely holders of the lock: other processes with an unfinished run. Readers take no lock.
fn holder(connection: &Connection) -> String {
    let running = connection
        .prepare_cached("select name, pid from runs where status = ?1 and pid <> ?2 order by id desc limit 3")
        .and_then(|mut statement| {
            let rows = statement
                .query_map(params![run_status_code(RunStatus::Running), i64::from(std::process::id())], |row| {
                    Ok(format!("process {} (run {})", row.get::<i64>(1)?, row.get::<String>(0)?))
                })?;
            rows.collect::<Result<Vec<_>, _>>()
        });
    match running {
        Ok(names) if !names.is_empty() => format!("it may be {}", names.join(" or ")),
        _ => "the process is unknown".to_owned(),
    }
}
