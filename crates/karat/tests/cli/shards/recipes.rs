//! The recipes below `deploy/`: their files can be read, and each command line does what it says.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

const CELLS: usize = 40;

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A place like an image or a checkout: the suite, `deploy/`, and `karat` on the path.
struct Checkout {
    place: Place,
    provider: FakeProvider,
}

impl Checkout {
    fn new(milliseconds: u64) -> Self {
        let echo = Echo { latency: Duration::from_millis(milliseconds), ..Echo::default() };
        let provider = FakeProvider::start(Script::echo(echo)).unwrap();
        let place = Place::new();
        place.write("data.jsonl", &questions(CELLS));
        place.write("karat.yaml", &suite(&provider.base_url()).replace("max_concurrency: 16", "max_concurrency: 32"));
        std::fs::create_dir(place.path().join("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_karat"), place.path().join("bin/karat")).unwrap();
        symlink(root().join("deploy"), place.path().join("deploy")).unwrap();
        Self { place, provider }
    }

    /// A command line in a shell, with these variables.
    fn shell(&self, line: &str, variables: &[(&str, &str)]) -> Command {
        let bin = self.place.path().join("bin");
        let mut command = Command::new("/bin/sh");
        // The environment of the test without the variables of Karat.
        let clean = self.place.command(&[]);
        for (name, value) in clean.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        command.args(["-c", line]).current_dir(self.place.path()).env("PATH", path);
        command.envs(variables.iter().copied());
        command
    }

    fn run(&self, line: &str, variables: &[(&str, &str)]) -> CommandOutput {
        CommandOutput::of(self.shell(line, variables).output().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).to_str().unwrap().to_owned()
    }

    /// The canonical report of one process on the same suite.
    fn expected(&self) -> String {
        let whole = Place::new();
        whole.write("data.jsonl", &questions(CELLS));
        whole.write("karat.yaml", &self.place.text("karat.yaml"));
        whole.succeed(&["run", "--run-id", "whole"]);
        whole.canonical("whole")
    }
}

/// The documents of a YAML file below `deploy/`.
fn documents(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("deploy").join(name)).unwrap();
    let documents = text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap());
    documents.collect()
}

/// The words of a container's command: `sh -c LINE`.
fn container_line(job: &Value) -> String {
    let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
    assert_eq!((&command[0], &command[1]), (&"sh".into(), &"-c".into()));
    command[2].as_str().unwrap().to_owned()
}

/// SC-04: the Kubernetes Job is an indexed one whose command line runs the shard of its index; a used up budget is not tried
/// again; the second Job merges, and is suspended until the command of the comment starts it. Both write as the image's user.
#[test]
fn the_kubernetes_recipe_works() {
    let jobs = documents("kubernetes-shards.yaml");
    let text = std::fs::read_to_string(root().join("deploy/kubernetes-shards.yaml")).unwrap();
    let user = std::fs::read_to_string(root().join("deploy/Dockerfile")).unwrap();
    for job in &jobs {
        let group = job["spec"]["template"]["spec"]["securityContext"]["fsGroup"].as_u64().unwrap();
        assert!(user.contains(&format!("USER {group}:{group}\n")), "{group}");
    }
    assert_eq!((&jobs[0]["spec"]["suspend"], &jobs[1]["spec"]["suspend"]), (&Value::Null, &true.into()));
    let named = |job: &Value| job["metadata"]["name"].as_str().unwrap().to_owned();
    assert!(text.contains(&format!("kubectl wait --for=condition=complete --timeout=24h job/{}\n", named(&jobs[0]))));
    assert!(
        text.contains(&format!("kubectl patch job {} --patch '{{\"spec\":{{\"suspend\":false}}}}'\n", named(&jobs[1])))
    );
    let spec = &jobs[0]["spec"];
    assert_eq!((&jobs[0]["kind"], &spec["completionMode"]), (&"Job".into(), &"Indexed".into()));
    let count = spec["completions"].as_u64().unwrap();
    let rule = &spec["podFailurePolicy"]["rules"][0];
    assert_eq!((&rule["action"], &rule["onExitCodes"]["values"]), (&"FailIndex".into(), &serde_json::json!([5])));
    let pod = &spec["template"]["spec"];
    assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() > 20, "longer than the wait for answers");
    let checkout = Checkout::new(0);
    let line = container_line(&jobs[0]).replace("/out", &checkout.path("out"));
    for index in 0..count {
        let (index, local) = (index.to_string(), checkout.path(&format!("local-{index}")));
        let result = checkout.run(&line, &[("JOB_COMPLETION_INDEX", &index), ("RUN", "nightly"), ("LOCAL", &local)]);
        assert_eq!(result.code, 0, "{}", result.all());
    }
    assert_eq!(checkout.provider.requests(), CELLS);
    let line =
        container_line(&jobs[1]).replace("/out", &checkout.path("out")).replace("/local", &checkout.path("merged"));
    let merged = checkout.run(&line, &[]);
    assert_eq!(merged.code, 0, "{}", merged.all());
    let report =
        ["report", "nightly", "--canonical", "--format", "json", "-o", "-", "--store", "sqlite:merged/karat.db"];
    assert_eq!(checkout.place.succeed(&report).stdout, checkout.expected());
}

