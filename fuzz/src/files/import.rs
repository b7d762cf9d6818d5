//! Files of other tools: an import writes a readable suite below its folder, or fails.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use karat_import::{ImportKind, TraceRows, import};
use serde_json::Value;
use tempfile::TempDir;

/// Kinds of files and the names under which they are imported.
const KINDS: [(ImportKind, &str); 13] = [
    (ImportKind::Promptfoo, "promptfooconfig.yaml"),
    (ImportKind::Promptfoo, "results.json"),
    (ImportKind::OpenaiEvals, "eval.json"),
    (ImportKind::OpenaiEvals, "items.jsonl"),
    (ImportKind::Inspect, "log.json"),
    (ImportKind::Ragas, "set.jsonl"),
    (ImportKind::Ragas, "set.csv"),
    (ImportKind::Deepeval, "goldens.json"),
    (ImportKind::Deepeval, "goldens.csv"),
    (ImportKind::LmEval, "results.json"),
    (ImportKind::LmEval, "samples_a_2026-01-01.jsonl"),
    (ImportKind::Traces(TraceRows::Calls), "traces.json"),
    (ImportKind::Traces(TraceRows::Traces), "traces.jsonl"),
];

/// The first byte chooses the kind; the rest is the file.
pub fn run(data: &[u8]) {
    let Some((choice, content)) = data.split_first() else { return };
    let (kind, name) = KINDS[usize::from(*choice) % KINDS.len()];
    import_file(kind, name, content);
}

/// A folder in memory, where the system has one.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.unwrap_or_else(|error| panic!("{error}"))
});

/// Imports one file, and checks what was written.
pub fn import_file(kind: ImportKind, name: &str, content: &[u8]) {
    let source = FOLDER.path().join("source");
    let target = FOLDER.path().join("target");
    for folder in [&source, &target] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    }
    let file = source.join(name);
    fs::write(&file, content).unwrap_or_else(|error| panic!("{error}"));
    let outcome = import(kind, &file, &target);
    assert_eq!(names(FOLDER.path()), ["source", "target"], "nothing is written beside the folder");
    assert_eq!(names(&source), [name], "nothing is written beside the source");
    match outcome {
        Ok(report) => {
            let suite = read(&target, "karat.yaml");
            let suite: Value = serde_saphyr::from_str(&suite).unwrap_or_else(|error| panic!("{error}: {suite}"));
            assert!(suite["name"].is_string() && suite["dataset"].is_object(), "a suite has a name and rows: {suite}");
            let counts: Value = serde_json::from_str(&read(&target, "import.json")).unwrap_or_default();
            assert!(counts.is_object());
            assert_eq!(report.counts.dropped, report.dropped.len() as u64);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    let mut names: Vec<String> = entries.flatten().map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
