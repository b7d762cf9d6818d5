//! The runs of servers that were killed: they go on, unless they kill their server each time.

use karat_types::Moment;

use crate::server::queue::{QueueState, rows_of};
use crate::sql::params;
use crate::sql::tables::QUEUE;
use crate::{Store, StoreError};

/// Crashes in a row without a new row of the run, after which it is left alone.
const MOST_CRASHES: u32 = 3;

/// Time after which a started run that nobody writes is one of a killed server, in milliseconds.
const LOST_MS: i64 = 60_000;

impl Store {
    /// Puts the runs of killed servers back into the queue, and ends those that crashed three times without a new row.
    /// `owner` is the asking server: `PROCESS-RANDOM`. Returns the runs that were ended.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn recover_queue(&self, owner: &str, now: Moment) -> Result<Vec<String>, StoreError> {
        let started = self.read("the queue", |connection| {
            let select =
                "select run, coalesce(owner, ''), coalesce(started_at, 0) from queue where state = 1 order by seq";
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement.query_map(params![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<Result<Vec<(String, String, i64)>, _>>()?)
        })?;
        let mut ended = Vec::new();
        for (run, of, started_at) in started {
            // The processes of other machines cannot be seen.
            let is_gone = !self.is_on_server() && !is_alive(&of, owner);
            let is_lost = of != owner && (is_gone || now.0 - started_at > LOST_MS);
            if !is_lost || self.is_claimed(&run) {
                continue;
            }
            if self.recover_run(&run, &of, now)? == Some(QueueState::Ended) {
                ended.push(run);
            }
        }
        Ok(ended)
    }

    /// Returns the new state of the run; `None` if another server was faster.
    fn recover_run(&self, run: &str, of: &str, now: Moment) -> Result<Option<QueueState>, StoreError> {
        self.change_queue(|connection| {
            let mut state = None;
            let own = "run = ?1 and state = 1 and coalesce(owner, '') = ?2";
            QUEUE.change(connection, own, params![run, of], |row| {
                let rows = rows_of(connection, run)?;
                let crashes = if row.get::<i64>("rows")? == rows { row.get::<u32>("crashes")? + 1 } else { 0 };
                row.set("owner", &None::<&str>);
                row.set("crashes", &crashes);
                if crashes < MOST_CRASHES {
                    row.set("state", &0);
                    state = Some(QueueState::Waiting);
                    return Ok(());
                }
                let problem =
                    format!("the server ended {MOST_CRASHES} times while it ran this, before anything was stored");
                row.set("state", &2);
                row.set("status", &"interrupted");
                row.set("problem", &problem);
                row.set("ended_at", &now.0);
                state = Some(QueueState::Ended);
                Ok(())
            })?;
            Ok(state)
        })
    }
}

/// Returns whether the process of another server may be alive. `asking` is the server that asks: one with the same number
/// is dead, as in containers, where each has the same.
fn is_alive(owner: &str, asking: &str) -> bool {
    let number = |owner: &str| owner.split('-').next().unwrap_or_default().to_owned();
    let process = number(owner);
    let is_known = cfg!(target_os = "linux") && !process.is_empty();
    process != number(asking) && (!is_known || is_running(&process))
}

/// Returns whether a process of Linux runs. One that has ended stays listed until its parent asks how, which a container
/// without an init never does.
fn is_running(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the state is in parentheses, and may have some itself.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::server::queue::NewQueuedRun;
    use crate::tests::test_data::url_in;

    /// SV-07: a run of a killed server goes on; one that kills its server three times is left alone.
    #[test]
    fn three_crashes_end_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        let new = NewQueuedRun { run: "a", order: "{}", is_new: true, at: Moment(5), most_waiting: 9 };
        store.enqueue(&new, None).unwrap();
        for crash in 1..=3 {
            let own = format!("{}-{crash}", std::process::id());
            assert!(store.take_queued(&own, Moment(6)).unwrap().is_some());
            assert_eq!(store.recover_queue(&own, Moment(9)).unwrap(), [""; 0], "it is its own");
            let next = format!("{}-{}", std::process::id(), crash + 1);
            let ended = store.recover_queue(&next, Moment(9)).unwrap();
            assert_eq!(ended, if crash == 3 { vec!["a".to_owned()] } else { Vec::new() });
        }
        let queued = store.queued_run("a").unwrap().unwrap();
        assert_eq!((queued.state, queued.status.as_deref()), (QueueState::Ended, Some("interrupted")));
    }

    /// SV-07: a server that has ended is not alive, whether or not its parent has asked how it ended.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_nobody_waits_for_is_not_alive() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let owner = format!("{}-x", child.id());
        assert!(is_alive(&owner, "1-y"));
        child.kill().unwrap();
        for _ in 0..5_000 {
            if is_alive(&owner, "1-y") {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        assert!(std::path::Path::new(&format!("/proc/{}", child.id())).exists());
        assert!(!is_alive(&owner, "1-y"));
        child.wait().unwrap();
    }

    /// SV-07: a run of a server that is alive is left to it for a minute.
    #[test]
    pub(crate) fn a_run_of_a_living_server_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        let new = NewQueuedRun { run: "a", order: "{}", is_new: true, at: Moment(5), most_waiting: 9 };
        store.enqueue(&new, None).unwrap();
        store.take_queued(&format!("{}-x", std::process::id()), Moment(6)).unwrap();
        store.recover_queue("1-y", Moment(9)).unwrap();
        assert_eq!(store.queued_run("a").unwrap().unwrap().state, QueueState::Started);
        store.recover_queue("1-y", Moment(9 + LOST_MS)).unwrap();
        assert_eq!(store.queued_run("a").unwrap().unwrap().state, QueueState::Waiting);
    }
}
