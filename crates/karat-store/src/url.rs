//! Addresses of stores.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::StoreError;
use crate::sql::postgres::address::ServerAddress;
use crate::sql::postgres::schema::Durability;

/// The address of a store: `sqlite:PATH`, or only a path; or `postgres://…`, a database on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// The path of the file, or the address as it is shown.
    path: PathBuf,
    network_files: NetworkFiles,
    server: Option<(ServerAddress, Durability)>,
}

/// The rule for stores on network file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkFiles {
    /// They are not opened for writing: SQLite's log needs a local disk.
    #[default]
    Refused,
    /// The user insists.
    Allowed,
}

impl StoreUrl {
    /// Returns the address of the store in a file.
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), network_files: NetworkFiles::default(), server: None }
    }

    /// Returns the address with another rule for network file systems.
    #[must_use]
    pub fn with_network_files(self, network_files: NetworkFiles) -> Self {
        Self { network_files, ..self }
    }

    /// Returns the rule for network file systems.
    pub fn network_files(&self) -> NetworkFiles {
        self.network_files
    }

    /// Returns the address of the store in a state folder such as `.karat`.
    pub fn in_folder(folder: impl AsRef<Path>) -> Self {
        Self::of_file(folder.as_ref().join("karat.db"))
    }

    /// Returns the path of the database file; of a store on a server, its address without the password. It names the
    /// store in messages: what opens or looks at a file asks [`StoreUrl::file`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the database file, unless the store is on a server.
    pub fn file(&self) -> Option<&Path> {
        if self.server.is_some() {
            return None;
        }
        Some(&self.path)
    }

    /// The server, and whether it must wait for its disk.
    pub(crate) fn server(&self) -> Option<(&ServerAddress, Durability)> {
        self.server.as_ref().map(|(address, durability)| (address, *durability))
    }

    /// The same store, on a server that may run with `fsync=off`: the user insists.
    #[must_use]
    pub fn without_durability(self) -> Self {
        Self { server: self.server.map(|(address, _)| (address, Durability::Waived)), ..self }
    }

    /// Returns `true` if the store exists, or is on a server. Commands that only read need not create one.
    pub fn exists(&self) -> bool {
        self.file().is_none_or(|file| !matches!(file.try_exists(), Ok(false)))
    }

    /// Checks that no log of changes is left of a store that does not exist.
    ///
    /// # Errors
    /// [`StoreError::Orphaned`].
    pub fn check_orphans(&self) -> Result<(), StoreError> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let log = PathBuf::from(log);
        if !self.exists() && std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(StoreError::Orphaned { path: self.path.clone(), log });
        }
        Ok(())
    }
}

fn on_server(text: &str) -> Result<StoreUrl, StoreError> {
    match ServerAddress::parse(text) {
        Ok(address) => {
            let path = PathBuf::from(address.without_password());
            Ok(StoreUrl { server: Some((address, Durability::Required)), ..StoreUrl::of_file(path) })
        }
        // The text may hold a password.
        Err(why) => Err(StoreError::Url(format!(
            "cannot use the store postgres://…: {why}. Use postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require"
        ))),
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreUrl").field(&self.path).finish()
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = match text.split_once(':') {
            Some(("sqlite", path)) => path.strip_prefix("//").unwrap_or(path),
            Some(("postgres" | "postgresql", _)) => return on_server(text),
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(StoreError::Url(format!(
                    "cannot use the store {text:?}: {scheme:?} is not a supported kind of store. Use sqlite:PATH"
                )));
            }
            _ => text,
        };
        if path.starts_with(":memory:") {
            return Err(StoreError::Url(format!(
                "cannot use the store {text:?}: results must be on disk before they are used. Use sqlite:PATH"
            )));
        }
        if path.is_empty() {
            return Err(StoreError::Url(format!("cannot use the store {text:?}: it has no path. Use sqlite:PATH")));
        }
        Ok(Self::of_file(path))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file() {
            Some(file) => write!(f, "sqlite:{}", file.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_an_address() {
        for (text, path) in [
            ("sqlite:a/k.db", "a/k.db"),
            ("sqlite:///tmp/k.db", "/tmp/k.db"),
            ("k.db", "k.db"),
            ("/tmp/k.db", "/tmp/k.db"),
        ] {
            assert_eq!(text.parse::<StoreUrl>().unwrap().path(), Path::new(path), "{text}");
        }
        assert_eq!(StoreUrl::in_folder(".karat").to_string(), "sqlite:.karat/karat.db");
    }

    #[test]
    fn other_kinds_are_refused_with_what_to_use() {
        for text in ["mysql://host", "sqlite:", "sqlite::memory:", ""] {
            let message = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(message.contains("Use sqlite:PATH"), "{message}");
        }
    }
}
