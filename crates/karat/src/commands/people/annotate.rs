//! `karat annotate`.

use std::io::Write;
use std::path::Path;

use karat_app::{
    AdjudicationRequest, AnnotationRequest, AtomicFile, ExportForm, ExportRequest, GoldItems, Invocation, ItemsFrom,
    LabelPinRequest, LabelSource, LabelledSample, TaskLine, TaskRequest, TextFrom, count_noun, escape_json,
};
use karat_types::Exit;
use serde_json::Value;

use crate::args::{AnnotateCommand, AnnotateCreateArgs, AnnotateExportArgs, LabelFormat};
use crate::commands::CommandContext;
use crate::commands::ci::golden::print_pin;
use crate::commands::invocation::parse_duration;
use crate::commands::table::table;
use crate::failure::Failure;

/// Labelled outputs of a sample that a calibration needs.
const ENOUGH_FOR_CALIBRATION: usize = 5;

/// The name under which decisions of the command line are stored.
const OWNER: &str = "owner";

pub fn annotate(context: &CommandContext<'_>, command: &AnnotateCommand) -> Result<Exit, Failure> {
    let suite = |suite: &String| Invocation::of(suite);
    match command {
        AnnotateCommand::Create(args) => create(context, args)?,
        AnnotateCommand::Invite { task, name, expires, url } => {
            let expires = parse_duration("--expires", Some(expires))?;
            let is_first = !context.app.service().has_tokens()?;
            let token = context.app.service().invite_annotator(task, name, expires)?;
            if !context.quiet {
                context.printer.say(&format!("token {}: the link is not shown again", token.id));
                if is_first {
                    context.printer.say(
                        "warning: this is the first token of the store, so `karat serve` now asks everybody for one, you too: `karat \
                         token new --role admin --name NAME` makes yours",
                    );
                }
            }
            context.printer.data(&format!("{}/annotate/{task}?token={}", url.trim_end_matches('/'), token.text))?;
        }
        AnnotateCommand::Ls { json: true } => context.print_json(&context.app.tasks().list()?)?,
        AnnotateCommand::Ls { json: false } => list(context)?,
        AnnotateCommand::Show { task, json } => show(context, task, *json)?,
        AnnotateCommand::Close { task, exclude, reason } => {
            for person in exclude {
                let (exclude, reason) = (Some(person.clone()), reason.clone().unwrap_or_default());
                let decision = AdjudicationRequest { exclude, reason, ..AdjudicationRequest::default() };
                context.app.tasks().adjudicate(task, OWNER, &decision)?;
            }
            let closed = context.app.tasks().close(task, OWNER)?;
            context.printer.say(&format!("the task {task} is closed since {}", field(&closed, "closed_at")));
            if let Some(open @ 1..) = closed["open"].as_u64() {
                context.printer.say(&format!(
                    "warning: {} open: figures hold whatever their labels will be, so intervals are wide; settle them with `karat \
                     annotate adjudicate {task}`",
                    count_text(open)
                ));
            }
        }
        AnnotateCommand::Adjudicate { task, url } => {
            let found = context.app.tasks().reopen(task)?;
            let (name, version) = (&found.task, found.version);
            let state = match (found.open, found.is_new) {
                (0, _) => "no item is open".to_owned(),
                (open, false) => format!("{} open", count_text(open as u64)),
                (open, true) => {
                    format!("{} open; the new version has the labels of the closed one", count_text(open as u64))
                }
            };
            context.printer.say(&format!(
                "task {name}@{version}: {state}. Items that lack labels need people: `karat annotate invite {name} NAME`. The \
                 page needs `karat serve`; `karat annotate close {name}` ends the task"
            ));
            context.printer.data(&format!("{}/annotate/{name}/adjudicate", url.trim_end_matches('/')))?;
        }
        AnnotateCommand::Import { tasks, labels, scorer, suite: name } => {
            let joined = context.app.tasks().join_labels(&suite(name), scorer.as_deref(), tasks, labels)?;
            context.printer.text(&format!(
                "{}: {} added, {} replaced; {} without scores",
                labels.display(),
                count_noun(joined.added as u64, "label"),
                joined.replaced,
                count_noun(joined.open as u64, "task")
            ))?;
        }
        AnnotateCommand::Export(args) => export(context, args)?,
        AnnotateCommand::Status { suite: name, scorer } => {
            let status = context.app.tasks().label_status(&suite(name), scorer.as_deref())?;
            let head = ["sample", "labelled outputs", "annotators", ""];
            context.printer.text(&table(context, &head, status.iter().map(status_row)))?;
        }
    }
    Ok(Exit::Pass)
}

