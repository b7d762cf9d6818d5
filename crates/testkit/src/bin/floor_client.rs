//! The minimal client that Karat's CPU is compared with: the least work that still is an evaluation.
//!
//! One thread, one call a sample, an exact match, one JSON line a sample. With `--judge` a second call whose JSON
//! answer is read. Nothing is hashed, kept, priced, retried or resumed.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Parser;
use futures::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Calls an OpenAI-compatible server once or twice a sample and writes down what it said.
#[derive(Parser)]
struct Arguments {
    /// JSON Lines of `{id, question, target}`.
    #[arg(long)]
    data: PathBuf,
    /// File for the results.
    #[arg(long)]
    out: PathBuf,
    /// Address of `chat/completions`.
    #[arg(long)]
    url: String,
    /// Calls in flight.
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
    /// Ask this model to grade every answer.
    #[arg(long)]
    judge: Option<String>,
}

#[derive(Deserialize)]
struct Sample {
    id: String,
    question: String,
    target: String,
}

#[derive(Serialize)]
struct Ask<'a> {
    model: &'a str,
    messages: [Message<'a>; 1],
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Content,
}

#[derive(Deserialize)]
struct Content {
    content: String,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    output: &'a str,
    score: f64,
    judged: bool,
}

struct Floor {
    client: reqwest::Client,
    url: String,
    judge: Option<String>,
}

impl Floor {
    async fn call(&self, model: &str, content: &str) -> Result<String, Failure> {
        let body = serde_json::to_vec(&Ask { model, messages: [Message { role: "user", content }] })?;
        let request = self.client.post(&self.url).bearer_auth("sk-floor").header("content-type", "application/json");
        let bytes = request.body(body).send().await?.error_for_status()?.bytes().await?;
        let mut completion: Completion = serde_json::from_slice(&bytes)?;
        completion.choices.pop().map(|choice| choice.message.content).ok_or_else(|| "no choice".into())
    }

    /// The answer, and whether the judge said something that can be read.
    async fn sample(&self, sample: &Sample) -> Result<(String, bool), Failure> {
        let answer = self.call("mock-model", &sample.question).await?;
        let Some(judge) = &self.judge else { return Ok((answer, false)) };
        let Sample { question, target, .. } = sample;
        let prompt = format!("Grade the answer.\nQuestion: {question}\nReference: {target}\nAnswer: {answer}");
        let verdict = self.call(judge, &prompt).await?;
        Ok((answer, serde_json::from_str::<serde_json::Value>(&verdict).is_ok()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let samples: Vec<Sample> =
        std::fs::read_to_string(&arguments.data)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(arguments.concurrency)
        .build()?;
    let floor = &Floor { client, url: arguments.url, judge: arguments.judge };
    let mut out = BufWriter::with_capacity(1 << 16, std::fs::File::create(&arguments.out)?);
    let calls = stream::iter(&samples).map(|sample| async move { (sample, floor.sample(sample).await) });
    let mut answers = calls.buffer_unordered(arguments.concurrency);
    while let Some((sample, answer)) = answers.next().await {
        let (output, judged) = answer?;
        let score = f64::from(u8::from(output.trim() == sample.target));
        serde_json::to_writer(&mut out, &Line { id: &sample.id, output: &output, score, judged })?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
