//! `postgres://` addresses. The password is part of the address, and is shown nowhere.

use std::fmt;
use std::net::IpAddr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The schema of the tables, unless the address names another.
const SCHEMA: &str = "karat";

/// The address of a server, a database on it, and the schema of the store's tables.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    /// The address without the keys that only Karat reads.
    address: String,
    shown: String,
    schema: String,
    is_encrypted: bool,
    root_certificate: Option<String>,
}

impl ServerAddress {
    /// Reads an address such as `postgres://user:password@host/database?sslmode=require&schema=karat`.
    ///
    /// # Errors
    /// The reason why it is none; it does not quote the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut kept, mut shown) = (Vec::new(), Vec::new());
        let (mut schema, mut mode, mut root_certificate) = (SCHEMA.to_owned(), None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("{pair:?} has no value"))?;
            match key {
                "schema" => schema = value.to_owned(),
                "sslmode" => mode = Some(value.to_owned()),
                "sslrootcert" => root_certificate = Some(value.replace("%2F", "/")),
                _ => kept.push(pair),
            }
            if key != "password" {
                shown.push(pair);
            }
        }
        let is_name = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
                && name.chars().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_')
        };
        if !is_name(&schema) || schema.len() > 63 {
            return Err(format!("schema={schema:?} is not a name of lower-case letters, digits and underscores"));
        }
        let address = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        let config: Config = address.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            cause.unwrap_or_else(|| "it cannot be read".to_owned())
        })?;
        let is_near = config.get_hosts().iter().all(is_near) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let is_encrypted = match mode.as_deref() {
            Some("disable" | "allow" | "prefer") if !is_near => {
                return Err(
                    "a server on another machine needs sslmode=require: what is sent would be readable".to_owned()
                );
            }
            Some("disable" | "allow" | "prefer") => false,
            None => !is_near,
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(other) => {
                return Err(format!("sslmode={other:?} is not one of disable, prefer, require, verify-full"));
            }
        };
        let base = remove_password(base);
        let shown = if shown.is_empty() { base } else { format!("{base}?{}", shown.join("&")) };
        Ok(Self { address, shown, schema, is_encrypted, root_certificate })
    }

    /// Returns the settings of a connection.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn config(&self) -> Result<Config, String> {
        let mut config: Config = self.address.parse().map_err(|error: tokio_postgres::Error| error.to_string())?;
        config.ssl_mode(if self.is_encrypted { SslMode::Require } else { SslMode::Disable });
        Ok(config)
    }

    /// The schema of the tables: a plain name.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The file with certificates that the server's one is checked against.
    pub fn root_certificate(&self) -> Option<&str> {
        self.root_certificate.as_deref()
    }

    /// The address without its password.
    pub fn without_password(&self) -> &str {
        &self.shown
    }
}

/// Returns whether nothing that is sent leaves the machine.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn remove_password(base: &str) -> String {
    let Some((scheme, rest)) = base.split_once("://") else { return base.to_owned() };
    // The password may hold any character but a slash.
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => {
            let user = rest[..at].split(':').next().unwrap_or_default();
            format!("{scheme}://{user}{}", &rest[at..])
        }
        None => base.to_owned(),
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SC-05: an address is shown without its password, wherever it stands.
    #[test]
    fn the_password_is_not_shown() {
        for text in [
            "postgres://me:s3cret@localhost/db?schema=eval",
            "postgres://me:s3:c@ret@db.example.com:5432/db?sslmode=require",
            "postgresql:///db?host=/tmp&user=me&password=s3cret",
        ] {
            let address = ServerAddress::parse(text).unwrap();
            for shown in [address.to_string(), format!("{address:?}")] {
                assert!(!shown.contains("s3") && !shown.contains("ret@"), "{shown}");
            }
        }
        let shown = ServerAddress::parse("postgres://me:s3cret@localhost/db?schema=eval").unwrap().to_string();
        assert_eq!(shown, "postgres://me@localhost/db?schema=eval");
    }

    /// SC-05: beyond the machine, connections are encrypted.
    #[test]
    fn other_machines_are_reached_encrypted() {
        let is_encrypted = |text: &str| ServerAddress::parse(text).map(|address| address.is_encrypted());
        assert_eq!(is_encrypted("postgres://me@localhost/db"), Ok(false));
        assert_eq!(is_encrypted("postgres:///db?host=/var/run/postgresql"), Ok(false));
        assert_eq!(is_encrypted("postgres://me@127.0.0.1/db?sslmode=require"), Ok(true));
        assert_eq!(is_encrypted("postgres://me@db.example.com/db"), Ok(true));
        assert!(is_encrypted("postgres://me@db.example.com/db?sslmode=prefer").is_err());
        assert!(is_encrypted("postgres://me@10.0.0.1/db?sslmode=disable").is_err());
        assert!(is_encrypted("postgres://me@localhost/db?sslmode=maybe").is_err());
    }

    /// SC-05: a schema is a plain name, so that it can stand in a statement.
    #[test]
    fn a_schema_is_a_plain_name() {
        for schema in ["a\"b", "A", "", "1a", "a;b"] {
            assert!(ServerAddress::parse(&format!("postgres://me@localhost/db?schema={schema}")).is_err(), "{schema}");
        }
    }
}
