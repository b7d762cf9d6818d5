//! Tests of the store as the engine, the analyses and the reports use it, and of its failures.

pub(crate) mod checksums;
pub(crate) mod crash;
pub(crate) mod damage;
pub(crate) mod derived;
pub(crate) mod invalidate;
pub(crate) mod limits;
pub(crate) mod model;
pub(crate) mod old_store;
pub(crate) mod processes;
pub(crate) mod reading;
pub(crate) mod resume;
pub(crate) mod reuse;
pub(crate) mod store_lease;
pub(crate) mod test_data;
