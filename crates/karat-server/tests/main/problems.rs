//! Refusals and failures: as problems for programs, as pages for people.

use http::StatusCode;

use crate::place::Place;

/// SV-01: the framework's own refusals are problems too.
#[test]
fn refusals_of_the_framework_are_problems() {
    let place = Place::view();
    let missing = place.get("/nope");
    assert_eq!((missing.status, missing.header("content-type")), (StatusCode::NOT_FOUND, "application/problem+json"));
    let problem = missing.json();
    assert_eq!((&problem["type"], &problem["status"]), (&"urn:karat:problem:not-found".into(), &404.into()));
    assert_eq!(problem["instance"], format!("urn:karat:request:{}", missing.header("x-request-id")));

    let method = place.send("DELETE", "/", &[], "");
    assert_eq!((method.status, method.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "GET,HEAD"));
    assert_eq!(method.json()["type"], "urn:karat:problem:method");

    let large = place.post("/eval/run", &" ".repeat((1 << 20) + 1));
    assert_eq!(
        (large.status, &large.json()["type"]),
        (StatusCode::PAYLOAD_TOO_LARGE, &"urn:karat:problem:too-large".into())
    );
}

/// DB-52: an error is a page in the same shell, with what to do and the id of the request.
#[test]
fn browsers_get_a_page_for_an_error() {
    let place = Place::view();
    let page = place.page("/nope");
    assert_eq!((page.status, page.header("content-type")), (StatusCode::NOT_FOUND, "text/html; charset=utf-8"));
    for part in
        ["data-testid=\"page-error\"", "data-testid=\"error-state\"", page.header("x-request-id"), "Skip to content"]
    {
        assert!(page.text.contains(part), "{part}");
    }
    assert_eq!(place.page("/eval/nope").header("content-type"), "application/problem+json");
}
