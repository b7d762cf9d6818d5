//! Datasets that cannot be read or made, and results of other tools that cannot be imported.

use super::{Lines, Names, errors};

errors! {
    /// Rows of a dataset that cannot be read, or not be chosen as asked.
    enum DatasetError {
        Row { problem: String } => "{problem}";
        Condition { text: String, problem: String } => "the condition `{text}` cannot be read: {problem}"
            hint "a condition reads columns of the row, such as `sample.language == 'en'`";
        NoRows { rows: String, filter: String } => "{rows} has no rows{filter}" hint "name another source, or widen `--where`";
        NoColumn { flag: String, column: String, rows: String, known: Names } =>
            "no row of {rows} has the column `{column}` of `{flag}`" hint "columns: {known}";
        SuiteColumns { flag: String, suite: String } =>
            "`{flag}` has no effect on the suite {suite}, which names its columns itself"
            hint "change `dataset` of the suite, or name its file of rows instead";
        NoText { rows: String } => "no row of {rows} has a text to compare" hint "name the column of the text with `--input COLUMN`";
        Changed { rows: String } => "{rows} changed while it was read" hint "run the command again";
        Exists { path: String } => "{path} already exists" hint "name another file with `-o`, or replace it with `--force`";
        OwnInput { path: String } => "writing {path}: the rows are read from this file" hint "name another file with `-o`";
        BadOption { flag: String, text: String, problem: String, hint_text: String } => "`{flag} {text}`: {problem}" hint "{hint_text}";
        NoMetric { run: String, metric: String, known: Names } => "run {run} has no metric `{metric}`" hint "metrics: {known}";
        Unrecorded { rows: String, before: String, was: String, now: String } =>
            "{rows} changed and no changelog line says how: its rows are {now}, those of {before} are {was}"
            hint "see what changed with `karat dataset diff`, then record it: `karat dataset version {rows} --set VERSION --note LINE`";
        BadVersion { rows: String, problem: String } => "recording a version of {rows}: {problem}";
        NoManifestPlace { rows: String } =>
            "recording a version of {rows}: its rows are those of no single file, beside which the version could be recorded"
            hint "declare `version` and `changelog` in the suite's `dataset`, or name a file of rows";
        RepeatedId { rows: String, id: String } => "comparing {rows}: the id `{id}` is that of two rows"
            hint "give each row an id of its own, or name another column with `--id COLUMN`";
        OtherSuite { run: String, of: String, suite: String } => "run {run} is one of the suite {of}, not of {suite}"
            hint "name runs of one suite with `--runs`";
        NoDatasheet { path: String } => "{path} is there, and is no datasheet" hint "name another file with `-o`";
        NothingRemoved { rows: String, flags: String, problem: String } => "leaving items with {flags} out of {rows}: {problem}"
            hint "`karat dataset items` shows the flags of items";
        NoSuspects { suite: String } => "no item of {suite} may be wrong, so there is nothing to label"
            hint "`karat dataset items` shows what is known of its items";
        NoItemRuns { suite: String } => "the suite {suite} has no stored run, so nothing is known of its items"
            hint "run it first: `karat run`";
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
