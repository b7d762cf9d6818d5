//! The dashboard and the HTTP API: `karat view` and `karat serve`.
//!
//! ```text
//! request ─► answer (request id, problems, headers) ─► entity (ETag) ─► compression ─► admission ─► repeats ─► pages/ or api/
//!                                                                                                      └─► State ─► karat_app::App
//! ```
//!
//! - `serving/`: binds the address and serves until it is stopped; `router` puts the layers around the routes.
//! - `route/`: the table of routes. `target`: the addresses of pages.
//! - `settings`, `state`: the parts that all requests share. `State::read` calls the app on a thread that may block.
//! - `runs/`: executes the runs of the queue; `runs/background/`: schedules and alerts, beside requests.
//! - `layers/`: the steps around the routes; `guard/`: the rules of host, origin, token, session and limits.
//! - `problem`: every refusal and failure as a value. `telemetry/`: figures for Prometheus and the log.
//! - `live_text`: the progress of a run, as the live page shows it.
//! - `pages/`: the dashboard, a file a page; `api/`: the HTTP API, a file a group of endpoints.
//!
//! This crate knows no SQL and no engine: everything it shows comes from `karat-app`. Read `serving/server`, then `router`.

mod api;
mod guard;
mod layers;
mod live_text;
mod pages;
mod problem;
mod route;
mod router;
mod runs;
mod serving;
mod settings;
mod state;
mod target;
mod telemetry;

pub use api::description as openapi;
pub use serving::server::{ServeError, Server};
pub use settings::{Log, Loopback, Purpose, QueueLimits, Settings};
pub use target::Target;
