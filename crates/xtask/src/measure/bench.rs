//! `cargo xtask bench`: measures Karat against the smallest possible client (the floor) on one fake provider. Builds
//! nothing: run `cargo build --release -p karat -p testkit` first.
//!
//! Wall times depend on the machine and its other load, so each round runs the floor and Karat in turn, and medians and
//! ratios are reported. CPU is the user and system time of the client process, without the provider.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;
use testkit::Scratch;

use crate::measure::process::{Usage, binary, run_measured, size_of};

/// Traces that are compared with the provider's own bytes.
const TRACES: usize = 100;

/// The reply of the fake provider's judge.
const VERDICT: &str = r#"{"reason": "It is what was asked for.", "pass": true}"#;

/// One line of the table.
pub(super) struct Case {
    pub name: &'static str,
    pub cells: usize,
    concurrency: usize,
    pub latency_ms: u64,
    judge: bool,
    /// True when the questions are random text that does not compress.
    noise: bool,
}

impl Case {
    /// One call a cell that is answered at once.
    pub fn new(name: &'static str, cells: usize) -> Self {
        Self { name, cells, concurrency: 64, latency_ms: 0, judge: false, noise: false }
    }
}

/// Runs the table; `Ok(false)` when a trace does not hold the provider's bytes.
pub fn run(cells: usize, rounds: usize, full: bool, out: &mut dyn Write) -> Result<bool, String> {
    let mut cases = vec![
        Case::new("call", cells),
        Case { noise: true, ..Case::new("call of noise", cells) },
        Case { judge: true, ..Case::new("call + judge call", cells) },
        Case { latency_ms: 50, ..Case::new("call of 50 ms", cells) },
    ];
    if full {
        cases.push(Case::new("call", cells * 10));
        cases.push(Case { concurrency: 1024, latency_ms: 50, ..Case::new("call of 50 ms", cells * 20) });
    }
    say(
        out,
        "what                   cells in flight | floor cells/s  ms CPU | karat cells/s  ms CPU |  rate   CPU | MiB RSS  MiB disk | again s  /floor",
    )?;
    let mut sound = true;
    for case in &cases {
        sound &= case.run(rounds, out)?;
    }
    start_up(rounds, out)?;
    Ok(sound)
}

