//! Sessions: a browser exchanges its token once for a cookie.
//!
//! A cookie is the id of the token, the end of the session and a code over both under a key of this process. Nothing is
//! stored, and each request looks the token up, so revoking it ends its sessions. After a restart people sign in again.
//! Only sessions that were signed out are remembered, until they would have ended.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, header};
use karat_types::Moment;
use subtle::ConstantTimeEq;

const COOKIE: &str = "karat_session";

/// Twelve hours.
const SECONDS: i64 = 12 * 3600;

/// Sessions that were signed out and are remembered; of more, those are forgotten that end first.
const SIGNED_OUT: usize = 10_000;

/// The key of all sessions of this process, and those that were signed out: their ends and codes.
pub(crate) struct Sessions {
    key: [u8; 32],
    signed_out: Mutex<BTreeSet<(i64, String)>>,
}

impl Sessions {
    /// Sessions under a random key.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self { key, signed_out: Mutex::default() })
    }

    /// The cookie of a new session of a token. A browser sends it over TLS only if it came over TLS.
    pub fn cookie(&self, token: &str, now: Moment, over_tls: bool) -> Option<HeaderValue> {
        let end = now.0 / 1000 + SECONDS;
        let code = self.code(token, end);
        let secure = if over_tls { "; Secure" } else { "" };
        let cookie =
            format!("{COOKIE}={token}.{end}.{code}; HttpOnly; SameSite=Strict; Path=/; Max-Age={SECONDS}{secure}");
        HeaderValue::try_from(cookie).ok()
    }

    /// The token of the request's session, if it has one that goes on.
    pub fn token(&self, headers: &HeaderMap, now: Moment) -> Option<String> {
        own_cookies(headers).find_map(|value| self.session_of(value, now)).map(|(token, ..)| token.to_owned())
    }

    /// Ends the sessions of the request, also for those who have a copy of its cookie. Returns the cookie that makes the
    /// browser forget its own.
    pub fn sign_out(&self, headers: &HeaderMap, now: Moment) -> HeaderValue {
        let mut signed_out = self.signed_out.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<(i64, String)> = own_cookies(headers)
            .filter_map(|value| self.read_cookie(value, now))
            .map(|(_, end, code)| (end, code.to_owned()))
            .collect();
        signed_out.extend(ended);
        signed_out.retain(|(end, _)| now.0 / 1000 < *end);
        while signed_out.len() > SIGNED_OUT {
            signed_out.pop_first();
        }
        HeaderValue::from_static("karat_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
    }

    /// Token, end and code of a cookie that this process made and whose session goes on.
    fn session_of<'a>(&self, value: &'a str, now: Moment) -> Option<(&'a str, i64, &'a str)> {
        let session = self.read_cookie(value, now)?;
        let signed_out = self.signed_out.lock().unwrap_or_else(PoisonError::into_inner);
        (!signed_out.contains(&(session.1, session.2.to_owned()))).then_some(session)
    }

    /// Token, end and code of a cookie that this process made and that has not expired.
    fn read_cookie<'a>(&self, value: &'a str, now: Moment) -> Option<(&'a str, i64, &'a str)> {
        let mut parts = value.splitn(3, '.');
        let (token, end, code) = (parts.next()?, parts.next()?.parse::<i64>().ok()?, parts.next()?);
        let is_right = bool::from(self.code(token, end).as_bytes().ct_eq(code.as_bytes()));
        (is_right && now.0 / 1000 < end).then_some((token, end, code))
    }

    fn code(&self, token: &str, end: i64) -> String {
        let code = blake3::keyed_hash(&self.key, format!("session {end} {token}").as_bytes());
        URL_SAFE_NO_PAD.encode(code.as_bytes())
    }
}

/// The values of the request's cookies with a session.
fn own_cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-51: a session ends after twelve hours, cannot be made up, and its cookie is kept from scripts and other sites.
    #[test]
    fn a_session_is_of_one_token_for_twelve_hours() {
        let sessions = Sessions::new().unwrap();
        let cookie = sessions.cookie("abcd1234", Moment(0), false).unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"), "{cookie}");
        let over_tls = sessions.cookie("abcd1234", Moment(0), true).unwrap();
        assert_eq!(over_tls.to_str().unwrap(), format!("{cookie}; Secure"));
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
    /// DB-51: signing out ends the session for every copy of its cookie, and no other session; a cookie that is made up
    /// takes no memory.
    #[test]
    fn signing_out_ends_the_session_for_every_copy() {
        let sessions = Sessions::new().unwrap();
        let headers = |at: i64| {
            let cookie = sessions.cookie("abcd1234", Moment(at * 1000), false).unwrap();
            let mut headers = HeaderMap::new();
            let value = cookie.to_str().unwrap().split(';').next().unwrap();
            headers.insert(header::COOKIE, HeaderValue::from_str(value).unwrap());
            headers
        };
        let (one, other) = (headers(0), headers(1));
        let cookie = sessions.sign_out(&one, Moment(2000));
        assert_eq!(cookie, "karat_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
        assert_eq!(sessions.token(&one, Moment(2000)), None);
        assert_eq!(sessions.token(&other, Moment(2000)).as_deref(), Some("abcd1234"));
        let remembered = || sessions.signed_out.lock().unwrap().len();
        assert_eq!(remembered(), 1);
        let mut made_up = HeaderMap::new();
        made_up.insert(header::COOKIE, HeaderValue::from_static("karat_session=abcd1234.99999999.x"));
        sessions.sign_out(&made_up, Moment(2000));
        assert_eq!(remembered(), 1);
        // An expired session needs no memory.
        sessions.sign_out(&HeaderMap::new(), Moment(SECONDS * 1000));
        assert_eq!(remembered(), 0);
    }
}
