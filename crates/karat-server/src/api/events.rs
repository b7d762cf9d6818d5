//! `GET /eval/runs/{id}/events`: what happens in a run, as server-sent events.
//!
//! Everything comes from the rows of the store, so a run of another process is followed as well, and a server that was
//! restarted goes on where it was. Each connection looks at the store four times a second; a reader that is slower than the
//! run makes it wait. Connections that want all cells have a thread each; the many that show a page share one, since a thread
//! keeps memory for itself.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::Path;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use http::{HeaderMap, StatusCode};
use karat_app::{App, AppError, FinishedCell, Look, Progress, RunFollower, RunState};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::api::run_object::RunObject;
use crate::guard::streams::{PERIOD, Stream};
use crate::live_text;
use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

/// Time between comments that keep a connection open through proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Time after which a browser connects again.
const RETRY: Duration = Duration::from_secs(3);

/// Events that wait for a slow reader.
const WAITING: usize = 64;

/// Cells that come with one look under `cells=latest`: what a page shows.
const LATEST: usize = 20;

/// Events of one step without all cells: these, states, progress and the end.
const MOST_OF_A_STEP: usize = LATEST + 8;

/// The cells that are wanted as events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cells {
    None,
    Failed,
    All,
    /// The last few of each look, and all texts of the live page.
    Latest,
}

const CELLS: [(&str, Cells); 4] =
    [("none", Cells::None), ("failed", Cells::Failed), ("all", Cells::All), ("latest", Cells::Latest)];

