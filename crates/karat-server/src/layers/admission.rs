//! Every request passes here before it reaches a page or the API: its host, its origin, and its token.
//!
//! A token is in the header, in a session, or in the address for the one exchange that starts a session.
//!
//! While no token exists, the server listens on the loopback address only, and everything is allowed to the user who started
//! it. Once one was created, every request needs one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State as Extracted};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use karat_app::{Access, Role};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq;

use crate::guard::peer::Peer;
use crate::guard::{SIGN_OUT, WithoutTokens, origin};
use crate::problem::Problem;
use crate::route::{Routes, is_safe};
use crate::state::State;

/// The name of the key in the printed address in sessions. No token has this id.
const OWN: &str = "view";

/// The time for which a request that needs no token waits for the store.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);

/// Passes a request on with what it may do, or refuses it.
pub(crate) async fn check(
    Extracted((state, routes)): Extracted<(State, Arc<Routes>)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    let is_open = routes.is_open(head.uri.path());
    let admitted = match is_open {
        // A store that does not answer must not keep the server from saying so.
        true => tokio::time::timeout(OPEN_PATIENCE, admit(&state, &routes, &head)).await.unwrap_or(Err(no_answer())),
        false => admit(&state, &routes, &head).await,
    };
    match admitted {
        Ok(Ok(access)) => {
            head.extensions.insert(access.clone());
            let mut response = next.run(Request::from_parts(head, body)).await;
            response.extensions_mut().insert(access);
            response
        }
        // A supervisor asks under an address and has no token; it learns whether the server works, and nothing else.
        _ if is_open => next.run(Request::from_parts(head, body)).await,
        Ok(Err(answer)) => answer,
        Err(problem) => problem.into_response(),
    }
}

async fn admit(state: &State, routes: &Routes, head: &Parts) -> Result<Result<Access, Response>, Problem> {
    let host = state.guard().hosts.check(head)?;
    origin::check(head, &host)?;
    enter(state, routes, head).await
}

/// Returns what the request may do, or an answer that replaces it: the redirect that starts a session, or the refusal of a
/// role.
///
/// # Errors
/// The request has no token, a wrong one, or one that does not allow it.
async fn enter(state: &State, routes: &Routes, head: &Parts) -> Result<Result<Access, Response>, Problem> {
    let everything = Access { token: String::new(), role: Role::Admin };
    let is_open_scrape = state.settings().metrics_open && head.uri.path() == "/metrics";
    let Some(needed) = routes.needed_role(&head.method, head.uri.path()).filter(|_| !is_open_scrape) else {
        return Ok(Ok(everything));
    };
    let now = state.now();
    let from = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|from| from.0.ip());
    let has_tokens = state.has_tokens().await?;
    let given = token_in_address(head);
    let guard = state.guard();
    if !has_tokens && guard.without_tokens != WithoutTokens::OwnKey {
        if guard.without_tokens == WithoutTokens::SameUser && !is_same_user(head).await {
            return Err(other_user());
        }
        return Ok(match given {
            Some((_, rest)) => Err(redirect(&rest, None)),
            None => Ok(everything),
        });
    }
    let own = guard.own_role(has_tokens, state.settings().purpose);
    let bearer = bearer(&head.headers);
    // Behind a proxy all callers have one address, and a valid token must not be locked out by those who guess: no secret
    // of 256 bits is found this way, so the limit is there to be seen and to slow down.
    let wrong = || match guard.attempts.may_try(from, now) {
        true => {
            guard.attempts.add(from, now);
            refuse_without_token("the token is not valid: it is mistyped, expired or revoked")
        }
        false => too_many(),
    };
    if let Some((token, rest)) = given {
        let access = check_token(state, own, token).await?.ok_or_else(wrong)?;
        let cookie = guard.sessions.cookie(&access.token, now, is_over_tls(&head.headers));
        return Ok(Err(redirect(&rest, cookie)));
    }
    let access = match bearer {
        Some(token) => check_token(state, own, token).await?.ok_or_else(wrong)?,
        None => {
            let token = guard.sessions.token(&head.headers, now);
            let token = token.ok_or_else(|| if has_tokens { no_token() } else { no_key() })?;
            // A browser sends the cookie by itself; its word for the page that asks has to be there.
            if !is_safe(&head.method) && !head.headers.contains_key(header::ORIGIN) {
                return Err(Problem::forbidden("a request of a session needs its `Origin`"));
            }
            of_session(state, own, token)
                .await?
                .ok_or_else(|| refuse_without_token("the token of this session was revoked"))?
        }
    };
    // Every role may end its own session.
    if head.method == Method::POST && head.uri.path() == SIGN_OUT {
        return Ok(Err(signed_out(guard.sessions.sign_out(&head.headers, now))));
    }
    if access.role.allows(needed) {
        return Ok(Ok(access));
    }
    let refused = Problem::forbidden(format!("the role `{}` does not allow this: it needs `{needed}`", access.role));
    let mut answer = refused.into_response();
    // The log says whose request it was.
    answer.extensions_mut().insert(access);
    Ok(Err(answer))
}

