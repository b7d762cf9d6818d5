//! The provider settings in this environment, without any value: for `karat doctor`; and the addresses that a run asks.

use std::time::Duration;

use karat_text::env_template;
use karat_types::ModelSpec;
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use crate::http::proxies::ProxyRules;
use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::registry::connect::own_address;
use crate::registry::hosts::HOSTS;
use crate::registry::outside::ExternalTexts;
use crate::registry::places::{self, Keys, host_variables, without_query};
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

/// The addresses that models and requests of steps, tools and scorers are asked at, as far as they are not the providers'
/// own, and the proxies before them: a sentence each, without a full stop. A step's address counts where a variable decides
/// its host; another stands in the suite.
pub fn address_notes(models: &[ModelSpec], outside: &ExternalTexts, settings: &Settings) -> Vec<String> {
    let rules = ProxyRules::of(settings).ok();
    let mut asked: Vec<(String, String, Vec<&str>)> = Vec::new();
    let mut proxied: Vec<String> = Vec::new();
    let from = |variables: &[&str]| match variables {
        [] => "its `base_url`".to_owned(),
        [variable, ..] => match settings.file_of(variable) {
            Some(file) => format!("{variable} in `{file}`"),
            None => (*variable).to_owned(),
        },
    };
    let mut through = |url: &Url| {
        let Some(proxy) = rules.as_ref().and_then(|rules| rules.before(url)) else { return };
        let Ok(address) = &proxy.address else { return };
        let scheme = url.scheme();
        let text =
            format!("requests to {scheme} addresses go through the proxy {address} ({})", from(&[&proxy.variable]));
        if !proxied.contains(&text) {
            proxied.push(text);
        }
    };
    for model in models {
        let Some((url, variables, is_own)) = own_address(model, settings) else { continue };
        through(&url);
        if is_own {
            continue;
        }
        let (address, from) = (without_query(&url), from(&variables.iter().map(String::as_str).collect::<Vec<_>>()));
        match asked.iter_mut().find(|(known, of, _)| (known, of) == (&address, &from)) {
            Some((.., ids)) if !ids.contains(&model.id.as_str()) => ids.push(&model.id),
            Some(_) => {}
            None => asked.push((address, from, vec![&model.id])),
        }
    }
    let mut notes: Vec<String> = asked.into_iter().map(|(address, from, ids)| note(&ids, &address, &from)).collect();
    for (who, text) in &outside.urls {
        let filled = env_template::fill(text, |name| settings.lookup(name)).ok();
        let Some(url) = filled.and_then(|text| Url::parse(text.trim()).ok()) else { continue };
        through(&url);
        let variables = host_variables(text);
        let note = format!("{who} is asked at {} ({})", without_query(&url), from(&variables));
        if !variables.is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.extend(proxied);
    notes
}

fn note(ids: &[&str], address: &str, from: &str) -> String {
    match ids {
        [id] => format!("model {id} is asked at {address} ({from})"),
        ids => format!("models {} are asked at {address} ({from})", ids.join(", ")),
    }
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
