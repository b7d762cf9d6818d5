//! The rules of who may ask, and of what a page may do.

use http::StatusCode;
use karat_server::{Loopback, ServeError, Server, Settings};

use crate::place::Place;

/// DB-51: every answer has the policy and the headers of safety, also refusals and errors.
#[test]
fn every_answer_has_the_headers_of_safety() {
    let place = Place::view();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                  connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    for answer in [place.get("/"), place.page("/nope"), place.send("GET", "/", &["Host: evil.example"], "")] {
        assert_eq!(answer.header("content-security-policy"), policy);
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(answer.header("access-control-allow-origin"), "");
        assert_eq!(answer.header("x-request-id").len(), 32);
    }
}

/// DB-51, SV-09: a foreign name that resolves to this machine is refused.
#[test]
fn a_foreign_host_is_refused() {
    let place = Place::view();
    for host in ["Host: evil.example", "Host: 127.0.0.1.evil.example:8787", "Host: "] {
        assert_eq!(place.send("GET", "/", &[host], "").status, StatusCode::FORBIDDEN, "{host}");
    }
    assert_eq!(place.send("GET", "/", &["Host: [::1]:8787"], "").status, StatusCode::OK);
}

/// DB-51, SV-09: pages of other sites may link here, and may do nothing else.
#[test]
fn other_sites_may_only_link() {
    let place = Place::view();
    let ask = |method: &str, headers: &[&str]| place.send(method, "/", headers, "").status;
    assert_eq!(ask("GET", &["Origin: https://evil.example"]), StatusCode::FORBIDDEN);
    assert_eq!(ask("GET", &["Origin: null"]), StatusCode::FORBIDDEN);
    assert_eq!(ask("POST", &["Origin: http://localhost:9999"]), StatusCode::FORBIDDEN);
    assert_eq!(ask("GET", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"]), StatusCode::FORBIDDEN);
    assert_eq!(ask("GET", &["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"]), StatusCode::FORBIDDEN);
    assert_eq!(ask("POST", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]), StatusCode::FORBIDDEN);
    let link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    assert_eq!(ask("GET", &link), StatusCode::OK);
    assert_eq!(ask("GET", &["Origin: http://localhost", "Sec-Fetch-Site: same-origin"]), StatusCode::OK);
}

/// SV-09: a form cannot send what the API takes.
#[test]
fn bodies_are_json() {
    let place = Place::view();
    for kind in ["Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded"] {
        let answer = place.send("POST", "/eval/run", &[kind], "{}");
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
        assert_eq!(answer.json()["type"], "urn:karat:problem:media-type");
    }
    assert_eq!(place.send("POST", "/eval/run", &[], "{}").status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// DB-60: assets stay for good under their hash; pages are asked for again and cost nothing while they are the same.
#[test]
fn assets_are_kept_and_pages_are_tagged() {
    let place = Place::view();
    let page = place.page("/");
    let tag = page.header("etag").to_owned();
    assert_eq!(page.header("cache-control"), "private, no-cache");
    let again = place.send("GET", "/", &["Accept: text/html", &format!("If-None-Match: {tag}")], "");
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (StatusCode::NOT_MODIFIED, "", tag.as_str()));

    let style = page.text.split('"').find(|part| part.starts_with("/assets/page-") && part.ends_with(".css")).unwrap();
    let style = place.send("GET", style, &["Accept-Encoding: gzip"], "");
    assert_eq!(style.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(style.header("content-encoding"), "gzip");
    let files = page.text.matches("\"/assets/").count();
    assert!(files <= 3, "{files} files beside the page");
    assert_eq!(place.get("/assets/page-0000000000000000.css").status, StatusCode::NOT_FOUND);
}

/// X5: without tokens a request whose user is not known to be the server's is refused with the way out, but for its health,
/// and `--open-loopback` lets it in.
#[test]
fn other_users_are_refused_without_tokens() {
    for place in [Place::view(), Place::serve()] {
        assert_eq!(place.get("/").status, StatusCode::OK, "`--open-loopback`");
        let place = place.with_loopback(Loopback::SameUser);
        for (method, path) in
            [("GET", "/"), ("GET", "/eval/runs"), ("GET", "/?token=x"), ("GET", "/annotate"), ("GET", "/metrics")]
        {
            let answer = place.send(method, path, &[], "");
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
            assert!(
                answer.text.contains("karat token create") && answer.text.contains("--open-loopback"),
                "{}",
                answer.text
            );
        }
        for path in ["/eval/run", "/v1/traces", "/annotations/t/next"] {
            assert_eq!(place.post(path, "{}").status, StatusCode::UNAUTHORIZED, "{path}");
        }
        assert_eq!(place.get("/livez").status, StatusCode::OK);
    }
}

/// X5: where the system does not tell who asks, the printed address holds a key, which is good for everything until the first
/// token is made.
#[test]
fn a_key_opens_a_server_that_cannot_tell_users() {
    let place = Place::serve().with_loopback(Loopback::OwnKey);
    assert_eq!(place.get("/eval/runs").status, StatusCode::UNAUTHORIZED);
    let printed = place.printed_path();
    let key = printed.split_once("token=").map(|(_, key)| key.to_owned()).unwrap();
    let header = format!("Authorization: Bearer {key}");
    assert_eq!(place.send("GET", "/eval/runs", &[&header], "").status, StatusCode::OK);
    let json = "Content-Type: application/json";
    assert_ne!(place.send("POST", "/eval/run", &[&header, json], "{}").status, StatusCode::UNAUTHORIZED);
    let opened = place.get(&printed);
    assert_eq!(opened.status, StatusCode::SEE_OTHER);
    let cookie = format!("Cookie: {}", opened.header("set-cookie").split(';').next().unwrap());
    assert_eq!(place.send("GET", "/eval/runs", &[&cookie], "").status, StatusCode::OK);
    place.app.service().create_token("me", karat_app::Role::Read, None).unwrap();
    assert_eq!(place.send("GET", "/eval/runs", &[&header], "").status, StatusCode::UNAUTHORIZED);
    assert_eq!(place.send("GET", "/eval/runs", &[&cookie], "").status, StatusCode::UNAUTHORIZED);
}

/// X5: a store whose tokens cannot be read is not taken for one without tokens.
#[test]
fn unreadable_tokens_are_no_open_door() {
    let place = Place::view();
    place.app.service().create_token("me", karat_app::Role::Read, None).unwrap();
    let store = place.folder.path().join("karat.db");
    assert!(store.is_file());
    rusqlite::Connection::open(&store).unwrap().execute("alter table tokens rename column role to kind", []).unwrap();
    let settings = Settings { loopback: Loopback::SameUser, ..place.settings() };
    let refused = Server::bind(place.fresh_app(), settings).err().unwrap();
    assert!(matches!(refused, ServeError::Tokens(_)), "{refused}");
    assert!(refused.to_string().starts_with("reading the tokens: "), "{refused}");
}
