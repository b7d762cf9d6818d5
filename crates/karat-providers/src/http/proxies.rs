//! Proxies named by the environment. They are checked before anything is sent; an unusable one is reported by its
//! variable, without its value, which may contain a password.

use hyper_util::client::proxy::matcher::Matcher;
use karat_text::host::THIS_MACHINE;
use karat_types::CallErrorCode;
use reqwest::{ClientBuilder, NoProxy, Proxy, Url};

use crate::answer::failure::Failure;
use crate::registry::error::ProviderError;
use crate::registry::settings::Settings;

/// Variables that name a proxy, also in lower case.
const USED: [&str; 2] = ["HTTPS_PROXY", "HTTP_PROXY"];

/// A variable that other programs use for both schemes and Karat does not read.
const UNUSED: &str = "ALL_PROXY";

/// A variable that names a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProxy {
    /// Its name as spelled in the environment.
    pub variable: String,
    /// The proxy's address without name and password, or the reason why it is unusable, with advice.
    pub address: Result<String, String>,
}

impl NamedProxy {
    /// The failure of a connection through it.
    pub(crate) fn connect_failure(&self, cause: &str) -> Failure {
        let what = format!("cannot be reached through the proxy {} ({cause})", self.address_text());
        self.with_advice(Failure::new(CallErrorCode::Connect, what))
    }

    /// Names the proxy in a refusal that it sent itself.
    pub(crate) fn name_in_refusal(&self, failure: Failure) -> Failure {
        match failure.status {
            Some(AUTHENTICATION) => {
                let what = format!("the proxy {} {}", self.address_text(), failure.what);
                self.with_advice(Failure { what, ..failure })
            }
            _ => failure,
        }
    }

    fn with_advice(&self, failure: Failure) -> Failure {
        let remedy = format!(
            "check {}, its user name and password, and that the proxy is up and allows this address, then run the suite again: finished cells are reused",
            self.variable
        );
        Failure { remedy: Some(remedy), ..failure }
    }

    fn address_text(&self) -> &str {
        self.address.as_deref().unwrap_or_default()
    }
}

/// The status of a proxy that asks for authentication.
const AUTHENTICATION: u16 = 407;

/// The proxies that requests pass through.
pub fn proxies(settings: &Settings) -> Vec<NamedProxy> {
    let named = USED.iter().filter_map(|name| find_variable(settings, name));
    named.map(|(variable, value)| NamedProxy { variable, address: parse_proxy(&value) }).collect()
}

/// A variable that names a proxy and has no effect.
pub fn unused_proxy(settings: &Settings) -> Option<String> {
    find_variable(settings, UNUSED).map(|(variable, _)| variable)
}

/// The errors of proxy variables that hold no usable proxy.
pub(crate) fn invalid_proxies(settings: &Settings) -> Vec<ProviderError> {
    let broken = |it: NamedProxy| {
        let problem = it.address.err()?;
        Some(ProviderError::BadProxy { variable: it.variable, problem })
    };
    proxies(settings).into_iter().filter_map(broken).collect()
}

/// The proxies of a client, and which requests go through which.
pub(crate) struct ProxyRules {
    proxies: Vec<Proxy>,
    /// reqwest makes the same matcher of each proxy and does not show it. Given one of ours (`Proxy::custom`), it would
    /// not heed `NO_PROXY`.
    matcher: Matcher,
    named: Vec<NamedProxy>,
}

impl ProxyRules {
    /// The proxies that the settings name, in the variables that every tool knows.
    ///
    /// # Errors
    /// The address of a proxy is wrong.
    pub fn of(settings: &Settings) -> reqwest::Result<Self> {
        let value = |name: &str| find_variable(settings, name).map(|(_, value)| value);
        let except = value("NO_PROXY").map_or(THIS_MACHINE.to_owned(), |hosts| format!("{hosts},{THIS_MACHINE}"));
        let (https, http) = (value("HTTPS_PROXY"), value("HTTP_PROXY"));
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let matcher = Matcher::builder().https(text(&https)).http(text(&http)).no(except.as_str()).build();
        let proxies = [https.map(Proxy::https), http.map(Proxy::http)].into_iter().flatten();
        let proxies = proxies.map(|proxy| Ok(proxy?.no_proxy(NoProxy::from_string(&except))));
        Ok(Self { proxies: proxies.collect::<reqwest::Result<_>>()?, matcher, named: self::proxies(settings) })
    }

    /// Sends the requests of a client through these proxies and no others.
    pub fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        self.proxies.iter().cloned().fold(builder.no_proxy(), ClientBuilder::proxy)
    }

    /// The proxy between this machine and an address.
    pub fn before(&self, url: &Url) -> Option<&NamedProxy> {
        self.matcher.intercept(&url.as_str().parse().ok()?)?;
        let variable = format!("{}_proxy", url.scheme());
        self.named.iter().find(|it| it.variable.eq_ignore_ascii_case(&variable))
    }
}

/// A variable that is set, in either spelling, and its value.
fn find_variable(settings: &Settings, name: &str) -> Option<(String, String)> {
    let spellings = [name.to_owned(), name.to_ascii_lowercase()];
    spellings.into_iter().find_map(|name| settings.lookup(&name).map(|value| (name, value)))
}

/// Parses a proxy's address. Without a scheme it is `http://`.
fn parse_proxy(value: &str) -> Result<String, String> {
    let whole = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let how = "write it like `http://host:port`";
    let url = Url::parse(&whole).map_err(|error| format!("is not the address of a proxy ({error}); {how}"))?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => {
            let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
            Ok(format!("{}://{host}{port}", url.scheme()))
        }
        (scheme, _) => Err(format!("names a `{scheme}` proxy; only http and https are supported; {how}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_addresses_have_no_password() {
        assert_eq!(parse_proxy("http://me:hunter2@proxy:3128/"), Ok("http://proxy:3128".to_owned()));
        assert_eq!(parse_proxy("proxy.example"), Ok("http://proxy.example".to_owned()));
        for nonsense in
            ["socks5://me:hunter2@proxy", "http://me:hunter2@", "no proxy at all hunter2", "http://a:hunter2"]
        {
            let problem = parse_proxy(nonsense).unwrap_err();
            assert!(problem.ends_with("write it like `http://host:port`") && !problem.contains("hunter2"), "{problem}");
        }
    }
}
