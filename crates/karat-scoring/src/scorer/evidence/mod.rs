//! MAP: to be written.

pub(crate) mod attribution;
pub(crate) mod citation;
pub(crate) mod retrieval;
pub(crate) mod speaker;

