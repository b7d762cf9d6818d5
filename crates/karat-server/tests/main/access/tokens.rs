//! Tokens and sessions.

use http::StatusCode;
use karat_app::Role;
use karat_server::Purpose;

use crate::place::Place;

const PAGE: &str = "Accept: text/html";

fn with_token(role: Role) -> (Place, String) {
    let place = Place::view();
    let token = place.app.service().create_token("test", role, None).unwrap();
    (place, token.text)
}

/// SV-08, SV-09: everything is open until the first token exists; then every request needs one, and revoking it works at
/// once.
#[test]
fn the_first_token_closes_the_server() {
    let place = Place::view();
    assert_eq!(place.get("/").status, StatusCode::OK);
    let token = place.app.service().create_token("test", Role::Read, None).unwrap();
    let refused = place.get("/");
    assert_eq!((refused.status, refused.header("www-authenticate")), (StatusCode::UNAUTHORIZED, "Bearer"));
    assert_eq!(refused.json()["type"], "urn:karat:problem:unauthenticated");
    let bearer = format!("Authorization: Bearer {}", token.text);
    assert_eq!(place.send("GET", "/", &[&bearer], "").status, StatusCode::OK);
    place.app.service().revoke_token(&token.id).unwrap();
    assert_eq!(place.send("GET", "/", &[&bearer], "").status, StatusCode::UNAUTHORIZED);
    assert_eq!(place.get("/").status, StatusCode::UNAUTHORIZED);
}

/// DB-51: a browser exchanges the token once for a cookie, and the token leaves the address.
#[test]
fn a_browser_exchanges_its_token_for_a_session() {
    let (place, token) = with_token(Role::Run);
    let form = place.page("/");
    assert_eq!(form.status, StatusCode::UNAUTHORIZED);
    assert!(form.text.contains("data-testid=\"sign-in\""));
    let exchanged = place.page(&format!("/?suite=a&token={token}"));
    assert_eq!((exchanged.status, exchanged.header("location")), (StatusCode::SEE_OTHER, "/?suite=a"));
    let cookie = exchanged.header("set-cookie");
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(place.send("GET", "/", &[PAGE, &cookie], "").status, StatusCode::OK);

    let cancel = |headers: &[&str]| place.send("POST", "/eval/runs/x/cancel", headers, "").status;
    assert_eq!(cancel(&[&cookie]), StatusCode::FORBIDDEN, "a session needs its own origin");
    assert_eq!(cancel(&[&cookie, "Origin: http://localhost"]), StatusCode::NOT_FOUND);

    let id = place.app.service().tokens().unwrap()[0].id.clone();
    place.app.service().revoke_token(&id).unwrap();
    assert_eq!(place.send("GET", "/", &[PAGE, &cookie], "").status, StatusCode::UNAUTHORIZED);
}

/// DB-51, SV-09: a browser signs out, with any role, and a copy of its cookie is worth nothing then. The page offers it
/// only where there are tokens. Behind a proxy with TLS the cookie is sent over TLS only.
#[test]
fn a_browser_signs_out() {
    let (place, token) = with_token(Role::Read);
    let secure = place.send("GET", &format!("/?token={token}"), &[PAGE, "X-Forwarded-Proto: https"], "");
    assert!(secure.header("set-cookie").ends_with("; Secure"), "{}", secure.header("set-cookie"));
    let exchanged = place.page(&format!("/?token={token}"));
    let cookie = format!("Cookie: {}", exchanged.header("set-cookie").split(';').next().unwrap());
    let page = place.send("GET", "/service", &[PAGE, &cookie], "");
    assert!(page.text.contains("data-to=\"/session/end\""), "{}", page.text);
    let end = |headers: &[&str]| place.send("POST", "/session/end", headers, "");
    assert_eq!(end(&[&cookie]).status, StatusCode::FORBIDDEN, "a session needs its own origin");
    let ended = end(&[&cookie, "Origin: http://localhost"]);
    assert_eq!((ended.status, ended.header("set-cookie").contains("Max-Age=0")), (StatusCode::NO_CONTENT, true));
    assert_eq!(place.send("GET", "/service", &[PAGE, &cookie], "").status, StatusCode::UNAUTHORIZED);
    assert!(!Place::view().page("/service").text.contains("/session/end"));
}

