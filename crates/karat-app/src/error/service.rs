//! Schedules and alerts that cannot be used.

use super::errors;
use super::lists::Names;

errors! {
    /// A schedule, an incident or a message that is not there.
    enum ServiceError {
        Timetable { problem: String } => "{problem}";
        BadTime { flag: String, text: String } => "`{flag} {text}` is no time" hint "write it as `2027-03-28T01:00Z`";
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
