//! Who sends requests: hyper's connections where nothing stands between this machine and the address, reqwest elsewhere.
//!
//! What reqwest adds (redirects, of which none is followed, proxies, TLS, retries) costs a tenth of the CPU of a run whose
//! model is as near as a server of one's own ([0017](../../../docs/design/0017-plain-addresses.md)).

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::HeaderMap;
use hyper::{Response, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use karat_text::host::THIS_MACHINE;
use reqwest::{NoProxy, Proxy, redirect};

use crate::letter::Letter;
use crate::plain::{CONNECT, IDLE, KEEPALIVE, KEEPALIVE_RETRIES, Plain, PlainAnswer, Trouble, TroubleKind, piece};
use crate::proxies::{self, NamedProxy};
use crate::reach::{self, Watch};
use crate::settings::Settings;

/// What sends. It follows no redirect, since keys would follow, reads no environment, and reuses connections.
pub(crate) struct Client {
    /// For plain addresses, where no proxy is named for them.
    plain: Option<Plain>,
    /// For all others, where there are any: making it takes a tenth of a run of one sample.
    other: Option<reqwest::Client>,
    proxies: Proxies,
}

/// An answer whose body has not been read.
pub(crate) enum Answered<'a> {
    Plain(PlainAnswer<'a>),
    Other(Response<reqwest::Body>),
}

impl Client {
    /// Builds the client. Without `tls` it trusts nobody's certificate and calls plain addresses alone: reading those of
    /// the system takes longer than a run of one sample.
    ///
    /// # Errors
    /// When a proxy's address is wrong or the system's certificates cannot be used.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .tcp_keepalive_interval(KEEPALIVE)
            .tcp_keepalive_retries(KEEPALIVE_RETRIES)
            .connect_timeout(CONNECT)
            .connector_layer(Watch)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(settings.max_connections);
        let proxies = Proxies::of(settings)?;
        let plain = (!proxies.plain).then(|| Plain::new(settings.max_connections));
        let is_needed = tls || !proxies.all.is_empty();
        let builder = proxies.all.iter().cloned().fold(builder, reqwest::ClientBuilder::proxy);
        let other = is_needed.then(|| builder.build()).transpose()?;
        Ok(Self { plain, other, proxies })
    }

    /// Sends a request and waits for the head of its answer. `is_reached` once something may have been sent, as far as
    /// anybody can see.
    pub async fn send<'a>(&'a self, letter: &'a Letter, is_reached: &mut bool) -> Result<Answered<'a>, Trouble> {
        match (&self.plain, letter.plain(), &self.other) {
            (Some(plain), Some(place), _) => plain.send(letter, place, is_reached).await.map(Answered::Plain),
            (_, _, Some(other)) => {
                // Boxed: the futures of all plain calls would be as large.
                Box::pin(reach::told(is_reached, send_otherwise(other, letter))).await.map(Answered::Other)
            }
            (_, _, None) => {
                let cause = "only plain addresses were made ready for; this is a bug in karat".to_owned();
                Err(Trouble { kind: TroubleKind::Unreached, cause })
            }
        }
    }

    /// The proxy that stands between this machine and an address.
    pub fn proxy(&self, uri: &Uri) -> Option<&NamedProxy> {
        self.proxies.before(uri)
    }
}

async fn send_otherwise(client: &reqwest::Client, letter: &Letter) -> Result<Response<reqwest::Body>, Trouble> {
    let trouble = |error: reqwest::Error| {
        let kind = if error.is_connect() { TroubleKind::Unreached } else { TroubleKind::Cut };
        Trouble::new(kind, &error.without_url())
    };
    let request = reqwest::Request::try_from(letter.request::<reqwest::Body>(letter.uri())).map_err(trouble)?;
    client.execute(request).await.map(Response::from).map_err(trouble)
}

impl Answered<'_> {
    pub fn head(&self) -> (u16, &HeaderMap) {
        match self {
            Self::Plain(answer) => (answer.response.status().as_u16(), answer.response.headers()),
            Self::Other(response) => (response.status().as_u16(), response.headers()),
        }
    }

    /// How many bytes the body has, where the answer says so.
    pub fn announced(&self) -> Option<u64> {
        match self {
            Self::Plain(answer) => answer.response.body().size_hint().exact(),
            Self::Other(response) => response.body().size_hint().exact(),
        }
    }

    /// The next piece of the body; `None` at its end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Trouble> {
        match self {
            Self::Plain(answer) => answer.piece().await,
            Self::Other(response) => piece(response.body_mut()).await,
        }
    }
}

/// The proxies that the settings name, in the variables that every tool knows.
struct Proxies {
    all: Vec<Proxy>,
    /// Whether one is named for plain addresses.
    plain: bool,
    /// Which requests go through one. reqwest makes the same matcher of each proxy and shows it to nobody, and where it is
    /// given one (`Proxy::custom`) it heeds no `NO_PROXY` and asks twice for each request.
    rules: Matcher,
    named: Vec<NamedProxy>,
}

impl Proxies {
    fn of(settings: &Settings) -> reqwest::Result<Self> {
        let value = |name: &str| proxies::set(settings, name).map(|(_, value)| value);
        let except = value("NO_PROXY").map_or(THIS_MACHINE.to_owned(), |hosts| format!("{hosts},{THIS_MACHINE}"));
        let (secure, plain) = (value("HTTPS_PROXY"), value("HTTP_PROXY"));
        let is_plain = plain.is_some();
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let rules = Matcher::builder().https(text(&secure)).http(text(&plain)).no(except.as_str()).build();
        let all = [secure.map(Proxy::https), plain.map(Proxy::http)].into_iter().flatten();
        let all = all.map(|proxy| Ok(proxy?.no_proxy(NoProxy::from_string(&except))));
        let named = proxies::proxies(settings);
        Ok(Self { all: all.collect::<reqwest::Result<_>>()?, plain: is_plain, rules, named })
    }

    fn before(&self, uri: &Uri) -> Option<&NamedProxy> {
        self.rules.intercept(uri)?;
        let variable = format!("{}_proxy", uri.scheme_str()?);
        self.named.iter().find(|it| it.variable.eq_ignore_ascii_case(&variable))
    }
}
