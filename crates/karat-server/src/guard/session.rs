//! Sessions: a browser exchanges its token once for a cookie.
//!
//! A cookie is the id of the token, the end of the session and a code over both under a key of this process. Nothing is
//! stored, and each request looks the token up, so revoking it ends its sessions. After a restart people sign in again.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, header};
use karat_types::Moment;
use subtle::ConstantTimeEq;

const COOKIE: &str = "karat_session";

/// Twelve hours.
const SECONDS: i64 = 12 * 3600;

/// The key of all sessions of this process.
pub(crate) struct Sessions([u8; 32]);

impl Sessions {
    /// Sessions under a random key.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// The cookie of a new session of a token.
    pub fn cookie(&self, token: &str, now: Moment) -> Option<HeaderValue> {
        let end = now.0 / 1000 + SECONDS;
        let code = self.code(token, end);
        let cookie = format!("{COOKIE}={token}.{end}.{code}; HttpOnly; SameSite=Strict; Path=/; Max-Age={SECONDS}");
        HeaderValue::try_from(cookie).ok()
    }

    /// The token of the request's session, if it has one that goes on.
    pub fn token(&self, headers: &HeaderMap, now: Moment) -> Option<String> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let mut own = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == COOKIE).then_some(value)
        });
        own.find_map(|value| self.token_of(value, now))
    }

    fn token_of(&self, value: &str, now: Moment) -> Option<String> {
        let mut parts = value.splitn(3, '.');
        let (token, end, code) = (parts.next()?, parts.next()?.parse::<i64>().ok()?, parts.next()?);
        let is_right = bool::from(self.code(token, end).as_bytes().ct_eq(code.as_bytes()));
        (is_right && now.0 / 1000 < end).then(|| token.to_owned())
    }

    fn code(&self, token: &str, end: i64) -> String {
        let code = blake3::keyed_hash(&self.0, format!("session {end} {token}").as_bytes());
        URL_SAFE_NO_PAD.encode(code.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-51: a session ends after twelve hours, cannot be made up, and its cookie is kept from scripts and other sites.
    #[test]
    fn a_session_is_of_one_token_for_twelve_hours() {
        let sessions = Sessions::new().unwrap();
        let cookie = sessions.cookie("abcd1234", Moment(0)).unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"), "{cookie}");
        let value = cookie.split(';').next().unwrap();
        let of = |text: &str, sessions: &Sessions, at: i64| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::from_str(&format!("other=1; {text}")).unwrap());
            sessions.token(&headers, Moment(at * 1000))
        };
        assert_eq!(of(value, &sessions, SECONDS - 1).as_deref(), Some("abcd1234"));
        assert_eq!(of(value, &sessions, SECONDS), None);
        assert_eq!(of(&value.replace("abcd1234", "abcd1235"), &sessions, 0), None);
        assert_eq!(of(value, &Sessions::new().unwrap(), 0), None);
        assert_eq!(of("karat_session=x", &sessions, 0), None);
    }
}
