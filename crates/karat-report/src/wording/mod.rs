//! Sentences about findings that several formats show, so that the terminal and the pages say the same.
//!
//! One file a topic. They return plain text; each format escapes it.

pub(crate) mod agreement;
pub(crate) mod answer;
pub(crate) mod calibration;
pub(crate) mod changes;
pub(crate) mod comparison;
pub(crate) mod gates;
pub(crate) mod items;
pub(crate) mod kpis;
pub(crate) mod movers;
pub(crate) mod notes;
pub(crate) mod outputs;
pub(crate) mod provenance;
pub(crate) mod session_gates;
