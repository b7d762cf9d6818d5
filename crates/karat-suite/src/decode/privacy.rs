//! `privacy`.

use karat_text::redact::{Kind, Redactor};
use karat_types::PrivacySpec;

use super::Decoder;
use crate::syntax::node::Node;

impl Decoder<'_> {
    /// Decodes `privacy`. `sensitive` stands for every built-in rule, and for storing no content.
    pub(crate) fn privacy(&mut self, node: Option<&Node>) -> PrivacySpec {
        let Some(node) = node else { return PrivacySpec::default() };
        let flag = |key| node.field(key).and_then(Node::boolean);
        let is_sensitive = flag("sensitive").unwrap_or(false);
        let named = |list: &Node| list.items().iter().filter_map(Node::text).map(str::to_owned).collect();
        let all = || Kind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect();
        let redact = match node.field("redact") {
            Some(list) => named(list),
            None if is_sensitive => all(),
            None => Vec::new(),
        };
        let mut privacy = PrivacySpec {
            redact,
            keep_content: flag("keep_content").unwrap_or(!is_sensitive),
            sensitive: is_sensitive,
            ..PrivacySpec::default()
        };
        for entry in node.field("patterns").map(Node::entries).unwrap_or_default() {
            let Some(pattern) = entry.node.text() else { continue };
            match Redactor::new([], [(entry.key.as_str(), pattern)]) {
                Ok(_) => drop(privacy.patterns.insert(entry.key.clone(), pattern.to_owned())),
                Err((name, problem)) => {
                    let problem = problem.lines().last().unwrap_or_default().trim().to_owned();
                    self.problems.error(
                        &entry.node.place,
                        format!("the pattern `{name}` is not a valid regular expression: {problem}"),
                    );
                }
            }
        }
        privacy
    }
}
