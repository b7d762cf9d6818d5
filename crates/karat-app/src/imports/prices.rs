//! Prices that a user adds to the known models. They are kept in one file of Karat's own folder.
//!
//! A model's price comes from the first of these that has one: the suite's entry, its registry files, the added prices, the
//! built-in registry.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use karat_suite::{Plan, PriceFile, PriceOrigin, Registry};
use karat_types::{Price, Pricing};
use serde_json::{Map, Value};

use crate::error::{FileError, SuiteError};
use crate::imports::Imports;
use crate::project::catalog::{self, ADDED_MODELS, read_optional};
use crate::{AppError, AtomicFile};

/// Days after which a price is old enough to say so.
const OLD_DAYS: i32 = 180;

/// A price that is new or has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceChange {
    /// Id of the model.
    pub id: String,
    /// The price until now; none for a model that was not known.
    pub before: Option<Pricing>,
    /// The price from now on.
    pub after: Pricing,
}

/// The result of adding a price file.
#[derive(Debug, Clone)]
pub struct AddedPrices {
    /// The file that holds all added prices.
    pub file: PathBuf,
    /// New and changed prices, in the order of the price file.
    pub changes: Vec<PriceChange>,
    /// Models whose price is as before.
    pub unchanged: usize,
    /// Entries that were left out: not for chats, or of another provider.
    pub skipped: usize,
}

impl Imports<'_> {
    /// Adds the models of a price file to the known ones. With `replaces`, it may change models that are known.
    ///
    /// # Errors
    /// The file has problems, or without `replaces` a model that is known; the result cannot be written.
    pub fn add_prices(&self, file: &Path, origin: &PriceOrigin, replaces: bool) -> Result<AddedPrices, AppError> {
        let text = fs::read_to_string(file).map_err(|error| FileError::reading(file, error))?;
        let (catalog, known) = (catalog::compose(), self.app.project().known_models()?);
        let name = file.to_string_lossy();
        let read = PriceFile::read((&name, &text), origin, &catalog, &known).map_err(AppError::Diagnostics)?;
        let ids: Vec<&str> = read.entries.iter().filter_map(|entry| entry.get("id")?.as_str()).collect();
        let listed = known.clone().with_providers(&catalog);
        if let (false, Some(id)) = (replaces, ids.iter().find(|id| listed.listed_model(id).is_some())) {
            let (id, file) = ((*id).to_owned(), name.into_owned());
            return Err(SuiteError::KnownModel { id, file }.into());
        }
        let target = self.app.home.join(ADDED_MODELS);
        let mut entries = read_optional(&target)?.map_or_else(Vec::new, |text| entries_of(&text));
        read.entries.iter().for_each(|entry| put(&mut entries, entry));
        let written = serde_json::to_string_pretty(&PriceFile::document(&entries)).unwrap_or_default() + "\n";
        let shown = target.to_string_lossy();
        let after = Registry::builtin().with_entries((&shown, &written), &catalog).map_err(AppError::Diagnostics)?;
        let mut out = AtomicFile::create(&target).map_err(|error| FileError::writing(&target, error))?;
        out.write_all(written.as_bytes())
            .and_then(|()| out.finish())
            .map_err(|error| FileError::writing(&target, error))?;
        let changes = ids.iter().filter_map(|id| {
            let (before, after) = (listed.listed_model(id).map(|it| it.price.clone()), after.get(id)?.price.clone());
            (before.as_ref() != Some(&after)).then(|| PriceChange { id: (*id).to_owned(), before, after })
        });
        let changes: Vec<PriceChange> = changes.collect();
        let unchanged = ids.len() - changes.len();
        Ok(AddedPrices { file: target, changes, unchanged, skipped: read.skipped })
    }

    /// Warnings about prices of a plan's models that were read more than 180 days ago.
    pub fn old_prices(&self, plan: &Plan) -> Vec<String> {
        let today = self.app.project().today(&plan.header);
        let models = plan.header.all_models();
        let billed = models.filter(|model| !model.is_scripted());
        let mut warnings = BTreeSet::new();
        for model in billed {
            let Pricing::Known(price) = &model.price else { continue };
            let Some(age) = age(price, today).filter(|age| *age > OLD_DAYS) else { continue };
            let as_of = price.as_of.as_deref().unwrap_or_default();
            let source = price.source.as_ref().map(|source| format!(", {source}")).unwrap_or_default();
            warnings.insert(format!(
                "the price of {} is {age} days old ({as_of}{source}); `karat models update FILE` brings a newer one",
                model.id
            ));
        }
        warnings.into_iter().collect()
    }
}

/// Days since a price was read.
fn age(price: &Price, today: Date) -> Option<i32> {
    let day: Date = price.as_of.as_deref()?.parse().ok()?;
    day.until(today).ok().map(|span| span.get_days())
}

/// The entries of the kept file, which was read without problems before.
fn entries_of(text: &str) -> Vec<Map<String, Value>> {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let models = document.get("models").and_then(Value::as_array).into_iter().flatten();
    models.filter_map(|entry| entry.as_object().cloned()).collect()
}

/// Puts an entry among others. What is known of the same model and is not said again stays.
fn put(entries: &mut Vec<Map<String, Value>>, entry: &Map<String, Value>) {
    match entries.iter_mut().find(|known| known.get("id") == entry.get("id")) {
        None => entries.push(entry.clone()),
        Some(known) => {
            // `like` of the model itself means what is known of it.
            let is_own = |key: &str, value: &Value| key == "like" && Some(value) == entry.get("id");
            let said = entry.iter().filter(|(key, value)| !is_own(key, value));
            known.extend(said.map(|(key, value)| (key.clone(), value.clone())));
        }
    }
}
