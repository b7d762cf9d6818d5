//! The dashboard and the HTTP API: `karat view` and `karat serve`.
//!
//! ```text
//! request ─► answer (request id, problems, headers) ─► entity (ETag) ─► compression ─► admission ─► repeats ─► pages/ or api/
//!                                                                                                      └─► State ─► karat_app::App
//! ```
//!
//! - `server`: binds the address and serves until it is stopped; `connections` limits who connects, `router` puts the layers around the routes.
//! - `target`: the addresses of pages.
//! - `settings`, `state`: the parts that all requests share. `State::read` calls the app on a thread that may block.
//! - `dispatcher`: executes the runs of the queue, `measure` counts what they do; `active_runs`: those that it executes now.
//! - `layers/`: `admission`, `entity` and `answer` around the routes; `guard/`: the rules of host, origin, token and session.
//! - `supervisor`: tells systemd that the server is ready and alive, and ends a server that hangs.
//! - `telemetry/`: figures for Prometheus and the log.
//! - `problem`: every refusal and failure as a value.
//! - `live_text`: the progress of a run, as the live page shows it.
//! - `pages/`: the dashboard, a file a page; `api/`: the HTTP API, a file a group of endpoints; `assets`: style and script.
//!
//! This crate knows no SQL and no engine: everything it shows comes from `karat-app`. Read `server`, then `router`.

mod active_runs;
mod api;
mod assets;
mod connections;
mod dispatcher;
mod guard;
mod layers;
mod live_text;
mod measure;
mod pages;
mod problem;
mod router;
mod server;
mod settings;
mod state;
mod supervisor;
mod target;
mod telemetry;

pub use server::{ServeError, Server};
pub use settings::{Log, Purpose, QueueLimits, Settings};
pub use target::Target;
