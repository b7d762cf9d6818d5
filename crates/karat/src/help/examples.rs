//! The examples of each command's `--help`.

use std::fmt::Write as _;

use clap::Command;

/// A command line, and what it does.
pub type Example = (&'static str, &'static str);

/// Commands and their examples. A command with subcommands has those of its own; each subcommand has others.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "init",
        &[
            ("karat init", "Create a small suite in this folder; asks for the task and the provider"),
            ("karat init --task extract --provider anthropic", "Create one without questions"),
            ("karat init claims my-claims", "Copy the preset claims into my-claims, to adapt it"),
            ("karat init claims talks --corpus talks.json", "Copy it for a corpus of your own, without its samples"),
        ],
    ),
    (
        "validate",
        &[
            ("karat validate", "Check karat.yaml in this folder"),
            ("karat validate claims --models gpt-5-mini", "Check that a preset works with another model"),
        ],
    ),
    (
        "plan",
        &[
            ("karat plan --models gpt-5,gpt-5-mini", "Show calls, tokens and price for two models"),
            ("karat plan --mde quality.accuracy=0.5", "Show how many samples detect a difference of 0.5"),
        ],
    ),
    (
        "run",
        &[
            ("karat run", "Run karat.yaml in this folder"),
            ("karat run --limit 10 --budget-usd 2", "Try the first ten samples, for at most 2 dollars"),
            ("karat run claims", "Run a preset with its own data, offline and free"),
            ("karat run --shard 1/4 --run-id nightly --store sqlite:s1/karat.db", "Run the first of four parts"),
            ("karat run --baseline baseline.json --max-drop 5%", "Fail if a metric drops by more than 5 %"),
        ],
    ),
    (
        "report",
        &[
            ("karat report latest --format html -o out", "Write the latest report as a web page"),
            ("karat report latest -o -", "Print the latest report as Markdown"),
            ("karat report briefing --series", "Write the page of all days of a dated suite"),
            ("karat report latest --format html --outputs all", "Show every cell with input and output"),
        ],
    ),
    (
        "compare",
        &[
            ("karat compare main candidate", "Compare the runs main and candidate"),
            ("karat compare main candidate --outputs --movers 3", "Show what the samples that moved most answered"),
            ("karat compare latest --variants raw edited", "Compare two variants of the latest run"),
            ("karat compare main latest --margin hit=2% --fail-on worse", "Exit with 2 if a metric got worse"),
        ],
    ),
    (
        "ci",
        &[
            ("karat ci github", "Write .github/workflows/karat.yml for karat.yaml"),
            ("karat ci gitlab evals/karat.yaml -o -", "Print a GitLab pipeline for another suite"),
        ],
    ),
    (
        "ci github",
        &[
            ("karat ci github", "Write .github/workflows/karat.yml for karat.yaml"),
            ("karat ci github --force", "Replace the workflow"),
        ],
    ),
    (
        "ci gitlab",
        &[
            ("karat ci gitlab -o -", "Print the pipeline"),
            ("karat ci gitlab -o deploy/karat.gitlab-ci.yml", "Write it to a file that .gitlab-ci.yml includes"),
        ],
    ),
    (
        "gate",
        &[
            ("karat gate", "Apply the suite's gates to the latest run"),
            ("karat gate latest --policy release.yaml", "Apply the gates of another file"),
        ],
    ),
    (
        "baseline",
        &[
            ("karat baseline pin", "Pin the latest run as the suite's baseline"),
            ("karat baseline pin main -o baseline.json", "Pin the run main in a file of your choice"),
        ],
    ),
    (
        "baseline pin",
        &[
            ("karat baseline pin", "Pin the latest run as the suite's baseline"),
            ("karat baseline pin main -o baseline.json", "Pin the run main in a file of your choice"),
        ],
    ),
    (
        "golden",
        &[
            ("karat golden pin briefing", "Pin the stored judgments of a suite"),
            ("karat golden check briefing", "Judge the pinned samples again"),
        ],
    ),
    (
        "golden pin",
        &[
            ("karat golden pin briefing --dry-run", "Show which files would change"),
            ("karat golden pin briefing --since 2026-03-01", "Pin judgments from March 1 on"),
        ],
    ),
    (
        "golden check",
        &[
            ("karat golden check briefing", "Judge all pinned samples again"),
            ("karat golden check briefing --judge stub --max-drop 1", "Use another judge and allow a drop of 1"),
        ],
    ),
    (
        "golden list",
        &[
            ("karat golden list briefing", "List the pinned samples"),
            ("karat golden list briefing --json", "List them as JSON, for a script"),
        ],
    ),
    (
        "drift",
        &[
            ("karat drift briefing --as-of 2026-03-28", "Check the days up to March 28"),
            ("karat drift briefing --exit-nonzero-on-alert", "Exit with 3 if there is an alert, for a scheduled job"),
        ],
    ),
    (
        "calibrate",
        &[
            ("karat calibrate claims", "Check the judges of a suite against its labels"),
            ("karat calibrate claims --judges gpt-4o-mini --rounds", "Show the stored rounds of a judge"),
        ],
    ),
    (
        "agree",
        &[
            ("karat agree", "Measure agreement between the judges of the latest run"),
            ("karat agree latest --labels labels.jsonl", "Include human scores"),
        ],
    ),
    (
        "annotate",
        &[
            ("karat annotate create latest -o tasks.jsonl", "Write the outputs of a run as tasks"),
            ("karat annotate import tasks.jsonl --labels labels.jsonl", "Add the completed tasks to the labels"),
        ],
    ),
    (
        "annotate create",
        &[
            ("karat annotate create latest -k 2 --n 100", "Make a task of 100 outputs for two people each"),
            ("karat annotate create latest -o tasks.jsonl", "Write the outputs of the latest run as tasks"),
        ],
    ),
    (
        "annotate invite",
        &[
            ("karat annotate invite support ann", "Print a link for a person"),
            ("karat annotate invite support ann --url https://karat.example", "Print it for a server of a team"),
        ],
    ),
    (
        "annotate ls",
        &[
            ("karat annotate ls", "List the tasks and their progress"),
            ("karat annotate ls --json", "Print the list as JSON"),
        ],
    ),
    (
        "annotate show",
        &[
            ("karat annotate show support", "Show progress, people and agreement"),
            ("karat annotate show support@1 --json", "Print an earlier version as JSON"),
        ],
    ),
    (
        "annotate adjudicate",
        &[
            ("karat annotate adjudicate support", "Print the page that settles open items"),
            ("karat annotate adjudicate support --url https://karat.example", "On a server"),
        ],
    ),
    (
        "annotate close",
        &[
            ("karat annotate close support", "Close a task for good"),
            ("karat annotate close support --exclude ann --reason bot", "Leave out the labels of a person"),
        ],
    ),
    (
        "annotate import",
        &[
            ("karat annotate import tasks.jsonl --labels labels.jsonl", "Add completed tasks to a labels file"),
            ("karat annotate import tasks.jsonl --labels labels.jsonl --suite claims", "Check them against a preset"),
        ],
    ),
    (
        "annotate export",
        &[
            ("karat annotate export", "Print the labels of karat.yaml"),
            ("karat annotate export support --settled", "Print the settled labels of a task"),
            ("karat annotate export support --as golden", "Pin the settled labels of a closed task as a golden set"),
        ],
    ),
    (
        "annotate status",
        &[
            ("karat annotate status", "Show the labels of karat.yaml"),
            ("karat annotate status claims", "Show the labels of a preset"),
        ],
    ),
    (
        "dataset",
        &[
            ("karat dataset check", "Check the dataset of karat.yaml"),
            ("karat dataset fetch", "Create the missing files of its columns"),
            ("karat dataset diff tickets-1.jsonl tickets.jsonl", "Show what changed between two files"),
            ("karat dataset items", "Show which test items say nothing, or may be wrong"),
        ],
    ),
    (
        "dataset version",
        &[
            ("karat dataset version tickets.jsonl", "Print the hash of a file's rows, and their version"),
            (
                "karat dataset version tickets.jsonl --set 2 --note q7-corrected",
                "Record a version with its changelog line",
            ),
        ],
    ),
    (
        "dataset diff",
        &[
            ("karat dataset diff tickets-1.jsonl tickets.jsonl", "Show added, removed and changed rows"),
            ("karat dataset diff run:main run:latest --fail-on changed", "Exit with 2 if inputs or references differ"),
        ],
    ),
    (
        "dataset items",
        &[
            ("karat dataset items", "Show the items of karat.yaml that need attention"),
            (
                "karat dataset items --ids suspects.txt",
                "Write the ids of suspects, for `annotate create --select ids:FILE`",
            ),
            (
                "karat dataset items --remove saturated -o tickets-3.jsonl --set 3",
                "Write a new version of the rows without saturated items",
            ),
            ("karat dataset items --metric hit --format csv", "Print difficulty and discrimination of each item"),
        ],
    ),
    (
        "dataset describe",
        &[
            ("karat dataset describe tickets.jsonl --by topic", "Write datasheet.md beside a file of rows"),
            ("karat dataset describe -o -", "Print the datasheet of the dataset of karat.yaml"),
        ],
    ),
    (
        "dataset fetch",
        &[
            ("karat dataset fetch", "Create the missing files of karat.yaml's columns"),
            ("karat dataset fetch --limit 5", "Create those of the first five samples"),
        ],
    ),
    (
        "dataset sample",
        &[
            ("karat dataset sample logs.jsonl -n 200 -o draft.jsonl", "Draw 200 rows at random"),
            (
                "karat dataset sample run:latest -n 200 --how diverse -o draft.jsonl",
                "Draw samples of the last run that lie far apart",
            ),
            ("karat dataset sample logs.jsonl -n 50 --how diverse -o pilot.jsonl", "Draw rows that differ most"),
        ],
    ),
    (
        "dataset dedup",
        &[
            ("karat dataset dedup draft.jsonl --report", "Show clusters of duplicates, and change nothing"),
            ("karat dataset dedup draft.jsonl -o items.jsonl --keep labelled", "Keep the labelled row of each cluster"),
        ],
    ),
    (
        "dataset split",
        &[
            (
                "karat dataset split items.jsonl --parts train=0.8,test=0.2 -o parts",
                "Split rows so that no near duplicate crosses parts",
            ),
            (
                "karat dataset split a.jsonl --parts fit=0.8,test=0.2 --time date -o p",
                "Keep near duplicates together, and test on the latest rows",
            ),
            (
                "karat dataset split b.jsonl --parts a=0.8,b=0.2 --keep p/a.dataset.json -o q",
                "Add new rows, and move none of the old ones",
            ),
        ],
    ),
    (
        "dataset check",
        &[
            ("karat dataset check", "Check the dataset of karat.yaml"),
            ("karat dataset check claims -p corpus=corpus.json", "Check your own corpus with a preset's rules"),
            ("karat dataset check --leaks", "Look for test rows in the suite's own prompts and examples"),
            ("karat dataset check test.jsonl --against train.jsonl", "Look for test rows in a training set"),
        ],
    ),
    (
        "import",
        &[
            ("karat import promptfoo promptfooconfig.yaml", "Create a suite from a config; nothing is run"),
            ("karat import inspect logs/run.eval", "Create a suite from logs and score their outputs, offline"),
            ("karat import span-snapshot snapshot.json", "Create a suite from a snapshot and run it, offline"),
            ("karat import manual-baseline chats -o manual", "Create a suite from claims of a chat window"),
        ],
    ),
    (
        "export",
        &[
            ("karat export csv latest -o cells.csv", "Write the latest run for a spreadsheet"),
            ("karat export figures latest -o figures.csv", "Write value, interval and n of each system and metric"),
            ("karat export parquet latest -o tables", "Write tables for DuckDB or polars"),
            ("karat export inspect latest -o logs", "Write logs for `inspect view`"),
            ("karat export otel latest -o http://127.0.0.1:4318", "Send the scores to a receiver of OpenTelemetry"),
            ("karat export junit", "Print the latest run for a CI server"),
        ],
    ),
    (
        "ls",
        &[
            ("karat ls", "List the last 20 runs"),
            ("karat ls --metric hit --suite bench", "Show one metric over the runs of a suite"),
        ],
    ),
    (
        "show",
        &[
            ("karat show latest --status error", "Show the failed cells of the latest run"),
            ("karat show latest --sample t01", "Show a sample with the outputs of all systems"),
            ("karat show briefing --format tsv", "Show the history of a suite, for a script"),
        ],
    ),
    (
        "why",
        &[
            ("karat why 0", "Explain the first cell of karat.yaml"),
            ("karat why t01/gpt-5/raw claims", "Explain a cell of a preset by its names"),
        ],
    ),
    (
        "trace",
        &[
            ("karat trace 0", "Show the calls of the first cell of the latest run"),
            ("karat trace main t01/gpt-5/raw --json", "Show the calls of a cell of the run main as JSON"),
        ],
    ),
    (
        "digest",
        &[
            ("karat digest briefing", "Summarize the last seven days of a suite"),
            ("karat digest briefing --window 30 -o month.md", "Write a summary of 30 days"),
        ],
    ),
    (
        "resume",
        &[
            ("karat resume", "Continue the latest run"),
            ("karat resume main --budget-usd 20", "Continue the run main with a larger budget"),
            ("karat resume main --to-end", "Make the rest of the run main, which stopped early"),
        ],
    ),
    (
        "cancel",
        &[
            ("karat cancel", "Cancel the batches of the latest run"),
            ("karat cancel main", "Cancel those of the run main; `karat resume main` reads what is done"),
        ],
    ),
    (
        "retry",
        &[
            ("karat retry", "Re-run the failed cells of the latest run"),
            ("karat retry main --timeout 5m", "Re-run those of the run main with a longer timeout"),
        ],
    ),
    (
        "score",
        &[
            ("karat score latest", "Score stored outputs with the suite's present scorers"),
            ("karat score latest --judges gpt-4o --run-id second-judge", "Score them with another judge"),
        ],
    ),
    (
        "merge",
        &[
            ("karat merge s1 s2 s3 s4 --run-id nightly -o out", "Make one run of four shards, and write its report"),
            ("karat merge out/*.db --partial", "Merge the shards that are there; `karat resume` makes the rest"),
        ],
    ),
    (
        "view",
        &[
            ("karat view", "Open the list of stored runs"),
            ("karat view latest", "Open the latest run"),
            ("karat view main candidate --no-open", "Print the address of a comparison"),
        ],
    ),
    (
        "serve",
        &[
            ("karat serve", "Serve this folder's suites on this machine"),
            ("karat serve --root evals --listen 0.0.0.0:8787 --host evals.example", "Serve others, who need a token"),
        ],
    ),
    (
        "mcp",
        &[
            ("karat mcp --root evals", "Let an agent read runs and reports, and plan the suites in evals"),
            ("karat mcp --root evals --allow-runs --budget-usd 2", "Let it run them, too, for at most 2 dollars"),
        ],
    ),
    (
        "traces",
        &[
            ("karat traces ls", "List the datasets of traces"),
            ("karat traces show faq", "List the newest calls of the dataset faq"),
            ("karat traces rm faq --before 2026-01-01", "Remove what the dataset faq has of last year"),
        ],
    ),
    (
        "traces show",
        &[
            ("karat traces show faq --day 2026-01-31", "List the calls of a day"),
            ("karat traces show faq 5b8efff7", "Show all calls of the trace whose id begins with 5b8efff7"),
        ],
    ),
    (
        "traces ls",
        &[
            ("karat traces ls", "List the datasets of traces"),
            ("karat traces ls --json", "List them as JSON, for a script"),
        ],
    ),
    (
        "traces rm",
        &[
            ("karat traces rm --match metadata.user=ann", "Remove all that one person has asked"),
            ("karat traces rm faq --before 2026-01-01", "Remove what the dataset faq has of last year"),
        ],
    ),
    (
        "health",
        &[
            ("karat health", "Ask the server on this machine"),
            ("karat health https://evals.example", "Ask another server"),
        ],
    ),
    (
        "token",
        &[
            ("karat token create --role read --name dashboard", "Create a token that reads"),
            ("karat token ls", "List all tokens"),
        ],
    ),
    (
        "token create",
        &[
            ("karat token create --role read --name dashboard", "Create a token that reads"),
            ("karat token create --role run --name ci --expires 90d", "Create one that starts runs, for 90 days"),
        ],
    ),
    (
        "token ls",
        &[("karat token ls", "List all tokens"), ("karat token ls --json", "List them as JSON, for a script")],
    ),
    (
        "token revoke",
        &[
            ("karat token revoke ab12cd34", "Refuse a token from now on"),
            ("karat token revoke ab12cd34 --home /srv/karat", "Do so for the server of another folder"),
        ],
    ),
    (
        "token rotate",
        &[
            ("karat token rotate ab12cd34", "Replace a token at once"),
            ("karat token rotate ab12cd34 --grace 24h", "Accept the old one for another day"),
        ],
    ),
    (
        "schedule",
        &[
            ("karat schedule ls", "List the schedules of karat.yaml"),
            ("karat schedule run karat.yaml nightly", "Run the last due time, from cron or a systemd timer"),
        ],
    ),
    (
        "schedule next",
        &[
            ("karat schedule next karat.yaml nightly", "Show the next due times of a schedule"),
            ("karat schedule next --cron @daily --zone Europe/Berlin -n 3", "Show those of any expression"),
        ],
    ),
    (
        "schedule ls",
        &[
            ("karat schedule ls", "List the schedules of karat.yaml"),
            ("karat schedule ls evals/support.yaml --json", "List those of another suite as JSON"),
        ],
    ),
    (
        "schedule history",
        &[
            ("karat schedule history karat.yaml", "List the last due times of a suite"),
            ("karat schedule history karat.yaml nightly -n 5 --json", "List five of one schedule as JSON"),
        ],
    ),
    (
        "schedule pause",
        &[
            ("karat schedule pause karat.yaml nightly", "Skip all due times from now on"),
            ("karat schedule pause karat.yaml nightly --home /srv/karat", "Do so for the server of another folder"),
        ],
    ),
    (
        "schedule resume",
        &[
            ("karat schedule resume karat.yaml nightly", "Follow the schedule again"),
            ("karat schedule resume karat.yaml nightly --home /srv/karat", "Do so for the server of another folder"),
        ],
    ),
    (
        "schedule run",
        &[
            ("karat schedule run karat.yaml nightly", "Run the last due time, with its alerts"),
            ("karat schedule run karat.yaml nightly --due 2027-03-28T01:00Z", "Run the time that was missed then"),
        ],
    ),
    (
        "alert",
        &[
            ("karat alert ls", "List incidents"),
            ("karat alert test karat.yaml oncall", "Send a test message by an alert"),
        ],
    ),
    (
        "alert ls",
        &[
            ("karat alert ls --state open", "List open incidents"),
            ("karat alert ls --outbox --json", "List messages as JSON, with the last failure of each"),
        ],
    ),
    (
        "alert test",
        &[
            ("karat alert test karat.yaml oncall", "Send a test message by an alert"),
            ("karat alert test evals/support.yaml team", "Do so for another suite"),
        ],
    ),
    (
        "alert flush",
        &[
            ("karat alert flush", "Send what is due, and retry for 20 seconds"),
            ("karat alert flush --home /srv/karat", "Do so for another folder's outbox"),
        ],
    ),
    (
        "alert ack",
        &[
            ("karat alert ack inc_01", "Send no more reminders of an incident"),
            ("karat alert ack inc_01 --home /srv/karat", "Do so for the server of another folder"),
        ],
    ),
    (
        "alert close",
        &[
            ("karat alert close inc_01", "Close an incident by hand"),
            ("karat alert close inc_01 --home /srv/karat", "Do so for the server of another folder"),
        ],
    ),
    (
        "alert retry",
        &[
            ("karat alert retry msg_01", "Try a message again that was given up"),
            ("karat alert retry msg_01 --home /srv/karat", "Do so for the server of another folder"),
        ],
    ),
    (
        "models",
        &[("karat models", "List all models"), ("karat models gpt --json", "List models with gpt in their id as JSON")],
    ),
    (
        "models add",
        &[
            ("karat models add prices.yaml", "Add models with prices to the known ones"),
            ("karat models add prices.json --as-of 2026-11-26", "Add LiteLLM's list, read on this day"),
        ],
    ),
    (
        "models update",
        &[
            ("karat models update prices.yaml", "Change prices, and print what changes"),
            (
                "karat models update https://example.com/prices.json --dry-run",
                "Read a list at an address, and print what would change",
            ),
            (
                "karat models update prices.json --as-of 2026-11-26 --source LiteLLM",
                "Say where and when they were read",
            ),
        ],
    ),
    (
        "rubrics",
        &[
            ("karat rubrics", "List the ready rubrics"),
            ("karat rubrics faithfulness -o rubric.yaml", "Make one your own"),
        ],
    ),
    (
        "invalidate",
        &[
            ("karat invalidate latest --dry-run", "Show what would be invalidated"),
            ("karat invalidate latest --cell 3", "Invalidate the results of one cell"),
        ],
    ),
    (
        "cache",
        &[
            ("karat cache ls", "List the runs that have cached results"),
            ("karat cache prune --older-than 90d", "Invalidate results that are older than 90 days"),
        ],
    ),
    (
        "cache ls",
        &[
            ("karat cache ls", "List the runs that have cached results"),
            ("karat cache ls --json", "List them as JSON, for a script"),
        ],
    ),
    (
        "cache prune",
        &[
            ("karat cache prune --older-than 90d --dry-run", "Show what would be removed"),
            ("karat cache prune --older-than 90d --traces", "Also remove requests and responses"),
        ],
    ),
    (
        "store",
        &[
            ("karat store check", "Read all stored runs, and list damage"),
            ("karat store backup monday.db", "Copy the store while runs go on"),
        ],
    ),
    (
        "store copy",
        &[
            (
                "karat store copy sqlite:.karat/karat.db postgres://me@db.example.com/evals",
                "Move runs from a file to a server",
            ),
            (
                "karat store copy 'postgres://me@localhost/evals?schema=team' sqlite:copy.db",
                "Copy a schema into a file",
            ),
        ],
    ),
    (
        "store backup",
        &[
            ("karat store backup monday.db", "Copy the store while runs go on"),
            ("karat store backup copy.db --store sqlite:/var/lib/karat/karat.db", "Copy the store of a server"),
        ],
    ),
    (
        "store restore",
        &[
            ("karat store restore monday.db", "Make the store from a copy"),
            ("karat store restore copy.db --store sqlite:other/karat.db", "Make another store from a copy"),
        ],
    ),
    (
        "store check",
        &[
            ("karat store check", "Read all stored runs, and list damage"),
            ("karat store check --json", "List it as JSON, for a script"),
        ],
    ),
    (
        "doctor",
        &[
            ("karat doctor", "Check the store, keys and programs"),
            ("karat doctor --online", "Also check the connection to providers"),
        ],
    ),
    (
        "demo",
        &[
            ("karat demo rag", "Serve the demo service of the preset rag"),
            ("karat demo rag --build repaired --port 8791", "Serve it without its planted faults"),
        ],
    ),
    (
        "schema",
        &[
            ("karat schema", "Print the schema of suite files, for an editor"),
            ("karat schema report", "Print the schema of report.json"),
        ],
    ),
    (
        "completions",
        &[
            ("karat completions bash", "Print completions for bash"),
            ("karat completions --man man", "Write man pages into the folder man"),
        ],
    ),
];

