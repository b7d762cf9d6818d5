//! How cells and judgments stand before a run: which results are taken over, which are made anew, and why.

use std::ops::ControlFlow;
use std::sync::Arc;

use karat_store::Store;
use karat_suite::{DatasetError, Files, Plan};
use karat_types::{CachePolicy, CellError, CellStatus, Key, Moment, output_key};
use serde::Serialize;
use serde_json::Value;

use crate::EngineError;
use crate::files::Library;
use crate::history::{History, Made, Place};
use crate::made::Why;
use crate::parts::Change;
use crate::resolver::{Resolver, first_asks};
use crate::row::Row;
use crate::systems::{ReadyJudge, ReadySystem, Systems};

/// How a cell's output, or a judgment, stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// It exists and is taken over.
    Reused {
        /// Id of the run that made it.
        run: String,
        /// When that run began.
        made_at: Moment,
    },
    /// It is found in a file or column: nothing makes it.
    Recorded,
    /// None of the suite's last runs has it.
    New,
    /// An earlier run has it, but not of what it would be made of now.
    Stale {
        /// Id of that run.
        run: String,
        /// What is not the same.
        changes: Vec<Change>,
    },
    /// An earlier run tried and failed.
    Failed {
        /// Id of that run.
        run: String,
        /// The failure's code.
        code: String,
    },
    /// It exists, but the suite's `cache` wants a newer one.
    TooOld {
        /// Id of the run that made it.
        run: String,
        /// When that run began.
        made_at: Moment,
    },
    /// It exists, but the suite's `cache`, or the command line, takes nothing over.
    CacheOff {
        /// Id of the run that made it.
        run: String,
        /// When that run began.
        made_at: Moment,
    },
    /// An earlier run has it, and no other run may take it over: nobody says which version of what answers made it.
    Unversioned {
        /// Id of that run.
        run: String,
        /// The step or judge without a version, in words: `step query`.
        who: String,
    },
    /// It exists no more: it was invalidated or pruned.
    Withdrawn {
        /// Id of the run that made it.
        run: String,
    },
    /// A condition leaves it out.
    Skipped,
    /// It fails before any call.
    Fails {
        /// The failure's code.
        code: String,
        /// What is wrong.
        message: String,
    },
    /// It depends on an output that is made first.
    Follows,
}

impl From<Why> for Standing {
    fn from(why: Why) -> Self {
        match why {
            Why::Skipped(_) => Self::Skipped,
            Why::Failed(CellError { code, message }) => Self::Fails { code, message },
        }
    }
}

impl Standing {
    /// Whether there is an output to judge, or will be.
    fn is_judged(&self) -> bool {
        !matches!(self, Self::Skipped | Self::Fails { .. })
    }

    /// In a word or two, for counting: what changed first where something did.
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

/// One cell before a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellOutlook {
    /// Its place in the plan.
    pub cell: u64,
    /// Id of its sample.
    pub sample: String,
    /// Registry id of its model.
    pub model: Option<String>,
    /// Its variant.
    pub variant: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// How its output stands.
    #[serde(flatten)]
    pub standing: Standing,
    /// How its judgments stand.
    pub judgments: Vec<JudgmentOutlook>,
}

impl CellOutlook {
    /// `sample/model/variant/trial`, without a model where it has none.
    pub fn path(&self) -> String {
        let parts = [Some(self.sample.as_str()), self.model.as_deref(), Some(self.variant.as_str())];
        format!("{}/{}", parts.into_iter().flatten().collect::<Vec<_>>().join("/"), self.trial)
    }
}

/// One judgment before a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgmentOutlook {
    /// Id of the scorer.
    pub scorer: String,
    /// Registry id of the judge.
    pub judge: String,
    /// How it stands.
    #[serde(flatten)]
    pub standing: Standing,
}

