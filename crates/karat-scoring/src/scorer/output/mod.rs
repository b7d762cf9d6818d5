//! MAP: to be written.

pub(crate) mod checklist;
pub(crate) mod combine;
pub(crate) mod external;
pub(crate) mod numeric;
pub(crate) mod summary;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod value;

