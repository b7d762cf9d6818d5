//! Runs that cannot be started, resumed or finished.

use karat_providers::ProviderError;
use karat_store::StoreError;
use karat_text::template::TemplateError;

use super::{Lines, Names, errors};

errors! {
    /// A run that cannot be started, resumed or finished.
    enum RunError {
        NoCells {} => "nothing to run: the plan has no cell"
            hint "check `dataset`, `where`, `limit`, `--sample`, `--models` and `--variants`; `karat plan` shows what is left";
        BadId { id: String } => "`--run-id {id}` is no id for a run"
            hint "use up to 128 letters, digits, `-`, `_`, `.` and `:`, and not `latest`";
        UnknownStart { run: String, source: serde_json::Error } =>
            "run {run} does not say what it was started with: {source}"
            hint "go on with `karat run SUITE … --resume --run-id ID` and the flags it was started with";
        PlanChanged { run: String, changes: Names } =>
            "run {run} cannot be gone on with: {changes} changed since it was begun"
            hint "start a new run: what is unchanged is reused. Or undo the change and resume";
        StoreFailed { source: StoreError, command: &'static str, run: String } => "{source}"
            hint "`karat {command} {run}` goes on with it";
        Runtime { source: std::io::Error } => "starting the runtime: {source}";
        NotConnected { errors: Lines<ProviderError> } => "{errors}";
        PrivateRecording {} => "`--record` writes calls as they are, and this suite has `privacy` rules"
            hint "record a suite without `privacy`, on data that may be kept";
        Recording { failure: String } => "{failure}" hint "make room and record again";
        CallLogTemplate { wanted: String, source: TemplateError } =>
            "`run.call_log: {wanted}` names no file: {source}";
        CallLogEmpty { wanted: String } => "`run.call_log: {wanted}` names no file: it is empty";
    }
}
