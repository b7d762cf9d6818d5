//! Stored runs, cells, metrics and dates that are not there.

use karat_store::StoreError;

use super::{Names, errors};

errors! {
    /// Something asked of stored runs that is not there.
    enum StoredError {
        NoStore { path: String } => "there is no store at {path}"
            hint "`karat run` makes one; `--store` names another place";
        PruneOnFullDisk { source: StoreError, mib: u64, path: String, name: String } => "{source}"
            hint "pruning needs 4 MiB of free space, and up to {mib} MiB to make the file smaller as well; or copy {path} and the files `{name}-*` beside it to another disk, prune the copy with `--store sqlite:COPY`, and move it back";
        NoBlob { digest: String } => "the image or file {digest} is not stored"
            hint "it was removed by `karat cache prune --traces`, or the run kept no requests (`run.capture`)";
        NoCell { run: String, cell: String } => "run {run} has no cell `{cell}`"
            hint "give its number in `karat show`, or `sample/model/variant[/trial]`";
        NoCellNumber { run: String, cell: String, last: u64 } => "run {run} has no cell `{cell}`"
            hint "its plan numbers the cells from 0 to {last}; `karat show {run}` lists those that are made";
        CellIsSample { run: String, cell: String, path: String } => "`{cell}` is a sample of run {run}, and a sample has several cells"
            hint "name one, such as `karat trace {run} {path}`, or see all with `karat show {run} --sample {cell}`";
        RunIsSample { sample: String, run: String } => "there is no run `{sample}`, but run {run} has a sample of this id"
            hint "`karat show {run} --sample {sample}` shows it";
        CellNotNamed { run: String, cell: String } => "`karat trace` needs a cell"
            hint "name one, such as `karat trace {run}{cell}`; `karat show` lists the cells of a run";
        NoSample { target: String, sample: String } => "{target} has no cell of the sample `{sample}`"
            hint "`karat show {target}` lists its samples";
        NoPlannedCell { suite: String, cell: String } => "the plan of {suite} has no cell `{cell}`"
            hint "give its number in `karat show`, or `sample/model/variant` (`sample/variant` without a model)";
        NoMetric { metric: String, known: Names } => "no stored run has the metric `{metric}`"
            hint "`karat ls` lists the runs; the metrics of the latest: {known}";
        NoReport { path: String, problem: String } => "{path} is not a report of karat: {problem}"
            hint "`karat run -o DIR` and `karat report RUN -o DIR` write DIR/report.json";
        NoRuns { suite: String } => "the suite {suite} has no stored run" hint "`karat run` makes one";
        NoRunsOfData { suite: String, own: String, stored: Names } => "no stored run of the suite {suite} has read {own}"
            hint "there are runs of: {stored}; `karat run` with the same `-p` makes one";
        EmptyRange { since: String, until: String } => "`--since {since}` is after `--until {until}`: no day lies between"
            hint "swap the two";
        NotJudged { flag: String, name: String, stored: Names } => "`{flag} {name}`: no stored judgment has it"
            hint "there are: {stored}";
        BadDate { flag: String, date: String } => "`{flag} {date}` is not a date" hint "write it as YYYY-MM-DD";
        BadWindow { days: u32, most: u32 } => "`--window {days}` is out of range" hint "give 1 to {most} days";
        NoDates { suite: String } => "no sample of the suite {suite} has a date, so there is nothing to sum up"
            hint "name the column under `dataset.date`";
        NoDay { date: String } => "`{date}` is not a date";
    }
}
