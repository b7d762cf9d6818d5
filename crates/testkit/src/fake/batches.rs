//! OpenAI's and Anthropic's batch endpoints, with faults.
//!
//! A batch goes one state further with each question about it, and its lines are answered by another script. The state is
//! kept in a file if one is named, so that it survives the process of the fake.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::protocol::Protocol;
use super::{Behaviour, ReceivedRequest, Script};

/// A request at which the fake stops answering, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchStage {
    /// The upload arrives and is not stored.
    BeforeUpload,
    /// The upload is stored and not answered.
    AfterUpload,
    /// The batch is created and not answered.
    AfterCreate,
    /// The state of the batch is asked for.
    Polling,
    /// The results are asked for.
    Reading,
}

/// Faults of the batch endpoints.
#[derive(Debug, Clone, Default)]
pub struct BatchFaults {
    /// Results come in reverse order.
    pub shuffle: bool,
    /// The number of lines of the first batch that expire.
    pub expire: usize,
    /// The number of lines of the first batch that are answered with 500.
    pub fail_lines: usize,
    /// The final status of every batch.
    pub status: Option<String>,
    /// The first creation is done and never answered.
    pub hang_create: bool,
    /// The first creation is done and answered with 500.
    pub lose_create: bool,
    /// Batches with more lines fail, because the queue has no room for their tokens.
    pub queue_lines: Option<usize>,
    /// The results of every batch are gone.
    pub lose_results: bool,
    /// The request that is never answered, once.
    pub hang_at: Option<BatchStage>,
    /// The file of the state.
    pub file: Option<PathBuf>,
}

/// The batch endpoints of a fake provider; clones share their state.
#[derive(Clone)]
pub struct FakeBatches {
    faults: Arc<BatchFaults>,
    lines: Script,
    state: Arc<Mutex<BatchesState>>,
}

#[derive(Default, Serialize, Deserialize)]
struct BatchesState {
    files: BTreeMap<String, String>,
    batches: Vec<RemoteBatch>,
    billed: usize,
    hung: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct RemoteBatch {
    id: String,
    key: String,
    is_openai: bool,
    requests: Vec<(String, Value)>,
    questions: usize,
    results: Vec<String>,
    errors: Vec<String>,
    cancelled: bool,
}

impl FakeBatches {
    /// Endpoints whose lines another script answers.
    pub fn new(lines: impl Into<Script>, faults: BatchFaults) -> Self {
        let stored = faults.file.as_ref().and_then(|file| std::fs::read(file).ok());
        let state = stored.and_then(|state| serde_json::from_slice(&state).ok()).unwrap_or_default();
        Self { faults: Arc::new(faults), lines: lines.into(), state: Arc::new(Mutex::new(state)) }
    }

    /// The script of a provider with these endpoints. Other requests go to the script of the lines.
    pub fn script(&self) -> Script {
        let own = self.clone();
        Script::by(move |received| own.decide(received).unwrap_or_else(|| own.lines.decide(received)))
    }

    /// Batches created.
    pub fn creates(&self) -> usize {
        self.state().batches.len()
    }

    /// The number of lines of each batch.
    pub fn sizes(&self) -> Vec<usize> {
        self.state().batches.iter().map(|batch| batch.requests.len()).collect()
    }

    /// Lines that were answered with a reply.
    pub fn billed_lines(&self) -> usize {
        self.state().billed
    }

    /// Batches that a client cancelled.
    pub fn cancelled_batches(&self) -> usize {
        self.state().batches.iter().filter(|batch| batch.cancelled).count()
    }

    /// Takes a batch one state further, as a question about it does.
    pub fn touch(&self, at: usize) {
        let mut state = self.state();
        if let Some(id) = state.batches.get(at).map(|batch| batch.id.clone()) {
            self.step(&mut state, &id);
        }
    }

    /// Returns whether the stage at which the fake hangs was reached.
    pub fn has_hung(&self) -> bool {
        self.state().hung
    }

