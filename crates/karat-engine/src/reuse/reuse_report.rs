//! Reports which results a run would reuse, which it would make, and why.

use std::ops::ControlFlow;
use std::sync::Arc;

use karat_store::Store;
use karat_suite::{DatasetError, Files, Plan};
use karat_types::{CachePolicy, CellError, CellStatus, Key, Moment, output_key};
use serde::Serialize;
use serde_json::Value;

use crate::EngineError;
use crate::plan::identity_parts::Change;
use crate::plan::ready::{ReadyJudge, ReadySystem};
use crate::plan::systems::Systems;
use crate::reuse::history::{CellName, EarlierCell, History};
use crate::reuse::resolver::{Resolver, first_asks, reuse_view};
use crate::rows::files::RecordedFiles;
use crate::rows::row::Row;
use crate::steps::Reason;

/// The reuse status of a cell's output or of a judgment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum ReuseStatus {
    /// It exists and is reused.
    Reused {
        /// Id of the run that made it.
        run: String,
        /// Start of that run.
        made_at: Moment,
    },
    /// It is read from a file or column.
    Recorded,
    /// None of the suite's last runs has it.
    New,
    /// An earlier run has it, but made of something else.
    Stale {
        /// Id of that run.
        run: String,
        /// The parts that have changed.
        changes: Vec<Change>,
    },
    /// An earlier run tried and failed.
    Failed {
        /// Id of that run.
        run: String,
        /// The failure's code.
        code: String,
    },
    /// It exists, but is older than the suite's `cache` allows.
    TooOld {
        /// Id of the run that made it.
        run: String,
        /// Start of that run.
        made_at: Moment,
    },
    /// It exists, but the suite's `cache` or the command line turns reuse off.
    CacheOff {
        /// Id of the run that made it.
        run: String,
        /// Start of that run.
        made_at: Moment,
    },
    /// An earlier run has it, but no other run may reuse it, because its recipient has no declared version.
    Unversioned {
        /// Id of that run.
        run: String,
        /// The step or judge without a version: `step query`.
        who: String,
    },
    /// It exists no more: it was invalidated or pruned.
    Withdrawn {
        /// Id of the run that made it.
        run: String,
    },
    /// A condition skips it.
    Skipped,
    /// It fails before any call.
    Fails {
        /// The failure's code.
        code: String,
        /// The problem.
        message: String,
    },
    /// It depends on an output that must be made first.
    Follows,
}

impl From<Reason> for ReuseStatus {
    fn from(why: Reason) -> Self {
        match why {
            Reason::Skipped(_) | Reason::LeftOut => Self::Skipped,
            Reason::Failed(CellError { code, message }) => Self::Fails { code, message },
        }
    }
}

impl ReuseStatus {
    /// Returns whether there is or will be an output to judge.
    fn is_judged(&self) -> bool {
        !matches!(self, Self::Skipped | Self::Fails { .. })
    }

    /// A short reason for counting: the first change, if there is one.
    pub fn reason(&self) -> String {
        match self {
            Self::Reused { .. } => "reused".to_owned(),
            Self::Recorded => "recorded".to_owned(),
            Self::New => "never made".to_owned(),
            Self::Stale { changes, .. } => {
                changes.first().map_or_else(|| "changed".to_owned(), |change| format!("{} changed", change.part))
            }
            Self::Failed { .. } => "failed before".to_owned(),
            Self::TooOld { .. } => "too old".to_owned(),
            Self::CacheOff { .. } => "cache off".to_owned(),
            Self::Unversioned { .. } => "without a version".to_owned(),
            Self::Withdrawn { .. } => "withdrawn".to_owned(),
            Self::Skipped => "left out".to_owned(),
            Self::Fails { .. } => "fails before any call".to_owned(),
            Self::Follows => "new output".to_owned(),
        }
    }
}

/// The reuse status of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellReuse {
    /// Its ordinal in the plan.
    pub cell: u64,
    /// Id of its sample.
    pub sample: String,
    /// Registry id of its model.
    pub model: Option<String>,
    /// Its variant.
    pub variant: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// Status of its output.
    #[serde(flatten)]
    pub standing: ReuseStatus,
    /// Status of its judgments.
    pub judgments: Vec<JudgmentReuse>,
}

impl CellReuse {
    /// `sample/model/variant/trial`; without the model if it has none.
    pub fn path(&self) -> String {
        let parts = [Some(self.sample.as_str()), self.model.as_deref(), Some(self.variant.as_str())];
        format!("{}/{}", parts.into_iter().flatten().collect::<Vec<_>>().join("/"), self.trial)
    }
}

/// The reuse status of a judgment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgmentReuse {
    /// Id of the scorer.
    pub scorer: String,
    /// Registry id of the judge.
    pub judge: String,
    /// Its status.
    #[serde(flatten)]
    pub standing: ReuseStatus,
}

