//! Adds rows to the folder, on a thread that many requests share: what waits is written and synced together, and only then
//! are the requests answered.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;

use super::day::{Day, Fate};
use super::{EXTENSION, TraceFolder};
use crate::row::Row;
use crate::sample::Share;

/// Requests that wait, at most. More are told to come again.
const WAITING: usize = 64;

/// Files that are held open at one time: more are days of late rows, and are opened again.
const OPEN_DAYS: usize = 16;

/// The rows of a dataset that are kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareRule {
    /// The share of its traces.
    pub share: Share,
    /// Rows of a day, about: the share is halved whenever there are more.
    pub per_day: Option<u64>,
}

/// The fate of the rows of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddedRows {
    /// Rows that were not there yet.
    pub new: u64,
    /// Rows that replaced one with the same id.
    pub replaced: u64,
    /// Rows that the share leaves out.
    pub sampled_out: u64,
}

/// Rows that were not added.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// More arrives than is written.
    #[error("more traces arrive than can be written")]
    Busy,
    /// The disk is full or broken.
    #[error("the traces cannot be written: {0}")]
    Disk(Arc<io::Error>),
    /// The writer has ended.
    #[error("the server is stopping")]
    Stopped,
}

/// Adds rows to the folder. Clones share the thread, which ends with the last of them.
#[derive(Clone)]
pub struct TraceWriter {
    requests: SyncSender<Request>,
}

struct Request {
    dataset: String,
    rule: ShareRule,
    rows: Vec<Row>,
    answer: Sender<Result<AddedRows, WriteError>>,
}

impl TraceWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn start(folder: TraceFolder) -> io::Result<Self> {
        let (requests, queue) = sync_channel(WAITING);
        thread::Builder::new().name("traces".to_owned()).spawn(move || Writer::new(folder).run(&queue))?;
        Ok(Self { requests })
    }

    /// Adds rows to a dataset. When this returns they are on the disk.
    ///
    /// # Errors
    /// Too many requests wait, or the disk refuses.
    pub fn add(&self, dataset: &str, rule: ShareRule, rows: Vec<Row>) -> Result<AddedRows, WriteError> {
        let (answer, answered) = channel();
        let request = Request { dataset: dataset.to_owned(), rule, rows, answer };
        self.requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => WriteError::Busy,
            TrySendError::Disconnected(_) => WriteError::Stopped,
        })?;
        answered.recv().unwrap_or(Err(WriteError::Stopped))
    }
}

struct Writer {
    folder: TraceFolder,
    /// Files by dataset and day.
    days: HashMap<(String, String), Day>,
}

impl Writer {
    fn new(folder: TraceFolder) -> Self {
        Self { folder, days: HashMap::new() }
    }

    fn run(mut self, queue: &Receiver<Request>) {
        while let Ok(first) = queue.recv() {
            let waiting: Vec<_> = std::iter::once(first).chain(queue.try_iter().take(WAITING)).collect();
            let mut datasets: BTreeMap<String, Vec<Request>> = BTreeMap::new();
            for request in waiting {
                datasets.entry(request.dataset.clone()).or_default().push(request);
            }
            for (dataset, mut requests) in datasets {
                let added = self.add(&dataset, &mut requests);
                if added.is_err() {
                    // What the files hold is read anew.
                    self.days.clear();
                }
                let answers: Vec<_> = match added {
                    Ok(added) => added.into_iter().map(Ok).collect(),
                    Err(error) => {
                        let error = WriteError::Disk(Arc::new(error));
                        requests.iter().map(|_| Err(error.clone())).collect()
                    }
                };
                for (request, answer) in requests.into_iter().zip(answers) {
                    // A sender that has gone needs no answer.
                    let _ = request.answer.send(answer);
                }
            }
        }
    }

    /// Adds the rows of several requests to one dataset, and syncs each file once.
    fn add(&mut self, dataset: &str, requests: &mut [Request]) -> io::Result<Vec<AddedRows>> {
        let folder = self.folder.path().join(dataset);
        let _lock = lock(&folder)?;
        self.days
            .retain(|(name, day), file| name != dataset || file.is_current(&folder.join(format!("{day}{EXTENSION}"))));
        if self.days.len() > OPEN_DAYS {
            self.days.clear();
        }
        let mut added = Vec::new();
        for request in requests {
            let mut counts = AddedRows::default();
            for row in &mut request.rows {
                let day = self.day(dataset, &folder, row)?;
                match day.add(row, request.rule.share, request.rule.per_day)? {
                    Fate::New => counts.new += 1,
                    Fate::Replaced => counts.replaced += 1,
                    Fate::SampledOut => counts.sampled_out += 1,
                }
            }
            added.push(counts);
        }
        for ((name, _), day) in &mut self.days {
            if name == dataset {
                day.flush()?;
            }
        }
        Ok(added)
    }

    /// The file of a row's day.
    fn day(&mut self, dataset: &str, folder: &Path, row: &Row) -> io::Result<&mut Day> {
        // RFC 3339: the day comes first.
        let day = row.time.get(..10).unwrap_or_default().to_owned();
        let key = (dataset.to_owned(), day);
        if !self.days.contains_key(&key) {
            let path = folder.join(format!("{}{EXTENSION}", key.1));
            let is_new = !path.exists();
            let opened = Day::open(&path)?;
            if is_new {
                sync_folder(folder)?;
            }
            self.days.insert(key.clone(), opened);
        }
        self.days.get_mut(&key).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Makes the folder of a dataset if there is none, and holds it until the value is dropped: another process may write to
/// it, or remove rows from it.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    if !folder.exists() {
        make_private_folders(folder)?;
    }
    let lock = super::day::private_file(&folder.join(".lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn make_private_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let parent: PathBuf = folder.parent().map(Path::to_owned).unwrap_or_default();
    sync_folder(&parent)
}

/// A new file is there after a crash only if its folder was synced, too.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) && !folder.as_os_str().is_empty() { File::open(folder)?.sync_all() } else { Ok(()) }
}