    fn decide(&self, received: &ReceivedRequest) -> Option<Behaviour> {
        let path = received.path.split('?').next().unwrap_or_default();
        let path: Vec<&str> = path.trim_matches('/').split('/').skip(1).collect();
        let mut state = self.state();
        let is_get = received.body.is_empty();
        let answer = match &path[..] {
            ["files"] => self.upload(&mut state, received),
            ["files", file, "content"] => {
                if self.hangs(&mut state, BatchStage::Reading) {
                    return Some(Behaviour::Hang);
                }
                match state.files.get(*file).filter(|_| !self.faults.lose_results) {
                    Some(content) => Behaviour::raw(200, content.clone()),
                    None => Behaviour::status(404, "no such file"),
                }
            }
            ["batches"] | ["messages", "batches"] if is_get => {
                let is_openai = path[0] == "batches";
                let batches = state.batches.iter().filter(|batch| batch.is_openai == is_openai);
                let batches: Vec<Value> = batches.map(|batch| self.describe(batch)).collect();
                Behaviour::raw(200, json!({ "data": batches, "has_more": false }).to_string())
            }
            ["batches"] => self.create(&mut state, &received.json(), true),
            ["messages", "batches"] => self.create(&mut state, &received.json(), false),
            ["batches", id] | ["messages", "batches", id] => {
                if self.hangs(&mut state, BatchStage::Polling) {
                    return Some(Behaviour::Hang);
                }
                self.step(&mut state, id)
            }
            ["batches", id, "cancel"] | ["messages", "batches", id, "cancel"] => {
                match state.batches.iter_mut().find(|batch| batch.id == *id) {
                    Some(batch) => {
                        batch.cancelled = true;
                        Behaviour::raw(200, self.describe(batch).to_string())
                    }
                    None => Behaviour::status(404, "no such batch"),
                }
            }
            ["messages", "batches", id, "results"] => {
                if self.hangs(&mut state, BatchStage::Reading) {
                    return Some(Behaviour::Hang);
                }
                match state.batches.iter().find(|batch| batch.id == *id) {
                    Some(batch) => Behaviour::raw(200, batch.results.join("\n")),
                    None => Behaviour::status(404, "no such batch"),
                }
            }
            _ => return None,
        };
        self.save(&state);
        Some(answer)
    }

    fn hangs(&self, state: &mut BatchesState, stage: BatchStage) -> bool {
        let hangs = self.faults.hang_at == Some(stage) && !state.hung;
        state.hung |= hangs;
        hangs
    }

    fn upload(&self, state: &mut BatchesState, received: &ReceivedRequest) -> Behaviour {
        if self.hangs(state, BatchStage::BeforeUpload) {
            return Behaviour::Hang;
        }
        let form = String::from_utf8_lossy(&received.body);
        let lines: Vec<&str> = form.lines().filter(|line| line.starts_with('{')).collect();
        let id = format!("file-{}", state.files.len());
        state.files.insert(id.clone(), lines.join("\n"));
        match self.hangs(state, BatchStage::AfterUpload) {
            true => Behaviour::Hang,
            false => Behaviour::raw(200, json!({ "id": id, "purpose": "batch" }).to_string()),
        }
    }

    fn create(&self, state: &mut BatchesState, asked: &Value, is_openai: bool) -> Behaviour {
        let line =
            |line: Value, body: &str| (line["custom_id"].as_str().unwrap_or_default().to_owned(), line[body].clone());
        let requests: Vec<(String, Value)> = if is_openai {
            let Some(file) = asked["input_file_id"].as_str().and_then(|file| state.files.get(file)) else {
                return Behaviour::status(400, "no such file");
            };
            file.lines().filter_map(|text| Some(line(serde_json::from_str(text).ok()?, "body"))).collect()
        } else {
            asked["requests"].as_array().into_iter().flatten().map(|asked| line(asked.clone(), "params")).collect()
        };
        let batch = RemoteBatch {
            id: format!("batch_{}", state.batches.len()),
            key: asked["metadata"]["karat"].as_str().unwrap_or_default().to_owned(),
            is_openai,
            requests,
            questions: 0,
            results: Vec::new(),
            errors: Vec::new(),
            cancelled: false,
        };
        let body = self.describe(&batch).to_string();
        state.batches.push(batch);
        let is_first = state.batches.len() == 1;
        match &*self.faults {
            faults if is_first && faults.hang_create => Behaviour::Hang,
            faults if is_first && faults.lose_create => Behaviour::server_error(),
            _ if self.hangs(state, BatchStage::AfterCreate) => Behaviour::Hang,
            _ => Behaviour::raw(200, body),
        }
    }

    /// Takes a batch one state further and describes it.
    fn step(&self, state: &mut BatchesState, id: &str) -> Behaviour {
        let is_first = state.batches.first().is_some_and(|batch| batch.id == id);
        let Some(batch) = state.batches.iter_mut().find(|batch| batch.id == id) else {
            return Behaviour::status(404, "no such batch");
        };
        batch.questions += 1;
        let mut billed = 0;
        if batch.questions == 2 && self.final_status(batch) != Some("failed") {
            billed = self.answer(batch, is_first);
        }
        let (batch, id) = (batch.clone(), batch.id.clone());
        state.billed += billed;
        if batch.is_openai && batch.questions == 2 {
            state.files.insert(format!("{id}-output"), batch.results.join("\n"));
            state.files.insert(format!("{id}-errors"), batch.errors.join("\n"));
        }
        Behaviour::raw(200, self.describe(&batch).to_string())
    }

