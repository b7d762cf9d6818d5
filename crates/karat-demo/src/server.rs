//! The service on loopback: `POST /query`, `GET /healthz`.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::Service;

/// The largest accepted request body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Serves on a loopback port until the process ends.
///
/// # Errors
/// When the port cannot be bound, or connections can no longer be accepted.
pub async fn serve(service: Service, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let service = Arc::new(service);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move {
            let respond = service_fn(move |request| respond(service.clone(), request));
            // A broken connection affects its client only.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), respond).await;
        });
    }
}

async fn respond(service: Arc<Service>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    Ok(match (method, path.as_str()) {
        (Method::GET, "/healthz") => json_response(StatusCode::OK, &json!({ "status": "ok" })),
        (Method::POST, "/query") => query(&service, request).await,
        (_, "/query") => problem(StatusCode::METHOD_NOT_ALLOWED, "ask with POST"),
        _ => problem(StatusCode::NOT_FOUND, "there is /query and /healthz"),
    })
}

async fn query(service: &Service, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let Ok(body) = Limited::new(request.into_body(), MAX_BODY_BYTES).collect().await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "a question has at most 1 MiB");
    };
    let answer = serde_json::from_slice::<Value>(&body.to_bytes()).ok().and_then(|body| service.answer(&body));
    match answer {
        Some(answer) => json_response(StatusCode::OK, &answer),
        None => problem(StatusCode::BAD_REQUEST, "the body is not a JSON object with a `question`"),
    }
}

fn problem(status: StatusCode, what: &str) -> Response<Full<Bytes>> {
    json_response(status, &json!({ "error": what }))
}

fn json_response(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
