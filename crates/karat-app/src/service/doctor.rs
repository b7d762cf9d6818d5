//! Checks whether this machine has what a run needs. Never shows a secret, and connects to nothing unless asked to.

use std::fs;
use std::path::{Path, PathBuf};

use karat_providers::{probe_address, provider_environments, proxies, unused_proxy};
use serde::Serialize;

use crate::AppError;
use crate::error::RunError;
use crate::service::Service;

/// The state of one checked thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Present and usable.
    Fine,
    /// Absent; only suites that need it miss it.
    Absent,
    /// Present but unusable, or needed by every run.
    Broken,
}

/// One checked thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name: `store`, `open files`, `provider openai`, `program claude`, `reach openai`.
    pub what: String,
    /// Its state.
    pub health: Health,
    /// Description with the next step; never a secret.
    pub says: String,
}

impl Service<'_> {
    /// Checks store, open files, keys and programs; with `online`, also the providers with keys.
    ///
    /// # Errors
    /// The async runtime cannot be started.
    pub fn doctor(&self, online: bool) -> Result<Vec<Finding>, AppError> {
        let settings = self.app.call_settings();
        let mut findings = vec![self.store_finding(), open_files()];
        let hosts = provider_environments(&settings);
        for host in &hosts {
            let (health, says) = match (&host.key, &host.base_url) {
                _ if host.refusal.is_some() => (Health::Broken, host.refusal.clone().unwrap_or_default()),
                (Some(variable), Some(address)) => {
                    let weakness = settings.short_secret_warning(variable);
                    let says = weakness.unwrap_or_else(|| format!("{variable} is set"));
                    match &host.redirected_by {
                        Some(by) => (Health::Fine, format!("{says}; its models are asked at {address} ({by})")),
                        None => (Health::Fine, says),
                    }
                }
                (Some(variable), None) => {
                    (Health::Absent, format!("{variable} is set, but {} is not", host.base_url_variable))
                }
                (None, Some(address)) if host.key_variables.is_empty() => {
                    (Health::Absent, format!("needs no key; its models are asked at {address}"))
                }
                (None, None) if host.key_variables.is_empty() => {
                    (Health::Absent, "needs a model's entry with `base_url`".to_owned())
                }
                (None, _) => (Health::Absent, format!("set {} to use it", host.key_variables.join(" or "))),
            };
            findings.push(Finding { what: format!("provider {}", host.name), health, says });
        }
        let in_file = |variable: &str| match (settings.file_of)(variable) {
            Some(file) => format!(" (it stands in `{file}`, so keys that do not are not sent through it)"),
            None => String::new(),
        };
        findings.extend(["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(|variable| {
            let file = (settings.file_of)(variable)?;
            let says = format!("is not used: it stands in `{file}`; export it if you trust it");
            Some(Finding { what: format!("certificates {variable}"), health: Health::Absent, says })
        }));
        findings.extend(proxies(&settings).into_iter().map(|proxy| {
            let (health, says) = match proxy.address {
                Ok(place) => (Health::Fine, format!("requests go through {place}{}", in_file(&proxy.variable))),
                Err(problem) => (Health::Broken, problem),
            };
            Finding { what: format!("proxy {}", proxy.variable), health, says }
        }));
        findings.extend(unused_proxy(&settings).map(|variable| Finding {
            what: format!("proxy {variable}"),
            health: Health::Absent,
            says: "is not used: name the proxy in HTTPS_PROXY and HTTP_PROXY".to_owned(),
        }));
        for program in ["claude", "codex", "gemini"] {
            findings.push(self.program_health(program));
        }
        if online {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|source| RunError::Runtime { source })?;
            for host in hosts.iter().filter(|host| host.key.is_some()) {
                let Some(url) = &host.base_url else { continue };
                let (health, says) = match runtime.block_on(probe_address(url, &settings)) {
                    Ok(status) => (Health::Fine, format!("{url} answers (status {status})")),
                    Err(problem) => (Health::Broken, format!("{url} {problem}; check the network and HTTPS_PROXY")),
                };
                findings.push(Finding { what: format!("reach {}", host.name), health, says });
            }
        }
        Ok(findings)
    }

    fn store_finding(&self) -> Finding {
        let path = self.app.store.path();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let says = |health, says| Finding { what: "store".to_owned(), health, says };
        if let Err(error) = self.app.store.check_file_system() {
            return says(Health::Broken, error.to_string());
        }
        if self.app.store.exists() {
            return match self.app.open_store() {
                Ok(store) => match store.describe_server() {
                    Ok(server) => {
                        let server = server.map_or_else(String::new, |server| format!(": {server}"));
                        says(Health::Fine, format!("{} can be opened{server}", path.display()))
                    }
                    Err(error) => says(Health::Broken, error.to_string()),
                },
                Err(error) => says(Health::Broken, error.to_string()),
            };
        }
        match writable(folder) {
            Ok(()) => says(Health::Fine, format!("{} will be made by the first run", path.display())),
            Err(error) => says(
                Health::Broken,
                format!("{} cannot be made: {error}; name another place with `--store`", path.display()),
            ),
        }
    }

    fn program_health(&self, program: &str) -> Finding {
        let path = (self.app.lookup)("PATH").unwrap_or_default();
        let files: Vec<PathBuf> =
            std::env::split_paths(&path).map(|folder| folder.join(program)).filter(|file| file.is_file()).collect();
        let (health, says) = match (files.iter().find(|file| may_run(file)), files.first()) {
            (Some(file), _) => (Health::Fine, format!("{} (judge `cmd:{program}`)", file.display())),
            (None, Some(file)) => {
                let file = file.display();
                (Health::Broken, format!("{file} may not be executed; `chmod +x {file}`, or take it from PATH"))
            }
            (None, None) => (Health::Absent, format!("not on PATH; only the judge `cmd:{program}` needs it")),
        };
        Finding { what: format!("program {program}"), health, says }
    }
}

/// The number of concurrent calls that the limit on open files allows. A low limit makes calls wait, so it is no
/// failure.
fn open_files() -> Finding {
    let says = match karat_providers::open_files() {
        None => "a run may have as many as it needs".to_owned(),
        Some((most, 0)) => format!("a run may have {most}, so its calls wait for one another; raise `ulimit -Hn`"),
        Some((most, calls)) => {
            format!("a run may have {most}: enough for {calls} calls in flight (`max_concurrency`), further ones wait")
        }
    };
    Finding { what: "open files".to_owned(), health: Health::Fine, says }
}

/// Returns whether a file is executable.
fn may_run(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// Tests whether a file can be made in a folder, or in the nearest existing one above.
fn writable(folder: &Path) -> std::io::Result<()> {
    let existing = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let probe = existing.join(".karat-doctor");
    fs::write(&probe, b"")?;
    fs::remove_file(&probe)
}
