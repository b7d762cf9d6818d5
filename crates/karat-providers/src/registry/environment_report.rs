//! What of the environment the providers would find, without a value of it.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::registry::hosts::HOSTS;
use crate::registry::settings::Settings;

/// One provider as this machine is set up for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEnvironment {
    /// Its name.
    pub name: &'static str,
    /// Variables that may hold its key.
    pub key_variables: &'static [&'static str],
    /// The one that does.
    pub key: Option<&'static str>,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// The variable that says where, where there is one.
    pub base_url_variable: &'static str,
}

/// Every provider that is reached over HTTP.
pub fn provider_environments(settings: &Settings) -> Vec<ProviderEnvironment> {
    let one = |host: &crate::registry::hosts::Host| ProviderEnvironment {
        name: host.name,
        key_variables: host.key_variables,
        key: host.key_variables.iter().find(|variable| settings.lookup(variable).is_some()).copied(),
        base_url: host
            .base_url_variable
            .and_then(|variable| settings.lookup(variable))
            .or_else(|| host.base_url.map(str::to_owned)),
        base_url_variable: host.base_url_variable.unwrap_or_default(),
    };
    HOSTS.iter().map(one).collect()
}

/// How long an address may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether an address answers, with whatever status: no key is sent.
///
/// # Errors
/// Why it does not, as the end of a sentence that begins with the address.
pub async fn probe_address(url: &str, settings: &Settings) -> Result<u16, String> {
    let url = Url::parse(url).map_err(|error| format!("is no address ({error})"))?;
    let tls = url.scheme() == "https";
    let transport = Transport::new(settings, tls).map_err(|error| format!("cannot be reached ({error})"))?;
    let letter = PreparedRequest::new(Method::GET, &url, HeaderMap::new(), None);
    let letter = letter.map_err(|problem| format!("is no address ({problem})"))?;
    let (received, end) = transport.send(&letter, PATIENCE).await;
    received.status.ok_or_else(|| end.err().map_or_else(|| "does not answer".to_owned(), |failure| failure.what))
}
