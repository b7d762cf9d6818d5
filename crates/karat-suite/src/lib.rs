//! From a suite file to a plan. YAML is read into a tree in which every key and value knows its place; the tree is
//! checked against the grammar, decoded, expanded and content-hashed. Every problem is reported with file, line and a
//! hint.
//!
//! ```text
//! suite.yaml ─ syntax ─► tree ─ overrides ─► tree ─ check ─► decode ─► Suite ─ plan ─► Plan
//!                                                    │          │
//!                                             grammar tables    files, registry, dataset (one pass)
//! ```
//!
//! Reading order: `suite/load.rs` runs the phases; `syntax/` reads YAML, templates and paths; `overrides/` applies
//! `--set` and sweeps; `grammar/` is the language as tables, `check/` compares a tree with them; `decode/` makes specs;
//! `dataset/` reads rows; `suite/plan.rs` makes the plan. `conversation/` reads messages of rows. `diagnostics/` and
//! `files/` serve all of them.
//!
//! The [`Catalog`] of metrics, providers, analyses and resolvers comes from the caller, so that options are checked
//! without knowing their crates. Files come through [`Files`]. Nothing here calls a model, reads a clock or the
//! environment.

mod catalog;
mod check;
mod conversation;
mod dataset;
mod decode;
mod diagnostics;
mod files;
mod grammar;
mod overrides;
mod registry;
mod suite;
mod syntax;

pub use catalog::{Catalog, Entry, NamedModels, RubricSummary};
pub use conversation::{Conversation, image_size, value_name};
pub use dataset::checks::CheckCounts;
pub use dataset::columns::fetch::Fetch;
pub use dataset::columns::resolver::{Resolved, Resolver, ResolverEntry, ResolverFiles};
pub use dataset::{DatasetError, RepresentativeRows, read_placed_rows, read_rows};
pub use decode::dataset::DesignFile;
pub use decode::dataset::dir::dir_options;
pub use decode::dataset::huggingface::huggingface_options;
pub use decode::scorers::metrics::index_of as metric_index;
pub use decode::service::CanarySpec;
pub use diagnostics::nearest::nearest;
pub use diagnostics::{Diagnostic, Diagnostics, Severity};
pub use files::jsonl::RowsById;
pub use files::{
    DiskFiles, Files, LABELLED, MediaKind, ReadSeek, RowMedia, RowPath, folder, is_outside, is_rooted, join,
    join_beneath, place_beneath, read_media,
};
pub use grammar::removed::{removal, removals_in, removals_of};
pub use grammar::schema::{registry_schema, rubric_schema, suite_schema};
pub use overrides::{LastOutputs, LoadContext, LoadPurpose, Overrides, StoredOutputs, TraceFiles};
pub use registry::{PriceFile, PriceOrigin, Registry};
pub use suite::hash::describe_changes as plan_changes;
pub use suite::plan::Plan;
pub use suite::row_source::{RowSource, RowSourceSpec};
pub use suite::shard::share_run_limits;
pub use suite::traces::{TraceRule, trace_rules};
pub use suite::{ChosenJudge, Suite, SuitePart, has_service_keys, load_policy, name_of, part_named};
pub use syntax::duration::parse as parse_duration;
pub use syntax::environment::Environment;
pub use syntax::yaml::value as parse_yaml;
