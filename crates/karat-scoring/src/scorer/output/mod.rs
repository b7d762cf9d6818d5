//! Metrics of an output: its text, its JSON, its numbers, its cost.
//!
//! `text` (equality, patterns, similarity, ROUGE, BLEU), `value` (JSON, lists, labels), `numeric` (numbers, by
//! `karat-quantity`), `summary` (structured summaries), `system` (time, money, tokens) compute scores; `external` asks a
//! program or service; `given` reads the score of another tool; `similarity` compares vectors that a model makes.
//! `combine`, `checklist` and `weighted_checks` make one score of others, the latter two of a list of `check`s. The files
//! of metrics are independent: an options struct, a `Metric`, a line in `registry.rs`.

pub(crate) mod check;
pub(crate) mod checklist;
pub(crate) mod combine;
pub(crate) mod external;
pub(crate) mod given;
pub(crate) mod numeric;
pub(crate) mod similarity;
pub(crate) mod summary;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod value;
pub(crate) mod weighted_checks;
