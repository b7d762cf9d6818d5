//! The health of the store, and the suites that a server may run.

use karat_providers::probe_address;
use schemars::JsonSchema;
use serde::Serialize;

use crate::project::presets::names as preset_names;
use crate::project::threads::runtime;
use crate::service::Service;
use crate::views::follow::run_state::status_name;
use crate::{AppError, rfc3339};

/// Suites below a root that are listed.
const MOST_SUITES: usize = 1_000;

/// The name of a suite's file.
const FILE: &str = "karat.yaml";

/// The health of a store.
#[derive(Debug, Clone, Default)]
pub struct StoreHealth {
    /// True if results can be written.
    pub is_writable: bool,
    /// The reason why not.
    pub problem: Option<String>,
    /// Free bytes of its disk, where the system says it.
    pub disk_free_bytes: Option<u64>,
    /// The newest run: its id, its status and the time of its end.
    pub last_run: Option<(String, &'static str, Option<String>)>,
}

/// A suite that can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SuiteLine")]
pub struct SuiteLine {
    /// The name under which it is run.
    pub suite: String,
    /// `preset` or `file`.
    #[schemars(extend("enum" = ["file", "preset"]))]
    pub kind: &'static str,
    /// Its file, relative to the root.
    pub path: Option<String>,
}

impl Service<'_> {
    /// The health of the store. One that does not exist yet is made, as the first run would.
    pub fn store_health(&self) -> StoreHealth {
        let disk_free_bytes = self.app.store.file().and_then(karat_store::free_bytes);
        let store = match self.app.open_store() {
            Ok(store) => store,
            Err(error) => {
                return StoreHealth { problem: Some(error.to_string()), disk_free_bytes, ..StoreHealth::default() };
            }
        };
        let newest = store.runs(1).ok().and_then(|runs| runs.into_iter().next());
        let last_run = newest.map(|run| (run.id, status_name(run.status), run.completed_at.map(rfc3339)));
        // The file may have become read-only, or may have been removed, since it was opened.
        let problem = store.check_writable().err().map(|error| error.to_string());
        StoreHealth { is_writable: problem.is_none(), problem, disk_free_bytes, last_run }
    }

    /// Asks a server whether it works. Returns the status of its answer.
    ///
    /// # Errors
    /// The async runtime cannot be started; the address cannot be reached, as a text.
    pub fn ask_health(&self, server: &str) -> Result<Result<u16, String>, AppError> {
        let settings = self.app.call_settings();
        let address = format!("{}/healthz", server.trim_end_matches('/'));
        Ok(runtime()?.block_on(probe_address(&address, &settings)))
    }

    /// The size of the store and its log, in bytes.
    pub fn store_bytes(&self) -> u64 {
        let Some(path) = self.app.store.file() else {
            return self.app.open_store().ok().and_then(|store| store.content_bytes().ok()).unwrap_or(0);
        };
        let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap_or_default().to_string_lossy()));
        [path, &log].into_iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    /// The suites that can be run: those of the root and of its folders, by name, then the presets.
    pub fn suites(&self) -> Vec<SuiteLine> {
        let found = self.app.project().found_suites().into_iter().take(MOST_SUITES);
        let mut suites: Vec<SuiteLine> = found
            .map(|path| {
                let folder = path.strip_suffix(&format!("/{FILE}")).unwrap_or(&path);
                SuiteLine { suite: folder.to_owned(), kind: "file", path: Some(path) }
            })
            .collect();
        let presets = preset_names().into_iter();
        suites.extend(presets.map(|name| SuiteLine { suite: name.to_string(), kind: "preset", path: None }));
        suites
    }
}
