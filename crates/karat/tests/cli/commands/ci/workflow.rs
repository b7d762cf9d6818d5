//! `karat ci`: the written workflows are run step by step.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// A gated suite against a provider, in a repository.
fn repository(provider: &FakeProvider) -> Place {
    let place = Place::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write("data.jsonl", &questions(10));
    place.write("karat.yaml", &(suite(&provider.base_url()) + "gates: [ { metric: hit, min: 90% } ]\n"));
    place
}

/// Puts a program into the folder `bin` of a place.
fn program(place: &Place, name: &str, script: &str) {
    let path = place.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A runner of workflow steps: the environment of a CI service, with `karat` and stubs on the PATH.
struct Runner<'a> {
    place: &'a Place,
    environment: BTreeMap<String, String>,
}

impl<'a> Runner<'a> {
    fn new(place: &'a Place) -> Self {
        program(place, "karat", &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_karat")));
        // Without a comment of its own on the pull request; POST fails if the token only reads.
        program(
            place,
            "gh",
            "echo \"$@\" >> gh.log\ncase \"$*\" in\n*--paginate*) cat comments 2>/dev/null; exit 0;;\n*) [ ! -f refuse ];;\nesac",
        );
        program(place, "cargo", "echo \"cargo $*\" >> cargo.log; exit 1");
        let path = format!("{}:/usr/bin:/bin", place.path().join("bin").display());
        let home = place.path().join("home").display().to_string();
        Self { place, environment: BTreeMap::from([("PATH".to_owned(), path), ("HOME".to_owned(), home)]) }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }

    fn shell(&self, script: &str) -> CommandOutput {
        let mut command = Command::new("bash");
        command.args(["-e", "-c", script]).current_dir(self.place.path()).env_clear().envs(&self.environment);
        CommandOutput::of(command.output().unwrap())
    }
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Runs the `run` steps of a GitHub workflow one by one. Returns the last step's exit code and everything that was said.
fn run_github(runner: &mut Runner<'_>, workflow: &str) -> (i32, String) {
    let job = yaml(workflow)["jobs"]["evaluate"].clone();
    for file in ["output", "summary"] {
        runner.place.write(file, "");
    }
    let at = |name: &str| runner.place.path().join(name).display().to_string();
    let (output, summary) = (at("output"), at("summary"));
    for (name, value) in [
        ("GITHUB_OUTPUT", output.as_str()),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_REPOSITORY", "owner/name"),
        ("GITHUB_RUN_ATTEMPT", "1"),
    ] {
        runner.set(name, value);
    }
    let (mut said, mut code, mut failed) = (String::new(), 0, false);
    for step in job["steps"].as_array().unwrap() {
        let Some(script) = step["run"].as_str().filter(|script| !script.starts_with("cargo install")) else { continue };
        let always = step["if"].as_str().is_some_and(|condition| condition.contains("always()"));
        if failed && !always {
            continue;
        }
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap();
            let value = match value {
                "${{ github.token }}" => "token".to_owned(),
                "${{ github.event.pull_request.number }}" => "7".to_owned(),
                "${{ steps.run.outputs.code }}" => {
                    runner.place.text("output").trim().trim_start_matches("code=").to_owned()
                }
                other => panic!("{other}"),
            };
            runner.set(name, &value);
        }
        let result = runner.shell(script);
        said += &format!("--- {}\n{}", step["name"], result.all());
        code = result.code;
        failed |= code != 0;
    }
    (code, said)
}

/// SV-30: the steps of the GitHub workflow run the suite, write summary, JUnit and comment, and end with the run's code.
#[test]
fn the_github_workflow_runs() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = repository(&provider);
    let said = place.succeed(&["ci", "github"]);
    assert_eq!(said.stdout.trim(), ".github/workflows/karat.yml");
    assert!(said.stderr.contains("MOCK_KEY") && said.stderr.contains("--record ci-recording.jsonl"), "{}", said.all());
    let workflow = place.text(".github/workflows/karat.yml");
    for (part, there) in
        [("pull_request_target", false), ("secrets.MOCK_KEY", true), ("actions/cache/save", true), ("@", true)]
    {
        assert_eq!(workflow.contains(part), there, "{part}");
    }
    assert!(!workflow.contains("@RUN@") && !workflow.contains("@DIR@"), "{workflow}");
    let mut runner = Runner::new(&place);
    runner.set("GITHUB_RUN_ID", "1");
    runner.set("MOCK_KEY", "secret-of-ci-0123456789");
    let (code, said) = run_github(&mut runner, &workflow);
    assert_eq!(code, 0, "{said}");
    assert!(place.text("summary").contains("# "), "{said}");
    assert!(place.text("karat-report/junit.xml").contains("<testsuite"), "{said}");
    assert!(place.text("karat-report/comment.md").starts_with("<!-- karat:bench -->"));
    assert!(place.text("gh.log").contains("--method POST repos/owner/name/issues/7/comments"), "{said}");
    // The next run finds its comment, costs nothing, and its failed gate is the last word.
    let requests = provider.requests();
    place.write("karat.yaml", &place.text("karat.yaml").replace("min: 90%", "max: 10%"));
    place.write("comments", "4711\n");
    runner.set("GITHUB_RUN_ID", "2");
    let (code, said) = run_github(&mut runner, &workflow);
    assert_eq!((code, provider.requests()), (2, requests), "{said}");
    assert!(place.text("gh.log").contains("--method PATCH repos/owner/name/issues/comments/4711"), "{said}");
    assert!(place.text("karat-report/comment.md").contains(": fail"), "{said}");
    // A token that only reads cannot comment, which changes nothing else.
    place.write("refuse", "");
    place.write("karat.yaml", &place.text("karat.yaml").replace("max: 10%", "min: 90%"));
    runner.set("GITHUB_RUN_ID", "3");
    let (code, said) = run_github(&mut runner, &workflow);
    assert!(code == 0 && said.contains("::notice title=karat::the comment was refused"), "{said}");
    // A suite that cannot run is an error, and nothing is posted.
    place.write("karat.yaml", "name: [");
    std::fs::remove_dir_all(place.path().join("karat-report")).unwrap();
    let posted = place.text("gh.log");
    runner.set("GITHUB_RUN_ID", "4");
    let (code, said) = run_github(&mut runner, &workflow);
    assert_eq!((code, place.text("gh.log")), (1, posted), "{said}");
}

