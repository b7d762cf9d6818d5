//! The demo service of a preset: the system under test if no other service is named.

use karat_demo::{Faults, Library, serve};

use crate::AppError;
use crate::error::{Bug, Names, SuiteError};
use crate::project::presets::{files_of, names};
use crate::service::Service;

/// Path of a preset's planted faults.
const FAULTS: &str = "service/faults.jsonl";

impl Service<'_> {
    /// Serves a preset's documents on a loopback port until `end` resolves. `repaired` leaves out the planted faults.
    ///
    /// # Errors
    /// A preset without a service, documents that cannot be read, a port in use.
    pub fn demo(&self, preset: &str, port: u16, repaired: bool, end: impl Future<Output = ()>) -> Result<(), AppError> {
        let service = service(preset, repaired)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let served = runtime.and_then(|runtime| {
            runtime.block_on(async {
                tokio::select! {
                    served = serve(service, port) => served,
                    () = end => Ok(()),
                }
            })
        });
        served.map_err(|source| SuiteError::Serve { preset: preset.to_owned(), port, source }.into())
    }
}

fn service(preset: &str, repaired: bool) -> Result<karat_demo::Service, AppError> {
    let files = files_of(preset).unwrap_or_default();
    let texts = files.iter().filter_map(|(path, bytes)| Some((path.to_str()?, std::str::from_utf8(bytes).ok()?)));
    let texts: Vec<(&str, &str)> = texts.collect();
    let Some((_, faults)) = texts.iter().find(|(path, _)| *path == FAULTS) else {
        let served =
            names().into_iter().filter(|name| crate::project::presets::text(&format!("{name}/{FAULTS}")).is_some());
        return Err(SuiteError::NoDemo { preset: preset.to_owned(), presets: Names::of(served) }.into());
    };
    let broken = |problem: String| Bug::Demo { problem };
    let faults = if repaired { "" } else { faults };
    let faults = Faults::read(faults).map_err(|error| broken(format!("reading {FAULTS}: {error}")))?;
    let library = Library::read(texts.iter().copied()).map_err(|error| broken(error.to_string()))?;
    Ok(karat_demo::Service::new(library, faults))
}
