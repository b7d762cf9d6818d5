//! Golden sets that cannot be used.

use super::{Names, errors};

errors! {
    /// A golden set that cannot be used.
    enum GoldenError {
        NothingToPin { suite: String } => "nothing to pin: the suite {suite} has no such judgment"
            hint "`karat show SUITE --format tsv` lists what there is; `karat run` judges";
        Empty { folder: String } => "there is no golden file in {folder}"
            hint "add some first: `karat golden pin SUITE` pins what the store holds";
        NoneAsked { all: usize } => "none of the {all} pinned samples is asked for"
            hint "`karat golden list` shows them; `--sample` names one, `--limit` is at least 1";
        NoneInDataset { count: usize, folder: String } => "none of the {count} pinned samples is in the dataset"
            hint "`karat golden list` shows them; they lie in {folder}";
        NoFolder { suite: String } => "the suite {suite} names no folder for its golden set"
            hint "add `baseline: golden`, the folder of the pinned files";
        IsFile { path: String } => "the baseline {path} is a file: a pinned run, and no golden set"
            hint "a golden set is a folder with one file a sample; `karat gate` compares with a pinned run";
        SeveralSystems { count: usize, systems: Names } =>
            "the rows are of {count} systems ({systems}), and a golden set is of one"
            hint "`--system` names it; `karat baseline pin RUN` pins all of a run";
        BadFile { path: String, problem: String } => "reading the golden file {path}: {problem}"
            hint "remove it, then `karat golden pin` writes it anew";
        Twice { one: String, other: String, sample: String } =>
            "reading the golden set: {one} and {other} pin the same sample `{sample}`"
            hint "remove the copy, or name its own sample in it";
    }
}
