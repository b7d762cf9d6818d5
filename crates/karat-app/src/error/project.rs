//! Suites, presets, datasets and files that cannot be found, read or written; results of other tools that cannot be imported,
//! and shards that cannot be merged.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use karat_types::Shard;

use super::{Lines, Names, errors};

errors! {
    /// A suite or preset that cannot be used.
    enum SuiteError {
        NotFoundNear { suite: String, preset: String } => "there is no suite file and no preset `{suite}`"
            hint "did you mean the preset `{preset}`?";
        NotFoundFile { suite: String, file: String } => "there is no suite file and no preset `{suite}`"
            hint "did you mean the suite file `{file}`?";
        IsVariant { name: String } => "there is no suite file and no preset `{name}`"
            hint "`{name}` is a variant of karat.yaml: choose it with `--variants {name}`";
        IsModel { name: String } => "there is no suite file and no preset `{name}`"
            hint "`{name}` is a model: choose it with `--models {name}`";
        IsOfList { name: String, flag: &'static str, list: String } => "there is no suite file and no preset `{name}`"
            hint "lists have commas: if `{name}` belongs to `{flag}`, write `{flag} {list},{name}`";
        NotFoundHereBut { files: String } => "there is no `karat.yaml` in this folder, but {files}"
            hint "name the suite file after the command, or call it `karat.yaml`";
        NotFound { suite: String, presets: Names } => "there is no suite file and no preset `{suite}`"
            hint "name a suite file, or one of the presets: {presets}; `karat init` writes a suite of your own";
        NotFoundHere { presets: Names } => "there is no `karat.yaml` in this folder"
            hint "`karat init faq .` writes one here, `karat run faq` runs a preset without writing anything; presets: {presets}";
        NoSuiteInFolder { folder: String, also: String } => "the folder `{folder}` has no `karat.yaml`{also}"
            hint "name the suite file itself, or write a suite there with `karat init faq {folder}`";
        OutsideRoot { path: String } => "`{path}` lies outside of the server's root, or links to a place outside of it"
            hint "put it below the folder that `karat serve --root` names";
        OtherRows { path: String } => "design: {path} describes other rows (hash differs)"
            hint "write `design: none` for plain means, or draw the rows again with `karat dataset sample`";
        OtherVersion { path: String, declared: String, actual: String } =>
            "`dataset.version` is `{declared}`, and {path} records these rows as version `{actual}`"
            hint "write `version: \"{actual}\"`, or leave the key out: the version is read from there";
        ChangedVersion { path: String, rows: String, declared: String, newest: String } =>
            "`dataset.version` is `{declared}`, and the rows of {rows} are no version that {path} records: they were changed after `{newest}`"
            hint "record them: `karat dataset version {rows} --set VERSION --note \"what changed\"`, with that version in the suite; without `version` in the suite the run says that its rows have none";
        Design { path: String, problem: String } => "reading {path}: {problem}"
            hint "draw the rows again with `karat dataset sample`, or write `design: none` for plain means";
        NotWeighted { what: String, place: String } =>
            "{what} of a weighted sample is not offered: draw proportionally{place}"
            hint "draw with `--alloc proportional` (in a suite: `draw.by` in place of `draw.per`), or write `design: none` for plain figures of these rows";
        Problems { problems: Lines<Box<dyn std::error::Error + Send + Sync>> } => "{problems}";
        NoPresetNear { preset: String, near: String } => "there is no preset `{preset}`" hint "did you mean `{near}`?";
        NoPreset { preset: String, presets: Names } => "there is no preset `{preset}`"
            hint "the presets are {presets}; for a new suite in a folder of this name: `karat init {preset} --task answer`";
        NoCorpus { preset: String, presets: Names } => "the preset `{preset}` has no corpus that a file could replace"
            hint "`--corpus` goes with {presets}";
        Corpus { path: String, problem: String } => "reading the corpus {path}: {problem}"
            hint "a corpus is a file of rows: a JSON list, JSON lines or CSV";
        NoRubricNear { rubric: String, near: String } => "there is no ready rubric `{rubric}`" hint "did you mean `{near}`?";
        NoRubric { rubric: String } => "there is no ready rubric `{rubric}`" hint "`karat rubrics` lists them";
        BrokenRubric { rubric: String, problem: String } =>
            "reading the ready rubric `{rubric}`: {problem}. This is a bug in karat";
        KnownModel { id: String, file: String } => "adding {file}: the model `{id}` is known already"
            hint "`karat models update {file}` changes known models, and prints what changes";
        PriceAddress { address: String } => "reading prices from {address}: the address must begin with `https://`, and hold no user name or password"
            hint "or download the file, and give its path";
        PricesNotFetched { problem: String } => "reading prices: {problem}"
            hint "give the address of the file itself (redirects are not followed), or download it and give its path";
        NoTask { task: String, tasks: Names } => "there is no task `{task}`" hint "the tasks are {tasks}";
        NoStarterProvider { provider: String, providers: Names } => "`init` knows no provider `{provider}`"
            hint "choose one of {providers}; a server at another address is an entry with `base_url`";
        PresetWithTask { preset: String } => "`{preset}` is a preset, and `--task` and `--provider` write a suite of your own"
            hint "leave the flags out, or write `./{preset}` for a folder of this name";
        WouldReplace { what: String, files: String } => "writing {what}: {files} would be replaced"
            hint "name another folder, or allow it with `--force`";
        WorkflowExists { path: String } => "writing the workflow {path}: the file exists"
            hint "`--force` replaces it, `-o FILE` names another, and `-o -` prints it";
        UnusablePath { path: String } => "a workflow cannot name the path `{path}`"
            hint "use letters, digits, `.`, `-`, `_`, `/` and spaces in the names of folders and suites";
        NoDemo { preset: String, presets: Names } => "`{preset}` has no demo service" hint "there is one for {presets}";
        Serve { preset: String, port: u16, source: io::Error } =>
            "serving the demo of `{preset}` on port {port}: {source}"
            hint "name another port with --port";
    }
}

/// The hint where a report cannot be written.
pub const OTHER_FOLDER: &str =
    "name another folder with `-o`; the run itself is kept, and `karat report` writes its report again";

/// A file or folder that cannot be read or written.
#[derive(Debug)]
pub struct FileError {
    /// `reading` or `writing`, with what is read where the path alone does not say it.
    pub action: &'static str,
    /// Its path.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
    /// The next step for the user.
    pub hint: Option<String>,
}

impl FileError {
    /// A file that cannot be read.
    pub fn reading(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::of("reading", path, source)
    }

    /// A file that cannot be written.
    pub fn writing(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::of("writing", path, source)
    }

    /// A file on which an action failed, such as `reading the baseline`.
    pub fn of(action: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self { action, path: path.as_ref().to_owned(), source, hint: None }
    }

    /// The same error with a next step.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.action, self.path.display(), self.source)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

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
        NoDatasheet { path: String } => "{path} is there, and is not a datasheet" hint "name another file with `-o`";
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
