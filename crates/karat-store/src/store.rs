//! The store handle: one writing thread and a pool of reading connections, with a file or with a server.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::block::section::SectionWriter;
use crate::block::section_cache::SectionCache;
use crate::database::schema::Access;
use crate::database::state_folder::FilePlace;
use crate::database::{file_system, run_lock, schema, state_folder};
use crate::error::{Attempt, ReadFailure};
use crate::format::encode::EncodedPool;
use crate::reuse::index_writer::IndexWriter;
use crate::reuse::known_keys::KnownKeys;
use crate::sql::mutex::lock;
use crate::sql::{
    Backend,
    postgres::{
        schema::{self as server_schema, Unusable},
        server::Server,
        session::Session,
    },
};
use crate::sql::{Connection, Patience};
use crate::write::writer::{Batch, DeferredBatches, Writer};
use crate::{StoreError, StoreUrl};

/// Number of appends that may wait for the writer. [`crate::Ledger::append`] waits while there are more.
const WAITING_APPENDS: usize = 512;

/// Reading connections kept open for later reads.
const KEPT_READERS: usize = 8;

/// A handle on the store: runs, their rows, and the outputs and judgments that later runs reuse.
///
/// Cheap to clone; clones share one store. Reads are synchronous and may run concurrently with each other and with
/// writing. When the last clone and the last [`crate::Ledger`] are dropped, pending appends are written and the file
/// is closed.
#[derive(Debug, Clone)]
pub struct Store(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    url: StoreUrl,
    readers: Mutex<Vec<Connection>>,
    pub cache: SectionCache,
    pub known_keys: Arc<KnownKeys>,
    /// The writing connection. The writing thread locks it for a commit, `begin` and `reopen` for a statement.
    writing: Arc<Mutex<Connection>>,
    inbox: Option<mpsc::Sender<Vec<Batch>>>,
    deferred: Arc<Mutex<DeferredBatches>>,
    pub encoded_pool: Arc<EncodedPool>,
    thread: Option<JoinHandle<()>>,
    place: Place,
    patience: Patience,
}

/// Where the store is, and how it is opened.
#[derive(Debug)]
enum Place {
    File(Access),
    Server(Arc<Server>),
}

impl Store {
    /// The version of the schema that this Karat writes, in a file and on a server.
    pub const FORMAT: i64 = schema::VERSION;

