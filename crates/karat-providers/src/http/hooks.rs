//! Messages to receivers of alerts. Their addresses come from the environment and are secrets: no error names one. No
//! redirect is followed, and addresses that only this machine's cloud answers at (link-local ones) are refused, also
//! where a name leads to them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::{Client, Url, redirect};

use crate::answer::named_wait::retry_after;
use crate::http::link_local::{Resolver, is_link_local_error, names_link_local};
use crate::http::proxies::ProxyRules;
use crate::registry::settings::Settings;

/// Time that a receiver has to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The answer of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// Its status.
    pub status: u16,
    /// Seconds after which it wants the next attempt.
    pub retry_after_s: Option<u64>,
}

/// A message that could not be delivered. It never names the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The address is not one of HTTP.
    #[error("the address is not an http or https URL")]
    Address,
    /// The address is link-local.
    #[error("the address is link-local, where clouds keep credentials: it is never called")]
    LinkLocal,
    /// The client cannot be made.
    #[error("the HTTP client cannot be made")]
    Client,
    /// No answer came in time.
    #[error("no answer within 15 s")]
    Timeout,
    /// No connection.
    #[error("the receiver cannot be reached")]
    Connect,
    /// The exchange broke off.
    #[error("the receiver broke off")]
    Cut,
}

/// The client of alerts.
pub struct HookClient {
    client: Client,
    settings: Settings,
}

impl HookClient {
    /// A client with the proxies of the environment.
    ///
    /// # Errors
    /// A proxy's address is wrong, or the system's certificates cannot be read.
    pub fn new(settings: Settings) -> Result<Self, HookError> {
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .timeout(TIMEOUT)
            .dns_resolver(Arc::new(Resolver));
        let proxies = ProxyRules::of(&settings).map_err(|_| HookError::Client)?;
        let client = proxies.apply(builder).build().map_err(|_| HookError::Client)?;
        Ok(Self { client, settings })
    }

    /// Posts a JSON body once.
    ///
    /// # Errors
    /// No answer.
    pub async fn post(&self, url: &str, headers: &[(&str, String)], body: String) -> Result<HookAnswer, HookError> {
        let url = Url::parse(url).map_err(|_| HookError::Address)?;
        check_address(&url)?;
        let mut request = self.client.post(url).header("content-type", "application/json").body(body);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let answer = request.send().await.map_err(|error| match () {
            () if error.is_timeout() => HookError::Timeout,
            () if is_link_local_error(&error) => HookError::LinkLocal,
            () if error.is_connect() => HookError::Connect,
            () => HookError::Cut,
        })?;
        let now = || Timestamp::from_millisecond(self.settings.clock.as_ref()?.now().0).ok();
        let retry_after_s = retry_after(answer.headers(), now).map(|wait| wait.as_secs());
        Ok(HookAnswer { status: answer.status().as_u16(), retry_after_s })
    }
}

fn check_address(url: &Url) -> Result<(), HookError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(HookError::Address);
    }
    match (url.host_str(), names_link_local(url)) {
        (None, _) => Err(HookError::Address),
        (_, true) => Err(HookError::LinkLocal),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use testkit::{Behaviour, FakeProvider};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn client() -> HookClient {
        HookClient::new(Settings::new(|_| None)).unwrap()
    }

    async fn post(url: &str) -> Result<HookAnswer, HookError> {
        client().post(url, &[("webhook-id", "msg_1".to_owned())], "{}".to_owned()).await
    }

    /// SV-17: link-local addresses are never called, in any spelling.
    #[tokio::test]
    async fn link_local_addresses_are_refused() {
        for url in [
            "http://169.254.169.254/latest/meta-data",
            "http://[fe80::1]/",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/",
            "http://2852039166/",
        ] {
            assert_eq!(post(url).await, Err(HookError::LinkLocal), "{url}");
        }
        for url in ["file:///etc/passwd", "no address", "ftp://example.org/"] {
            assert_eq!(post(url).await, Err(HookError::Address), "{url}");
        }
    }

    /// SV-17: a redirect is not followed, and no error names the address.
    #[tokio::test]
    async fn redirects_are_not_followed() {
        let target = FakeProvider::start(Behaviour::raw(200, "{}")).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/secret-path", listener.local_addr().unwrap());
        let location = target.url();
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).await.unwrap();
            let answer =
                format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        };
        let (answer, head) = tokio::join!(post(&url), answering);
        assert_eq!(answer.unwrap(), HookAnswer { status: 302, retry_after_s: Some(7) });
        assert!(head.contains("webhook-id: msg_1") && head.contains("content-type: application/json"), "{head}");
        drop(listener);
        let error = post(&url).await.unwrap_err();
        assert!(!error.to_string().contains("secret-path"), "{error}");
    }
}
