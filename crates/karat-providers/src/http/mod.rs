//! HTTP: the one client, and what one exchange with a server may take.
//!
//! Read `transport` first: it sends a request with reqwest, within a time limit and a size limit, and tells which failures may
//! have been billed. It sends a `request` (headers and body, built once a model), through `proxies`, and waits for
//! `limiter::response_memory` where an answer is large. `compressed` finds compressed answers, `env_headers` checks headers that the
//! environment fills, `descriptors` raises the limit of open files.
//!
//! `link_local` refuses addresses at which clouds keep credentials; `transport` and `hooks` ask it.
//!
//! `hooks` posts messages to receivers of alerts.
//!
//! `attempt::dispatch` is the caller of `transport`.

pub(crate) mod compressed;
pub(crate) mod descriptors;
pub(crate) mod env_headers;
pub(crate) mod hooks;
pub(crate) mod link_local;
pub(crate) mod proxies;
pub(crate) mod request;
pub(crate) mod transport;
