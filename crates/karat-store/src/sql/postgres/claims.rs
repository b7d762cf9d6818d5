//! The right to write a run: a row with a deadline that the server's clock sets.
//!
//! A claim holds a connection of its own, which moves the deadline every few seconds. When its process is killed, the
//! server ends that connection, and the claim with it; when its machine is lost, the deadline passes. Each commit checks
//! that the claim still holds and moves its deadline, so a process that was cut off writes nothing after another has taken
//! its place.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::{Connection, Patience, Row, SqlError, SqlResult, params};
use super::server::Server;
use super::session::Session;

/// The time between two moves of the deadline.
const RENEWAL: Duration = Duration::from_secs(10);

/// The attempts to claim a run whose process may just have been killed, and the pause between two of them.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// A claim counts while its deadline is not over and its connection is there.
macro_rules! live {
    ($table:literal) => {
        concat!(
            $table,
            ".until >= clock_timestamp() and exists (select 1 from pg_stat_activity where pid = ",
            $table,
            ".backend)"
        )
    };
}

const CLAIM: &str = concat!(
    "insert into claims as held (run, owner, backend, company, until)
     values (?1, gen_random_uuid(), pg_backend_pid(), 0, clock_timestamp() + interval '30 seconds')
     on conflict (run) do update set owner = excluded.owner, backend = excluded.backend, company = 0,
         until = excluded.until where not (",
    live!("held"),
    ") returning owner::text"
);
const RENEW: &str = "update claims set until = clock_timestamp() + interval '30 seconds', backend = pg_backend_pid()
    where run = ?1 and owner = ?2::text::uuid";
/// Moves the deadline in a commit; no row means that another process has taken the run.
const HOLD: &str = "update claims set until = clock_timestamp() + interval '30 seconds'
    where run = ?1 and owner = ?2::text::uuid";
const GIVE_UP: &str = "delete from claims where run = ?1 and owner = ?2::text::uuid";
const FORGET: &str = "delete from making where owner = ?1::text::uuid";
const IS_LIVE: &str = concat!("select 1 from claims where run = ?1 and ", live!("claims"));
const OTHERS: &str =
    concat!("select 1 from claims where company > 0 and owner <> ?1::text::uuid and ", live!("claims"), " limit 1");
const UNAWARE: &str =
    concat!("select 1 from claims where company = 1 and owner <> ?1::text::uuid and ", live!("claims"), " limit 1");
// 0: alone; 1: visible to others; 2: takes leases.
const SHOW: &str = "update claims set company = ?2 where owner = ?1::text::uuid";
const MAKE: &str = concat!(
    "insert into making as made (key, owner) values (?1, ?2::text::uuid)
     on conflict (key) do update set owner = excluded.owner where not exists
         (select 1 from claims where claims.owner = made.owner and ",
    live!("claims"),
    ")"
);
const MADE: &str = "delete from making where key = ?1 and owner = ?2::text::uuid";

/// The right to write a run. Released when dropped.
#[derive(Debug)]
pub(crate) struct ServerClaim {
    pub run: String,
    pub owner: String,
    session: Arc<Mutex<Session>>,
    patience: Patience,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerClaim {
    /// Claims a run; `None` if another process has it.
    pub fn take(server: &Arc<Server>, run: &str) -> SqlResult<Option<Self>> {
        let session = Session::connect(server)?;
        let mut owner = None;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            let rows = session.query(CLAIM, params![run])?;
            owner = rows.first().map(|row| Row::Postgres(row).get::<String>(0)).transpose()?;
            if owner.is_some() {
                break;
            }
        }
        let Some(owner) = owner else { return Ok(None) };
        let session = Arc::new(Mutex::new(session));
        let (stop, stopped) = channel();
        let (shared, claimed, holder) = (Arc::clone(&session), run.to_owned(), owner.clone());
        let renew = move || {
            while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                // Without it the deadline passes, and the next commit of this run is refused.
                let _ = lock(&shared).execute(RENEW, params![claimed, holder]);
            }
        };
        let thread = std::thread::Builder::new()
            .name("karat-claim".to_owned())
            .spawn(renew)
            .map_err(|error| SqlError::Postgres(super::failure::ServerError::of_connection(error.to_string())))?;
        Ok(Some(Self {
            run: run.to_owned(),
            owner,
            session,
            patience: server.patience.clone(),
            stop: Some(stop),
            thread: Some(thread),
        }))
    }

    /// Moves the deadline in a transaction; `false` if another process has taken the run.
    pub fn hold(&self, connection: &Connection) -> SqlResult<bool> {
        Ok(connection.execute(HOLD, params![self.run, self.owner])? > 0)
    }
}

impl Drop for ServerClaim {
    fn drop(&mut self) {
        self.stop = None;
        // While the server is away, the thread ends after its attempt, and the deadline passes.
        if self.patience.is_away() {
            return;
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let session = lock(&self.session);
        if session.is_connected() {
            let forgotten = session.execute(FORGET, params![self.owner]);
            let _ = forgotten.and_then(|_| session.execute(GIVE_UP, params![self.run, self.owner]));
        }
    }
}

fn lock(session: &Mutex<Session>) -> std::sync::MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns `true` if a process has the right to write a run at this moment.
pub(crate) fn is_claimed(session: &Session, run: &str) -> SqlResult<bool> {
    Ok(!session.query(IS_LIVE, params![run])?.is_empty())
}

/// Returns the name of a run's claim.
pub(crate) fn owner_of(session: &Session, run: &str) -> SqlResult<Option<String>> {
    let rows = session.query("select owner::text from claims where run = ?1", params![run])?;
    rows.first().map(|row| Row::Postgres(row).get(0)).transpose()
}

/// A run among those that other processes, or other ledgers of this one, write.
#[derive(Debug)]
pub(crate) struct Peers {
    session: Mutex<Session>,
    owner: String,
    patience: Patience,
}

impl Peers {
    pub fn new(server: &Arc<Server>, owner: String) -> SqlResult<Self> {
        let session = Mutex::new(Session::connect(server)?);
        let peers = Self { session, owner, patience: server.patience.clone() };
        peers.show(1)?;
        Ok(peers)
    }

    fn show(&self, company: i64) -> SqlResult<()> {
        lock(&self.session).execute(SHOW, params![self.owner, company]).map(drop)
    }

    /// Returns `true` if another run is being written.
    pub fn is_any(&self) -> SqlResult<bool> {
        Ok(!lock(&self.session).query(OTHERS, params![self.owner])?.is_empty())
    }

    /// Returns `true` if every one of them takes leases.
    pub fn are_aware(&self) -> SqlResult<bool> {
        Ok(lock(&self.session).query(UNAWARE, params![self.owner])?.is_empty())
    }

    /// Notes that this run takes leases.
    pub fn announce(&self) -> SqlResult<()> {
        self.show(2)
    }

    /// Hides this run from the others; not from a server that is away, where that ends with the run's claim.
    pub fn leave(&self) -> SqlResult<()> {
        if self.patience.is_away() { Ok(()) } else { self.show(0) }
    }

    /// Takes the right to make a result; `false` while another run has it.
    pub fn make(&self, key: &[u8]) -> SqlResult<bool> {
        Ok(lock(&self.session).execute(MAKE, params![key, self.owner])? > 0)
    }

    /// Gives up the right to make a result. While the server is away that would be waited for, one result after the other;
    /// then the right ends with the run's claim.
    pub fn release(&self, key: &[u8]) -> SqlResult<()> {
        let session = lock(&self.session);
        if self.patience.is_away() {
            return Ok(());
        }
        session.execute(MADE, params![key, self.owner]).map(drop)
    }
}
