//! Checks the store: every stored byte is read, and rows are counted against the totals of their runs.

use std::path::Path;

use karat_report::count_noun;
use karat_store::{RunCheck, Store, StoreCheck, StoreUrl};

use crate::AppError;
use crate::error::StoredError;
use crate::stored::Stored;

/// The result of a check, for people.
#[derive(Debug, Clone)]
pub struct CheckedStore {
    /// The store, and what was found.
    path: String,
    check: StoreCheck,
}

impl Stored<'_> {
    /// Checks the store. Changes nothing.
    ///
    /// # Errors
    /// There is no store, or its list of runs cannot be read.
    pub fn check(&self) -> Result<CheckedStore, AppError> {
        let check = self.app.existing_store()?.check()?;
        Ok(CheckedStore { path: self.app.store.path().display().to_string(), check })
    }
}

impl Stored<'_> {
    /// Copies a store into an empty one, and returns the number of rows.
    ///
    /// # Errors
    /// The first does not exist or cannot be read; the other has content or cannot be written.
    pub fn copy(&self, from: &StoreUrl, to: &StoreUrl) -> Result<u64, AppError> {
        if !from.exists() {
            return Err(StoredError::NoStore { path: from.path().display().to_string() }.into());
        }
        Ok(Store::open_to_read(from)?.copy_to(&Store::open(to)?)?)
    }

    /// Copies the store into a new file. Runs go on meanwhile.
    ///
    /// # Errors
    /// The file exists or cannot be written, or there is no store.
    pub fn back_up(&self, to: &Path) -> Result<(), AppError> {
        Ok(self.app.existing_store()?.back_up(to)?)
    }

    /// Makes the store from a copy.
    ///
    /// # Errors
    /// There is a store already, or the copy cannot be used.
    pub fn restore(&self, from: &Path) -> Result<(), AppError> {
        Ok(Store::restore(&self.app.store, from)?)
    }
}

impl CheckedStore {
    /// Returns whether no damage was found.
    pub fn is_sound(&self) -> bool {
        self.check.is_sound()
    }

    /// The damage, each with what to do about it, and a summary.
    pub fn text(&self) -> String {
        let Self { path, check } = self;
        let mut lines: Vec<String> = Vec::new();
        if !check.file.is_empty() {
            lines.push(format!("{path}: the file is damaged: {}", check.file.join("; ")));
            lines.push("  restore a copy of it, or start a new store with --store sqlite:PATH".to_owned());
        }
        lines.extend(check.rows.iter().map(|row| format!("{path}: {row}")));
        for run in &check.runs {
            lines.extend(damage_lines(run));
        }
        let sum = |of: fn(&RunCheck) -> u64| check.runs.iter().map(of).sum();
        let what = format!(
            "{}, {}, {}",
            count_noun(check.runs.len() as u64, "run"),
            count_noun(sum(|run| run.cells), "cell"),
            count_noun(sum(|run| run.judgments), "judgment")
        );
        let damaged = check.runs.iter().filter(|run| !(run.mendable.is_empty() && run.lost.is_empty())).count();
        let rows = match check.rows.len() as u64 {
            0 => String::new(),
            rows => format!("{} and ", count_noun(rows, "damaged row")),
        };
        lines.push(match self.is_sound() {
            true => format!("the store {path} is sound: {what}"),
            false => format!("the store {path} has {rows}damage in {} of {what}", count_noun(damaged as u64, "run")),
        });
        lines.join("\n")
    }

    /// The result as JSON.
    pub fn json(&self) -> serde_json::Value {
        let runs = self.check.runs.iter().map(|run| {
            serde_json::json!({
                "run": run.run, "cells": run.cells, "judgments": run.judgments,
                "mendable": run.mendable, "lost": run.lost,
            })
        });
        serde_json::json!({
            "store": self.path, "sound": self.is_sound(), "file": self.check.file,
            "rows": self.check.rows, "runs": runs.collect::<Vec<_>>(),
        })
    }
}

fn damage_lines(check: &RunCheck) -> Vec<String> {
    let RunCheck { run, mendable, lost, .. } = check;
    let mut lines: Vec<String> = mendable.iter().chain(lost).map(|damage| format!("run {run}: {damage}")).collect();
    if !mendable.is_empty() {
        lines.push(format!("  `karat resume {run}` makes them again; finished cells are kept"));
    }
    if !lost.is_empty() {
        lines.push("  what cannot be read is lost: run the suite again, which reuses what can be".to_owned());
    }
    lines
}
