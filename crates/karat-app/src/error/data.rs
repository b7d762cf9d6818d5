//! Datasets that cannot be read or made, and results of other tools that cannot be imported.

use super::{Lines, Names, errors};

errors! {
    /// Rows of a dataset that cannot be read, or not be chosen as asked.
    enum DatasetError {
        Row { problem: String } => "{problem}";
        Condition { text: String, problem: String } => "the condition `{text}` cannot be read: {problem}"
            hint "a condition reads columns of the row, such as `sample.language == 'en'`";
        NoRows { source: String, filter: String } => "{source} has no rows{filter}" hint "name another source, or widen `--where`";
        NoColumn { flag: String, column: String, source: String, known: Names } =>
            "no row of {source} has the column `{column}` of `{flag}`" hint "columns: {known}";
        SuiteColumns { flag: String, suite: String } =>
            "`{flag}` has no effect on the suite {suite}, which names its columns itself"
            hint "change `dataset` of the suite, or name its file of rows instead";
        NoText { source: String } => "no row of {source} has a text to compare" hint "name the column of the text with `--input COLUMN`";
        Changed { source: String } => "{source} changed while it was read" hint "run the command again";
        Exists { path: String } => "{path} already exists" hint "name another file with `-o`, or replace it with `--force`";
        OwnInput { path: String } => "writing {path}: the rows are read from this file" hint "name another file with `-o`";
        BadOption { flag: String, text: String, problem: String, hint_text: String } => "`{flag} {text}`: {problem}" hint "{hint_text}";
        NoMetric { run: String, metric: String, known: Names } => "run {run} has no metric `{metric}`" hint "metrics: {known}";
        BadManifest { path: String, problem: String } => "reading {path}: {problem}"
            hint "`karat dataset split` writes such a file beside its parts";
    }
}

errors! {
    /// Results of another tool that cannot be imported.
    enum ImportError {
        NoResults { path: String } => "{path} is not a span snapshot: it has no list `results`"
            hint "a snapshot is `{{timestamp, results: [{{promptId, output, spans, judgeResult}}], …}}`";
        BadSnapshot { path: String, problem: String } => "{path} is not a span snapshot: {problem}";
        Exists { path: String } => "{path} already exists" hint "name another folder with `-o`";
        UnusableSuite { file: String, problems: String } =>
            "{file} becomes a suite that cannot be used, so nothing was written:\n{problems}";
        NotJson { path: String, source: serde_json::Error } => "{path} is not JSON: {source}";
        WrongSnapshots { problems: Lines<String> } => "{problems}"
            hint "`manual-baseline/guide.md` of the preset `claims` (see `karat init claims`) shows the format";
        NoSnapshots { folder: String } => "there is no snapshot in {folder}"
            hint "a snapshot is a file `{{videoId}}-{{provider}}-{{mode}}.md`";
    }
}
