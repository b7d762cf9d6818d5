//! Files of other tools that are given in place of a suite: named as what they are, with the command that imports them.

use crate::diagnostics::Problems;
use crate::syntax::node::Node;

/// A tool whose files `karat import` reads.
struct ForeignTool {
    name: &'static str,
    /// The word for its file.
    what: &'static str,
    /// The word of `karat import`.
    kind: &'static str,
    /// Keys that its file has at the root; of a list of names, one.
    keys: &'static [&'static [&'static str]],
}

/// The tools by the keys of their files, none of which a suite has.
const FOREIGN_TOOLS: &[ForeignTool] = &[
    ForeignTool {
        name: "promptfoo",
        what: "a config",
        kind: "promptfoo",
        keys: &[&["prompts"], &["providers", "targets", "tests", "scenarios", "defaultTest"]],
    },
    ForeignTool {
        name: "promptfoo",
        what: "a config",
        kind: "promptfoo",
        keys: &[&["providers", "targets"], &["tests"]],
    },
    ForeignTool { name: "promptfoo", what: "a file of results", kind: "promptfoo", keys: &[&["evalId"], &["results"]] },
    ForeignTool {
        name: "OpenAI Evals",
        what: "an eval",
        kind: "openai-evals",
        keys: &[&["data_source_config", "data_source"], &["testing_criteria"]],
    },
    ForeignTool { name: "Inspect", what: "a log", kind: "inspect", keys: &[&["eval"], &["samples"], &["version"]] },
    ForeignTool {
        name: "lm-eval",
        what: "a file of results",
        kind: "lm-eval",
        keys: &[&["results"], &["configs"], &["n-shot"]],
    },
];

/// The tool that a file most likely belongs to; `None` for one with the keys of a suite.
fn foreign_tool(node: &Node) -> Option<&'static ForeignTool> {
    let has = |key: &&'static str| node.get(key).is_some();
    if ["dataset", "variants", "scorers"].iter().any(has) {
        return None;
    }
    FOREIGN_TOOLS.iter().find(|tool| tool.keys.iter().all(|names| names.iter().any(has)))
}

/// Reports a file of another tool. Everything else that could be said of it as a suite is noise.
pub(crate) fn refuse(path: &str, node: &Node, problems: &mut Problems) -> bool {
    let Some(ForeignTool { name, what, kind, .. }) = foreign_tool(node) else { return false };
    problems
        .error(&node.place, format!("this is {what} of {name}, not a suite"))
        .hint(format!("`karat import {kind} {path}` makes a suite of it"));
    true
}
