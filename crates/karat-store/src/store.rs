//! A store: one writing thread, a pool of reading connections.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::cache::SectionCache;
use crate::encode::Used;
use crate::error::ReadFailure;
use crate::indexing::Indexing;
use crate::lock::lock;
use crate::reuse::KnownKeys;
use crate::schema::Access;
use crate::section::SectionWriter;
use crate::writer::{Batch, PutOff, Writer};
use crate::{StoreError, StoreUrl, claim, folder, schema};

/// Appends that may wait for the writer; with more, [`crate::Ledger::append`] waits to hand over.
const WAITING_APPENDS: usize = 512;

/// Reading connections that are kept open for the next read.
const KEPT_READERS: usize = 8;

/// Everything durable: runs, their rows, and the outputs and judgments that later runs reuse.
///
/// Cheap to clone; clones are the same store. Reads are synchronous and may run beside each other and beside writing.
/// When the last clone and the last [`crate::Ledger`] are gone, what was handed over is written and the file is closed.
#[derive(Debug, Clone)]
pub struct Store(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    url: StoreUrl,
    readers: Mutex<Vec<Connection>>,
    pub cache: SectionCache,
    pub known_keys: Arc<KnownKeys>,
    /// The writing connection: the writer's thread locks it for a commit, `begin` and `reopen` for a statement.
    writing: Arc<Mutex<Connection>>,
    inbox: Option<mpsc::Sender<Vec<Batch>>>,
    put_off: Arc<Mutex<PutOff>>,
    pub used: Arc<Used>,
    thread: Option<JoinHandle<()>>,
    access: Access,
}

impl Store {
    /// Opens a store, and makes it where there is none. Takes the same time however much it holds.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::ReadOnly`], [`StoreError::Foreign`], [`StoreError::Newer`],
    /// [`StoreError::Busy`] while another process migrates it.
    pub fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        let path = url.path();
        let not_opened = |why: std::io::Error| StoreError::Open { path: path.to_owned(), why: why.to_string() };
        folder::prepare(path).map_err(not_opened)?;
        // SQLite would open it to read, and leave files beside it that nobody may write later on.
        if !folder::may_write(path) {
            return Err(StoreError::ReadOnly { path: path.to_owned() });
        }
        // Of two that make a new file at once, SQLite sends one away instead of letting it wait.
        let guard = claim::guard(path).map_err(not_opened)?;
        let writing = Arc::new(Mutex::new(schema::open_writer(path)?));
        drop(guard);
        let known_keys = Arc::<KnownKeys>::default();
        let put_off = Arc::<Mutex<PutOff>>::default();
        let used = Arc::<Used>::default();
        let writer = Writer {
            path: path.to_owned(),
            put_off: Arc::clone(&put_off),
            used: Arc::clone(&used),
            known_keys: Arc::clone(&known_keys),
            connection: Arc::clone(&writing),
            indexing: Indexing::default(),
            sections: SectionWriter::new().map_err(not_opened)?,
        };
        let (inbox, batches) = mpsc::channel(WAITING_APPENDS);
        let thread = std::thread::Builder::new()
            .name("karat-ledger".to_owned())
            .spawn(move || writer.run(batches))
            .map_err(not_opened)?;
        Ok(Self(Arc::new(Inner {
            url: url.clone(),
            readers: Mutex::default(),
            cache: SectionCache::default(),
            known_keys,
            writing,
            inbox: Some(inbox),
            put_off,
            used,
            thread: Some(thread),
            access: Access::Write,
        })))
    }

    /// Opens a store to read it. One whose file, folder or disk may not be written is read as it is; what writes to it then
    /// fails with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// Those of [`Store::open`]; of a store that may not be written, when it cannot be read either.
    pub fn open_to_read(url: &StoreUrl) -> Result<Self, StoreError> {
        match Self::open(url) {
            Err(error @ (StoreError::ReadOnly { .. } | StoreError::Open { .. })) if url.exists() => {
                Self::as_it_is(url).map_err(|why| if let StoreError::Older { .. } = why { why } else { error })
            }
            opened => opened,
        }
    }

    /// A store without a writer.
    pub(crate) fn as_it_is(url: &StoreUrl) -> Result<Self, StoreError> {
        // A reader beside writers makes files that it shares with them, which would keep the rights that the store has now.
        let ways =
            if schema::is_open(url.path()) { [Access::Read, Access::Frozen] } else { [Access::Frozen, Access::Read] };
        let opened = |access| {
            let reader = schema::open_reader(url.path(), access)?;
            schema::readable(&reader, url.path()).map(|()| (reader, access))
        };
        let (reader, access) = opened(ways[0]).or_else(|_| opened(ways[1]))?;
        Ok(Self(Arc::new(Inner {
            url: url.clone(),
            readers: Mutex::default(),
            cache: SectionCache::default(),
            known_keys: Arc::default(),
            writing: Arc::new(Mutex::new(reader)),
            inbox: None,
            put_off: Arc::default(),
            used: Arc::default(),
            thread: None,
            access,
        })))
    }

    /// Whether it was opened to be written, too.
    pub fn is_writable(&self) -> bool {
        self.0.access == Access::Write
    }

    /// Where it lies.
    pub fn url(&self) -> &StoreUrl {
        &self.0.url
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.url.path()
    }

    /// Reads with a connection of the pool; an error names `what` was read.
    pub(crate) fn read<T>(
        &self,
        what: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, ReadFailure>,
    ) -> Result<T, StoreError> {
        let kept = lock(&self.0.readers).pop();
        let reader = kept.map_or_else(|| schema::open_reader(self.path(), self.0.access), Ok)?;
        let outcome = query(&reader).map_err(|failure| failure.of(self.path(), what));
        let mut readers = lock(&self.0.readers);
        if readers.len() < KEPT_READERS {
            readers.push(reader);
        }
        outcome
    }

    pub(crate) fn writing(&self) -> MutexGuard<'_, Connection> {
        lock(&self.0.writing)
    }
}

impl Inner {
    /// Keeps an append for later. Says whether so much has come together that it should be handed over.
    pub fn put_off(&self, batch: Batch) -> bool {
        lock(&self.put_off).add(batch)
    }

    /// Hands over what was put off, and an append behind it.
    pub async fn hand_over(&self, batch: Option<Batch>) -> Result<(), StoreError> {
        let inbox = self.inbox.as_ref().ok_or(StoreError::Closed)?;
        let place = inbox.reserve().await.map_err(|_| StoreError::Closed)?;
        // Sent under the lock, so that nothing overtakes what was appended before it.
        let mut put_off = lock(&self.put_off);
        let batches: Vec<Batch> = put_off.take().into_iter().chain(batch).collect();
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
            // The thread does not panic, and nobody is left to be told if it did.
            let _ = thread.join();
        }
    }
}