impl Case {
    fn run(&self, rounds: usize, out: &mut dyn Write) -> Result<bool, String> {
        let provider = Provider::start(self.latency_ms)?;
        let (mut floor, mut karat, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let mut sound = true;
        let mut disk = 0;
        for round in 0..rounds {
            let place = self.place(&provider)?;
            floor.push(self.floor(&place, &provider)?);
            karat.push(run_measured(binary("karat", place.path(), &["run", "-q", "--run-id", "first"])?)?);
            if round == 0 {
                disk = size_of(&place.path().join(".karat"));
            }
            again.push(run_measured(binary("karat", place.path(), &["run", "-q", "--run-id", "again"])?)?);
            if round == 0 {
                sound = self.traces_are_the_providers_bytes(&place, &provider, out)?;
            }
        }
        let (floor, karat, again) = (median(floor), median(karat), median(again));
        let rate = |took: Usage| self.cells as f64 / took.wall.as_secs_f64();
        let each = |took: Usage| took.cpu.as_secs_f64() * 1e3 / self.cells as f64;
        say(
            out,
            &format!(
                "{:<20} {:>8} {:>8} | {:>13.0} {:>7.3} | {:>13.0} {:>7.3} | {:>4.0}% {:>4.1}x | {:>7} {:>9.1} | {:>7.2} {:>6.1}x",
                self.name,
                self.cells,
                self.concurrency,
                rate(floor),
                each(floor),
                rate(karat),
                each(karat),
                100.0 * rate(karat) / rate(floor),
                each(karat) / each(floor),
                karat.peak / 1024,
                disk as f64 / f64::from(1 << 20),
                again.wall.as_secs_f64(),
                again.wall.as_secs_f64() / floor.wall.as_secs_f64(),
            ),
        )?;
        Ok(sound)
    }

    fn floor(&self, place: &Scratch, provider: &Provider) -> Result<Usage, String> {
        let url = format!("{}/chat/completions", provider.base_url);
        let concurrency = self.concurrency.to_string();
        let mut arguments = vec!["--data", "data.jsonl", "--out", "floor.jsonl", "--url", &url];
        arguments.extend(["--concurrency", &concurrency]);
        if self.judge {
            arguments.extend(["--judge", "judge-model"]);
        }
        run_measured(binary("floor-client", place.path(), &arguments)?)
    }

    pub fn place(&self, provider: &Provider) -> Result<Scratch, String> {
        let place = testkit::scratch().map_err(|error| format!("making a folder: {error}"))?;
        let rows: String = (0..self.cells).map(|at| question(at, self.noise)).collect();
        let write =
            |name, content: &str| place.write(name, content).map_err(|error| format!("writing {name}: {error}"));
        write("data.jsonl", &rows)?;
        write("karat.yaml", &self.suite(&provider.base_url))?;
        Ok(place)
    }

    fn suite(&self, base_url: &str) -> String {
        let model = |id: &str, model: &str| {
            format!(
                "{{ id: {id}, provider: openai, model: {model}, base_url: \"{base_url}\", price: {{ input: 1.0, output: 2.0 }} }}"
            )
        };
        let rubric = "rubric: { ask: \"Is the answer right?\", show: { answer: \"{{ output }}\" } }";
        let (judges, graded) = if self.judge {
            (format!("judges: [ {} ]\n", model("judge", "judge-model")), format!(", quality: {{ {rubric} }}"))
        } else {
            Default::default()
        };
        format!(
            "name: bench\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
             models: [ {} ]\n{judges}variants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
             scorers: {{ hit: {{ metric: contains }}{graded} }}\n\
             run: {{ max_concurrency: {}, budget_usd: 100000 }}\n",
            model("mock", "mock-model"),
            self.concurrency
        )
    }

    /// BY-04: what `karat trace` shows is what the provider sends when it is asked the same again.
    fn traces_are_the_providers_bytes(
        &self,
        place: &Scratch,
        provider: &Provider,
        out: &mut dyn Write,
    ) -> Result<bool, String> {
        for nth in 0..TRACES.min(self.cells) {
            // A stride that is prime to every round number of cells visits them in no order.
            let cell = (nth * 7919 + 13) % self.cells;
            let mut command = binary("karat", place.path(), &["trace", "--json", "first", &format!("{cell}")])?;
            let shown = command.stdin(Stdio::null()).output().map_err(|error| format!("starting karat: {error}"))?;
            let trace: Value = serde_json::from_slice(&shown.stdout)
                .map_err(|error| format!("trace of {cell}: {error}: {}", String::from_utf8_lossy(&shown.stderr)))?;
            for call in trace["calls"].as_array().into_iter().flatten() {
                let (Some(request), Some(response)) = (call["request"].as_str(), call["response"].as_str()) else {
                    return Err(format!("trace of {cell}: a call without its bytes"));
                };
                if provider.ask(request)? != response.as_bytes() {
                    say(out, &format!("cell {cell}: its trace is not what the provider sent"))?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Time to run one sample, which is nearly all start-up.
fn start_up(rounds: usize, out: &mut dyn Write) -> Result<(), String> {
    let provider = Provider::start(0)?;
    let one = Case::new("one sample", 1);
    let (mut floor, mut karat) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let place = one.place(&provider)?;
        floor.push(one.floor(&place, &provider)?);
        karat.push(run_measured(binary("karat", place.path(), &["run", "-q"])?)?);
    }
    let ms = |times| median(times).wall.as_secs_f64() * 1e3;
    say(out, &format!("start-up with one sample: {:.0} ms, the floor {:.0} ms", ms(karat), ms(floor)))
}

/// About 600 bytes of text, or of noise, with its answer in it; four of five answers are the right one.
fn question(at: usize, noise: bool) -> String {
    let words = ["bridge", "review", "signal", "harbor", "letter", "library", "coffee", "water", "engine", "planet"];
    let word = |word: usize| words[(at * 31 + word * word * 7 + word) % words.len()].to_owned();
    // Words of six bits a character: what base64 makes of random bytes.
    let text = if noise { static_noise(at) } else { (0..80).map(word).collect::<Vec<_>>() };
    let target = if at.is_multiple_of(5) { "something else".to_owned() } else { format!("answer {at}") };
    format!(
        "{{\"id\":\"s{at:06}\",\"question\":\"Item {at}. {} [[answer {at}]]\",\"target\":\"{target}\"}}\n",
        text.join(" ")
    )
}

/// Words of a seeded generator (SplitMix64), all different.
fn static_noise(at: usize) -> Vec<String> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = at as u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let word = |bits: u64| (0..10).map(|at| char::from(ALPHABET[(bits >> (6 * at) & 63) as usize])).collect();
    (0..54).map(|_| word(next())).collect()
}

/// The fake provider as a process of its own, so that its time is not ours.
pub(super) struct Provider {
    child: Child,
    pub base_url: String,
}

impl Provider {
    pub fn start(latency_ms: u64) -> Result<Self, String> {
        let folder = testkit::scratch().map_err(|error| format!("making a folder: {error}"))?;
        let verdict = folder.write("verdict.json", VERDICT).map_err(|error| error.to_string())?;
        let (latency, verdict) = (latency_ms.to_string(), verdict.display().to_string());
        let arguments = ["--port", "0", "--latency-ms", &latency, "--judge-json", &verdict];
        let failed = |error: std::io::Error| format!("starting the provider: {error}");
        let mut command = binary("fake-provider", folder.path(), &arguments)?;
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
        let mut said = String::new();
        if let Some(stderr) = &mut child.stderr {
            std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut said).map_err(failed)?;
        }
        let base_url = said.split_whitespace().last().filter(|word| word.starts_with("http"));
        let base_url = base_url.ok_or_else(|| format!("the provider said `{said}`"))?.to_owned();
        Ok(Self { child, base_url })
    }

    /// Posts a body over a connection of its own and reads the answer's body.
    fn ask(&self, body: &str) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("asking the provider again: {error}");
        let host = self.base_url.trim_start_matches("http://").trim_end_matches("/v1");
        let mut stream = TcpStream::connect(host).map_err(failed)?;
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .map_err(failed)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(failed)?;
        let head = answer
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .ok_or("the provider's answer has no end of its head")?;
        Ok(answer.split_off(head + 4))
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn median(mut times: Vec<Usage>) -> Usage {
    times.sort_by_key(|took| took.wall);
    let wall = times.get(times.len() / 2).copied().unwrap_or_default().wall;
    times.sort_by_key(|took| took.cpu);
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    Usage { wall, cpu: middle.cpu, peak: times.iter().map(|took| took.peak).max().unwrap_or(0) }
}

pub(super) fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").map_err(|error| error.to_string())
}