pub(super) async fn events(
    state: State,
    Path(run): Path<String>,
    Extension(query): Extension<Query>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let cells = query.choose("cells", &CELLS)?.unwrap_or(Cells::None);
    let after = last_event(&headers)?;
    let place = state.stream_place()?;
    let run = RunObject::read(&state, run).await?.state;
    let is_waiting = run.started_at.is_none();
    let follower = match is_waiting {
        true => None,
        false => Some(follow(&state, run.run_id.clone()).await?),
    };
    let is_over = follower.as_ref().is_none_or(|(_, look)| look.has_ended() && after >= look.seq);
    if is_over && is_end(run.status) && (!is_waiting || headers.contains_key("last-event-id")) {
        // Tells `EventSource` to stop.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let (sender, receiver) = channel(WAITING);
    let sent = Sent { after, status: String::new(), progress: None };
    let following = follower.map(|(follower, look)| (follower, Some(look)));
    let handle = Handle::current();
    let stream = EventStream { state: state.clone(), run: run.run_id, cells, following, sent, sender, handle, place };
    // Its place is free: nothing was sent before.
    let _ = stream.sender.try_send(Event::default().retry(RETRY));
    match cells {
        Cells::None | Cells::Latest => state.streams().add(Box::new(stream)),
        Cells::Failed | Cells::All => drop(tokio::task::spawn_blocking(move || {
            let mut stream = stream;
            while stream.step() {
                std::thread::sleep(PERIOD);
            }
        })),
    }
    let events = unfold(receiver, async |mut receiver: Receiver<Event>| {
        let event = receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), receiver))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

async fn follow(state: &State, run: String) -> Result<(RunFollower, Look), Problem> {
    let follow = move |app: &App| {
        let mut follower = app.views().follow(&run)?;
        follower.look().map(|look| (follower, look))
    };
    state.read(follow).await
}

/// Returns whether a run with this status has ended.
fn is_end(status: &str) -> bool {
    !matches!(status, "queued" | "running")
}

/// The number behind which events are wanted.
fn last_event(headers: &HeaderMap) -> Result<u64, Problem> {
    let Some(last) = headers.get("last-event-id") else { return Ok(0) };
    let number =
        last.to_str().ok().map(str::trim).and_then(|last| if last.is_empty() { Some(0) } else { last.parse().ok() });
    number.ok_or_else(|| Problem::bad_request("`Last-Event-ID` must be the `id` of an event of this run"))
}

/// The end of a stream before its run has ended.
enum Ended {
    /// The reader has gone, or the server stops.
    Closed,
    /// The store cannot be read.
    Store,
}

impl From<AppError> for Ended {
    fn from(_: AppError) -> Self {
        Self::Store
    }
}

/// The events of one connection.
struct EventStream {
    state: State,
    /// Id of the run.
    run: String,
    cells: Cells,
    /// The follower of the run, once it has rows, and its first look if it is not sent yet.
    following: Option<(RunFollower, Option<Look>)>,
    sent: Sent,
    sender: Sender<Event>,
    handle: Handle,
    /// One of the connections that a server has at a time.
    #[expect(dead_code, reason = "it is free again when the stream ends")]
    place: OwnedSemaphorePermit,
}

/// The part of a run that its reader knows.
struct Sent {
    /// Cells up to this number were sent before.
    after: u64,
    /// The status that was sent last.
    status: String,
    /// The progress that was sent last.
    progress: Option<Progress>,
}

impl Stream for EventStream {
    fn step(&mut self) -> bool {
        // A reader that has gone ends the stream, and so does a store that cannot be read: the reader connects again.
        self.send_news().unwrap_or(false)
    }
}

impl EventStream {
    /// Sends what has happened since the last step. Returns false once everything was sent.
    fn send_news(&mut self) -> Result<bool, Ended> {
        if self.sender.is_closed() || self.state.stop().is_set() {
            return Err(Ended::Closed);
        }
        if matches!(self.cells, Cells::None | Cells::Latest) && self.sender.capacity() < MOST_OF_A_STEP {
            // A slow reader: what it misses now is in the next look.
            return Ok(true);
        }
        let (mut follower, look) = match self.following.take() {
            Some((follower, Some(first))) => (follower, first),
            Some((mut follower, None)) => {
                let look = follower.look()?;
                (follower, look)
            }
            None => {
                let present = self.present()?;
                if present.started_at.is_some() {
                    let begun = self.handle.block_on(follow(&self.state, self.run.clone()));
                    begun.map_err(|_| Ended::Store)?
                } else if is_end(present.status) {
                    // It ended without rows.
                    return self.send_end(self.sent.after).map(|()| false);
                } else {
                    return self.send_status("queued").map(|()| true);
                }
            }
        };
        self.send_look(&mut follower, &look)?;
        // A run that is continued waits for its turn.
        if look.has_ended() && is_end(self.present()?.status) {
            return self.send_end(look.seq).map(|()| false);
        }
        self.following = Some((follower, None));
        Ok(true)
    }

    fn present(&self) -> Result<RunState, Ended> {
        let read = RunObject::read(&self.state, self.run.clone());
        Ok(self.handle.block_on(read).map_err(|_| Ended::Store)?.state)
    }

    fn send_status(&mut self, status: &str) -> Result<(), Ended> {
        if self.sent.status == status {
            return Ok(());
        }
        status.clone_into(&mut self.sent.status);
        self.send(event("state", &json!({ "status": status })))
    }

    fn send_look(&mut self, follower: &mut RunFollower, look: &Look) -> Result<(), Ended> {
        if !look.has_ended() {
            self.send_status("running")?;
        }
        let new: Vec<&FinishedCell> = look.finished.iter().filter(|cell| self.is_wanted(cell)).collect();
        let from = if self.cells == Cells::Latest { new.len().saturating_sub(LATEST) } else { 0 };
        for cell in new.into_iter().skip(from) {
            if let Some(line) = follower.cell(cell.ordinal)? {
                let mut object = json!({
                    "cell": line.cell,
                    "sample": line.sample,
                    "model": line.model,
                    "variant": line.variant,
                    "trial": line.trial,
                    "status": line.status,
                    "scores": line.scores,
                    "error": line.error,
                });
                if self.cells == Cells::Latest {
                    object["texts"] = json!(live_text::cell(&line));
                }
                self.send(event("cell", &object).id(cell.seq.to_string()))?;
            }
        }
        if self.sent.progress.as_ref() != Some(&look.progress) {
            // Everything up to here was sent, also what was not wanted.
            let mut progress = serde_json::to_value(&look.progress).unwrap_or_default();
            if self.cells == Cells::Latest {
                let texts = live_text::run(&self.run, &look.progress).texts();
                progress["texts"] = texts.into_iter().collect::<Value>();
            }
            let behind = look.finished.last().map_or(self.sent.after, |last| last.seq).max(self.sent.after);
            self.send(event("progress", &progress).id(behind.to_string()))?;
            self.sent.after = behind;
            self.sent.progress = Some(look.progress.clone());
        }
        Ok(())
    }

    fn is_wanted(&self, cell: &FinishedCell) -> bool {
        let is_kind = match self.cells {
            Cells::None => false,
            Cells::Failed => cell.is_failed,
            Cells::All | Cells::Latest => true,
        };
        is_kind && cell.seq > self.sent.after
    }

    fn send_end(&mut self, seq: u64) -> Result<(), Ended> {
        let run = self.present()?;
        self.send_status(run.status)?;
        let end = json!({ "status": run.status, "verdict": run.verdict, "exit_code": run.exit_code });
        self.send(event("end", &end).id(seq.to_string()))
    }

    fn send(&self, event: Event) -> Result<(), Ended> {
        self.sender.blocking_send(event).map_err(|_| Ended::Closed)
    }
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
