//! Tests of the store as the engine, the analyses and the reports use it, and of its failures.

mod crash;
mod damage;
mod derived;
mod invalidate;
mod limits;
mod model;
mod old_store;
#[cfg(feature = "postgres")]
mod on_server;
mod processes;
mod reading;
mod resume;
mod reuse;
mod store_lease;
pub(crate) mod test_data;
