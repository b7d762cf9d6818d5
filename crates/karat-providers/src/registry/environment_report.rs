//! The provider settings in this environment, without any value: for `karat doctor`.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::registry::hosts::HOSTS;
use crate::registry::places::{self, Keys};
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
    /// The variable and its file, where the address is not the provider's own.
    pub redirected_by: Option<String>,
    /// The reason why the key is not sent to the address.
    pub refusal: Option<String>,
}

/// The settings of every HTTP provider.
pub fn provider_environments(settings: &Settings) -> Vec<ProviderEnvironment> {
    let one = |host: &crate::registry::hosts::Host| {
        let key = host.key_variables.iter().find(|variable| settings.lookup(variable).is_some()).copied();
        let set = host.base_url_variable.filter(|variable| settings.lookup(variable).is_some());
        let base_url = set.and_then(|variable| settings.lookup(variable)).or_else(|| host.base_url.map(str::to_owned));
        let by = |variable: &str| match settings.file_of(variable) {
            Some(file) => format!("{variable} in `{file}`"),
            None => variable.to_owned(),
        };
        let refusal = || {
            let (url, keys) = (Url::parse(base_url.as_deref()?).ok()?, [key?]);
            let keys = Keys { variables: &keys, printed: false };
            let variables: Vec<&str> = set.into_iter().collect();
            places::check(settings, "its models", &url, &variables, keys).err()
        };
        let refusal = refusal().map(|error| error.to_string());
        let redirected_by = set.filter(|_| base_url.as_deref() != host.base_url).map(by);
        let base_url_variable = host.base_url_variable.unwrap_or_default();
        let (name, key_variables) = (host.name, host.key_variables);
        ProviderEnvironment { name, key_variables, key, base_url, base_url_variable, redirected_by, refusal }
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
