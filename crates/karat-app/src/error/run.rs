//! Runs that cannot be started, resumed or finished.

use karat_providers::ProviderError;
use karat_store::StoreError;
use karat_text::template::TemplateError;
use karat_types::Shard;

use super::{Lines, Names, errors};

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
