//! The dashboard and the HTTP API: `karat view` and `karat serve`.
//!
//! ```text
//! request ─► answer (request id, problems, headers) ─► entity (ETag) ─► compression ─► guard ─► pages/ or api/
//!                                                                                         └─► State ─► karat_app::App
//! ```
//!
//! - `server`: binds the address and serves until it is stopped; `router` puts the layers around the routes.
//! - `target`: the addresses of pages.
//! - `state`: what all requests share. Its `read` calls the app on a thread that may block.
//! - `active_runs`: the runs that this server has started.
//! - `guard/`: who may ask: host, origin, token, session.
//! - `answer`, `entity`, `problem`: how every answer leaves the server.
//! - `live_text`: how far a run is, as the live page shows it.
//! - `pages/`: the dashboard, a file a page; `api/`: the HTTP API, a file a group of endpoints; `assets`: style and script.
//!
//! This crate knows no SQL and no engine: everything it shows comes from `karat-app`. Read `server`, then `router`.

mod active_runs;
mod answer;
mod api;
mod assets;
mod entity;
mod guard;
mod live_text;
mod pages;
mod problem;
mod router;
mod server;
mod state;
mod target;

pub use server::{Purpose, ServeError, Server, Settings};
pub use target::Target;