/// SC-04: the workflow's steps run the shards of the matrix and merge what they upload.
#[test]
fn the_github_recipe_works() {
    let workflow = &documents("github-shards.yml")[0];
    let jobs = &workflow["jobs"];
    let shards = jobs["shards"]["strategy"]["matrix"]["shard"].as_array().unwrap();
    let line = |job: &str, part: &str| {
        let steps = jobs[job]["steps"].as_array().unwrap();
        let lines = steps.iter().filter_map(|step| step["run"].as_str());
        lines.clone().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}")).to_owned()
    };
    assert_eq!(jobs["shards"]["strategy"]["fail-fast"], false);
    assert_eq!((&jobs["merge"]["needs"], &jobs["merge"]["if"]), (&"shards".into(), &"!cancelled()".into()));
    let checkout = Checkout::new(0);
    for shard in shards {
        let line = line("shards", "shard.sh").replace("${{ matrix.shard }}", &shard.to_string());
        assert!(line.contains(&format!(" {} ", shards.len())), "{line}");
        let local = checkout.path(&format!("local-{shard}"));
        let result = checkout.run(&line, &[("RUN", "gh-7"), ("LOCAL", &local)]);
        assert_eq!(result.code, 0, "{}", result.all());
        // The effect of uploading and downloading the artifact.
        std::fs::rename(checkout.path("out"), checkout.path(&format!("shard-{shard}"))).unwrap();
    }
    let merged = checkout.run(&line("merge", "karat merge"), &[("RUN", "gh-7")]);
    assert_eq!(merged.code, 0, "{}", merged.all());
    assert_eq!(checkout.place.canonical("gh-7"), checkout.expected());
    assert_eq!(checkout.provider.requests(), 2 * CELLS, "the shards and the run of one process");
}

/// SC-04: the Slurm script is a job array, and its comment says how to submit it and the merge.
#[test]
fn the_slurm_recipe_works() {
    let text = std::fs::read_to_string(root().join("deploy/slurm-shards.sh")).unwrap();
    for option in ["--array=1-8", "--requeue", "--signal=B:TERM@60"] {
        assert!(text.lines().any(|line| line == format!("#SBATCH {option}")), "{option}");
    }
    let checkout = Checkout::new(0);
    let shared = checkout.path("shared");
    for task in 1..=3 {
        let (task, local) = (task.to_string(), checkout.path(&format!("local-{task}")));
        let variables = [
            ("SLURM_ARRAY_TASK_ID", task.as_str()),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
            ("SHARED", &shared),
            ("RUN", "nightly"),
            ("LOCAL", &local),
        ];
        let result = checkout.run("deploy/slurm-shards.sh", &variables);
        assert_eq!(result.code, 0, "{}", result.all());
    }
    let wrap = text.lines().find_map(|line| line.split_once("--wrap \"")?.1.strip_suffix('"')).unwrap();
    let merged = checkout.run(wrap, &[("SHARED", &shared), ("RUN", "nightly")]);
    assert_eq!(merged.code, 0, "{}", merged.all());
    assert_eq!(checkout.place.canonical("nightly"), checkout.expected());
}

