//! Results files.

use std::path::{Path, PathBuf};

use karat_types::json::{NanAsNull, Parsed};
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::source::Source;

/// Beginning of the name of a results file; its date follows.
const PREFIX: &str = "results_";

/// A results file.
#[derive(Debug)]
pub(super) struct ResultsFile {
    file: Map<String, Value>,
    pub tasks: Vec<Task>,
}

/// A task with its figures.
#[derive(Debug)]
pub(super) struct Task {
    pub name: String,
    /// The file of its samples.
    pub samples: Option<PathBuf>,
    /// Metric, filter, value.
    pub figures: Vec<(String, String, f64)>,
    /// The task's configuration.
    config: Value,
}

impl Task {
    /// True if the figure of a metric is the mean over the documents.
    pub fn is_mean(&self, metric: &str) -> bool {
        let metrics = self.config.get("metric_list").and_then(Value::as_array);
        let is_it = |entry: &&Value| entry.get("metric").and_then(Value::as_str) == Some(metric);
        let aggregation = metrics.into_iter().flatten().find(is_it).and_then(|entry| entry.get("aggregation"));
        aggregation.and_then(Value::as_str).is_none_or(|aggregation| aggregation == "mean")
    }
}

impl ResultsFile {
    /// The version of lm-eval.
    pub fn version(&self) -> Option<String> {
        self.file.get("lm_eval_version")?.as_str().map(str::to_owned)
    }

    /// Name of the model.
    pub fn model(&self) -> String {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
        let config = self.file.get("config").and_then(|config| config.get("model"));
        text(self.file.get("model_name")).or_else(|| text(config)).unwrap_or_else(|| "model".to_owned())
    }
}

/// Reads the results file, or those of a folder.
pub(super) fn read(source: &Source) -> Result<Vec<ResultsFile>, ImportError> {
    let is_results = |path: &PathBuf| name(path).starts_with(PREFIX) && name(path).ends_with(".json");
    let paths: Vec<PathBuf> = match source.path().is_dir() {
        true => source.files()?.into_iter().filter(is_results).collect(),
        false => vec![source.path().to_owned()],
    };
    if paths.is_empty() {
        return Err(ImportError::new(source.path().display(), "holds no `results_DATE.json` of lm-eval")
            .with_hint("name the folder of one model below `--output_path`, or the results file in it"));
    }
    paths.iter().map(|path| read_file(source, path)).collect()
}

fn read_file(source: &Source, path: &Path) -> Result<ResultsFile, ImportError> {
    source.include(path)?;
    let file: Parsed = serde_json::from_reader(NanAsNull::new(source.reader(path)?)).map_err(|error| {
        ImportError::new(path.display(), format!("is not valid JSON: {error}")).at_line(error.line().max(1))
    })?;
    let Value::Object(file) = file.value else { return Err(no_results(path)) };
    let Some(results) = file.get("results").and_then(Value::as_object) else { return Err(no_results(path)) };
    let tasks = results.iter().map(|(name, figures)| Task {
        name: name.clone(),
        samples: samples_beside(path, name),
        figures: figures.as_object().into_iter().flatten().filter_map(figure).collect(),
        config: file.get("configs").and_then(|configs| configs.get(name)).cloned().unwrap_or_default(),
    });
    Ok(ResultsFile { tasks: tasks.collect(), file })
}

fn no_results(path: &Path) -> ImportError {
    ImportError::new(
        path.display(),
        "is not a results file of lm-eval: expected an object with `results` and `configs`",
    )
    .with_hint("name the `results_DATE.json` that lm-eval wrote, or its folder")
}

/// A figure `METRIC,FILTER`; errors of figures are none.
fn figure((key, value): (&String, &Value)) -> Option<(String, String, f64)> {
    let (metric, filter) = key.split_once(',')?;
    let is_error = metric.ends_with("_stderr");
    Some((metric.to_owned(), filter.to_owned(), value.as_f64()?)).filter(|_| !is_error)
}

/// The file of a task's samples beside the results, of the same date.
fn samples_beside(path: &Path, task: &str) -> Option<PathBuf> {
    let date = name(path).strip_prefix(PREFIX)?.strip_suffix(".json")?.to_owned();
    let samples = path.with_file_name(format!("samples_{task}_{date}.jsonl"));
    // A task's name is data of the file: it names nothing outside of the folder.
    let is_beside = samples.parent() == path.parent() && samples.file_name().is_some();
    (is_beside && samples.is_file()).then_some(samples)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
