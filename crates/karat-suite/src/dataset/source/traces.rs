//! Rows of traces: of each id the last row, and all rows by the smallest share of the days that are read.
//!
//! A day whose share was halved holds rows of both shares. Leaving out what the smaller one would not have kept makes every
//! row as likely as any other, so a mean over them needs no weights.

use std::io::{BufRead, Read};
use std::sync::Arc;

use karat_traces::share_of;
use karat_types::FilePath;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

use super::{MOST_BYTES_OF_ROW, RowStream, json_line, too_long, unreadable};
use crate::dataset::DatasetError;
use crate::files::Files;

/// The files of a dataset's days.
#[derive(Clone)]
pub(crate) struct Traces {
    /// The folder of all traces.
    pub files: Arc<dyn Files>,
    pub paths: Vec<FilePath>,
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Traces").field(&self.paths).finish()
    }
}

/// The parts of a row that decide whether it is read.
#[derive(Deserialize)]
struct Head {
    id: String,
    #[serde(default = "whole")]
    p: f64,
}

fn whole() -> f64 {
    1.0
}

/// The rows to read.
struct Choice {
    /// File and line of the last row of each id.
    last: FxHashMap<[u8; 16], (usize, usize)>,
    share: f64,
}

impl Traces {
    /// The rows, file after file.
    pub fn stream(&self) -> RowStream {
        let choice = match self.choose() {
            Ok(choice) => choice,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let choice = Arc::new(choice);
        let traces = self.clone();
        Box::new((0..self.paths.len()).flat_map(move |file| traces.rows(file, choice.clone())))
    }

    /// The rows of one file.
    fn rows(&self, file: usize, choice: Arc<Choice>) -> RowStream {
        let path: Arc<str> = self.paths[file].path.as_str().into();
        let lines = match self.lines(file) {
            Ok(lines) => lines,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        Box::new(lines.filter_map(move |line| match line {
            Ok((line, text)) => match json_line(&path, line, text.into_bytes()) {
                Ok(row) if !choice.keeps(&row.value, file, line) => None,
                row => Some(row),
            },
            Err(error) => Some(Err(error)),
        }))
    }

    fn choose(&self) -> Result<Choice, DatasetError> {
        let mut choice = Choice { last: FxHashMap::default(), share: 1.0 };
        for file in 0..self.paths.len() {
            for line in self.lines(file)? {
                let (line, text) = line?;
                // A line that is not a row is an error where it is read.
                let Ok(head) = serde_json::from_str::<Head>(&text) else { continue };
                choice.last.insert(key(&head.id), (file, line));
                choice.share = choice.share.min(head.p);
            }
        }
        Ok(choice)
    }

    /// The lines of a file with their numbers from 1. The last one may still be in the writing: then it has no end yet.
    fn lines(
        &self,
        file: usize,
    ) -> Result<impl Iterator<Item = Result<(usize, String), DatasetError>> + use<>, DatasetError> {
        let path = self.paths[file].clone();
        let mut reader = self.files.open_path(&path).map_err(|error| unreadable(&path.path, &error))?;
        let mut number = 0;
        Ok(std::iter::from_fn(move || {
            let mut line = String::new();
            number += 1;
            match reader.by_ref().take(MOST_BYTES_OF_ROW as u64 + 1).read_line(&mut line) {
                Ok(length) if length > MOST_BYTES_OF_ROW => Some(Err(unreadable(&path.path, &too_long(number)))),
                Ok(_) if line.ends_with('\n') => Some(Ok((number, line.trim_end().to_owned()))),
                Ok(_) => None,
                Err(error) => Some(Err(unreadable(&path.path, &error))),
            }
        }))
    }
}

impl Choice {
    fn keeps(&self, row: &Value, file: usize, line: usize) -> bool {
        let (id, trace) = (row["id"].as_str().unwrap_or_default(), row["trace_id"].as_str().unwrap_or_default());
        let is_last = self.last.get(&key(id)).is_none_or(|last| *last == (file, line));
        is_last && (self.share >= 1.0 || share_of(trace) < self.share)
    }
}

fn key(id: &str) -> [u8; 16] {
    let hash = blake3::hash(id.as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}