    /// The final status that a fault gives a batch.
    fn final_status(&self, batch: &RemoteBatch) -> Option<&str> {
        let is_too_long = self.faults.queue_lines.is_some_and(|most| batch.requests.len() > most);
        if is_too_long { Some("failed") } else { self.faults.status.as_deref() }
    }

    /// Answers the lines of a batch; returns how many were billed.
    fn answer(&self, batch: &mut RemoteBatch, is_first: bool) -> usize {
        let (expire, fail) = if is_first { (self.faults.expire, self.faults.fail_lines) } else { (0, 0) };
        let (path, protocol) = match batch.is_openai {
            true => ("/v1/chat/completions", Protocol::OpenAi),
            false => ("/v1/messages", Protocol::Anthropic),
        };
        let mut billed = 0;
        for (at, (id, body)) in batch.requests.iter().enumerate() {
            if at < expire || batch.cancelled {
                let code = if batch.cancelled { "batch_cancelled" } else { "batch_expired" };
                let error = json!({ "code": code, "message": "not in time" });
                match batch.is_openai {
                    true => batch.errors.push(json!({ "custom_id": id, "response": null, "error": error }).to_string()),
                    false => {
                        batch.results.push(json!({ "custom_id": id, "result": { "type": "expired" } }).to_string())
                    }
                }
                continue;
            }
            if at < expire + fail {
                let error = json!({ "type": "error", "error": { "type": "api_error", "message": "try again" } });
                batch.results.push(match batch.is_openai {
                    true => json!({ "custom_id": id, "response": { "status_code": 500, "body": error } }).to_string(),
                    false => json!({ "custom_id": id, "result": { "type": "errored", "error": error } }).to_string(),
                });
                continue;
            }
            let body = Bytes::from(body.to_string());
            let received = ReceivedRequest {
                number: at,
                attempt: 0,
                path: path.to_owned(),
                headers: Vec::new(),
                body: body.clone(),
            };
            let Behaviour::Ok(text) = self.lines.decide(&received) else { continue };
            let usage = protocol.usage(&body, &text);
            let reply = protocol.body(&body, &text, Some(usage));
            let reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
            batch.results.push(
                match batch.is_openai {
                    true => {
                        json!({ "custom_id": id, "response": { "status_code": 200, "body": reply }, "error": null })
                    }
                    false => json!({ "custom_id": id, "result": { "type": "succeeded", "message": reply } }),
                }
                .to_string(),
            );
            billed += 1;
        }
        if self.faults.shuffle {
            batch.results.reverse();
        }
        billed
    }

    fn describe(&self, batch: &RemoteBatch) -> Value {
        let has_ended = batch.questions >= 2;
        let count = batch.requests.len();
        if !batch.is_openai {
            let (processing, succeeded) = if has_ended { (0, count) } else { (count, 0) };
            return json!({
                "id": batch.id,
                "type": "message_batch",
                "processing_status": if has_ended { "ended" } else { "in_progress" },
                "request_counts": { "processing": processing, "succeeded": succeeded },
            });
        }
        let last = match self.final_status(batch) {
            Some(status) => status,
            None if batch.cancelled => "cancelled",
            None if !batch.errors.is_empty() => "expired",
            None => "completed",
        };
        let status = match batch.questions {
            0 => "validating",
            1 => "in_progress",
            _ => last,
        };
        let has_files = has_ended && status != "failed";
        json!({
            "id": batch.id,
            "object": "batch",
            "status": status,
            "output_file_id": has_files.then(|| format!("{}-output", batch.id)),
            "error_file_id": has_files.then(|| format!("{}-errors", batch.id)),
            "request_counts": { "total": count },
            "errors": (status == "failed").then(|| match self.faults.queue_lines {
                Some(_) => json!({ "data": [ { "code": "token_limit_exceeded" } ] }),
                None => json!({ "data": [ { "code": "invalid_model", "message": "no such model", "line": 1 } ] }),
            }),
            "metadata": { "karat": batch.key },
        })
    }

    fn save(&self, state: &BatchesState) {
        if let (Some(file), Ok(text)) = (&self.faults.file, serde_json::to_vec(state)) {
            // A test that reads it finds out.
            let _ = std::fs::write(file, text);
        }
    }

    fn state(&self) -> MutexGuard<'_, BatchesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