/// Prints labels, or pins them.
fn export(context: &CommandContext<'_>, args: &AnnotateExportArgs) -> Result<(), Failure> {
    let (app, name, scorer) = (&context.app, args.suite.as_str(), args.scorer.as_deref());
    let source = app.tasks().label_source(name)?;
    let form = match args.form {
        LabelFormat::Golden => {
            let (system, folder) = (args.system.clone(), args.output_dir.clone());
            let asked = LabelPinRequest { system, folder, pseudonyms: args.pseudonyms };
            let pinned = match source {
                LabelSource::Task => app.tasks().pin_labels(name, &asked)?,
                LabelSource::Suite => app.tasks().pin_labels_of_suite(&Invocation::of(name), scorer, &asked)?,
            };
            return print_pin(context, &pinned, false);
        }
        _ if args.system.is_some() || args.output_dir.is_some() => {
            return Err(Failure::Message(
                "`--system` and `--output-dir` belong to `--as golden`; other forms go to stdout".to_owned(),
            ));
        }
        LabelFormat::Labels => ExportForm::Labels,
        LabelFormat::Jsonl => ExportForm::Jsonl,
        LabelFormat::Csv => ExportForm::Csv,
    };
    match source {
        LabelSource::Task => {
            let asked = ExportRequest { form, settled: args.settled, audit: args.audit, pseudonyms: args.pseudonyms };
            let exported = app.tasks().export(name, &asked)?;
            match form {
                ExportForm::Labels | ExportForm::Jsonl => context.printer.data(&escape_json(exported.trim_end())),
                ExportForm::Csv => context.printer.data(exported.trim_end()),
            }
        }
        LabelSource::Suite => {
            let labels = app.tasks().labels(&Invocation::of(name), scorer)?;
            context.printer.data(&escape_json(json_lines(&labels).trim_end()))
        }
    }
}

/// Makes a task in the store, or writes blind tasks to a file.
fn create(context: &CommandContext<'_>, args: &AnnotateCreateArgs) -> Result<(), Failure> {
    if let Some(output) = &args.output {
        let annotating =
            AnnotationRequest { scorer: args.scorer.clone(), per_sample: args.per_sample, seed: args.seed };
        let tasks = context.app.tasks().rows_to_label(&args.run, &annotating)?;
        write(context, output, &json_lines(&tasks))?;
        context.printer.say(&format!(
            "{}. Fill in `scores` and `annotator`, then run `karat annotate import FILE --labels labels.jsonl`",
            count_noun(tasks.len() as u64, "task")
        ));
        return Ok(());
    }
    let items = args.dataset.clone().map_or_else(|| ItemsFrom::Run(args.run.clone()), ItemsFrom::Dataset);
    let gold = args.gold.clone().map(|file| GoldItems { file, share: args.gold_share, limit: args.gold_limit });
    let request = TaskRequest {
        items,
        name: args.task.clone(),
        scorer: args.scorer.clone(),
        questions: args.questions.clone().map(TextFrom::File),
        guidelines: args.guidelines.clone().map(TextFrom::File),
        places: args.k,
        count: args.n,
        per_sample: args.per_sample,
        select: args.select.clone(),
        only: None,
        gold,
        assigned: args.assign.clone(),
        show: args.show.clone(),
        mask: args.mask.clone(),
        seed: args.seed,
    };
    let made = context.app.tasks().create(&request)?;
    let known = match made.known_labels {
        0 => String::new(),
        known => format!(", {} known from earlier tasks", count_noun(known, "label")),
    };
    let state = if made.is_new { "made" } else { "was there already" };
    context.printer.text(&format!(
        "task {}, version {}: {state}; {}{known}. Invite people with `karat annotate invite {} NAME`",
        made.task,
        made.version,
        count_noun(made.items, "item"),
        made.task
    ))?;
    if !made.hidden.is_empty() {
        let hidden = made.hidden.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        context.printer.say(&format!(
            "warning: nobody sees {hidden}; `--show {}` shows what people need to answer, in a new version of the task",
            made.hidden.join(",")
        ));
    }
    Ok(())
}