/// Says of each cell of a plan how it stands, until `each` breaks. Only cells of samples that are `wanted`, by their id and
/// row. Results are taken over from runs that began at `oldest` or later; without it, from none.
///
/// # Errors
/// The plan cannot be compiled; rows or the store cannot be read.
pub fn outlook(
    plan: &Plan,
    store: &Store,
    oldest: Option<Moment>,
    wanted: impl Fn(&str, u64) -> bool,
    each: &mut dyn FnMut(CellOutlook) -> ControlFlow<()>,
) -> Result<(), EngineError> {
    let files: Arc<dyn Files> = plan.files();
    let systems = Arc::new(Systems::new(&plan.header, "")?);
    let desk = Desk {
        plan,
        store,
        resolver: Resolver {
            plan: plan.header.clone(),
            systems: systems.clone(),
            library: Arc::new(Library::new(files, plan.header.dataset.rows)),
            reuse: store.reuse_view("", oldest)?,
            given: None,
            own: None,
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
                    if each(desk.unreadable(&error, ordinal)).is_break() {
                        return Ok(());
                    }
                }
                continue;
            }
        };
        if !wanted(&sample.id, sample.row) {
            continue;
        }
        let row = Row::new(sample, &desk.systems);
        let reads = desk.systems.all_reads.digests(&row.sample);
        for ordinal in row.sample.row * per_row..(row.sample.row + 1) * per_row {
            if each(desk.cell(&row, &reads, ordinal)?).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

struct Desk<'a> {
    plan: &'a Plan,
    store: &'a Store,
    systems: Arc<Systems>,
    resolver: Resolver,
    history: History,
}

/// What is known of a cell's output.
struct Output {
    standing: Standing,
    value: Option<Arc<Value>>,
}

