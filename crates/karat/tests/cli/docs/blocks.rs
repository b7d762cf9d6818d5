//! Pages of the documentation and their fenced code blocks.

use std::path::{Path, PathBuf};

/// A page.
pub struct Page {
    /// Its path below the repository's root.
    pub path: String,
    pub text: String,
}

/// A fenced code block.
pub struct Block {
    /// The first word behind the fence.
    pub language: String,
    /// The file that the block is the content of (`title="NAME"`).
    pub title: Option<String>,
    /// Returns true if the block's lines are added to the file (`append`).
    pub append: bool,
    /// Returns true if the block is marked as not executed (`no-run`).
    pub no_run: bool,
    /// The line of the page on which the fence stands.
    pub line: usize,
    pub text: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Page {
    pub fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), text }
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (at, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(info), None) => open = Some(Block::of(info, at + 1)),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a code block is not closed", self.path);
        blocks
    }
}

impl Block {
    fn of(info: &str, line: usize) -> Self {
        let words: Vec<&str> = info.split_whitespace().collect();
        let title = words.iter().find_map(|word| word.strip_prefix("title=\"")?.strip_suffix('"'));
        Self {
            language: words.first().copied().unwrap_or_default().to_owned(),
            title: title.map(str::to_owned),
            append: words.contains(&"append"),
            no_run: words.contains(&"no-run"),
            line,
            text: String::new(),
        }
    }
}

/// README and every page below `docs`, sorted by path.
pub fn pages() -> Vec<Page> {
    let mut paths = vec!["README.md".to_owned()];
    collect("docs", &mut paths);
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

fn collect(folder: &str, paths: &mut Vec<String>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&path, paths);
        } else if path.ends_with(".md") {
            paths.push(path);
        }
    }
}

/// Pages whose commands a test runs.
pub const EXECUTED: [&str; 14] = [
    "README.md",
    "docs/examples.md",
    "docs/start/tutorial.md",
    "docs/guides/coming-from-promptfoo.md",
    "docs/guides/benchmarks.md",
    "docs/guides/daily-documents.md",
    "docs/guides/reports.md",
    "docs/guides/scale-out.md",
    "docs/guides/coming-from-inspect.md",
    "docs/guides/coming-from-openai-evals.md",
    "docs/guides/coming-from-langfuse.md",
    "docs/guides/coming-from-ragas.md",
    "docs/guides/coming-from-deepeval.md",
    "docs/guides/coming-from-lm-eval.md",
];

/// PE-36: a code block that no test runs or checks is marked `no-run`.
#[test]
fn every_code_block_is_executed_or_marked() {
    let mut wrong = Vec::new();
    for page in pages() {
        let executed = EXECUTED.contains(&page.path.as_str());
        for block in page.blocks().iter().filter(|block| !block.no_run) {
            let checked = match (block.language.as_str(), &block.title) {
                // The examples of commands come from their help, whose own test parses them.
                ("sh", None) if page.path == "docs/reference/commands.md" => true,
                (_, Some(_)) | ("sh" | "console", None) => executed,
                ("yaml" | "text", None) => true,
                ("json", None) => {
                    block.text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
                }
                ("rust", None) => page.path == "docs/guides/rust-library.md",
                _ => false,
            };
            if !checked {
                wrong.push(format!("{}:{}: ```{}", page.path, block.line, block.language));
            }
        }
    }
    assert!(wrong.is_empty(), "run these blocks in a test, or mark them `no-run`:\n{}", wrong.join("\n"));
}
