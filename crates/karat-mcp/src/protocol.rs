//! Messages of JSON-RPC 2.0, and the methods of the protocol.

use std::io::{self, BufRead, Write};

use karat_app::App;
use serde_json::{Map, Value, json};

use crate::runs::{RunLimits, Runs};
use crate::tools;

/// Versions with a handshake, newest first.
const WITH_HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version without one.
const STATELESS: &str = "2026-07-28";

/// The member of `_meta` that names the version of a request.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The longest message that is read, in bytes.
const MAX_MESSAGE: usize = 4 << 20;

/// Milliseconds for which an agent may keep the list of tools: it changes with the program only.
const TOOLS_TTL_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = "Karat evaluates prompts, models and agents against test cases. Ask it for runs, reports and \
                            comparisons instead of guessing whether a change made something better. A difference counts \
                            only where the verdict says better or worse; `undecided` means that the data cannot say.";

/// An error of JSON-RPC.
struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// Answers requests until the input ends; then runs that an agent has started are stopped, and can be resumed.
///
/// # Errors
/// The input cannot be read or the output cannot be written.
pub fn serve(app: App, limits: Option<RunLimits>, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let runs = Runs::new(app.clone(), limits);
    while let Some(message) = read_message(&mut input)? {
        let answer = match message {
            Message::Text(text) if text.trim().is_empty() => None,
            Message::Text(text) => answer(&app, &runs, &text),
            Message::TooLong => {
                let error = RpcError::new(-32600, format!("the message is longer than {MAX_MESSAGE} bytes"));
                Some(failure(Value::Null, error))
            }
        };
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    runs.stop();
    Ok(())
}

enum Message {
    Text(String),
    TooLong,
}

/// Reads a line. One that is too long is read to its end and dropped.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut line = Vec::new();
    let limit = MAX_MESSAGE as u64 + 1;
    if io::Read::take(&mut *input, limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() > MAX_MESSAGE && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Some(Message::TooLong));
    }
    Ok(Some(Message::Text(String::from_utf8_lossy(&line).into_owned())))
}

/// The answer to a message; none to a notification.
fn answer(app: &App, runs: &Runs, text: &str) -> Option<Value> {
    let message: Value = match serde_json::from_str(text) {
        Ok(message) => message,
        Err(error) => {
            return Some(failure(Value::Null, RpcError::new(-32700, format!("the message is not JSON: {error}"))));
        }
    };
    let id = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        // An answer to a request: this server makes none.
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let error = || RpcError::new(-32600, "the message has no `method`");
        return (!is_answer).then(|| failure(id.unwrap_or_default(), error()));
    };
    let id = id?;
    let empty = Map::new();
    let params = message.get("params").and_then(Value::as_object).unwrap_or(&empty);
    Some(match call_method(app, runs, method, params) {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => failure(id, error),
    })
}

fn failure(id: Value, error: RpcError) -> Value {
    let mut body = json!({ "code": error.code, "message": error.message });
    if let (Some(data), Some(body)) = (error.data, body.as_object_mut()) {
        body.insert("data".to_owned(), data);
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": body })
}

fn call_method(app: &App, runs: &Runs, method: &str, params: &Map<String, Value>) -> Result<Value, RpcError> {
    let asked = params.get("_meta").and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    if let Some(version) = asked.filter(|version| *version != STATELESS && !WITH_HANDSHAKE.contains(version)) {
        return Err(RpcError {
            data: Some(json!({ "supported": versions() })),
            ..RpcError::new(-32022, format!("the version {version} of the protocol is not known"))
        });
    }
    // Each result of the protocol without a handshake says that it is whole.
    let complete = |mut result: Value| {
        if asked == Some(STATELESS) || method == "server/discover" {
            result["resultType"] = "complete".into();
        }
        result
    };
    let server = json!({ "name": "karat", "title": "Karat", "version": env!("CARGO_PKG_VERSION") });
    let result = match method {
        "initialize" => {
            let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
            let version = WITH_HANDSHAKE.iter().find(|known| **known == asked).unwrap_or(&WITH_HANDSHAKE[0]);
            json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": server, "instructions": INSTRUCTIONS })
        }
        "server/discover" => {
            json!({ "supportedVersions": versions(), "capabilities": { "tools": {} }, "serverInfo": server, "instructions": INSTRUCTIONS })
        }
        "ping" => json!({}),
        "tools/list" => {
            let mut list = json!({ "tools": tools::list(runs.are_allowed()) });
            if asked == Some(STATELESS) {
                list["ttlMs"] = TOOLS_TTL_MS.into();
                list["cacheScope"] = "public".into();
            }
            list
        }
        "tools/call" => {
            let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
            let empty = Map::new();
            let arguments = params.get("arguments").and_then(Value::as_object).unwrap_or(&empty);
            let called = tools::call(app, runs, name, arguments)
                .ok_or_else(|| RpcError::new(-32602, format!("there is no tool `{name}`")))?;
            let (text, is_error) = match called {
                Ok(text) => (text, false),
                Err(message) => (message, true),
            };
            json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
        }
        other => return Err(RpcError::new(-32601, format!("there is no method `{other}`"))),
    };
    Ok(complete(result))
}

fn versions() -> Vec<&'static str> {
    std::iter::once(STATELESS).chain(WITH_HANDSHAKE).collect()
}
