//! Texts of models and datasets: `excerpts` of samples with the outputs of systems, the `transcript` of a conversation, and
//! parts of a text that are marked (`highlight`).

pub mod excerpts;
pub mod highlight;
pub mod transcript;
