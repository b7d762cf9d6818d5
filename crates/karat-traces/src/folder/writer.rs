//! Adds rows to the folder, on a thread that many requests share: what waits is written and synced together, and only then
//! are the requests answered.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// Days of one request: each is a file that is opened, written and synced.
const MOST_DAYS: usize = 400;

/// Datasets, at most: their names come from outside.
const MOST_DATASETS: usize = 1_000;

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
    /// The rows of a request are of too many days.
    #[error(
        "the rows are of {0} days, and a request may have those of {MOST_DAYS}: send them in several requests, by time"
    )]
    TooManyDays(usize),
    /// There are too many datasets for another one.
    #[error("there are {MOST_DATASETS} datasets of traces: use one of them, or remove some of their folders")]
    TooManyDatasets,
    /// The disk is full or broken.
    #[error("the traces cannot be written: {0}")]
    Disk(Arc<io::Error>),
    /// The writer has ended.
    #[error("the server is stopping")]
    Stopped,
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Disk(Arc::new(error))
    }
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
    /// Too many requests wait, the rows are of too many days, or the disk refuses.
    pub fn add(&self, dataset: &str, rule: ShareRule, rows: Vec<Row>) -> Result<AddedRows, WriteError> {
        let days = rows.iter().map(day_of).collect::<BTreeSet<_>>().len();
        if days > MOST_DAYS {
            return Err(WriteError::TooManyDays(days));
        }
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
                    Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
                };
                for (request, answer) in requests.into_iter().zip(answers) {
                    // A sender that has gone needs no answer.
                    let _ = request.answer.send(answer);
                }
            }
        }
    }

    /// Adds the rows of several requests to one dataset, and syncs each file once.
    fn add(&mut self, dataset: &str, requests: &mut [Request]) -> Result<Vec<AddedRows>, WriteError> {
        let folder = self.folder.path().join(dataset);
        if !folder.exists() && super::entries(self.folder.path())?.len() >= MOST_DATASETS {
            return Err(WriteError::TooManyDatasets);
        }
        let _lock = lock(&folder)?;
        self.days
            .retain(|(name, day), file| name != dataset || file.is_current(&folder.join(format!("{day}{EXTENSION}"))));
        // Day by day, so that few files are open at a time.
        let mut rows: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (at, request) in requests.iter().enumerate() {
            for (row_at, row) in request.rows.iter().enumerate() {
                rows.entry(day_of(row).to_owned()).or_default().push((at, row_at));
            }
        }
        let mut added = vec![AddedRows::default(); requests.len()];
        let mut has_new = false;
        for (day, places) in rows {
            // Everything in them is on the disk.
            if self.days.len() >= OPEN_DAYS {
                self.days.clear();
            }
            let path = folder.join(format!("{day}{EXTENSION}"));
            let file = match self.days.entry((dataset.to_owned(), day)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    has_new |= !path.exists();
                    place.insert(Day::open(&path)?)
                }
            };
            for (at, row_at) in places {
                let (Some(request), Some(counts)) = (requests.get_mut(at), added.get_mut(at)) else { continue };
                let rule = request.rule;
                let Some(row) = request.rows.get_mut(row_at) else { continue };
                match file.add(row, rule.share, rule.per_day)? {
                    Fate::New => counts.new += 1,
                    Fate::Replaced => counts.replaced += 1,
                    Fate::SampledOut => counts.sampled_out += 1,
                }
            }
            file.flush()?;
        }
        if has_new {
            sync_folder(&folder)?;
        }
        Ok(added)
    }
}

/// The day of a row. RFC 3339: the day comes first.
fn day_of(row: &Row) -> &str {
    row.time.get(..10).unwrap_or_default()
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