/// SV-08: a role allows what it is for, and wrong tokens are limited.
#[test]
fn roles_and_wrong_tokens_are_refused() {
    let (place, token) = with_token(Role::Read);
    let bearer = format!("Authorization: Bearer {token}");
    let refused = place.send("POST", "/eval/runs/x/cancel", &[&bearer], "");
    assert_eq!(
        (refused.status, &refused.json()["type"]),
        (StatusCode::FORBIDDEN, &"urn:karat:problem:forbidden".into())
    );
    for _ in 0..10 {
        let wrong = place.send("GET", "/", &["Authorization: Bearer karat_wrong"], "");
        assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    }
    let limited = place.send("GET", "/", &["Authorization: Bearer karat_wrong"], "");
    assert_eq!((limited.status, limited.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "60"));
    // Behind a proxy, whoever guesses has the address of everybody else.
    assert_eq!(place.send("GET", "/", &[&bearer], "").status, StatusCode::OK);
}

/// DB-05, SV-09: `karat view` on a store with tokens prints an address that opens its own dashboard, and nothing else does.
#[test]
fn view_brings_its_own_key() {
    let place = Place::with(Purpose::View { style: false }, |app| {
        app.service().create_token("ci", Role::Run, None).unwrap();
    });
    assert_eq!(place.page("/").status, StatusCode::UNAUTHORIZED);
    let exchanged = place.page(&place.printed_path());
    assert_eq!(exchanged.status, StatusCode::SEE_OTHER);
    let cookie = format!("Cookie: {}", exchanged.header("set-cookie").split(';').next().unwrap());
    assert_eq!(place.send("GET", "/", &[PAGE, &cookie], "").status, StatusCode::OK);
    assert_eq!(Place::view().printed_path(), "/");
}

/// SV-08: each kind of address is for the roles that need it, and for nobody without a token.
#[test]
fn each_address_is_for_its_roles() {
    const ROLES: [Role; 5] = [Role::Read, Role::Run, Role::Admin, Role::Ingest, Role::Annotate];
    const READERS: &[Role] = &[Role::Read, Role::Run, Role::Admin];
    const RUNNERS: &[Role] = &[Role::Run, Role::Admin];
    let place = Place::serve();
    let tokens = ROLES.map(|role| (role, place.app.service().create_token(role.as_str(), role, None).unwrap().text));
    let table: &[(&str, &[&str], &[Role])] = &[
        (
            "GET",
            &[
                "/",
                "/service",
                "/suites",
                "/eval/runs",
                "/runs/x",
                "/compare",
                "/series/x",
                "/schedules",
                "/incidents",
                "/outbox",
                "/traces",
                "/metrics",
                "/eval/runs/x/report",
                "/eval/runs/x/events",
                "/nothing",
            ],
            READERS,
        ),
        (
            "GET",
            &["/annotations", "/annotations/t", "/annotations/t/export", "/annotate", "/annotate/t/owner"],
            RUNNERS,
        ),
        (
            "POST",
            &[
                "/eval/plan",
                "/eval/run",
                "/eval/runs/x/cancel",
                "/eval/runs/x/resume",
                "/eval/runs/x/retry",
                "/annotations",
                "/annotations/t/close",
                "/annotations/t/adjudicate",
                "/incidents/x/ack",
                "/incidents/x/close",
                "/outbox/x/retry",
                "/suites/x/suspects",
                "/schedules/x/y/run",
                "/schedules/x/y/pause",
                "/nothing",
            ],
            RUNNERS,
        ),
        ("POST", &["/traces?dataset=a", "/v1/traces"], &[Role::Ingest, Role::Admin]),
        ("GET", &["/annotate/t"], &[Role::Annotate, Role::Admin]),
    ];
    let mut asked = 0;
    for (method, paths, allowed) in table {
        for path in *paths {
            let ask = |headers: &[&str]| {
                place.send(method, path, &[headers, &["Content-Type: application/json"]].concat(), "{}")
            };
            assert_eq!(ask(&[]).status, StatusCode::UNAUTHORIZED, "{method} {path}");
            for (role, token) in &tokens {
                let status = ask(&[&format!("Authorization: Bearer {token}")]).status;
                let is_refused = status == StatusCode::FORBIDDEN;
                assert_eq!(is_refused, !allowed.contains(role), "{method} {path} as {role}: {status}");
                asked += 1;
            }
        }
    }
    assert!(asked > 180, "{asked}");
}
