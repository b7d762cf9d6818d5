//! Datasets that cannot be read or made, results of other tools that cannot be imported, shards that cannot be merged.

use karat_types::Shard;

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

errors! {
    /// Shards that cannot be merged.
    enum MergeError {
        NoStores {} => "none of the stores has a run, so there is nothing to merge" hint "name them, such as `karat merge s1/karat.db s2/karat.db`";
        NoStore { path: String } => "there is no store at {path}"
            hint "name the store of a shard, or its folder; each shard of `karat run --shard M/N` writes one";
        NoStoreIn { path: String, files: Names } => "there is not one store in the folder {path}: its files `*.db`: {files}"
            hint "name the file";
        NoRun { run: String, path: String, shards: Names } => "there is no run {run} in {path}; its shards: {shards}"
            hint "all shards of a run have one id: give each the same `--run-id`";
        WhichRun { path: String, shards: Names } => "which run is merged? The shards in {path}: {shards}"
            hint "name the run with `--run-id`";
        NotShard { run: String, path: String } => "run {run} in {path} is a whole run, no shard"
            hint "only runs of `karat run --shard M/N` are merged";
        OtherPlan { one: String, other: String, differs: String } =>
            "{one} and {other} are not parts of one run: they differ in {differs}"
            hint "start all shards with the same files and flags";
        StillRunning { shard: Shard, path: String } => "shard {shard} in {path} is still running"
            hint "wait for it, or stop it with Ctrl-C and merge with `--partial`";
        InBatches { shard: Shard, path: String, run: String } => "shard {shard} in {path} waits for batches of its provider"
            hint "`karat resume {run} --store sqlite:{path}` reads them; then merge";
        Incomplete { what: String, run: String } => "run {run} is not complete: {what}"
            hint "run or resume what is missing, each with its `--shard`; `--partial` merges what is there, and `karat resume {run}` makes the rest";
    }
}