/// SC-04: a task of Slurm whose run was parked requeues itself, unless it was cancelled; one that ended otherwise does not.
#[test]
fn a_parked_task_of_slurm_requeues_itself() {
    let checkout = Checkout::new(0);
    let program = |name: &str, script: &str| {
        let path = checkout.place.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    };
    program("squeue", "case \"$*\" in *--jobs=70_2*) echo \"$STATE\";; esac");
    program("scontrol", "echo \"$@\" >> requeued");
    program("ended", "exit \"$CODE\"");
    let shared = checkout.path("shared");
    for (code, state, requeued) in [("130", "RUNNING", true), ("130", "COMPLETING", false), ("5", "RUNNING", false)] {
        let variables = [
            ("SLURM_ARRAY_JOB_ID", "70"),
            ("SLURM_ARRAY_TASK_ID", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
            ("SHARED", shared.as_str()),
            ("RUN", "nightly"),
            ("LOCAL", "local"),
            ("KARAT", "ended"),
            ("CODE", code),
            ("STATE", state),
        ];
        let result = checkout.run("deploy/slurm-shards.sh", &variables);
        assert_eq!(result.code.to_string(), code, "{}", result.all());
        let left = std::fs::read_to_string(checkout.path("requeued")).unwrap_or_default();
        assert_eq!(left, if requeued { "requeue 70_2\n" } else { "" }, "{code} {state}: {}", result.all());
        let _ = std::fs::remove_file(checkout.path("requeued"));
    }
}

/// SC-04: TERM parks the shard, and its store is copied all the same; started again on a new disk, it continues from the copy.
/// No call is made twice. The script ends with the code of the run.
#[test]
fn a_terminated_shard_continues_from_its_copy() {
    let checkout = Checkout::new(60);
    checkout
        .place
        .write("karat.yaml", &checkout.place.text("karat.yaml").replace("max_concurrency: 32", "max_concurrency: 4"));
    let variables = |local: &'static str| [("RUN", "r"), ("LOCAL", local)];
    let mut command = checkout.shell("exec deploy/shard.sh 1 1 out", &variables("first"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while checkout.provider.requests() < 8 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(2));
    }
    let stopped = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let parked = checkout.provider.requests();
    assert!(parked < CELLS && Path::new(&checkout.path("out/1.db")).exists());
    let refused = checkout.place.karat(&["merge", "out/1.db"]);
    assert!(refused.code == 1 && refused.stderr.contains("not finished"), "{}", refused.all());
    std::fs::remove_dir_all(checkout.path("first")).unwrap();
    let again = checkout.run("deploy/shard.sh 1 1 out", &variables("second"));
    assert_eq!(again.code, 0, "{}", again.all());
    assert_eq!(checkout.provider.requests(), CELLS);
    checkout.place.succeed(&["merge", "out/1.db"]);
    assert_eq!(checkout.place.canonical("r"), checkout.expected());
    let left: Vec<_> = std::fs::read_dir(checkout.path("out")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["1.db"], "no part of a copy is left");
}

/// SC-04: a used up budget is the script's exit code, too, and the store is copied; without its variables it does nothing.
#[test]
fn the_script_ends_with_the_code_of_the_run() {
    let checkout = Checkout::new(0);
    let tight = checkout.place.text("karat.yaml").replace("budget_usd: 1000", "budget_usd: 1000, max_calls: 1");
    checkout.place.write("karat.yaml", &tight);
    let result = checkout.run("deploy/shard.sh 1 2 out", &[("RUN", "r"), ("LOCAL", "local")]);
    assert_eq!(result.code, 5, "{}", result.all());
    let used = checkout.run("deploy/shard.sh 1 2", &[("RUN", "r")]);
    assert!(used.code == 1 && used.stderr.contains("usage"), "{}", used.all());
    assert_eq!(checkout.run("deploy/shard.sh 1 2 out", &[]).code, 1);
    let wrong = checkout.run("deploy/shard.sh 3 2 out", &[("RUN", "r"), ("LOCAL", "local")]);
    assert!(wrong.code == 1 && wrong.stderr.contains("M/N"), "{}", wrong.all());
}
