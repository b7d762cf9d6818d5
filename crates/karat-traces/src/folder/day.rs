//! One file while rows are added to it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Deserialize;

use super::whole_lines;
use crate::row::Row;
use crate::sample::{Share, share_of};

/// A file of a day, and what is known of its rows.
pub(super) struct Day {
    file: File,
    /// Place in [0, 1) of the trace of each row, by a hash of the row's id.
    places: HashMap<u64, f64>,
    share: Share,
    /// Bytes that it has on the disk.
    length: u64,
    /// Rows that are not there yet.
    text: Vec<u8>,
}

/// The fate of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    New,
    Replaced,
    SampledOut,
}

/// The parts of a row that are read when a file is opened.
#[derive(Deserialize)]
struct Head {
    id: String,
    trace_id: String,
    p: f64,
}

impl Day {
    /// Opens or makes a file, and reads what is there. A line that was never written to its end is cut off: nobody was
    /// told that it is stored.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = private_file_to_append(path)?;
        let mut day = Self { file, places: HashMap::new(), share: Share::ALL, length: 0, text: Vec::new() };
        for line in whole_lines(path)? {
            let line = line?;
            day.length += line.len() as u64 + 1;
            let Ok(head) = serde_json::from_str::<Head>(&line) else { continue };
            day.places.insert(id_hash_of(&head.id), share_of(&head.trace_id));
            if let Some(share) = Share::new(head.p).filter(|share| *share < day.share) {
                day.share = share;
            }
        }
        if day.file.metadata()?.len() > day.length {
            day.file.set_len(day.length)?;
        }
        let share = day.share;
        day.places.retain(|_, place| *place < share.probability());
        Ok(day)
    }

    /// Adds a row, unless the share leaves it out. The row is in the file after [`Self::flush`].
    ///
    /// # Errors
    /// The row is not JSON, which cannot be.
    pub fn add(&mut self, row: &mut Row, share: Share, per_day: Option<u64>) -> io::Result<Fate> {
        if share < self.share {
            self.share = share;
        }
        if !self.share.keeps(&row.trace_id) {
            return Ok(Fate::SampledOut);
        }
        let is_known = self.places.insert(id_hash_of(&row.id), share_of(&row.trace_id)).is_some();
        row.p = self.share.probability();
        serde_json::to_writer(&mut self.text, row)?;
        self.text.push(b'\n');
        if !is_known && per_day.is_some_and(|most| self.places.len() as u64 > most) {
            self.share = self.share.half();
            let share = self.share;
            self.places.retain(|_, place| *place < share.probability());
        }
        Ok(if is_known { Fate::Replaced } else { Fate::New })
    }

    /// Writes what was added to the disk. After an error nothing of it is there.
    ///
    /// # Errors
    /// The disk is full or broken.
    pub fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(&text).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length += text.len() as u64,
            // What the disk refused half of must not be the beginning of another row.
            Err(_) => self.file.set_len(self.length)?,
        }
        written
    }

    /// Returns whether the file at a path is still this one, as it was left: another process may have added to it, or
    /// removed rows.
    pub fn is_current(&self, path: &Path) -> bool {
        let (Ok(there), Ok(here)) = (std::fs::metadata(path), self.file.metadata()) else { return false };
        #[cfg(unix)]
        let is_same = {
            use std::os::unix::fs::MetadataExt;
            (there.dev(), there.ino()) == (here.dev(), here.ino())
        };
        #[cfg(not(unix))]
        let is_same = there.len() == here.len();
        is_same && there.len() == self.length
    }
}

/// A hash of the id of the row in a line; of the line, if it is not a row.
pub(super) fn id_hash(line: &str) -> u64 {
    match serde_json::from_str::<Head>(line) {
        Ok(head) => id_hash_of(&head.id),
        Err(_) => id_hash_of(line),
    }
}

fn id_hash_of(id: &str) -> u64 {
    let hash = blake3::hash(id.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Makes a file that its owner alone can read.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    open(options, path)
}

fn private_file_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).read(true);
    open(options, path)
}

fn open(mut options: OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
