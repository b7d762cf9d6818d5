//! `dataset fetch`: makes missing files of columns with the step that their suite declares.

use std::path::Path;
use std::time::Duration;

use karat_providers::{ExternalCall, ExternalTexts, Providers, Settings};
use karat_suite::{Fetch, LoadPurpose, Overrides, Suite, place_beneath};
use karat_types::{EnvTemplate, Request, SilentObserver};

use crate::error::{Lines, RunError};
use crate::project::Project;
use crate::project::atomic_file;
use crate::{AppError, Invocation};

/// Time limit for one file.
const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// Retries over HTTP.
const RETRIES: u32 = 3;

/// The outcome for one missing file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFile {
    /// The file.
    pub path: String,
    /// Id of the row that wants it.
    pub sample: String,
    /// The number of bytes written, or the reason for a failure.
    pub outcome: Result<usize, String>,
}

impl Project<'_> {
    /// Makes the missing files of columns with `fetch`; existing files stay. Calls `each` with every file.
    ///
    /// # Errors
    /// A suite that cannot be used, apart from its missing files; a missing key or variable.
    pub fn fetch(
        &self,
        invocation: &Invocation,
        each: &mut dyn FnMut(&FetchedFile),
    ) -> Result<Vec<FetchedFile>, AppError> {
        let for_fetch = |it: &mut Overrides| it.context.purpose = LoadPurpose::Fetch;
        let suite = self.read_suite(invocation, &self.suite_files(), for_fetch)?.suite;
        let absent = suite.missing_files();
        let providers = self.fetcher(&absent)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|source| RunError::Runtime { source })?;
        let mut all = Vec::new();
        for fetch in absent {
            let outcome = runtime.block_on(fetch_one(&providers, &suite, &fetch));
            let fetched = FetchedFile { path: fetch.path.to_string(), sample: fetch.sample, outcome };
            each(&fetched);
            all.push(fetched);
        }
        Ok(all)
    }

    fn fetcher(&self, absent: &[Fetch]) -> Result<Providers, AppError> {
        let mut outside = ExternalTexts::default();
        for request in absent.iter().filter_map(|fetch| fetch.request.as_ref().ok()) {
            let texts: Vec<&EnvTemplate> = match request {
                Request::Http(http) => http.headers.iter().map(|(_, text)| text).chain([&http.url]).collect(),
                Request::Command(command) => command.env.iter().map(|(_, text)| text).collect(),
                _ => Vec::new(),
            };
            outside.http |= matches!(request, Request::Http(_));
            outside.texts.extend(texts.into_iter().map(|text| ("fetch".to_owned(), text.clone())));
        }
        let settings = Settings { own_program: self.app.own_program.clone(), ..self.app.call_settings() };
        Providers::connect_all(&[], &outside, settings)
            .map_err(|errors| RunError::NotConnected { errors: Lines(errors) }.into())
    }
}

async fn fetch_one(providers: &Providers, suite: &Suite, fetch: &Fetch) -> Result<usize, String> {
    let path = fetch.path.to_string();
    if path.starts_with("preset:") {
        return Err("a preset's own files cannot be written; `karat init` copies it".to_owned());
    }
    let folder = Path::new(&path).parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(format!("there is no folder {}; make it", folder.display()));
    }
    let place = match &fetch.path.beneath {
        Some(folder) => place_beneath(folder, &fetch.path.path),
        None => Ok(path.clone().into()),
    };
    let place = place.map_err(|error| format!("the file {path} cannot be written: {error}"))?;
    let request = fetch.request.as_ref().map_err(Clone::clone)?;
    let who = format!("column {} of {}", fetch.column, fetch.sample);
    let call = ExternalCall { who: &who, request, timeout: FETCH_TIMEOUT, retries: RETRIES, jitter_seed: 0 };
    let exchange = providers.call_external(call, &SilentObserver).await;
    exchange.outcome.map_err(|error| error.message)?;
    if exchange.response.trim_ascii().is_empty() {
        return Err(format!("{who}: nothing came, so nothing was written"));
    }
    suite
        .accepts(fetch, &exchange.response)
        .map_err(|problem| format!("{who}: what came cannot be used, so nothing was written: {problem}"))?;
    atomic_file::write(&place, &exchange.response).map_err(|error| format!("writing {path}: {error}"))?;
    Ok(exchange.response.len())
}
