//! Hosts that every document of a folder links to: most likely the publication itself, whose links are not sources.

use std::collections::BTreeSet;

use karat_text::host::host_of;
use serde_json::Value;

use crate::diagnostics::Problems;
use crate::syntax::node::Place;

/// Fewer documents than this may well quote one source.
const FEWEST: u64 = 5;

/// The hosts that all documents so far link to.
#[derive(Debug, Default)]
pub(crate) struct CommonHosts {
    documents: u64,
    hosts: BTreeSet<String>,
}

impl CommonHosts {
    /// Adds a row that was read from a document; others have no such column.
    pub fn add_row(&mut self, row: &Value) {
        let Some(urls) = row.get("source_urls").and_then(Value::as_array) else { return };
        let hosts: BTreeSet<String> =
            urls.iter().filter_map(Value::as_str).map(|url| host_of(url).to_lowercase()).collect();
        if self.documents == 0 {
            self.hosts = hosts;
        } else {
            self.hosts.retain(|known| hosts.contains(known));
        }
        self.documents += 1;
    }

    /// Warns of hosts that all documents link to.
    pub fn warn(&self, place: &Place, problems: &mut Problems) {
        if self.documents < FEWEST || self.hosts.is_empty() {
            return;
        }
        let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        let hosts = hosts.join(", ");
        problems
            .warn(place, format!("all {} documents link to {hosts}, which counts as a source of each", self.documents))
            .hint(format!(
                "if it is the publication itself, name it: `own_hosts: [{hosts}]` under `dataset.with`, or \
                 `--set dataset.with.own_hosts=[{hosts}]`"
            ));
    }
}
