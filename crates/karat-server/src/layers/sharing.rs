//! Callers who ask for the same thing at the same time share one answer.
//!
//! So a page that two hundred browsers open beside a run is made a few times a second at most, and the run keeps the processor.
//! `guard/answers.rs` has the rules.

use axum::extract::{Request, State as Extracted};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, Method, header};
use karat_app::Access;

use crate::state::State;

/// The headers that an answer may depend on, beside the address and the token.
const READ: [HeaderName; 3] = [header::ACCEPT, header::ACCEPT_ENCODING, HeaderName::from_static("last-event-id")];

/// Answers a GET request together with those that ask the same.
pub(crate) async fn share(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    match *request.method() {
        Method::GET => {
            let (question, change) = (question(&request), state.change());
            state.answers().find_or_make(&question, change, next.run(request)).await
        }
        Method::HEAD | Method::OPTIONS => next.run(request).await,
        _ => {
            let response = next.run(request).await;
            state.note_change();
            response
        }
    }
}

/// Everything of a request that its answer depends on.
fn question(request: &Request) -> Vec<u8> {
    let access = request.extensions().get::<Access>();
    let who = access.map(|access| format!("{}\n{}", access.token, access.role)).unwrap_or_default();
    let mut question = format!("{}\n{who}", request.uri()).into_bytes();
    for name in READ {
        question.push(b'\n');
        let values = request.headers().get_all(name);
        values.iter().for_each(|value| question.extend_from_slice(value.as_bytes()));
    }
    question
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    /// SV-28, SV-09: what a token may see is not shared with another.
    #[test]
    fn a_question_is_of_address_token_and_encoding() {
        let ask = |uri: &str, token: &str, encoding: &str| {
            let mut request = Request::get(uri).header("accept-encoding", encoding).body(Body::empty()).unwrap();
            request.extensions_mut().insert(Access { token: token.to_owned(), role: karat_app::Role::Read });
            question(&request)
        };
        let one = ask("/runs/r?x=1", "t", "gzip");
        assert_eq!(one, ask("/runs/r?x=1", "t", "gzip"));
        assert!(one != ask("/runs/r", "t", "gzip") && one != ask("/runs/r?x=1", "u", "gzip"));
        assert!(one != ask("/runs/r?x=1", "t", "br"));
    }
}
