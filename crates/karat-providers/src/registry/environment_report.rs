//! The provider settings in this environment, without any value: for `karat doctor`.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::registry::hosts::HOSTS;
use crate::registry::settings::Settings;

/// The settings of one provider on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEnvironment {
    /// Its name.
    pub name: &'static str,
    /// Variables for its key.
    pub key_variables: &'static [&'static str],
    /// The variable that is set.
    pub key: Option<&'static str>,
    /// Its address.
    pub base_url: Option<String>,
    /// The variable that overrides the address, if there is one.
    pub base_url_variable: &'static str,
}

/// The settings of every HTTP provider.
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

/// Timeout of a probe.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends a request without a key and returns the status of the answer, whatever it is.
///
/// # Errors
/// The reason why no answer came, as the end of a sentence that begins with the address.
pub async fn probe_address(url: &str, settings: &Settings) -> Result<u16, String> {
    let url = Url::parse(url).map_err(|error| format!("is not a valid address ({error})"))?;
    let tls = url.scheme() == "https";
    let transport = Transport::new(settings, tls).map_err(|error| format!("cannot be reached ({error})"))?;
    let prepared = PreparedRequest::new(Method::GET, &url, HeaderMap::new(), None);
    let prepared = prepared.map_err(|problem| format!("is not a valid address ({problem})"))?;
    let (received, end) = transport.send(&prepared, PATIENCE).await;
    received.status.ok_or_else(|| end.err().map_or_else(|| "does not answer".to_owned(), |failure| failure.what))
}