/// SV-30: without keys, as in a pull request from a fork, the workflow replays recorded calls.
#[test]
fn a_fork_replays_the_recording() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = repository(&provider);
    let recorded = ["run", "karat.yaml", "--no-cache", "--record", "ci-recording.jsonl"];
    let mut command = place.command(&recorded);
    let said = CommandOutput::of(command.env("MOCK_KEY", "secret-of-ci-0123456789").output().unwrap());
    assert_eq!(said.code, 0, "{}", said.all());
    std::fs::remove_dir_all(place.path().join(".karat")).unwrap();
    let requests = provider.requests();
    let workflow = place.succeed(&["ci", "github", "-o", "-"]).stdout;
    assert!(!place.path().join(".github").exists());
    let mut runner = Runner::new(&place);
    runner.set("GITHUB_RUN_ID", "1");
    runner.set("MOCK_KEY", "");
    let (code, said) = run_github(&mut runner, &workflow);
    assert_eq!((code, provider.requests()), (0, requests), "{said}");
    assert!(place.text("karat-report/comment.md").contains(": pass"), "{said}");
}

/// SV-30: the steps of the GitLab pipeline do the same; without a token a comment is a notice, and 4 is a warning.
#[test]
fn the_gitlab_pipeline_runs() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = repository(&provider);
    assert_eq!(place.succeed(&["ci", "gitlab"]).stdout.trim(), ".gitlab-ci.yml");
    let job = yaml(&place.text(".gitlab-ci.yml"))["karat"].clone();
    assert_eq!(job["allow_failure"]["exit_codes"], serde_json::json!([4]));
    assert_eq!(job["artifacts"]["reports"]["junit"], "karat-report/junit.xml");
    let mut runner = Runner::new(&place);
    program(&place, "curl", "echo \"$@\" >> curl.log; exit 22");
    runner.set("MOCK_KEY", "secret-of-ci-0123456789");
    for (name, value) in [
        ("CI_JOB_ID", "1"),
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_PROJECT_ID", "3"),
        ("CI_API_V4_URL", "https://gitlab.example/api/v4"),
    ] {
        runner.set(name, value);
    }
    let steps: Vec<&str> = job["script"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
    let own: Vec<&str> = steps.into_iter().filter(|step| !step.contains("cargo install")).collect();
    let said = runner.shell(&own.join("\n"));
    assert!(said.code == 0 && said.stdout.contains("notice: the comment was refused"), "{}", said.all());
    assert!(place.text("karat-report/junit.xml").contains("<testsuite"), "{}", said.all());
    assert!(place.text("curl.log").contains("merge_requests/7/notes"), "{}", said.all());
    runner.set("CI_JOB_ID", "2");
    place.write("karat.yaml", &place.text("karat.yaml").replace("min: 90%", "max: 10%"));
    assert_eq!(runner.shell(&own.join("\n")).code, 2);
}

/// SV-30: a workflow is not replaced by accident; a suite in a folder of the repository is run there, and one without
/// models needs no keys.
#[test]
fn workflows_are_written_with_care() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = repository(&provider);
    place.succeed(&["ci", "github"]);
    let again = place.karat(&["ci", "github"]);
    assert!(again.code == 1 && again.stderr.contains("--force"), "{}", again.all());
    place.succeed(&["ci", "github", "--force"]);
    place.write("evals/data.jsonl", &questions(2));
    place.write("evals/karat.yaml", &suite(&provider.base_url()));
    let mut command = place.command(&["ci", "github", "-o", "-"]);
    let below = CommandOutput::of(command.current_dir(place.path().join("evals")).output().unwrap());
    for part in ["working-directory: evals\n", "path: evals/.karat\n", "path: evals/karat-report\n"] {
        assert!(below.stdout.contains(part), "{part}: {}", below.all());
    }
    let offline = place.succeed(&["ci", "github", "faq", "-o", "-"]).stdout;
    assert!(
        !offline.contains("{{ secrets.") && !offline.contains("--replay") && offline.contains("karat run 'faq'"),
        "{offline}"
    );
    yaml(&offline);
    place.write("odd'name.yaml", &suite(&provider.base_url()));
    let odd = place.karat(&["ci", "github", "odd'name.yaml", "-o", "-"]);
    assert!(odd.code == 1 && odd.stderr.contains("cannot name the path"), "{}", odd.all());
    let absent = place.karat(&["ci", "gitlab", "absent.yaml"]);
    assert!(absent.code == 1 && absent.stderr.contains("no suite file"), "{}", absent.all());
}
