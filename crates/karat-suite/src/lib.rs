//! From a suite file to a plan: YAML is read into a tree in which every key and value knows where it stands; the tree
//! is checked against the grammar, and everything that is wrong is reported with file, line and a hint; then it is
//! decoded, expanded and content-hashed.
//!
//! ```text
//! suite.yaml ─ yaml ─► tree ─ changes (--set, sweep) ─► tree ─ check ─► decode ─► Suite ─ plan ─► Plan
//!                                                        │                │
//!                                              grammar tables     files, registry, dataset (one pass)
//! ```
//!
//! The [`Catalog`] of metrics, providers and analyses comes from the caller, so options are checked without knowing
//! their crates. Files come through [`Files`]. Nothing here calls a model, reads a clock or the environment.

mod address;
mod catalog;
mod changes;
mod check;
mod compared;
mod dataset;
mod decode;
mod diagnostics;
mod duration;
mod environment;
mod files;
mod grammar;
mod hash;
mod jsonl;
mod metrics;
mod names;
mod nearest;
mod node;
mod notation;
mod options;
mod overrides;
mod params;
mod plan;
mod registry;
mod safe;
mod schema;
mod secrets;
mod strays;
mod suite;
mod unavailable;
mod versions;
mod yaml;

pub use catalog::{Catalog, Entry};
pub use dataset::checks::Checked;
pub use dataset::fetch::Fetch;
pub use dataset::resolve::resolvers;
pub use dataset::{DatasetError, Spread};
pub use decode::dir::dir_options;
pub use diagnostics::{Diagnostic, Diagnostics, Severity};
pub use duration::parse as parse_duration;
pub use environment::Environment;
pub use files::{
    DiskFiles, Files, LABELLED, RowPath, folder, is_outside, is_rooted, join, join_beneath, place_beneath,
};
pub use hash::changed as plan_changes;
pub use metrics::index_of as metric_index;
pub use nearest::nearest;
pub use overrides::Overrides;
pub use plan::Plan;
pub use registry::{Registry, STARTER};
pub use schema::{registry_schema, rubric_schema, suite_schema};
pub use suite::{Suite, load_policy, name_of};
