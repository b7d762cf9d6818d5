//! Runs that cannot be started, resumed or finished; stored runs that are not there or cannot be analysed; what a server is
//! asked about.

use karat_providers::ProviderError;
use karat_store::StoreError;
use karat_text::template::TemplateError;
use karat_types::Shard;

use super::{CallCount, Lines, Names, Usd, errors};

errors! {
    /// A run that cannot be started, resumed or finished.
    enum RunError {
        NoCells {} => "nothing to run: the plan has no cell"
            hint "check `dataset`, `where`, `limit`, `--sample`, `--models` and `--variants`; `karat plan` shows what is left";
        NoJudgeKey { judge: String, variable: String } =>
            "no key for a judge: the suite's own judges are scripts, which grade no real model, and {judge} needs {variable}"
            hint "name a judge with --judges, or set {variable}";
        BadId { id: String } => "`--run-id {id}` is not a valid run id"
            hint "use up to 128 letters, digits, `-`, `_`, `.` and `:`, none of `-` and `.` at the beginning, and not `latest`";
        UnknownStart { run: String, source: serde_json::Error } =>
            "run {run} does not say what it was started with, so its gates are unknown: {source}"
            hint "run the suite again, which reuses finished cells; or resume it with `karat run SUITE … --resume --run-id ID` and the flags it was started with";
        PlanChanged { run: String, changes: Names, command: String } =>
            "run {run} cannot be resumed: {changes} changed since it was started"
            hint "`{command}` starts a new run, which reuses finished cells that the change does not affect; or undo the change";
        OtherPart { run: String, stored: String, now: String } =>
            "run {run} cannot be resumed: it is of {stored}, and this is {now}"
            hint "give it the `--shard` that it was started with, or another `--store` and run id";
        ScoredShard { run: String, shard: Shard } => "run {run} is shard {shard}, and a part is not scored apart"
            hint "`karat merge` the shards, then score the merged run";
        OrderChanged { run: String } => "run {run} was not started: its suite has changed since the run was asked for"
            hint "ask for a new run: it reuses finished cells that the change does not affect";
        Parked { run: String, deaths: u32, replies: usize } =>
            "run {run} is not started again: its process died {deaths} times at the same cells ({replies} replies are stored that no result uses)"
            hint "find out why, such as the system's log of processes that took all memory; `karat resume {run}` resumes it";
        NothingLeft { run: String } => "run {run} is finished: there is nothing left to do";
        StoreFailed { source: StoreError, command: &'static str, run: String } => "{source}"
            hint "`karat {command} {run}` resumes it";
        Threads { needed: usize, started: usize, source: std::io::Error } =>
            "starting threads: the system allows only {started} of the {needed} threads that are needed ({source})"
            hint "raise `ulimit -u`, the limit on processes and threads of your user, or end other programs of yours";
        Runtime { source: std::io::Error } => "starting the runtime: {source}";
        NotConnected { errors: Lines<ProviderError> } => "{errors}";
        PrivateRecording {} => "`--record` writes calls as they are, and this suite has `privacy` rules"
            hint "record a suite without `privacy`, on data that may be kept";
        PrivateBatch {} => "`--batch` stores requests until they are answered, and this suite has `privacy` rules"
            hint "run it without `--batch`";
        RecordedBatch {} => "`--record` writes calls that are made, and `--batch` makes none"
            hint "record a run without `--batch`";
        EarlyBatch {} => "`run.stop_early` asks for calls as their answers are needed, and a batch asks for all at once"
            hint "run it without batches, or set `stop_early: false`";
        EarlyShard {} => "`run.stop_early` looks at the samples of the whole run, and a shard has some of them"
            hint "run it without `--shard`, or with `--set run.stop_early=false`";
        NotStopped { run: String } => "`--to-end`: run {run} has not stopped early"
            hint "`karat resume {run}` finishes it if it is not finished";
        ScoredStop { run: String, of: String } => "`--to-end`: run {run} scores the outputs of run {of}"
            hint "continue that with `karat resume {of} --to-end`, then `karat score {of}`";
        EarlyRule { problem: String } => "{problem}";
        NoBatchApi {} => "--batch: no model here has a batch API"
            hint "run live, or give a prompt or a judge a model of the provider openai or anthropic; agents are always run live";
        BatchesUnderWay { run: String } =>
            "run {run} has the same plan and batches under way: another run would pay for the same calls again"
            hint "`karat resume {run}` reads them; `karat cancel {run}` gives them up";
        DetachedLive {} => "`--detach` leaves a run whose calls go by batches, and the calls of this run are live"
            hint "add `--batch`, or leave `--detach` out";
        NoBatchServer { problem: String } => "{problem}"
            hint "run it without `--batch`: nothing was submitted";
        Batch { problem: String } => "{problem}"
            hint "fix the cause, then `karat resume` the run: batches under way go on, and nothing is submitted twice";
        Recording { failure: String } => "{failure}" hint "make room and record again";
        CallLogTemplate { wanted: String, source: TemplateError } =>
            "`run.call_log: {wanted}` is not a file name: {source}";
        CallLogEmpty { wanted: String } => "`run.call_log: {wanted}` is not a file name: it is empty";
    }
}

errors! {
    /// A run that its limits do not allow.
    enum BudgetError {
        TooManyCalls { needed: u64, calls: CallCount, max: u64 } =>
            "the run takes at least {calls}, and its suite allows {max}; none was made"
            hint "raise to `--max-calls {needed}` or more, or make the run smaller with `--sample`, `--limit` or `--as-of`";
        TooManyCallsLeft { needed: u64, left: CallCount, made: u64, max: u64 } =>
            "the rest of the run takes at least {left}; with the {made} made before that is {needed}, and its suite allows \
             {max}; none was made now"
            hint "raise to `--max-calls {needed}` or more, or make the run smaller with `--sample`, `--limit` or `--as-of`";
        UnpricedUnderBudget { models: Names, first: String } =>
            "the price of {models} is unknown, so the budget cannot hold"
            hint "write `price:` into its entry, such as {{ id: \"{first}\", price: {{ input: 1, output: 2 }} }} (US dollars \
                  per million tokens), or run without a budget";
        AboveBudget { least: Usd, budget: Usd } => "the run costs at least {least}, and its budget is {budget}"
            hint "raise `--budget-usd`, or make the run smaller with `--limit`, `--models` or `--variants`";
        BelowEstimate { least: Usd, most: Usd, budget: Usd } =>
            "the run may cost {least} to {most}, and its budget of {budget} would stop it before its end"
            hint "raise `--budget-usd`, make the run smaller with `--limit`, or start it with `--yes`: it stops when the budget is \
                  used up, and `karat resume` continues it";
        AboveCeiling { least: Usd, most: Usd, ceiling: Usd } =>
            "the run may cost {least} to {most}, which is above the default ceiling of {ceiling}"
            hint "approve with `--yes` (a budget caps the cost and does not approve of it), or make the run smaller with \
                  `--limit 10`; `karat plan` shows where it goes";
    }
}

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
        CellNotMade { run: String, cell: String } => "the cell `{cell}` of run {run} has no result yet"
            hint "`karat resume {run}` makes it; `karat show {run}` lists those that are made";
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

errors! {
    /// An analysis of stored runs that cannot be made.
    enum AnalyseError {
        NoSide { name: String, run: String, suite: String, runs: Names, models: Names, variants: Names } =>
            "`{name}` is not a stored run, and no model or variant of run {run}"
            hint "the newest runs of {suite}: {runs}; models of run {run}: {models}; variants: {variants}; `karat ls` lists all runs";
        Itself {} => "a run is compared with itself"
            hint "name two runs, or two models or variants of one with `--models A B` or `--variants A B`";
        Unlike { run: String, part: String, of: String } =>
            "`{run}` is a run and `{part}` a part of run {of}: they cannot be compared"
            hint "name two runs, or two models or variants of one, such as `karat compare {part} OTHER --run {run}`";
        NoSystem { run: String, wanted: String, has: Names } => "run {run} has no system with `{wanted}`"
            hint "its systems are {has}";
        BadConfidence { confidence: f64 } => "`--confidence {confidence}` is not a confidence level"
            hint "give a share between 0 and 1, such as 0.95";
        BadMargin { metric: String, margin: f64 } => "`--margin {metric}={margin}` is not a margin"
            hint "give the smallest difference that matters, above 0: in the metric's unit, or `5%` of the baseline";

        NoBaselineFile { path: String } => "reading the baseline {path}: there is no such file"
            hint "`karat baseline pin RUN -o {path}` makes one of a stored run";
        BadBaseline { path: String, problem: String } => "reading the baseline {path}: {problem}"
            hint "`karat baseline pin RUN -o {path}` makes a new one";
        NoBaselinePath {} => "the baseline has no file" hint "name a file with `-o baseline.json`";
        NoScores { run: String } => "run {run} has no scores, so it cannot be a baseline"
            hint "`karat retry {run}` re-runs the failed cells; `karat report {run}` shows why they failed";
        NoGates { run: String } => "run {run} has no gates: none are declared"
            hint "name them with `--policy FILE`, `--min METRIC=X` or `--max-drop X`";
        NotFinished { run: String, why: &'static str } => "run {run} is not finished, and {why}"
            hint "`karat resume {run}` finishes it";
        OnePart { run: String, shard: Shard, why: &'static str } => "run {run} is shard {shard}, and {why}"
            hint "`karat merge` makes the whole run of its shards";

        Unplannable { why: String } => "`--mde`: {why}, so no number of samples detects a difference"
            hint "plan for a metric whose `aggregate` is another";
        NoFigure { metric: String } => "`--mde`: a percentage refers to the stored figure of {metric}, and no stored run has one"
            hint "give the smallest difference that matters in the metric's unit, such as 0.02";
        BadDifference { why: String } => "`--mde`: {why}"
            hint "give the smallest difference that matters, in the metric's unit or as a percentage of its figure";
        NoSpread { metric: String, range: String, why: String } =>
            "the spread of {metric} is unknown: {range}, and {why}"
            hint "run a few samples first (`--limit 20`), of several clusters where the dataset names them, then plan again";
        NoMetrics { known: Names } => "`--mde`: this suite has no metric" hint "there are {known}";
        NoMetric { metric: String, known: Names } => "`--mde`: there is no metric `{metric}`" hint "there are {known}";

        Refused { id: String, problem: String } => "the analysis `{id}` cannot be run: {problem}";
        NoReason {} => "`--close` needs a reason, which the incident's history keeps"
            hint "write it: `--close \"new editor, new style\"`";
        Stretch {} => "a range of days has no incident to close"
            hint "`--close` applies to the whole series: leave out `--since` and `--until`";
        BadShift { shift: f64 } => "`--replay {shift}` is not a valid shift"
            hint "give a number of score units, such as `--replay=-0.5`";
        NoDays {} => "too few days to replay: a replay needs at least two days with a score"
            hint "`--since`, `--until` and `--as-of` choose the days";
        NoSuiteMetric { suite: String, metric: String, known: Names } => "the suite {suite} has no metric `{metric}`"
            hint "it has: {known}";
        NoIncident { id: String, as_of: String } => "no incident of `{id}` is open on {as_of}"
            hint "`--as-of` names another day, `--id` another analysis";
        SeveralIncidents { count: usize, systems: Names } => "incidents of {count} systems are open: {systems}"
            hint "`--system` names the one that is closed";
        LateSince { since: String, as_of: String } =>
            "`--since {since}` is after the analysed day {as_of}"
            hint "name an earlier `--since`, or a later `--as-of`";
        Unwatched { shift: f64, back: f64, metric: String, id: String, watched: &'static str } =>
            "`--replay {shift}` is not watched: the analysis `{id}` of `{metric}` watches for {watched} scores"
            hint "`--replay={back}` goes that way; `worse: both`, under `with` of the analysis, watches both";
        NoThreshold { method: String, own: &'static str } =>
            "`--z-thresh` is the threshold of `median_mad`; `{method}` has none"
            hint "use `{own}` instead, under `with` of the suite's `drift` analysis";
        NoDrift { suite: String, id: String, known: Names } => "the suite {suite} has no drift analysis `{id}`"
            hint "it has: {known}";
    }
}

errors! {
    /// A golden set that cannot be used.
    enum GoldenError {
        NothingToPin { suite: String } => "nothing to pin: the suite {suite} has no matching judgment"
            hint "`karat show SUITE --format tsv` lists what there is; `karat run` judges";
        Empty { folder: String } => "there is no golden file in {folder}"
            hint "add some first: `karat golden pin SUITE` pins what the store holds";
        NoneAsked { all: usize } => "none of the {all} pinned samples is selected"
            hint "`karat golden list` shows them; `--sample` names one, `--limit` is at least 1";
        NotPinned { sample: String, near: String } => "the sample `{sample}` is not pinned"
            hint "{near}`karat golden list` shows the pinned ones";
        NoneInDataset { count: usize, folder: String } => "none of the {count} pinned samples is in the dataset"
            hint "`karat golden list` shows them; they lie in {folder}";
        NoFolder { suite: String } => "the suite {suite} names no folder for its golden set"
            hint "add `baseline: golden`, the folder of the pinned files";
        IsFile { path: String } => "the baseline {path} is a file with a pinned run, not a golden set"
            hint "a golden set is a folder with one file per sample; `karat gate` compares with a pinned run";
        SeveralSystems { count: usize, systems: Names } =>
            "the rows are of {count} systems ({systems}), but a golden set holds only one"
            hint "select it with `--system`; `karat baseline pin RUN` pins all of a run";
        SeveralJudges { judges: Names } =>
            "the current grades are of several judges or prompt versions ({judges}), but a golden set holds those of one"
            hint "select them with `--judge` or `--prompt-version`, or `karat run` all samples with one judge";
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

errors! {
    /// A schedule, an incident or a message that is not there.
    enum ServiceError {
        Timetable { problem: String } => "{problem}";
        BadTime { flag: String, text: String } => "`{flag} {text}` is not a time" hint "write it as `2027-03-28T01:00Z`";
        NotFollowed { suite: String, known: Names } =>
            "no suite `{suite}` with schedules is followed here" hint "suites: {known}";
        NoSchedule { suite: String, schedule: String, known: Names } =>
            "the suite {suite} has no schedule `{schedule}`" hint "schedules: {known}";
        NoAlert { suite: String, alert: String, known: Names } =>
            "the suite {suite} has no alert `{alert}`" hint "alerts: {known}";
        NotDue { schedule: String, due: String, next: String } =>
            "the schedule `{schedule}` is not due at {due}" hint "the next time is {next}";
        NeverDue { schedule: String } => "the schedule `{schedule}` was never due";
        NoIncident { id: String } =>
            "there is no incident `{id}` that is not closed" hint "`karat alert ls` lists them";
        NoMessage { id: String } =>
            "there is no message `{id}` that was not sent" hint "`karat alert ls --outbox` lists them";
        MessageSent { id: String } => "the message `{id}` was sent" hint "only messages that were not are sent again";
        NotReceived { address: String, problem: String } => "sending the run to {address}: {problem}"
            hint "`-o` names the receiver's address without `/v1/…`, such as http://127.0.0.1:4318; `OTEL_EXPORTER_OTLP_HEADERS` holds its keys";
        NoClient { problem: String } => "connecting to receivers: {problem}" hint "check HTTPS_PROXY, and the system's certificates";
    }
}

errors! {
    /// A token that cannot be created or found.
    enum TokenError {
        NoName {} => "a token needs a name" hint "say where it is used, such as `--name ci`";
        NoRandom { source: getrandom::Error } => "creating a token: the system gives no random bytes ({source})";
        NoToken { id: String } => "there is no active token `{id}`" hint "`karat token ls` lists all";
    }
}