fn no_answer() -> Problem {
    Problem::of_status(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer")
}

/// The rights of a token. `own` is the role of the key in the printed address.
async fn check_token(state: &State, own: Option<Role>, token: String) -> Result<Option<Access>, Problem> {
    let is_own = |own: &String| bool::from(own.as_bytes().ct_eq(token.as_bytes()));
    if state.guard().own_key.as_ref().is_some_and(is_own) {
        return Ok(own.map(own_access));
    }
    state.look_up(move |app| app.service().check_token(&token)).await
}

async fn of_session(state: &State, own: Option<Role>, token: String) -> Result<Option<Access>, Problem> {
    if token == OWN {
        return Ok(own.map(own_access));
    }
    state.look_up(move |app| app.service().access_of(&token)).await
}

fn own_access(role: Role) -> Access {
    Access { token: OWN.to_owned(), role }
}

/// Returns true if the user of the server made the connection, or root.
async fn is_same_user(head: &Parts) -> bool {
    match head.extensions.get::<Peer>() {
        Some(peer) => peer.is_ours().await,
        None => false,
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// The token in a page's address, and the address without it.
fn token_in_address(head: &Parts) -> Option<(String, String)> {
    if head.method != Method::GET {
        return None;
    }
    let query = head.uri.query()?;
    let (given, kept): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| pair.starts_with("token="));
    let token = percent_decode_str(given.first()?.strip_prefix("token=")?).decode_utf8().ok()?.into_owned();
    // Two slashes would lead to another site.
    let path = format!("/{}", head.uri.path().trim_start_matches('/'));
    let rest = if kept.is_empty() { path } else { format!("{path}?{}", kept.join("&")) };
    Some((token, rest))
}

fn redirect(to: &str, cookie: Option<HeaderValue>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.extend(HeaderValue::try_from(to).ok().map(|to| (header::LOCATION, to)));
    headers.extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns whether a proxy says that the browser spoke TLS to it. A caller who makes it up only gets a cookie that its
/// browser does not send back.
fn is_over_tls(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|scheme| scheme.as_bytes().eq_ignore_ascii_case(b"https"))
}

fn signed_out(cookie: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn refuse_without_token(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", "A token is needed")
        .with_detail(detail)
        .with_hint("`karat token create --role read --name NAME` makes one")
}

fn no_token() -> Problem {
    refuse_without_token("this server asks for a token")
}

fn no_key() -> Problem {
    refuse_without_token("this server has no tokens: open the address that it printed, which holds a key")
}

/// The refusal of another user of the machine.
fn other_user() -> Problem {
    refuse_without_token("this server has no tokens, so it answers only the user who started it")
        .with_hint("`karat token create --role read --name NAME`, by that user, makes a token; `--open-loopback` lets in every user of this machine")
}

fn too_many() -> Problem {
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", "Too many wrong tokens");
    Problem { retry_after_s: Some(60), ..problem.with_detail("ten wrong tokens came from this address in one minute") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(uri: &str) -> Option<(String, String)> {
        let (head, ()) = http::Request::builder().uri(uri).body(()).unwrap().into_parts();
        token_in_address(&head)
    }

    /// DB-51: the token leaves the address, the rest stays, and the rest is an address of this server.
    #[test]
    fn the_token_is_taken_out_of_the_address() {
        let pair = |token: &str, rest: &str| Some((token.to_owned(), rest.to_owned()));
        assert_eq!(address("/runs/a?x=1&token=a%5Fb&y=2"), pair("a_b", "/runs/a?x=1&y=2"));
        assert_eq!(address("/?token=t"), pair("t", "/"));
        assert_eq!(address("//evil.example/?token=t"), pair("t", "/evil.example/"));
        assert_eq!(address("/?tokens=t"), None);
    }
}