/// Passes the reuse status of each cell of a plan to `each`, until that breaks. `wanted` selects samples by id and row.
/// Results are reused from runs that started at `oldest` or later; without it, from none.
///
/// # Errors
/// The plan cannot be compiled; rows or the store cannot be read.
pub fn explain_reuse(
    plan: &Plan,
    store: &Store,
    oldest: Option<Moment>,
    wanted: impl Fn(&str, u64) -> bool,
    each: &mut dyn FnMut(CellReuse) -> ControlFlow<()>,
) -> Result<(), EngineError> {
    let files: Arc<dyn Files> = plan.files();
    let systems = Arc::new(Systems::new(&plan.header, "")?);
    let reporter = ReuseReporter {
        plan,
        store,
        resolver: Resolver {
            plan: plan.header.clone(),
            systems: systems.clone(),
            recorded_files: Arc::new(RecordedFiles::new(files, plan.header.dataset.rows)),
            reuse: reuse_view(store, "", oldest, &plan.header)?,
            given: None,
            own: None,
            earlier: None,
            remaining: None,
        },
        systems,
        history: History::of(store, &plan.header.suite)?,
    };
    let per_row = plan.header.cells_per_row();
    for sample in plan.rows() {
        let sample = match sample {
            Ok(sample) => sample,
            Err(error) => {
                let row = match error.row {
                    Some(row) if wanted(&error.sample(), row) => row,
                    Some(_) => continue,
                    None => return Err(EngineError::Dataset(error)),
                };
                for ordinal in row * per_row..(row + 1) * per_row {
                    if each(reporter.unreadable_cell(&error, ordinal)).is_break() {
                        return Ok(());
                    }
                }
                continue;
            }
        };
        if !wanted(&sample.id, sample.row) {
            continue;
        }
        let row = Row::new(sample, &reporter.systems);
        let reads = reporter.systems.all_reads.digests(&row.sample);
        for ordinal in row.sample.row * per_row..(row.sample.row + 1) * per_row {
            if each(reporter.cell_reuse(&row, &reads, ordinal)?).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

struct ReuseReporter<'a> {
    plan: &'a Plan,
    store: &'a Store,
    systems: Arc<Systems>,
    resolver: Resolver,
    history: History,
}

/// The status of a cell's output, and the output if it exists.
struct OutputStatus {
    status: ReuseStatus,
    value: Option<Arc<Value>>,
}

impl ReuseReporter<'_> {
    /// A cell of a row that cannot be read.
    fn unreadable_cell(&self, error: &DatasetError, ordinal: u64) -> CellReuse {
        let (_, at, trial) = self.plan.header.place(ordinal);
        CellReuse {
            cell: ordinal,
            sample: error.sample().to_string(),
            model: self.plan.header.system_model(at).map(|model| model.id.clone()),
            variant: self.systems.systems[at].variant.clone(),
            trial,
            standing: ReuseStatus::Fails { code: "dataset".to_owned(), message: error.to_string() },
            judgments: Vec::new(),
        }
    }

    fn cell_reuse(&self, row: &Row, reads: &[(String, Key)], ordinal: u64) -> Result<CellReuse, EngineError> {
        let (_, at, trial) = self.plan.header.place(ordinal);
        let system = &self.systems.systems[at];
        let model = self.plan.header.system_model(at).map(|model| model.id.as_str());
        let name = CellName { row: row.sample.row, sample: &row.sample.id, model, variant: &system.variant, trial };
        let last = self.history.latest(name)?;
        let output = self.output_status(row, reads, at, trial, last.as_ref())?;
        let judges = if output.status.is_judged() { &self.systems.judges[..] } else { &[] };
        let seed = self.plan.header.run.seed;
        let asked = judges.iter().filter(|judge| judge.is_asked(row.sample.row, at));
        let judgments = asked.filter(|judge| judge.machine.may_ask(&row.shown, seed)).map(|judge| {
            let others = self.resolver.existing_others(row, judge, (at, trial))?;
            // Half a pair is not judged: the judgment follows when both outputs exist.
            let judged = output.value.as_deref().filter(|_| others.iter().all(Option::is_some));
            self.judgment_reuse(row, reads, judge, judged, &others, last.as_ref())
        });
        Ok(CellReuse {
            cell: ordinal,
            sample: row.sample.id.to_string(),
            model: model.map(str::to_owned),
            variant: system.variant.clone(),
            trial,
            judgments: judgments.collect::<Result<_, _>>()?,
            standing: output.status,
        })
    }

    fn output_status(
        &self,
        row: &Row,
        reads: &[(String, Key)],
        at: usize,
        trial: u32,
        last: Option<&EarlierCell<'_>>,
    ) -> Result<OutputStatus, EngineError> {
        let system: &ReadySystem = &self.systems.systems[at];
        let start = match self.resolver.start(row, system, trial)? {
            Ok(start) => start,
            Err(why) => return Ok(OutputStatus { status: why.into(), value: None }),
        };
        let keys = self.resolver.keys(row, system, trial, start.as_deref());
        let Some(key) = keys.last() else {
            let status = if start.is_some() { ReuseStatus::Recorded } else { ReuseStatus::Skipped };
            return Ok(OutputStatus { status, value: start });
        };
        let latest = self.resolver.latest_step(&keys, true)?;
        let (first, output) = match latest.and_then(|latest| Some((latest.at + 1, latest.stored?))) {
            Some((made, stored)) if made == keys.len() => {
                let status = ReuseStatus::Reused { run: stored.run, made_at: stored.run_started_at };
                return Ok(OutputStatus { status, value: Some(stored.record.output) });
            }
            Some((made, stored)) => (made, Some(stored.record.output)),
            None => (0, start),
        };
        let status = match first_asks(row, system, &system.chain[first], output.as_deref()) {
            Err(why) => why.into(),
            Ok(_) => self.made_status(*key, reads, at, last)?,
        };
        Ok(OutputStatus { status, value: None })
    }

    /// The reason for making an output.
    fn made_status(
        &self,
        key: Key,
        reads: &[(String, Key)],
        at: usize,
        last: Option<&EarlierCell<'_>>,
    ) -> Result<ReuseStatus, EngineError> {
        if let Some(old) = self.store.step(key)? {
            return Ok(self.ignored_result(old.run, old.run_started_at));
        }
        let Some(last) = last else { return Ok(ReuseStatus::New) };
        let run = last.earlier.run_id().to_owned();
        let unversioned = self.systems.systems[at].chain.iter().find(|step| !step.reusable);
        Ok(match &last.cell.error {
            Some(error) if last.cell.status == CellStatus::Error => {
                ReuseStatus::Failed { run, code: error.code.clone() }
            }
            Some(_) => ReuseStatus::New,
            None if let Some(step) = unversioned => ReuseStatus::Unversioned { run, who: step.who.to_string() },
            None if last.cell.key == key => ReuseStatus::Withdrawn { run },
            None => {
                let mut changes = last.step_changes(&self.plan.header, at, reads);
                if changes.is_empty() {
                    changes.push(Change::of("recorded output"));
                }
                ReuseStatus::Stale { run, changes }
            }
        })
    }

    /// The reason for not reusing a result that exists.
    fn ignored_result(&self, run: String, made_at: Moment) -> ReuseStatus {
        match self.plan.header.run.cache {
            CachePolicy::Off => ReuseStatus::CacheOff { run, made_at },
            // Of outputs that are reused at any age, only judgments are ignored.
            CachePolicy::Outputs => ReuseStatus::CacheOff { run, made_at },
            CachePolicy::Reuse | CachePolicy::MaxAge(_) => ReuseStatus::TooOld { run, made_at },
        }
    }

    fn judgment_reuse(
        &self,
        row: &Row,
        reads: &[(String, Key)],
        judge: &ReadyJudge,
        output: Option<&Value>,
        others: &[Option<Arc<Value>>],
        last: Option<&EarlierCell<'_>>,
    ) -> Result<JudgmentReuse, EngineError> {
        let plan = &self.plan.header;
        let scorer = plan.scorers[usize::from(judge.scorer)].id.clone();
        let status = match output {
            None => ReuseStatus::Follows,
            Some(output) => self.judgment_status(row, reads, judge, &scorer, (output, others), last)?,
        };
        Ok(JudgmentReuse { scorer, judge: judge.model.id.clone(), standing: status })
    }

    fn judgment_status(
        &self,
        row: &Row,
        reads: &[(String, Key)],
        judge: &ReadyJudge,
        scorer: &str,
        (output, others): (&Value, &[Option<Arc<Value>>]),
        last: Option<&EarlierCell<'_>>,
    ) -> Result<ReuseStatus, EngineError> {
        let output = output_key(output);
        let keys = self.resolver.judgment_keys(row, judge, output, others);
        if let Some(stored) = self.resolver.judgment(keys)? {
            return Ok(ReuseStatus::Reused { run: stored.run, made_at: stored.run_started_at });
        }
        if let Some(old) = keys.find_latest(|key| self.store.judgment(key))? {
            return Ok(self.ignored_result(old.run, old.run_started_at));
        }
        let Some(last) = last else { return Ok(ReuseStatus::New) };
        let Some(judgment) = last.judgment(scorer, &judge.model.id)? else { return Ok(ReuseStatus::New) };
        let run = last.earlier.run_id().to_owned();
        if !judge.reusable && judgment.error.is_none() {
            return Ok(ReuseStatus::Unversioned { run, who: format!("judge {}", judge.model.id) });
        }
        if judgment.key == keys.own {
            let code = judgment.error.map(|error| error.code);
            let unscored = judgment.scores.iter().any(|(_, score)| score.is_unscored()).then(|| "unscored".to_owned());
            return Ok(code.or(unscored).map_or_else(
                || ReuseStatus::Withdrawn { run: run.clone() },
                |code| ReuseStatus::Failed { run: run.clone(), code },
            ));
        }
        let mut changes = last.judge_changes(&self.plan.header, scorer, &judge.model.id);
        if last.cell.output_hash != output {
            changes.push(Change::of("output"));
        }
        changes.extend(last.column_changes(judge.names.iter().map(String::as_str), reads));
        Ok(ReuseStatus::Stale { run, changes })
    }
}
