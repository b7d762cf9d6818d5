//! The action: its steps are run one by one, as a runner does, against a local API and a local folder of releases.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

const TOKEN: &str = "token-of-the-runner-0123456789";

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A request to the API: `METHOD PATH`, the token, and the body.
#[derive(Debug, Clone, PartialEq)]
struct ApiRequest {
    line: String,
    token: String,
    body: Value,
}

/// A server of GitHub's API for comments, and of releases. It answers until the test's process ends.
struct FakeApi {
    url: String,
    state: Arc<Mutex<ApiState>>,
}

#[derive(Default)]
struct ApiState {
    /// The status of answers to everything that writes.
    writes: u16,
    comments: Vec<Value>,
    pulls: Vec<Value>,
    release: Vec<u8>,
    requests: Vec<ApiRequest>,
}

impl FakeApi {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(ApiState { writes: 201, ..ApiState::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &shared);
            }
        });
        Self { url, state }
    }

    fn set(&self, change: impl FnOnce(&mut ApiState)) {
        change(&mut self.state.lock().unwrap());
    }

    /// Returns the requests since the last call.
    fn take(&self) -> Vec<ApiRequest> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }
}

fn answer(stream: TcpStream, state: &Mutex<ApiState>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut head) = (String::new(), BTreeMap::new());
    reader.read_line(&mut line).unwrap();
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).unwrap();
        let Some((name, value)) = field.trim().split_once(": ") else { break };
        head.insert(name.to_lowercase(), value.to_owned());
    }
    let length = head.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let line = line.trim_end_matches(" HTTP/1.1\r\n").to_owned();
    let mut state = state.lock().unwrap();
    let page = |list: &[Value]| {
        let number: usize = line.split("&page=").nth(1).map_or(1, |page| page.parse().unwrap());
        let part: Vec<Value> = list.iter().skip((number - 1) * 100).take(100).cloned().collect();
        Value::from(part).to_string().into_bytes()
    };
    let (status, content) = match &line {
        it if it.starts_with("GET /releases/") => (200, state.release.clone()),
        it if it.contains("/pulls?") => (200, page(&state.pulls)),
        it if it.starts_with("GET ") => (200, page(&state.comments)),
        _ => (state.writes, b"{}".to_vec()),
    };
    let token = head.get("authorization").map(|it| it.trim_start_matches("Bearer ").to_owned()).unwrap_or_default();
    state.requests.push(ApiRequest { line, token, body: serde_json::from_slice(&body).unwrap_or_default() });
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len()).unwrap();
    stream.write_all(&content).unwrap();
}

/// A runner of the action's steps.
struct Runner {
    place: Place,
    api: FakeApi,
    environment: BTreeMap<String, String>,
}

impl Runner {
    fn new(provider: &FakeProvider) -> Self {
        let place = Place::new();
        place.write("evals/data.jsonl", &questions(10));
        place.write("evals/karat.yaml", &(suite(&provider.base_url()) + "gates: [ { metric: hit, min: 90% } ]\n"));
        let karat = place.write("bin/karat", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_karat")));
        fs::set_permissions(karat, fs::Permissions::from_mode(0o755)).unwrap();
        let api = FakeApi::start();
        let path = |name: &str| place.path().join(name).display().to_string();
        let environment = [
            ("PATH", format!("{}:/usr/bin:/bin", path("bin"))),
            ("HOME", path("home")),
            ("RUNNER_TEMP", path("temp")),
            ("GITHUB_PATH", path("path")),
            ("GITHUB_OUTPUT", path("output")),
            ("GITHUB_STEP_SUMMARY", path("summary")),
            ("GITHUB_API_URL", api.url.clone()),
            ("GITHUB_REPOSITORY", "owner/name".to_owned()),
            ("MOCK_KEY", "secret-of-ci-0123456789".to_owned()),
        ];
        let environment = environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { place, api, environment }
    }

    /// Runs the steps of an action with these inputs. Returns the last step's exit code and everything that was said.
    fn run(&self, action: &str, inputs: &[(&str, &str)]) -> (i32, String) {
        for file in ["output", "summary", "path"] {
            self.place.write(file, "");
        }
        let file = root().join(action);
        let action = fs::read_to_string(&file).unwrap();
        let action: Value = serde_saphyr::from_str(&action).unwrap();
        let (mut said, mut code, mut failed) = (String::new(), 0, false);
        for step in action["runs"]["steps"].as_array().unwrap() {
            let Some(script) = step["run"].as_str().filter(|script| !script.contains(" install")) else { continue };
            if failed && !step["if"].as_str().is_some_and(|condition| condition.contains("always()")) {
                continue;
            }
            assert_eq!(step["shell"], "bash");
            let mut command = Command::new("bash");
            command.args(["-e", "-o", "pipefail", "-c", script]).env_clear().envs(&self.environment);
            command.current_dir(self.place.path().join("evals"));
            command.env("GITHUB_ACTION_PATH", file.parent().unwrap());
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                command.env(name, self.value(&action, value.as_str().unwrap(), inputs));
            }
            let result = CommandOutput::of(command.output().unwrap());
            said += &format!("--- {}\n{}", step["name"], result.all());
            code = result.code;
            failed |= code != 0;
        }
        (code, said)
    }

