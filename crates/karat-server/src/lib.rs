//! The dashboard and the HTTP API: `karat view` and `karat serve`.
//!
//! ```text
//! request ─► answer (request id, problems, headers) ─► entity (ETag) ─► compression ─► admission ─► pages/ or api/
//!                                                                                         └─► State ─► karat_app::App
//! ```
//!
//! - `server`: binds the address and serves until it is stopped; `router` puts the layers around the routes.
//! - `target`: the addresses of pages.
//! - `settings`, `state`: the parts that all requests share. `State::read` calls the app on a thread that may block.
//! - `active_runs`: the runs that this server has started.
//! - `background/`: schedules and alerts, beside requests.
//! - `layers/`: `admission`, `entity` and `answer` around the routes; `guard/`: the rules of host, origin, token and session.
//! - `problem`: every refusal and failure as a value.
//! - `live_text`: the progress of a run, as the live page shows it.
//! - `pages/`: the dashboard, a file a page; `api/`: the HTTP API, a file a group of endpoints; `assets`: style and script.
//!
//! This crate knows no SQL and no engine: everything it shows comes from `karat-app`. Read `server`, then `router`.

mod active_runs;
mod api;
mod assets;
mod background;
mod guard;
mod layers;
mod live_text;
mod pages;
mod problem;
mod router;
mod server;
mod settings;
mod state;
mod target;

pub use background::Background;
pub use server::{ServeError, Server};
pub use settings::{Purpose, Settings};
pub use target::Target;