impl Desk<'_> {
    /// A cell of a row that cannot be read.
    fn unreadable(&self, error: &DatasetError, ordinal: u64) -> CellOutlook {
        let (_, at, trial) = self.plan.header.place(ordinal);
        CellOutlook {
            cell: ordinal,
            sample: error.sample().to_string(),
            model: self.plan.header.system_model(at).map(|model| model.id.clone()),
            variant: self.systems.systems[at].variant.clone(),
            trial,
            standing: Standing::Fails { code: "dataset".to_owned(), message: error.to_string() },
            judgments: Vec::new(),
        }
    }

    fn cell(&self, row: &Row, reads: &[(String, Key)], ordinal: u64) -> Result<CellOutlook, EngineError> {
        let (_, at, trial) = self.plan.header.place(ordinal);
        let system = &self.systems.systems[at];
        let model = self.plan.header.system_model(at).map(|model| model.id.as_str());
        let place = Place { row: row.sample.row, sample: &row.sample.id, model, variant: &system.variant, trial };
        let last = self.history.last(place)?;
        let output = self.output(row, reads, at, trial, last.as_ref())?;
        let judges = if output.standing.is_judged() { &self.systems.judges[..] } else { &[] };
        let judgments = judges.iter().filter(|judge| judge.is_asked(at)).map(|judge| {
            let Some(partner) = judge.partner(at) else {
                return self.judgment(row, reads, judge, output.value.as_deref(), None, last.as_ref());
            };
            let other = self.resolver.existing_output(row, partner, trial)?;
            // Half a pair is not judged: it follows when both are there.
            let own = output.value.as_deref().filter(|_| other.is_some());
            self.judgment(row, reads, judge, own, other.as_deref(), last.as_ref())
        });
        Ok(CellOutlook {
            cell: ordinal,
            sample: row.sample.id.to_string(),
            model: model.map(str::to_owned),
            variant: system.variant.clone(),
            trial,
            judgments: judgments.collect::<Result<_, _>>()?,
            standing: output.standing,
        })
    }

    fn output(
        &self,
        row: &Row,
        reads: &[(String, Key)],
        at: usize,
        trial: u32,
        last: Option<&Made<'_>>,
    ) -> Result<Output, EngineError> {
        let system: &ReadySystem = &self.systems.systems[at];
        let start = match self.resolver.start(row, system, trial)? {
            Ok(start) => start,
            Err(why) => return Ok(Output { standing: why.into(), value: None }),
        };
        let keys = self.resolver.keys(row, system, trial, start.as_deref());
        let Some(key) = keys.last() else {
            let standing = if start.is_some() { Standing::Recorded } else { Standing::Skipped };
            return Ok(Output { standing, value: start });
        };
        let latest = self.resolver.latest_step(&keys, true)?;
        let (first, output) = match latest.and_then(|latest| Some((latest.at + 1, latest.stored?))) {
            Some((made, stored)) if made == keys.len() => {
                let standing = Standing::Reused { run: stored.run, made_at: stored.run_started_at };
                return Ok(Output { standing, value: Some(stored.record.output) });
            }
            Some((made, stored)) => (made, Some(stored.record.output)),
            None => (0, start),
        };
        let standing = match first_asks(row, system, &system.chain[first], output.as_deref()) {
            Err(why) => why.into(),
            Ok(_) => self.missing(*key, reads, at, last)?,
        };
        Ok(Output { standing, value: None })
    }

    /// Why an output has to be made.
    fn missing(
        &self,
        key: Key,
        reads: &[(String, Key)],
        at: usize,
        last: Option<&Made<'_>>,
    ) -> Result<Standing, EngineError> {
        if let Some(old) = self.store.step(key)? {
            return Ok(self.passed_over(old.run, old.run_started_at));
        }
        let Some(last) = last else { return Ok(Standing::New) };
        let run = last.earlier.run().to_owned();
        let unversioned = self.systems.systems[at].chain.iter().find(|step| !step.reusable);
        Ok(match &last.cell.error {
            Some(error) if last.cell.status == CellStatus::Error => Standing::Failed { run, code: error.code.clone() },
            Some(_) => Standing::New,
            None if let Some(step) = unversioned => Standing::Unversioned { run, who: step.who.to_string() },
            None if last.cell.key == key => Standing::Withdrawn { run },
            None => {
                let mut changes = last.changes(&self.plan.header, at, reads);
                if changes.is_empty() {
                    changes.push(Change::of("recorded output"));
                }
                Standing::Stale { run, changes }
            }
        })
    }

    /// Why a result that exists is not taken over.
    fn passed_over(&self, run: String, made_at: Moment) -> Standing {
        match self.plan.header.run.cache {
            CachePolicy::Off => Standing::CacheOff { run, made_at },
            CachePolicy::Reuse | CachePolicy::MaxAge(_) => Standing::TooOld { run, made_at },
        }
    }

    fn judgment(
        &self,
        row: &Row,
        reads: &[(String, Key)],
        judge: &ReadyJudge,
        output: Option<&Value>,
        other: Option<&Value>,
        last: Option<&Made<'_>>,
    ) -> Result<JudgmentOutlook, EngineError> {
        let plan = &self.plan.header;
        let scorer = plan.scorers[usize::from(judge.scorer)].id.clone();
        let standing = match output {
            None => Standing::Follows,
            Some(output) => self.judged(row, reads, judge, &scorer, (output, other), last)?,
        };
        Ok(JudgmentOutlook { scorer, judge: judge.model.id.clone(), standing })
    }

    fn judged(
        &self,
        row: &Row,
        reads: &[(String, Key)],
        judge: &ReadyJudge,
        scorer: &str,
        (output, other): (&Value, Option<&Value>),
        last: Option<&Made<'_>>,
    ) -> Result<Standing, EngineError> {
        let output = output_key(output);
        let keys = self.resolver.judgment_keys(row, judge, output, other);
        if let Some(stored) = self.resolver.judgment(keys)? {
            return Ok(Standing::Reused { run: stored.run, made_at: stored.run_started_at });
        }
        if let Some(old) = keys.stored(|key| self.store.judgment(key))? {
            return Ok(self.passed_over(old.run, old.run_started_at));
        }
        let Some(last) = last else { return Ok(Standing::New) };
        let Some(judgment) = last.judgment(scorer, &judge.model.id)? else { return Ok(Standing::New) };
        let run = last.earlier.run().to_owned();
        if !judge.reusable && judgment.error.is_none() {
            return Ok(Standing::Unversioned { run, who: format!("judge {}", judge.model.id) });
        }
        if judgment.key == keys.own {
            let code = judgment.error.map(|error| error.code);
            let unscored = judgment.scores.iter().any(|(_, score)| score.is_unscored()).then(|| "unscored".to_owned());
            return Ok(code.or(unscored).map_or_else(
                || Standing::Withdrawn { run: run.clone() },
                |code| Standing::Failed { run: run.clone(), code },
            ));
        }
        let mut changes = last.judge_changes(&self.plan.header, scorer, &judge.model.id);
        if last.cell.output_hash != output {
            changes.push(Change::of("output"));
        }
        changes.extend(last.columns(judge.names.iter().map(String::as_str), reads));
        Ok(Standing::Stale { run, changes })
    }
}