    /// Opens a store, and creates it if it is missing. The time does not depend on its size.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::ReadOnly`], [`StoreError::Foreign`], [`StoreError::Newer`],
    /// [`StoreError::Busy`] while another process migrates it; [`StoreError::Full`], also without the room that killed
    /// runs held; [`StoreError::NetworkFileSystem`].
    pub fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::open_on(url, file_system::network_kind)
    }

    /// As [`Store::open`]; `kind` looks up the network file system of a path.
    pub(crate) fn open_on(
        url: &StoreUrl,
        kind: impl Fn(&Path) -> std::io::Result<Option<&'static str>>,
    ) -> Result<Self, StoreError> {
        if url.server().is_some() {
            return Self::on_server(url);
        }
        file_system::check(url, kind)?;
        match Self::open_now(url) {
            Err(StoreError::Full { .. }) if run_lock::free_dead_rooms(url.path()) => Self::open_now(url),
            opened => opened,
        }
    }

    fn open_now(url: &StoreUrl) -> Result<Self, StoreError> {
        let path = url.path();
        // SQLite would throw the log away.
        url.check_orphans()?;
        let not_opened = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::Full { path: path.to_owned(), why: why.to_string() }
            }
            _ => StoreError::Open { path: path.to_owned(), why: why.to_string() },
        };
        state_folder::prepare(path).map_err(not_opened)?;
        // SQLite would open the file read-only and leave files beside it that no process may write later.
        if !state_folder::may_write(path) {
            return Err(StoreError::ReadOnly { path: path.to_owned() });
        }
        // Without the guard, SQLite refuses one of two processes that create the same file at once.
        let guard = run_lock::guard(path).map_err(not_opened)?;
        let writing = schema::open_writer(path)?;
        drop(guard);
        let file = FilePlace::of(path);
        let patience = Patience::default();
        Self::with_writer(url, (Place::File(Access::Write), patience), writing, Some(file)).map_err(not_opened)
    }

    /// Connects with a server, and makes or migrates the tables.
    fn on_server(url: &StoreUrl) -> Result<Self, StoreError> {
        let path = url.path();
        let Some((address, durability)) = url.server() else { return Err(StoreError::Closed) };
        let attempt = Attempt { path, doing: "connecting with it" };
        let patience = Patience::default();
        let server = Server::new(address, patience.clone()).map_err(|error| attempt.error(error))?;
        let session = Session::connect(&server).map_err(|error| attempt.error(error))?;
        server_schema::prepare(&session, address.schema(), durability).map_err(|unusable| match unusable {
            Unusable::Sql(error) => Attempt { path, doing: "making its tables" }.error(error),
            Unusable::Newer(found) => StoreError::Newer { path: path.to_owned(), found, known: server_schema::VERSION },
            Unusable::Written => StoreError::Migration { path: path.to_owned() },
            other => StoreError::Unsupported(format!("cannot use the store {url}: {other}")),
        })?;
        let not_opened = |why: std::io::Error| StoreError::Open { path: path.to_owned(), why: why.to_string() };
        let place = (Place::Server(server), patience);
        Self::with_writer(url, place, Connection(Backend::Postgres(session)), None).map_err(not_opened)
    }

    fn with_writer(
        url: &StoreUrl,
        (place, patience): (Place, Patience),
        writing: Connection,
        file: Option<FilePlace>,
    ) -> std::io::Result<Self> {
        let writing = Arc::new(Mutex::new(writing));
        let known_keys = Arc::<KnownKeys>::default();
        let deferred = Arc::<Mutex<DeferredBatches>>::default();
        let encoded_pool = Arc::<EncodedPool>::default();
        let writer = Writer {
            path: url.path().to_owned(),
            place: file,
            ids: Vec::new(),
            deferred: Arc::clone(&deferred),
            encoded_pool: Arc::clone(&encoded_pool),
            known_keys: Arc::clone(&known_keys),
            connection: Arc::clone(&writing),
            indexing: IndexWriter::default(),
            sections: SectionWriter::new()?,
            patience: patience.clone(),
        };
        let (inbox, batches) = mpsc::channel(WAITING_APPENDS);
        let thread = std::thread::Builder::new().name("karat-ledger".to_owned()).spawn(move || writer.run(batches))?;
        Ok(Self(Arc::new(Inner {
            url: url.clone(),
            readers: Mutex::default(),
            cache: SectionCache::default(),
            known_keys,
            writing,
            inbox: Some(inbox),
            deferred,
            encoded_pool,
            thread: Some(thread),
            place,
            patience,
        })))
    }

    /// Opens a store to read it. A store on read-only files, folders or disks, or on a full disk, can be read; writing to
    /// it then fails.
    ///
    /// # Errors
    /// Those of [`Store::open`]; for a read-only store, only if it cannot be read either.
    pub fn open_to_read(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::to_read_on(url, file_system::network_kind)
    }

    pub(crate) fn to_read_on(
        url: &StoreUrl,
        kind: impl Fn(&Path) -> std::io::Result<Option<&'static str>>,
    ) -> Result<Self, StoreError> {
        match Self::open_on(url, kind) {
            Err(StoreError::NetworkFileSystem { .. }) if url.exists() && !schema::is_open(url.path()) => {
                Self::as_it_is(url, false)
            }
            Err(
                error @ (StoreError::ReadOnly { .. }
                | StoreError::Migration { .. }
                | StoreError::Open { .. }
                | StoreError::Full { .. }
                | StoreError::Refused { .. }),
            ) if url.exists() => {
                Self::as_it_is(url, matches!(error, StoreError::Full { .. } | StoreError::Refused { .. }))
                    .map_err(|why| if let StoreError::Older { .. } = why { why } else { error })
            }
            opened => opened,
        }
    }

    /// Opens a store to copy from it. Nothing is created, changed or migrated.
    ///
    /// # Errors
    /// There is none, or it cannot be read; [`StoreError::Unwritten`] if nothing was written to it;
    /// [`StoreError::NetworkFileSystem`] if a process may have it open there.
    pub fn open_source(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::source_on(url, file_system::network_kind)
    }

    pub(crate) fn source_on(
        url: &StoreUrl,
        kind: impl Fn(&Path) -> std::io::Result<Option<&'static str>>,
    ) -> Result<Self, StoreError> {
        if url.file().is_none() {
            return Err(StoreError::Unsupported(format!(
                "cannot merge the store {url}: `postgres://` stores cannot do that yet. Copy it into a file by `karat store copy`"
            )));
        }
        url.check_orphans()?;
        let is_open = schema::is_open(url.path());
        if is_open {
            file_system::check(url, kind)?;
        }
        Self::as_it_is(url, false).map_err(|error| match schema::is_unwritten(url.path(), is_open) {
            true => StoreError::Unwritten { path: url.path().to_owned() },
            false => error,
        })
    }

    /// Opens a store without a writer. On a full disk, SQLite cannot create the files that its processes share.
    pub(crate) fn as_it_is(url: &StoreUrl, is_full: bool) -> Result<Self, StoreError> {
        // A reader beside writers creates files that it shares with them. They would keep the permissions that the
        // store has now.
        let ways =
            if schema::is_open(url.path()) { [Access::Read, Access::Frozen] } else { [Access::Frozen, Access::Read] };
        let opened = |access| {
            let reader = schema::open_reader(url.path(), access)?;
            schema::readable(&reader, url.path())?;
            Ok((schema::open_queries(url.path(), access)?, access))
        };
        let alone = |error| if is_full { opened(Access::Alone) } else { Err(error) };
        let (reader, access) = opened(ways[0]).or_else(|_| opened(ways[1])).or_else(alone)?;
        Ok(Self(Arc::new(Inner {
            url: url.clone(),
            readers: Mutex::default(),
            cache: SectionCache::default(),
            known_keys: Arc::default(),
            writing: Arc::new(Mutex::new(reader)),
            inbox: None,
            deferred: Arc::default(),
            encoded_pool: Arc::default(),
            thread: None,
            place: Place::File(access),
            patience: Patience::default(),
        })))
    }

    /// Returns `true` if the store was opened for writing.
    pub fn is_writable(&self) -> bool {
        match self.0.place {
            Place::File(access) => access == Access::Write,
            Place::Server(_) => true,
        }
    }

    /// Returns `true` if the store is on a server.
    pub(crate) fn is_on_server(&self) -> bool {
        self.0.url.file().is_none()
    }

    /// The server.
    pub(crate) fn server(&self) -> Option<&Arc<Server>> {
        match &self.0.place {
            Place::File(_) => None,
            Place::Server(server) => Some(server),
        }
    }

    /// The patience with a database that does not answer.
    pub fn patience(&self) -> &Patience {
        &self.0.patience
    }

    /// Returns the address of the store.
    pub fn url(&self) -> &StoreUrl {
        &self.0.url
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.url.path()
    }

    /// Returns whether there is a table. A store of an older version that is open for reading lacks the later ones.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.read("the tables", |connection| Ok(connection.has_table(name)?)).unwrap_or(false)
    }

    /// Reads with a connection from the pool. `what` names the subject in an error.
    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, ReadFailure>,
    ) -> Result<T, StoreError> {
        let kept = lock(&self.0.readers).pop();
        let reader = kept.map_or_else(|| self.open_reader(), Ok)?;
        let outcome = query(&reader).map_err(|failure| failure.of(self.path(), what));
        let mut readers = lock(&self.0.readers);
        if readers.len() < KEPT_READERS {
            readers.push(reader);
        }
        outcome
    }

    fn open_reader(&self) -> Result<Connection, StoreError> {
        match &self.0.place {
            Place::File(access) => schema::open_queries(self.path(), *access),
            Place::Server(server) => {
                let attempt = Attempt { path: self.path(), doing: "connecting with it" };
                let session = Session::connect(server).map_err(|error| attempt.error(error))?;
                Ok(Connection(Backend::Postgres(session)))
            }
        }
    }

    pub(crate) fn writing(&self) -> MutexGuard<'_, Connection> {
        lock(&self.0.writing)
    }
}

impl Inner {
    /// Keeps an append for later. Returns `true` if enough have accumulated to send them.
    pub fn defer(&self, batch: Batch) -> bool {
        lock(&self.deferred).add(batch)
    }

    /// Sends all deferred appends to the writer, followed by `batch`.
    pub async fn send(&self, batch: Option<Batch>) -> Result<(), StoreError> {
        let inbox = self.inbox.as_ref().ok_or(StoreError::Closed)?;
        let place = inbox.reserve().await.map_err(|_| StoreError::Closed)?;
        // Sent under the lock, so that no append overtakes an earlier one.
        let mut deferred = lock(&self.deferred);
        let batches: Vec<Batch> = deferred.take().into_iter().chain(batch).collect();
        if !batches.is_empty() {
            place.send(batches);
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.inbox = None;
        lock(&self.readers).clear();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic, and there is no caller to report a panic to.
            let _ = thread.join();
        }
    }
}
