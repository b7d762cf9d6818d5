//! Host functions: functions of the program that has Karat as a library.
//!
//! A suite names one as the program `host:NAME`. A call of it is a call of a program that answers line by line: it takes
//! the same path, its request is the same line without `id`, and so is its answer. Only the process is missing.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karat_types::CallErrorCode;

use crate::answer::failure::Failure;

/// The answer of a function: its line, or why there is none.
pub type HostAnswer = Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send>>;

/// The functions that a program offers to its runs. Called from many tasks at once; a call must not block its thread.
pub trait HostFunctions: Send + Sync {
    /// The names of the functions.
    fn names(&self) -> Vec<String>;

    /// The version of a function: declared, or the hash of what it is made of. `None` if there is no such function.
    fn version(&self, name: &str) -> Option<String>;

    /// Calls a function with a request as JSON: `{"input": …}` of a step or scorer; of a tool `{"conversation": …,
    /// "tool": …, "arguments": …, "sample": …}`, or `{"conversation": …, "end": true}`. A step or scorer answers
    /// `{"output": …}`, a tool `{"result": …}` or `{"error": "what the model is told"}`.
    fn call(&self, name: &str, request: String) -> HostAnswer;
}

/// The functions of this process, if it has any. Clones share them.
#[derive(Clone, Default)]
pub struct Host(Option<Arc<dyn HostFunctions>>);

impl Host {
    /// A host with functions.
    pub fn new(functions: Arc<dyn HostFunctions>) -> Self {
        Self(Some(functions))
    }

