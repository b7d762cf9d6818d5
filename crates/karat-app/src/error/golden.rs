//! Golden sets that cannot be used.

use super::{Names, errors};

errors! {
    /// A golden set that cannot be used.
    enum GoldenError {
        NothingToPin { suite: String } => "nothing to pin: the suite {suite} has no matching judgment"
            hint "`karat show SUITE --format tsv` lists what there is; `karat run` judges";
        Empty { folder: String } => "there is no golden file in {folder}"
            hint "add some first: `karat golden pin SUITE` pins what the store holds";
        NoneAsked { all: usize } => "none of the {all} pinned samples is selected"
            hint "`karat golden list` shows them; `--sample` names one, `--limit` is at least 1";
        NoneInDataset { count: usize, folder: String } => "none of the {count} pinned samples is in the dataset"
            hint "`karat golden list` shows them; they lie in {folder}";
        NoFolder { suite: String } => "the suite {suite} names no folder for its golden set"
            hint "add `baseline: golden`, the folder of the pinned files";
        IsFile { path: String } => "the baseline {path} is a file with a pinned run, not a golden set"
            hint "a golden set is a folder with one file per sample; `karat gate` compares with a pinned run";
        SeveralSystems { count: usize, systems: Names } =>
            "the rows are of {count} systems ({systems}), but a golden set holds only one"
            hint "select it with `--system`; `karat baseline pin RUN` pins all of a run";
        OtherScorer { folder: String, metric: String, scorer: String } =>
            "the judgments in {folder} are of `{metric}`, and the canary is of the scorer `{scorer}`"
            hint "name the folder in the scorer that `karat golden pin` pins, the suite's first judged one";
        BadFile { path: String, problem: String } => "reading the golden file {path}: {problem}"
            hint "remove it, then `karat golden pin` writes it again";
        Twice { one: String, other: String, sample: String } =>
            "reading the golden set: {one} and {other} pin the same sample `{sample}`"
            hint "remove the copy, or name its own sample in it";
    }
}
