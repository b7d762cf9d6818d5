//! `GET /eval/runs/{id}/report`: what `karat report` writes.

use std::io::{self, Write};

use axum::Extension;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{HeaderName, HeaderValue, header};
use karat_app::{App, AppError, Outputs};
use karat_types::ReportFormat;
use tokio::sync::mpsc;

use crate::guard::answers::IsStream;
use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

/// Bytes up to which an answer whose size grows with the run is sent as a whole, with an entity tag.
const WHOLE: usize = 1 << 20;

/// Bytes of a chunk, and chunks that wait for their reader.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 4;

pub(super) async fn report(
    state: State,
    Path(run): Path<String>,
    Extension(query): Extension<Query>,
) -> Result<Response, Problem> {
    let formats = ReportFormat::ALL.map(|format| (format.name(), format));
    let format = query.choose("format", &formats)?.unwrap_or(ReportFormat::Json);
    let is_canonical = query.choose("canonical", &[("1", true), ("0", false)])?.unwrap_or_default();
    let mut response = match format {
        // They leave out what has no place in a document of a limited size.
        ReportFormat::Html | ReportFormat::Markdown | ReportFormat::Comment => {
            let bytes = state.read(move |app| {
                let mut bytes = Vec::new();
                app.reports().export(&run, format, Outputs::default(), is_canonical, &mut bytes).map(|_| bytes)
            });
            bytes.await?.into_response()
        }
        _ => rows(state, run, format, is_canonical).await?,
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    if format == ReportFormat::Html {
        // The page is one file: its own style and script, and nothing else.
        let policy = format!("{}; frame-ancestors 'none'", karat_page::assets::inline_policy());
        let name = HeaderName::from_static("content-security-policy");
        response.headers_mut().extend(HeaderValue::try_from(policy).ok().map(|policy| (name, policy)));
    }
    Ok(response)
}

/// A report with a row for each cell. Many rows are sent while they are made, so that the memory of the server does not grow
/// with the run.
async fn rows(state: State, run: String, format: ReportFormat, is_canonical: bool) -> Result<Response, Problem> {
    let (sender, mut chunks) = mpsc::channel(CHUNKS);
    let making = tokio::spawn(async move {
        let make = move |app: &App| {
            let mut out = Chunks { sender, chunk: Vec::with_capacity(CHUNK) };
            app.reports().export(&run, format, Outputs::default(), is_canonical, &mut out)?;
            // A reader that has gone needs no end.
            let _ = out.flush();
            Ok::<_, AppError>(())
        };
        state.read(make).await
    });
    let mut begun = Vec::new();
    while begun.len() < WHOLE {
        match chunks.recv().await {
            Some(chunk) => begun.extend_from_slice(&chunk),
            None => {
                making.await.map_err(|_| Problem::internal())??;
                return Ok(begun.into_response());
            }
        }
    }
    let rest = stream::unfold((chunks, Some(making)), |(mut chunks, making)| async move {
        match chunks.recv().await {
            Some(chunk) => Some((Ok(chunk), (chunks, making))),
            // The head was sent: a failure breaks the answer off.
            None => match making?.await {
                Ok(Ok(())) => None,
                _ => Some((Err(io::Error::other("the rows cannot be made to their end")), (chunks, None))),
            },
        }
    });
    let body = Body::from_stream(stream::iter([Ok(Bytes::from(begun))]).chain(rest));
    let mut response = Response::new(body);
    response.extensions_mut().insert(IsStream);
    Ok(response)
}

/// Sends bytes in chunks.
struct Chunks {
    sender: mpsc::Sender<Bytes>,
    chunk: Vec<u8>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.sender.blocking_send(chunk.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