    /// The value of an expression.
    fn value(&self, action: &Value, expression: &str, inputs: &[(&str, &str)]) -> String {
        let inner = expression.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")).unwrap();
        if let Some(name) = inner.strip_prefix("inputs.") {
            let given = inputs.iter().find(|(input, _)| *input == name).map(|(_, value)| *value);
            let value = given.or_else(|| action["inputs"][name]["default"].as_str()).unwrap();
            return if value.contains("github.token") { TOKEN.to_owned() } else { value.to_owned() };
        }
        match inner {
            "github.event.pull_request.number" => "7".to_owned(),
            "steps.run.outputs.code" => self.place.text("output").trim().trim_start_matches("code=").to_owned(),
            other => panic!("{other}"),
        }
    }

    fn lines(requests: &[ApiRequest]) -> Vec<&str> {
        requests.iter().map(|request| request.line.as_str()).collect()
    }
}

const COMMENTS: &str = "/repos/owner/name/issues/7/comments";

/// SV-30: the steps run the suite, write summary, JUnit and comment, replace the comment of an earlier run, and end with the
/// run's code.
#[test]
fn the_action_comments_and_replaces_its_comment() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let runner = Runner::new(&provider);
    let (code, said) = runner.run("action.yml", &[]);
    assert_eq!(code, 0, "{said}");
    assert!(runner.place.text("summary").contains("# ") && !said.contains(TOKEN), "{said}");
    assert!(runner.place.text("evals/karat-report/junit.xml").contains("<testsuite"), "{said}");
    let requests = runner.api.take();
    let post = format!("POST {COMMENTS}");
    assert_eq!(Runner::lines(&requests), [format!("GET {COMMENTS}?per_page=100&page=1"), post], "{said}");
    assert!(requests.iter().all(|request| request.token == TOKEN), "{requests:?}");
    let body = requests[1].body["body"].as_str().unwrap();
    assert_eq!(body, runner.place.text("evals/karat-report/comment.md"));
    // Its comment is on the second page, behind those of people and one of a person who copied its first line.
    let comment = |id: usize, kind: &str, body: &str| json!({ "id": id, "user": { "type": kind }, "body": body });
    let mut comments: Vec<Value> = (0..100).map(|id| comment(id, "User", "text")).collect();
    comments[3] = comment(3, "User", body);
    comments.extend([comment(100, "Bot", "another bot"), comment(4711, "Bot", body)]);
    runner.api.set(|state| (state.comments, state.writes) = (comments, 200));
    let suite = runner.place.text("evals/karat.yaml");
    runner.place.write("evals/karat.yaml", &suite.replace("min: 90%", "max: 10%"));
    let calls = provider.requests();
    let (code, said) = runner.run("action.yml", &[]);
    assert_eq!((code, provider.requests()), (2, calls), "{said}");
    let requests = runner.api.take();
    assert_eq!(
        Runner::lines(&requests)[1..],
        [format!("GET {COMMENTS}?per_page=100&page=2"), "PATCH /repos/owner/name/issues/comments/4711".to_owned()],
        "{said}"
    );
    assert!(requests[2].body["body"].as_str().unwrap().contains(": fail"), "{requests:?}");
}

/// SV-30: a token that only reads, as on forks, makes a notice of the comment; a broken API a warning. The code stays that of
/// the run.
#[test]
fn a_refused_comment_is_a_notice() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let runner = Runner::new(&provider);
    for (status, says) in
        [(403, "::notice title=karat::the comment was refused (403)"), (500, "::warning title=karat::")]
    {
        runner.api.set(|state| state.writes = status);
        let (code, said) = runner.run("action.yml", &[]);
        assert!(code == 0 && said.contains(says), "{said}");
        assert_eq!(runner.api.take().len(), 2, "{said}");
    }
    // A suite that cannot run is an error; there is nothing to comment on.
    runner.place.write("evals/karat.yaml", "name: [");
    fs::remove_dir_all(runner.place.path().join("evals/karat-report")).unwrap();
    let (code, said) = runner.run("action.yml", &[]);
    assert_eq!((code, runner.api.take()), (1, Vec::new()), "{said}");
}