    /// The names of the functions, in their order.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.0.as_ref().map(|functions| functions.names()).unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// The version of each function, by name.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.names().into_iter().filter_map(|name| Some((name.clone(), self.version(&name)?))).collect()
    }

    /// The version of a function; `None` if there is no such function.
    pub fn version(&self, name: &str) -> Option<String> {
        self.0.as_ref()?.version(name)
    }

    /// Asks a function for its answer line; `members` are those of the request as JSON.
    pub(crate) async fn ask(&self, name: &str, members: &str, timeout: Duration) -> Result<Bytes, Failure> {
        let failed = |what: &str| Failure::new(CallErrorCode::Process, format!("function `{name}`: {what}"));
        let Some(functions) = &self.0 else {
            return Err(failed("it belongs to a program that has karat as a library; run the suite from that program"));
        };
        let answer = functions.call(name, ["{", members, "}"].concat());
        match tokio::time::timeout(timeout, answer).await {
            Ok(answer) => answer.map_err(|problem| failed(&problem)),
            Err(_) => {
                let what = format!("function `{name}`: it did not return within {timeout:?}; raise `timeout`");
                Err(Failure { retry: false, ..Failure::new(CallErrorCode::Timeout, what) })
            }
        }
    }

    /// Tells a function that a conversation is over. Nothing waits for an answer.
    pub(crate) async fn tell_end(&self, name: &str, members: &str) {
        if let Some(functions) = &self.0 {
            // A function that keeps no state has nothing to end.
            let _ = functions.call(name, format!("{{{members}}}")).await;
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host").field(&self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use karat_types::{CommandRequest, Protocol, Request, SilentObserver, ToolRequest};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Exchange, ExternalCall, ExternalTexts, Providers, Settings};

    /// `echo` answers with its input, `fail` says why not, `sleep` does not return.
    struct Functions;

    impl HostFunctions for Functions {
        fn names(&self) -> Vec<String> {
            ["sleep", "echo", "fail", "echo_tool"].map(str::to_owned).to_vec()
        }

        fn version(&self, name: &str) -> Option<String> {
            self.names().contains(&name.to_owned()).then(|| format!("{name}-1"))
        }

        fn call(&self, name: &str, request: String) -> HostAnswer {
            let request: Value = serde_json::from_str(&request).unwrap();
            let answer = match name {
                "echo" => Ok(json!({ "output": request["input"] })),
                "echo_tool" => Ok(json!({ "result": request })),
                "fail" => Err("ValueError: no (scorers.py:7, in fail)".to_owned()),
                _ => return Box::pin(std::future::pending()),
            };
            Box::pin(async { answer.map(|answer| Bytes::from(answer.to_string())) })
        }
    }

    fn settings() -> Settings {
        Settings { host: Host::new(Arc::new(Functions)), ..Settings::new(|_| None) }
    }

    fn program(name: &str, protocol: Protocol) -> CommandRequest {
        let run = vec![format!("host:{name}"), "echo-1".to_owned()];
        CommandRequest { run, input: json!({ "text": "é" }), env: Vec::new(), protocol, folder: String::new() }
    }

    async fn ask(settings: Settings, name: &str, protocol: Protocol) -> Exchange {
        let request = Request::Command(program(name, protocol));
        let timeout = Duration::from_millis(50);
        let call = ExternalCall { who: "scorer own", request: &request, timeout, retries: 3, jitter_seed: 1 };
        let providers = Providers::connect_all(&[], &ExternalTexts::default(), settings).unwrap();
        providers.call_external(call, &SilentObserver).await
    }

    /// BY-15: a function answers as a program does, and its exchange is captured alike.
    #[tokio::test]
    async fn a_function_answers_like_a_program() {
        let exchange = ask(settings(), "echo", Protocol::Jsonl).await;
        assert_eq!(exchange.outcome.unwrap().text, r#"{"text":"é"}"#);
        assert_eq!(&exchange.response[..], r#"{"output":{"text":"é"}}"#.as_bytes());
    }

    /// BY-15: what a function says of its failure is the error of the call, which is made once.
    #[tokio::test]
    async fn a_failure_names_the_function_and_is_not_retried() {
        let exchange = ask(settings(), "fail", Protocol::Jsonl).await;
        let error = exchange.outcome.unwrap_err();
        assert!(error.message.contains("function `fail`: ValueError: no (scorers.py:7, in fail)"), "{error}");
        let error = ask(settings(), "sleep", Protocol::Jsonl).await.outcome.unwrap_err();
        assert_eq!(error.code, CallErrorCode::Timeout);
        assert!(error.message.contains("function `sleep`: it did not return within 50ms"), "{error}");
    }

    /// BY-15: a suite whose functions are not here fails before its first call, and says which there are.
    #[tokio::test]
    async fn an_unknown_function_is_found_before_the_run() {
        let outside = ExternalTexts {
            host_functions: vec![("step 0".to_owned(), "ecko".to_owned())],
            ..ExternalTexts::default()
        };
        let told = |settings| Providers::connect_all(&[], &outside, settings).err().unwrap()[0].to_string();
        assert_eq!(
            told(settings()),
            "step 0: it calls the host function `ecko`, which this program does not have; register it before the run; \
             registered are echo, echo_tool, fail, sleep"
        );
        assert!(told(Settings::new(|_| None)).contains("run the suite from the program that registers it"));
        let error = ask(Settings::new(|_| None), "echo", Protocol::Jsonl).await.outcome.unwrap_err();
        assert!(error.message.contains("it belongs to a program that has karat as a library"), "{error}");
        let error = ask(settings(), "echo", Protocol::Once).await.outcome.unwrap_err();
        assert!(error.message.contains("write `protocol: jsonl`"), "{error}");
    }

    /// BY-15: a tool gets its call as a program that keeps state does.
    #[tokio::test]
    async fn a_tool_gets_its_conversation() {
        let providers = Providers::connect_all(&[], &ExternalTexts::default(), settings()).unwrap();
        let call = ToolRequest {
            command: program("echo_tool", Protocol::Jsonl),
            tool: "lookup".to_owned(),
            arguments: json!({ "id": "A1" }),
            conversation: "c1".to_owned(),
            begin: true,
            sample: "s1".to_owned(),
        };
        let reply = providers.call_tool("tools of step 0", &call, Duration::from_secs(5)).await.unwrap();
        let expected = json!({"result": {
            "conversation": "c1", "begin": true, "tool": "lookup", "arguments": {"id": "A1"}, "sample": {"id": "s1"},
        }});
        assert_eq!(serde_json::from_str::<Value>(&reply.text).unwrap(), expected);
        providers.end_conversation(&call).await;
    }
}
