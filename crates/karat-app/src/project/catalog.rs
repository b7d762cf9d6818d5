//! The catalog of metrics, providers, analyses and ready rubrics that suites are checked against, gathered from the crates
//! that define them; and the known models with the prices that were added.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use include_dir::{Dir, include_dir};
use karat_providers::{HttpProvider, ProviderError, Providers, Settings};
use karat_suite::{Catalog, Entry, NamedModels, Registry, RubricSummary};
use karat_types::ModelSpec;

use crate::AppError;
use crate::error::{FileError, SuiteError};
use crate::project::Project;

/// The file of added prices, below Karat's own folder.
pub(crate) const ADDED_MODELS: &str = "models/added.json";

/// The set of models that may judge in place of a preset's scripts.
const JUDGES: &str = "judges";

/// The ready rubrics: files of the repository that are compiled in, named by `rubric: { use: NAME }`.
static RUBRICS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/embedded/rubrics");

/// Metrics, providers, analyses and resolvers with their options.
pub(crate) fn compose() -> Catalog {
    let metrics = karat_scoring::scorer::catalog().into_iter();
    let metrics = metrics.map(|(name, metric)| {
        let entry = Entry { options: metric.options, metric: metric.traits, ..Entry::default() };
        (name.to_owned(), entry)
    });
    let providers = karat_providers::catalog().into_iter();
    let http = karat_providers::http_providers();
    let named_models = |name: &str| http.iter().find(|host| host.name == name).map(named_models).unwrap_or_default();
    let providers = providers.map(|(name, options)| {
        (
            name.to_owned(),
            Entry {
                options,
                named_models: named_models(name),
                makes_embeddings: karat_providers::makes_embeddings(name),
                ..Entry::default()
            },
        )
    });
    let analyses = karat_analysis::catalog().into_iter();
    let analyses = analyses.map(|entry| (entry.name.to_owned(), Entry { options: entry.options, ..Entry::default() }));
    Catalog {
        metrics: metrics.collect(),
        providers: providers.collect(),
        analyses: analyses.collect(),
        rubrics: rubric_texts(),
        resolvers: karat_filings::resolvers().map(|(name, entry)| (name.to_owned(), entry)).into(),
        ..Catalog::default()
    }
}

/// The models of a provider that need no entry: all, unless only an entry can say where the server is.
fn named_models(provider: &HttpProvider) -> NamedModels {
    match (provider.base_url, provider.base_url_variable) {
        (None, None) => NamedModels::NeedAddress,
        _ if provider.free => NamedModels::Free,
        _ => NamedModels::Billed,
    }
}

impl Project<'_> {
    /// The built-in models with the prices that were added.
    ///
    /// # Errors
    /// The file of added prices cannot be read.
    pub(crate) fn known_models(&self) -> Result<Registry, AppError> {
        let path = self.app.home.join(ADDED_MODELS);
        match read_optional(&path)? {
            None => Ok(Registry::builtin()),
            Some(text) => {
                let path = path.to_string_lossy();
                Registry::builtin().with_entries((&path, &text), &compose()).map_err(AppError::Diagnostics)
            }
        }
    }
    /// The variable of a model's key, if it is not set.
    pub(crate) fn missing_key(&self, model: &ModelSpec) -> Option<String> {
        let lookup = self.app.lookup.clone();
        let settings = Settings { host: self.app.opened.host(), ..Settings::new(move |name| lookup(name)) };
        let errors = Providers::connect_all(std::slice::from_ref(model), &Default::default(), settings).err();
        errors.unwrap_or_default().into_iter().find_map(|error| match error {
            ProviderError::MissingKey { variable, .. } => Some(variable),
            _ => None,
        })
    }

    /// Ids of the models that may judge real models in place of a preset's scripts: those with a key first.
    pub(crate) fn real_judges(&self) -> Result<Vec<String>, AppError> {
        let known = self.known_models()?;
        let has_key = |id: &&String| known.get(id).is_some_and(|judge| self.missing_key(judge).is_none());
        let (with_key, without): (Vec<&String>, Vec<&String>) =
            known.set(JUDGES).unwrap_or_default().iter().partition(has_key);
        Ok(with_key.into_iter().chain(without).cloned().collect())
    }
}

/// The content of a file; nothing if there is none.
pub(crate) fn read_optional(path: &Path) -> Result<Option<String>, FileError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::of("reading the added prices", path, error)),
    }
}

/// The text of each ready rubric, by its name.
fn rubric_texts() -> BTreeMap<String, &'static str> {
    let texts = RUBRICS.files().filter_map(|file| {
        let name = file.path().to_str()?.strip_suffix(".yaml")?;
        Some((name.to_owned(), file.contents_utf8()?))
    });
    texts.collect()
}

/// The ready rubrics in short, by name.
///
/// # Errors
/// A file that cannot be read, which is a bug.
pub fn ready_rubrics() -> Result<Vec<RubricSummary>, AppError> {
    let read = |(name, text): (String, &str)| {
        RubricSummary::read(&name, text).map_err(|problem| SuiteError::BrokenRubric { rubric: name, problem }.into())
    };
    rubric_texts().into_iter().map(read).collect()
}

/// The file of a ready rubric.
///
/// # Errors
/// There is none of this name.
pub fn ready_rubric(name: &str) -> Result<&'static str, AppError> {
    let texts = rubric_texts();
    if let Some(text) = texts.get(name) {
        return Ok(text);
    }
    let rubric = name.to_owned();
    Err(match karat_suite::nearest(name, texts.keys().map(String::as_str)) {
        Some(near) => SuiteError::NoRubricNear { rubric, near: near.to_owned() }.into(),
        None => SuiteError::NoRubric { rubric }.into(),
    })
}
