//! Results of other tools that cannot be imported, and shards that cannot be merged.

use karat_types::Shard;

use super::{Lines, Names, errors};

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