/// Returns the tree with the examples in each command's help.
pub fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, examples)| {
        let text = text(&command, examples);
        at(command, path, |sub| sub.after_help(text))
    })
}

/// Returns the examples of a command, by its path without `karat`.
pub fn of(path: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == path).map_or(&[], |(_, examples)| examples)
}

/// Changes the command at a path, such as `golden pin`.
fn at(command: Command, path: &str, change: impl FnOnce(Command) -> Command) -> Command {
    match path.split_once(' ') {
        Some((name, rest)) => command.mut_subcommand(name, |sub| at(sub, rest, change)),
        None => command.mut_subcommand(path, change),
    }
}

fn text(command: &Command, examples: &[Example]) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = format!("{header}Examples:{header:#}\n");
    for (line, about) in examples {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {about}:\n    {literal}{line}{literal:#}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(path: &str, command: &Command) -> Vec<String> {
        let below = command.get_subcommands().flat_map(|sub| {
            let path = format!("{path} {}", sub.get_name()).trim_start().to_owned();
            [vec![path.clone()], paths(&path, sub)].concat()
        });
        below.collect()
    }

    /// The help of each command has at least two examples, and they fit 80 columns.
    #[test]
    fn every_command_has_two_examples() {
        let command = crate::help::command();
        let paths = paths("", &command);
        for path in &paths {
            assert!(of(path).len() >= 2, "{path}");
            let wide = of(path).iter().find(|(line, about)| line.len().max(about.len()) > 76);
            assert!(wide.is_none(), "{wide:?}");
        }
        let unknown: Vec<_> = EXAMPLES.iter().filter(|(path, _)| !paths.iter().any(|it| it == path)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    /// Each example is a command line that parses, for the command that it stands under.
    #[test]
    fn every_example_parses() {
        for (path, examples) in EXAMPLES {
            for (line, _) in *examples {
                assert!(line.starts_with(&format!("karat {path}")), "{line}");
                let parsed = crate::help::command().try_get_matches_from(line.split_whitespace());
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }
}
