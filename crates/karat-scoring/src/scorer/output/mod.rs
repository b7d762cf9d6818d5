//! Metrics of an output: its text, its JSON, its numbers, its cost.
//!
//! `text` (equality, patterns, similarity, ROUGE, BLEU), `value` (JSON, lists, labels), `numeric` (numbers, by
//! `karat-quantity`), `summary` (structured summaries), `system` (time, money, tokens) compute scores; `external` asks a
//! program or service; `similarity` compares vectors that a model makes; `combine` and `checklist` make one score of others. Each file is independent: an options struct, a
//! `Metric`, a line in `registry.rs`.

pub(crate) mod checklist;
pub(crate) mod combine;
pub(crate) mod external;
pub(crate) mod numeric;
pub(crate) mod similarity;
pub(crate) mod summary;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod value;
