//! `traces`: the share of the traces that a server keeps, read without the rest of the suite.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_traces::Share;
use karat_traces::folder::{ShareRule, is_name};
use karat_types::PrivacySpec;

use super::read;
use crate::catalog::Catalog;
use crate::check;
use crate::decode::Decoder;
use crate::diagnostics::Diagnostics;
use crate::files::Files;
use crate::grammar::TRACE_KEYS;
use crate::syntax::duration;
use crate::syntax::node::{Node, Tree};

/// The traces that a server keeps of one dataset, and how.
#[derive(Debug, Clone)]
pub struct TraceRule {
    /// The rows that are kept.
    pub share: ShareRule,
    /// Days before today whose files are kept; `None` keeps all.
    pub keep_days: Option<u64>,
    /// The privacy of the suite: what it redacts is redacted before the disk.
    pub privacy: PrivacySpec,
}

/// The rules of a suite's datasets of traces, by name; none if it has none.
///
/// # Errors
/// What is wrong with `traces` and `privacy`, and with the file as YAML.
pub fn trace_rules(files: Arc<dyn Files>, path: &str) -> Result<BTreeMap<String, TraceRule>, Diagnostics> {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(files, &catalog);
    let (_, node) = read(path, "suite", &mut decoder)?;
    let keys = node.entries().iter().filter(|entry| matches!(entry.key.as_str(), "traces" | "privacy"));
    let part = Node { value: Tree::Map(keys.cloned().collect()), place: node.place.clone() };
    check::check_at(&part, &TRACE_KEYS, &["suite"], &catalog, &mut decoder.problems);
    let shares = decoder.trace_shares(node.field("traces"));
    let privacy = decoder.privacy(node.field("privacy"));
    let problems = decoder.problems.into_diagnostics();
    if problems.has_errors() {
        return Err(problems);
    }
    let rule = |(share, keep_days)| TraceRule { share, keep_days, privacy: privacy.clone() };
    Ok(shares.into_iter().map(|(name, kept)| (name, rule(kept))).collect())
}

impl Decoder<'_> {
    /// Decodes `traces`: rule and days by name.
    pub(super) fn trace_shares(&mut self, node: Option<&Node>) -> BTreeMap<String, (ShareRule, Option<u64>)> {
        let mut shares = BTreeMap::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            if !is_name(&entry.key) {
                self.problems
                    .error(&entry.node.place, format!("`{}` cannot be the name of traces", entry.key))
                    .hint("names are letters, digits, `.`, `_` and `-`, at most 64, and do not begin with a dot");
                continue;
            }
            let sample = entry.node.field("sample");
            let share = sample.map_or(Some(Share::ALL), |sample| Share::new(check::share(sample)?.0));
            let Some(share) = share else {
                if let Some(sample) = sample {
                    self.problems
                        .error(&sample.place, "`sample` is a share above 0, at most 1")
                        .hint("write 0.1 or 10%");
                }
                continue;
            };
            let per_day = crate::decode::integer_at::<u64>(&entry.node, "per_day");
            let keep = entry.node.text_of("keep").and_then(duration::parse);
            let keep_days = keep.map(|keep| keep.div_ceil(24 * 60 * 60 * 1000));
            shares.insert(entry.key.clone(), (ShareRule { share, per_day }, keep_days));
        }
        shares
    }
}
