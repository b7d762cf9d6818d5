//! Prices that a user adds to the known models. They are kept in one file of Karat's own folder.
//!
//! A model's price comes from the first of these that has one: the suite's entry, its registry files, the added prices, the
//! built-in registry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Date;
use karat_providers::{ExternalCall, ExternalTexts, Providers, Settings};
use karat_suite::{Plan, PriceFile, PriceOrigin, Registry};
use karat_text::host::{host_of, is_this_machine};
use karat_types::{EnvTemplate, EnvTemplatePart, HttpRequest, Price, Pricing, Request, SilentObserver};
use serde_json::{Map, Value};

use crate::AppError;
use crate::error::{FileError, Lines, RunError, SuiteError};
use crate::imports::Imports;
use crate::project::atomic_file;
use crate::project::catalog::{self, ADDED_MODELS, read_optional};

/// Days after which a price is old enough to say so.
const OLD_DAYS: i32 = 180;

/// Time limit for a file at an address.
const FETCH_TIME: Duration = Duration::from_secs(30);

/// Maximum size of a file at an address, in bytes.
const LARGEST_FILE: usize = 32 * 1024 * 1024;

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

/// A request to add a price file.
#[derive(Debug, Clone, Default)]
pub struct PriceRequest {
    /// The file, or an address with `https://` at which it is.
    pub from: String,
    /// Where and when its prices were read, if it does not say so.
    pub origin: PriceOrigin,
    /// It may change models that are known.
    pub replaces: bool,
    /// Nothing is written.
    pub is_trial: bool,
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
    /// Digest of what an address gave, as `blake3:HEX`; none for a file.
    pub digest: Option<String>,
    /// Fields with a cost of a kind that no price here has, with the number of models that have them.
    pub unapplied: BTreeMap<String, u64>,
}

impl Imports<'_> {
    /// Adds the models of a price file to the known ones.
    ///
    /// # Errors
    /// The file cannot be read or has problems, or a model that is known and may not be changed; the result cannot be written.
    pub fn add_prices(&self, request: &PriceRequest) -> Result<AddedPrices, AppError> {
        let (name, mut origin) = (request.from.as_str(), request.origin.clone());
        let is_address = name.contains("://");
        let text = match is_address {
            true => self.fetch_prices(name)?,
            false => fs::read_to_string(name).map_err(|error| FileError::reading(Path::new(name), error))?,
        };
        let digest = is_address.then(|| format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex()));
        origin.read_on = is_address.then(|| self.app.datasets().day());
        let (catalog, known) = (catalog::compose(), self.app.project().known_models()?);
        let read =
            PriceFile::read((without_query(name), &text), &origin, &catalog, &known).map_err(AppError::Diagnostics)?;
        let ids: Vec<&str> = read.entries.iter().filter_map(|entry| entry.get("id")?.as_str()).collect();
        let listed = known.clone().with_providers(&catalog);
        if let (false, Some(id)) = (request.replaces, ids.iter().find(|id| listed.listed_model(id).is_some())) {
            let (id, file) = ((*id).to_owned(), without_query(name).to_owned());
            return Err(SuiteError::KnownModel { id, file }.into());
        }
        let target = self.app.home.join(ADDED_MODELS);
        let mut entries = read_optional(&target)?.map_or_else(Vec::new, |text| entries_of(&text));
        read.entries.iter().for_each(|entry| put(&mut entries, entry));
        let written = serde_json::to_string_pretty(&PriceFile::document(&entries)).unwrap_or_default() + "\n";
        let shown = target.to_string_lossy();
        let after = Registry::builtin().with_entries((&shown, &written), &catalog).map_err(AppError::Diagnostics)?;
        if !request.is_trial {
            atomic_file::write(&target, written.as_bytes()).map_err(|error| FileError::writing(&target, error))?;
        }
        let changes = ids.iter().filter_map(|id| {
            let (before, after) = (listed.listed_model(id).map(|it| it.price.clone()), after.get(id)?.price.clone());
            (before.as_ref() != Some(&after)).then(|| PriceChange { id: (*id).to_owned(), before, after })
        });
        let changes: Vec<PriceChange> = changes.collect();
        let unchanged = ids.len() - changes.len();
        Ok(AddedPrices { file: target, changes, unchanged, skipped: read.skipped, digest, unapplied: read.unapplied })
    }

    /// The text at an address. No key is sent, and no redirect followed.
    fn fetch_prices(&self, address: &str) -> Result<String, AppError> {
        let is_local = address.starts_with("http://") && is_this_machine(host_of(address));
        let is_safe = address.starts_with("https://") || is_local;
        let authority = address.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
        if !is_safe || authority.is_none_or(|authority| authority.contains('@')) {
            let shown = without_query(address);
            let address = shown.split_once('@').map_or(shown, |(_, host)| host);
            return Err(SuiteError::PriceAddress { address: address.to_owned() }.into());
        }
        let url = EnvTemplate(vec![EnvTemplatePart::Text(address.to_owned())]);
        let request = HttpRequest { method: "GET".to_owned(), url, headers: Vec::new(), body: Value::Null };
        let settings = Settings { max_response: LARGEST_FILE, ..self.app.call_settings() };
        let outside = ExternalTexts { http: true, ..ExternalTexts::default() };
        let providers = Providers::connect_all(&[], &outside, settings)
            .map_err(|errors| RunError::NotConnected { errors: Lines(errors) })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| RunError::Runtime { source })?;
        let request = Request::Http(request);
        let call =
            ExternalCall { who: "the server", request: &request, timeout: FETCH_TIME, retries: 0, jitter_seed: 0 };
        let exchange = runtime.block_on(providers.call_external(call, &SilentObserver));
        let text = exchange.outcome.map(|reply| reply.text).map_err(|error| error.message);
        text.map_err(|problem| SuiteError::PricesNotFetched { problem }.into())
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

/// An address without what may be a secret in it; a path stays as it is.
fn without_query(name: &str) -> &str {
    match name.contains("://") {
        true => name.split(['?', '#']).next().unwrap_or(name),
        false => name,
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
