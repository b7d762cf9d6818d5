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

use crate::attempt::failure::Failure;
use crate::process::jsonl_process::Line;
use crate::process::program::process_failure;

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

    /// Asks a function for its answer line.
    pub(crate) async fn ask(&self, name: &str, line: &Line, timeout: Duration) -> Result<Bytes, Failure> {
        let failed = |what: &str| process_failure(format!("function `{name}`: {what}"));
        let Some(functions) = &self.0 else {
            return Err(failed("it belongs to a program that has karat as a library; run the suite from that program"));
        };
        let answer = functions.call(name, format!("{{{}}}", line.members));
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