/// SV-30: without keys the recording is replayed; arguments are words of all lines, not shell.
#[test]
fn without_keys_the_recording_is_replayed() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let mut runner = Runner::new(&provider);
    let mut record = runner.place.command(&["run", "--no-cache", "--record", "ci-recording.jsonl"]);
    record.current_dir(runner.place.path().join("evals")).env("MOCK_KEY", "secret-of-ci-0123456789");
    let said = CommandOutput::of(record.output().unwrap());
    assert_eq!(said.code, 0, "{}", said.all());
    fs::remove_dir_all(runner.place.path().join("evals/.karat")).unwrap();
    let calls = provider.requests();
    runner.environment.insert("MOCK_KEY".to_owned(), String::new());
    let (code, said) = runner.run("action.yml", &[("keys", "MOCK_KEY"), ("arguments", "--limit\n  4\n")]);
    assert_eq!((code, provider.requests()), (0, calls), "{said}");
    assert!(said.contains("without MOCK_KEY, the calls of ci-recording.jsonl are replayed"), "{said}");
    for (input, value) in [("keys", "A;touch${IFS}bad"), ("arguments", "--limit 4\n;touch bad $(touch bad)")] {
        let (code, said) = runner.run("action.yml", &[(input, value)]);
        assert_eq!(code, 1, "{said}");
        assert!(!runner.place.path().join("evals/bad").exists(), "{said}");
    }
}

/// SV-30: a `workflow_run` writes the comment of an uploaded report anew, on the pull request that has the commit.
#[test]
fn a_later_workflow_comments_for_a_fork() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let runner = Runner::new(&provider);
    runner.run("action.yml", &[("comment", "false")]);
    runner.api.take();
    runner.place.write("evals/karat-report/comment.md", "<!-- karat:x -->\nforged");
    let pull = |number: usize, sha: &str| json!({ "number": number, "head": { "sha": sha } });
    runner.api.set(|state| state.pulls = vec![pull(6, "old"), pull(7, "abc")]);
    let inputs = [("head", "fork:a&b=c"), ("head-sha", "abc")];
    let (code, said) = runner.run("deploy/comment/action.yml", &inputs);
    let requests = runner.api.take();
    assert_eq!(code, 0, "{said}");
    let lines = Runner::lines(&requests);
    assert!(
        lines[0].ends_with("/pulls?state=open&head=fork%3aa%26b%3dc") || lines[0].contains("head=fork%3Aa%26b%3Dc"),
        "{lines:?}"
    );
    assert_eq!(lines[2], format!("POST {COMMENTS}"), "{said}");
    assert!(!requests[2].body["body"].as_str().unwrap().contains("forged"), "{requests:?}");
    let (code, said) = runner.run("deploy/comment/action.yml", &[("head", "fork:b"), ("head-sha", "other")]);
    assert!(code == 0 && said.contains("no open pull request has the commit other"), "{said}");
    assert_eq!(runner.api.take().len(), 1);
}

/// SV-30: an archive is installed if it has the pinned checksum, and only then. A line of SHA256SUMS is a checksum, too.
#[test]
fn only_the_pinned_archive_is_installed() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let runner = Runner::new(&provider);
    let program = runner.place.write("made/karat-9.9.9-any/karat", "#!/bin/sh\necho karat 9.9.9\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let archive = runner.place.path().join("archive.tar.gz");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&archive).arg("-C").arg(runner.place.path().join("made")).arg("karat-9.9.9-any");
    assert!(tar.status().unwrap().success());
    let sum = Command::new("sha256sum").arg(&archive).output().unwrap().stdout;
    let sum = String::from_utf8(sum).unwrap()[..64].to_owned();
    runner.api.set(|state| state.release = fs::read(&archive).unwrap());
    let install = |sum: &str| {
        let mut command = Command::new("bash");
        command.arg(root().join("deploy/action.sh")).arg("install").env_clear().envs(&runner.environment);
        command.envs([("VERSION", "9.9.9"), ("SHA256", sum), ("DOWNLOADS", &format!("{}/releases", runner.api.url))]);
        CommandOutput::of(command.output().unwrap())
    };
    runner.place.write("path", "");
    let said = install("");
    assert!(said.code == 1 && said.stderr.contains("has no checksum of karat-9.9.9-"), "{}", said.all());
    assert!(runner.api.take().is_empty(), "nothing is downloaded without a checksum");
    let said = install(&"0".repeat(64));
    assert!(said.code == 1 && said.stderr.contains("it was not installed"), "{}", said.all());
    assert_eq!(runner.place.text("path"), "");
    // The checksum alone, or its whole line of SHA256SUMS.
    let said = install(&format!("{sum}  karat-9.9.9-any.tar.gz"));
    assert_eq!(said.code, 0, "{}", said.all());
    runner.place.write("path", "");
    let said = install(&sum);
    assert!(said.code == 0 && said.stdout.contains("karat 9.9.9"), "{}", said.all());
    assert!(runner.place.text("path").trim().ends_with("temp/karat-9.9.9"), "{}", runner.place.text("path"));
    let asked = runner.api.take().remove(1).line;
    assert!(asked.starts_with("GET /releases/v9.9.9/karat-9.9.9-") && asked.ends_with(".tar.gz"), "{asked}");
}
