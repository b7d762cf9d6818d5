//! The proxies that the environment names, looked at before anything is sent: one that cannot be one is told, with its
//! variable and without its value, which may hold a password.

use hyper_util::client::proxy::matcher::Matcher;
use karat_text::host::THIS_MACHINE;
use karat_types::CallErrorCode;
use reqwest::{ClientBuilder, NoProxy, Proxy, Url};

use crate::error::ProviderError;
use crate::failure::Failure;
use crate::settings::Settings;

/// Variables that name a proxy, each also in lower case.
const USED: [&str; 2] = ["HTTPS_PROXY", "HTTP_PROXY"];

/// The variable that other programs take for both, and nobody here reads.
const UNUSED: &str = "ALL_PROXY";

/// A variable that names a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProxy {
    /// As it is spelled in the environment.
    pub variable: String,
    /// Where the proxy is, without name and password; or why it is none, and what to do.
    pub place: Result<String, String>,
}

impl NamedProxy {
    /// Nobody was reached through it.
    pub(crate) fn unreached(&self, cause: &str) -> Failure {
        let what = format!("cannot be reached through the proxy {} ({cause})", self.shown());
        self.blamed(Failure::new(CallErrorCode::Connect, what))
    }

    /// What it may have answered itself, instead of passing on what it was sent.
    pub(crate) fn refused(&self, failure: Failure) -> Failure {
        match failure.status {
            Some(AUTHENTICATION) => {
                let what = format!("the proxy {} {}", self.shown(), failure.what);
                self.blamed(Failure { what, ..failure })
            }
            _ => failure,
        }
    }

    fn blamed(&self, failure: Failure) -> Failure {
        let remedy = format!(
            "check {}, its user name and password, and that the proxy is up and lets this through, then run the suite again: what succeeded is reused",
            self.variable
        );
        Failure { remedy: Some(remedy), ..failure }
    }

    fn shown(&self) -> &str {
        self.place.as_deref().unwrap_or_default()
    }
}

/// The status with which a proxy asks who sends.
const AUTHENTICATION: u16 = 407;

/// The proxies that requests go through.
pub fn proxies(settings: &Settings) -> Vec<NamedProxy> {
    let named = USED.iter().filter_map(|name| set(settings, name));
    named.map(|(variable, value)| NamedProxy { variable, place: place(&value) }).collect()
}

/// A variable that names a proxy and is not read.
pub fn unused_proxy(settings: &Settings) -> Option<String> {
    set(settings, UNUSED).map(|(variable, _)| variable)
}

/// What is named as a proxy and is none.
pub(crate) fn broken(settings: &Settings) -> Vec<ProviderError> {
    let broken = |it: NamedProxy| {
        let problem = it.place.err()?;
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
        let value = |name: &str| set(settings, name).map(|(_, value)| value);
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

/// A variable that is set, in whichever spelling, and its value.
fn set(settings: &Settings, name: &str) -> Option<(String, String)> {
    let spellings = [name.to_owned(), name.to_ascii_lowercase()];
    spellings.into_iter().find_map(|name| settings.lookup(&name).map(|value| (name, value)))
}

/// Where a proxy is. Without a scheme it is one of `http://`.
fn place(value: &str) -> Result<String, String> {
    let whole = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let how = "write it like `http://host:port`";
    let url = Url::parse(&whole).map_err(|error| format!("is no address of a proxy ({error}); {how}"))?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => {
            let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
            Ok(format!("{}://{host}{port}", url.scheme()))
        }
        (scheme, _) => Err(format!("names a proxy of the kind `{scheme}`, and only http and https can be used; {how}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_no_password() {
        assert_eq!(place("http://me:hunter2@proxy:3128/"), Ok("http://proxy:3128".to_owned()));
        assert_eq!(place("proxy.example"), Ok("http://proxy.example".to_owned()));
        for nonsense in
            ["socks5://me:hunter2@proxy", "http://me:hunter2@", "no proxy at all hunter2", "http://a:hunter2"]
        {
            let problem = place(nonsense).unwrap_err();
            assert!(problem.ends_with("write it like `http://host:port`") && !problem.contains("hunter2"), "{problem}");
        }
    }
}