fn list(context: &CommandContext<'_>) -> Result<(), Failure> {
    let tasks = context.app.tasks().list()?;
    if tasks.is_empty() {
        context.printer.say("there is no task; `karat annotate create RUN` makes one");
        return Ok(());
    }
    let row = |task: TaskLine| {
        let state = task.closed_at.map_or_else(|| "open".to_owned(), |at| format!("closed {at}"));
        let labels = format!("{} of {}", task.labels, task.items * task.labels_per_item);
        let settled = format!("{} of {}", task.settled, task.items);
        vec![format!("{}@{}", task.task, task.version), labels, settled, task.people.to_string(), task.source, state]
    };
    let head = ["task", "labels", "settled", "people", "items of", "state"];
    context.printer.text(&table(context, &head, tasks.into_iter().map(row)))?;
    Ok(())
}

fn show(context: &CommandContext<'_>, task: &str, json: bool) -> Result<(), Failure> {
    let mut view = context.app.tasks().overview(task)?;
    view["agreement"] = context.app.tasks().agreement(task)?["questions"].take();
    if json {
        return context.print_json(&view);
    }
    let (items, labels) = (&view["items"], &view["labels"]);
    let mut text = format!(
        "{}@{}: {} items, {} labels, {} missing\n{} settled, {} adjudicated, {} open; {} flagged, {} skipped by all, {} \
         disagreements\n",
        field(&view, "task"),
        view["version"],
        items["total"],
        labels["counted"],
        labels["missing"],
        items["settled"],
        items["adjudicated"],
        items["open"],
        items["flagged"],
        items["skipped"],
        items["disagreements"]
    );
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for person in list(&view["people"]) {
        let name = field(&person, "person");
        text.push_str(&format!("{name}: {} labels, {} skips", person["labels"], person["skips"]));
        let gold = &person["gold"];
        if let Some(share) = gold["share"]["share"].as_f64() {
            let warning = if gold["share"]["below_limit"] == true { ", below the limit" } else { "" };
            text.push_str(&format!(", {:.0} % of {} gold items right{warning}", 100.0 * share, gold["n"]));
        }
        if let Some(reason) = person["excluded"].as_str() {
            text.push_str(&format!(", excluded: {reason}"));
        }
        text.push('\n');
    }
    for question in list(&view["agreement"]) {
        let id = field(&question, "question");
        let figure = ["alpha", "characters"].iter().find_map(|name| Some((*name, question[name]["value"].as_f64()?)));
        match figure {
            Some((name, value)) => {
                let ci = &question[name]["ci"];
                let ci = ci[0].as_f64().zip(ci[1].as_f64()).map(|(lo, hi)| format!(" [{lo:.2}, {hi:.2}]"));
                let (ci, method) = (ci.unwrap_or_default(), field(&question[name], "method"));
                text.push_str(&format!("{id}: {value:.2}{ci}, {} items, {method}", question["items"]));
            }
            None => text.push_str(&format!("{id}: {} items with two labels", question["items"])),
        }
        if let Some(note) = question["note"].as_str() {
            text.push_str(&format!("; {note}"));
        }
        text.push('\n');
    }
    context.printer.text(text.trim_end())?;
    Ok(())
}

/// `1 item is`, `2 items are`.
fn count_text(items: u64) -> String {
    format!("{} {}", count_noun(items, "item"), if items == 1 { "is" } else { "are" })
}

fn field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn status_row(sample: &LabelledSample) -> Vec<String> {
    let missing = ENOUGH_FOR_CALIBRATION.saturating_sub(sample.sets);
    let missing = if missing > 0 { format!("{missing} more for a calibration") } else { String::new() };
    vec![sample.sample.clone(), sample.sets.to_string(), sample.annotators.join(", "), missing]
}

fn json_lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn write(context: &CommandContext<'_>, output: &str, text: &str) -> Result<(), Failure> {
    if output == "-" {
        return context.printer.data(&escape_json(text.trim_end()));
    }
    let written = AtomicFile::create(Path::new(output)).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish()
    });
    written.map_err(|error| Failure::Message(format!("writing {output}: {error}. Name another file with `-o`")))
}
