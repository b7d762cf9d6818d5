//! The single pass over a run's rows that builds its findings.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use karat_stats::inference::DECIDABLE_DF;
use karat_stats::interval::Level;
use karat_types::{
    CallErrorCode, CellRow, CellStatus, Gate, NoteKind, PASS, PlanHeader, Policy, RunHeader, RunRows, RunStatus,
    StoredStop,
};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{
    self, AnalysisResult, Errors, FinishContext, Outcome, RunningAnalysis, ScoredCell, SkippedAnalyses,
};
use crate::compare::contrasts::add_contrasts;
use crate::figures::aggregate::spread;
use crate::figures::breakdown::BreakdownSums;
use crate::figures::cost::Spend;
use crate::figures::groups::{self, CellCounts, Group, Members};
use crate::figures::leaderboard::{Leaderboard, rank_all};
use crate::figures::looks::Looks;
use crate::findings::baseline_variants::compare_baseline_variants;
use crate::findings::unmatched_outputs::{OutputPaths, UnmatchedOutput};
use crate::findings::{Findings, SampleCosts, Summary};
use crate::gate::{apply_ends, gated_changes};
use crate::infer::measure::Measure;
use crate::reference::pinned::Pinned;
use crate::run::missing_judges::missing_judges;
use crate::run::{answer, recommend};
use crate::score::cascade::CascadeBuilder;
use crate::score::checks::resolve_checks;
use crate::score::consensus::CellScores;
use crate::score::instrument::instruments;
use crate::score::instrument::metric_names::{by_words_warning, deciding_metric, primary_metric};
use crate::score::instrument::served_models::{ServedModels, several_names_warnings};
use crate::score::people::PeopleTask;
use crate::score::prefix::Prefix;
use crate::score::table::{ScoreTable, TableBuilder};

/// Options of [`analyse`].
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Confidence level of all intervals.
    pub level: Level,
    /// The rules by which contrasts are corrected and left undecided.
    pub policy: Policy,
    /// The pinned run named by the suite, for analyses that compare with it.
    pub baseline: Option<Arc<Pinned>>,
    /// Labels and verdicts of people on the suite's outputs in closed tasks, the newest task first.
    pub people: Arc<[PeopleTask]>,
    /// The earlier looks at what the run compares.
    pub looks: Looks,
    /// The run's gates: a change that one of them decides by interval leaves the family of its axis.
    pub gates: Vec<Gate>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::P95,
            policy: Policy::default(),
            baseline: None,
            people: Arc::default(),
            looks: Looks::default(),
            gates: Vec::new(),
        }
    }
}

/// Analyses a stored run.
///
/// Reads the rows once, in plan order. Memory is nine bytes per sample × system × metric, plus the samples' ids and
/// what pairwise analyses keep; outputs and texts are never kept.
///
/// # Errors
/// A run without cells, unreadable rows, rows that contradict the plan, unknown rules of scorers and metrics, or wrong
/// options of an analysis.
pub fn analyse(rows: &dyn RunRows, options: &Options) -> Result<Findings, AnalysisError> {
    let header = rows.header();
    let unreadable = |source| AnalysisError::Rows { run: header.id.clone(), source };
    let prefix = Prefix::of(rows).map_err(unreadable)?;
    let rows = prefix.as_ref().map_or(rows, |prefix| prefix as &dyn RunRows);
    let plan = resolve_checks(rows).map_err(unreadable)?;
    let measures = plan.metrics.iter().map(|metric| Measure::of(&plan, metric, options.level));
    let measures = measures.collect::<Result<Vec<_>, _>>()?;
    let mut pass = PassState::new(header, plan, &options.people)?;
    let mut wrong = None;
    rows.for_each(&mut |row| match add_row(&mut pass, rows, &row) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            wrong = Some(error);
            ControlFlow::Break(())
        }
    })
    .map_err(unreadable)?;
    match wrong {
        Some(error) => Err(error),
        None if pass.is_empty() => Err(AnalysisError::Empty {
            run: header.id.clone(),
            suite: pass.plan.suite.clone(),
            planned: header.planned_cells(),
        }),
        None => {
            let unmatched = match pass.is_finished {
                true => pass.paths.unmatched_scorers(&pass.plan, rows).map_err(unreadable)?,
                false => Vec::new(),
            };
            let stop = rows.stop().cloned().map(Arc::new);
            let mut findings = pass.finish(measures, unmatched, (options.baseline.as_deref(), stop));
            findings.primary = deciding_metric(&findings.plan, &options.gates);
            findings.summary = summary(&findings.plan, findings.primary, &findings.leaderboards);
            findings.looks = options.looks.clone();
            findings.gated = gated_changes(&findings, rows, &options.gates, &options.policy)?;
            add_contrasts(&mut findings, &options.policy);
            findings.summary.answers = answer::answers(&findings, &options.gates);
            findings.recommendations = recommend::recommend(&findings, &options.gates);
            apply_ends(&mut findings);
            Ok(findings)
        }
    }
}

/// Adds the current row of `rows`, with its output if an analysis needs it.
fn add_row(pass: &mut PassState, rows: &dyn RunRows, row: &CellRow<'_>) -> Result<(), AnalysisError> {
    let (run, ordinal) = (&rows.header().id, row.cell.ordinal);
    let output = pass.wants_output(row).then(|| rows.output(ordinal)).transpose();
    let output = output.map_err(|source| AnalysisError::Rows { run: run.clone(), source })?.flatten();
    let out_of_plan = |what| AnalysisError::OutOfPlan { run: run.clone(), ordinal, what };
    pass.add_cell(row, output.as_ref()).map_err(out_of_plan)
}

/// Checks the options of every analysis of a plan before anything runs.
///
/// # Errors
/// The first analysis whose options do not fit the plan.
pub fn check(plan: &Arc<PlanHeader>) -> Result<(), AnalysisError> {
    let (_, skipped) = analyses::start_analyses(plan, &Arc::default())?;
    skipped.unreadable.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// The state that accumulates cell by cell.
struct PassState {
    plan: Arc<PlanHeader>,
    is_finished: bool,
    /// Number of planned cells.
    planned: u64,
    table: TableBuilder,
    analyses: Vec<RunningAnalysis>,
    skipped: SkippedAnalyses,
    /// By system.
    tallies: Vec<CellCounts>,
    spends: Vec<Spend>,
    costs: SampleCosts,
    breakdown: BreakdownSums,
    answers: ServedModels,
    paths: OutputPaths,
    cascades: CascadeBuilder,
}

impl PassState {
    fn new(header: &RunHeader, plan: Arc<PlanHeader>, people: &Arc<[PeopleTask]>) -> Result<Self, AnalysisError> {
        let (analyses, skipped) = analyses::start_analyses(&plan, people)?;
        Ok(Self {
            plan: plan.clone(),
            is_finished: header.status == RunStatus::Finished,
            planned: header.planned_cells(),
            table: TableBuilder::new(plan.clone())?,
            analyses,
            skipped,
            tallies: vec![CellCounts::default(); plan.systems.len()],
            spends: vec![Spend::default(); plan.systems.len()],
            costs: SampleCosts::default(),
            breakdown: BreakdownSums::default(),
            answers: ServedModels::of(&plan),
            paths: OutputPaths::of(&plan),
            cascades: CascadeBuilder::new(&plan),
        })
    }

    fn is_empty(&self) -> bool {
        self.tallies.iter().all(|tally| tally.cells == 0)
    }

    fn wants_output(&self, row: &CellRow<'_>) -> bool {
        row.cell.status == CellStatus::Ok && self.analyses.iter().any(|running| running.analysis.wants_output())
    }

    /// Adds a row, with its output if an analysis needs it. The error names the item that the plan lacks.
    fn add_cell(&mut self, row: &CellRow<'_>, output: Option<&Value>) -> Result<(), String> {
        if let Some((metric, _)) = row.cell.scores.iter().find(|(at, _)| usize::from(*at) >= self.plan.metrics.len()) {
            return Err(format!("metric {metric}"));
        }
        let (Some(tally), Some(sum)) = (self.tallies.get_mut(row.system), self.spends.get_mut(row.system)) else {
            return Err(format!("system {}", row.system));
        };
        let scores = CellScores::of(&self.plan, row);
        let spend = Spend::of(row);
        let cell = CellCounts::of(&self.plan, row, &scores);
        *tally += if self.is_finished { cell } else { cell.with_waiting(&self.plan, row, &scores) };
        *sum += spend;
        self.breakdown.add(&self.plan, row);
        self.answers.add(row);
        self.paths.add(&self.plan, row);
        let sample = self.table.add(row, &scores);
        self.cascades.add(&self.plan, row, &scores, sample);
        self.costs.add(sample, spend.cost());
        let cell = ScoredCell { row: *row, scores: &scores, sample, output };
        self.analyses.iter_mut().for_each(|running| running.analysis.add_cell(&cell));
        Ok(())
    }

    fn finish(
        self,
        mut measures: Vec<Measure>,
        unmatched_outputs: Vec<UnmatchedOutput>,
        (baseline, stop): (Option<&Pinned>, Option<Arc<StoredStop>>),
    ) -> Findings {
        let plan = self.plan;
        let recut_warning = self.paths.recut_warning(&plan);
        let mut table = self.table.finish();
        let cascades = self.cascades.finish(|sample| table.cluster(sample));
        table.apply_cascades(cascades);
        for (metric, spec) in plan.metrics.iter().enumerate() {
            if unmatched_outputs.iter().any(|unmatched| unmatched.scorer == spec.scorer) {
                table.unscore(metric);
            }
        }
        for (metric, measure) in measures.iter_mut().enumerate() {
            measure.binary = table.is_binary(metric);
        }
        let mut leaderboards = rank_all(&plan, &table, &measures);
        let context = FinishContext {
            plan: &plan,
            measures: &measures,
            table: &table,
            leaderboards: &leaderboards,
            is_finished: self.is_finished,
            baseline,
        };
        let analyses: Vec<AnalysisResult> = self.analyses.into_iter().map(|running| running.finish(&context)).collect();
        clear_order_dependent(&plan, &analyses, &mut leaderboards);
        // Groups of the same systems have the same figures; in a run with one system that is every group.
        let mut known = BTreeMap::<Vec<usize>, Vec<crate::Spread>>::new();
        let mut group = |members: Members| Group {
            tally: members.systems.iter().filter_map(|at| self.tallies.get(*at)).fold(CellCounts::default(), sum),
            spend: members.systems.iter().filter_map(|at| self.spends.get(*at)).fold(Spend::default(), sum),
            metrics: (known.entry(members.systems.clone()))
                .or_insert_with_key(|systems| figures(&table, &measures, systems))
                .clone(),
            answered_as: self.answers.of_systems(&members.systems),
            id: members.id,
            model: members.model,
            variant: members.variant,
            systems: members.systems,
        };
        let primary = primary_metric(&plan);
        let judges = self.answers.judges(&plan);
        let mut findings = Findings {
            planned: self.planned,
            run: group(groups::whole_run(&plan)),
            systems: groups::systems(&plan).into_iter().map(&mut group).collect(),
            models: groups::models(&plan).into_iter().map(&mut group).collect(),
            variants: groups::variants(&plan).into_iter().map(&mut group).collect(),
            instruments: instruments(&plan, &judges),
            judges,
            summary: summary(&plan, primary, &leaderboards),
            leaderboards,
            primary,
            baselines: compare_baseline_variants(&plan, &table, &measures),
            analyses,
            unmatched_outputs,
            stop,
            warnings: Vec::new(),
            contrasts: Vec::new(),
            looks: Looks::default(),
            gated: Vec::new(),
            recommendations: Vec::new(),
            costs: self.costs,
            breakdown: self.breakdown.finish(&plan),
            plan,
            measures,
            table,
        };
        findings.warnings = warnings(&findings, &self.skipped);
        findings.warnings.extend(recut_warning);
        findings
    }
}

fn sum<T: std::ops::AddAssign<T> + Copy>(mut sum: T, next: &T) -> T {
    sum += *next;
    sum
}

/// Ranks nothing by verdicts that change with the order of the outputs.
fn clear_order_dependent(plan: &PlanHeader, analyses: &[AnalysisResult], boards: &mut [Leaderboard]) {
    let rankings =
        analyses.iter().filter_map(|it| if let Outcome::Ranking(it) = &it.outcome { Some(it) } else { None });
    for ranking in rankings.flat_map(|it| &it.rankings).filter(|it| it.unreliable) {
        if let Some(board) = plan.metric(&ranking.metric).and_then(|at| boards.get_mut(at)) {
            *board = Leaderboard { order_dependent: true, ..Leaderboard::default() };
        }
    }
}

/// Code of an error of a template of a step or rubric.
const TEMPLATE: &str = "template";

fn figures(table: &ScoreTable, measures: &[Measure], systems: &[usize]) -> Vec<crate::Spread> {
    let figure = |(metric, measure): (usize, &Measure)| spread(table, metric, *measure, systems, 0..table.samples());
    measures.iter().enumerate().map(figure).collect()
}

fn summary(plan: &PlanHeader, primary: Option<usize>, boards: &[Leaderboard]) -> Summary {
    let Some((metric, board)) = primary.and_then(|at| Some((plan.metrics.get(at)?, boards.get(at)?))) else {
        return Summary::default();
    };
    let id = |place: Option<&crate::RankedPlace>| place.map(|place| place.id.clone());
    let models = groups::models(plan);
    let only_model = models.first().filter(|_| models.len() == 1 && groups::ranks_variants(plan));
    let worst = board.places.last().filter(|_| board.places.len() > 1 && only_model.is_none());
    Summary {
        metric: Some(metric.name.clone()),
        best_model: only_model.map_or_else(|| id(board.places.first()), |only| Some(only.id.clone())),
        worst_model: id(worst),
        hardest_sample: id(board.hardest_sample.as_ref()),
        shared: board.shared,
        scored: board.scored,
        answers: Vec::new(),
    }
}

/// The warning about figures without a claim, whose intervals do not know of the stop.
fn stop_warning(findings: &Findings) -> Option<String> {
    let record = &findings.stop.as_deref()?.record;
    record.is_stopped().then(|| {
        format!(
            "The run stopped early: figures are of {} of {} samples. Those that no gate asked about have no interval: one for a \
             fixed number of samples would be too narrow.",
            record.stopped_after_samples, record.samples
        )
    })
}

fn warnings(findings: &Findings, skipped: &SkippedAnalyses) -> Vec<String> {
    let mut warnings = Vec::new();
    let tally = findings.run.tally;
    let open = findings.planned.saturating_sub(tally.cells) + tally.stopped;
    // The rest of a stopped run is not wanted.
    let is_whole = findings.stop.as_deref().is_none_or(|stop| stop.to_end);
    if !is_whole {
        warnings.extend(stop_warning(findings));
    } else if open > 0 {
        warnings.push(format!(
            "Planned cells without a result: {open} of {}. Figures cover the other cells; resume the run to complete it.",
            findings.planned
        ));
    }
    warnings.extend(findings.plan.script_warning());
    warnings.extend(findings.plan.own_family_warning());
    warnings.extend(unscored_metrics_warning(findings));
    warnings.extend(missing_judges(findings));
    if tally.errors > 0 || tally.unscored > 0 {
        warnings.push(format!(
            "Cells without an output: {}; with a score that failed: {}. Figures leave them out and do not count them as 0.",
            tally.errors, tally.unscored
        ));
    }
    if tally.unjudged > 0 {
        let (unjudged, ok) = (tally.unjudged, tally.ok);
        let cause = findings.errors().and_then(Errors::of_judges);
        // A template fails for the same values again; a program may have lacked what it has by then.
        let may_pass = cause.is_none_or(|(code, _)| {
            code != TEMPLATE
                && CallErrorCode::from_code(code).is_none_or(|it| it.may_pass() || it == CallErrorCode::Process)
        });
        let mend = match tally.unfit {
            0 if !may_pass => "Fix the cause and run the suite again, which reuses what is finished.".to_owned(),
            0 => "`karat retry` repeats the calls.".to_owned(),
            unfit => format!(
                "{unfit} of them exceed every judge's context window: split the value with `chunk`, or use a judge with a \
                 larger window. `karat retry` repeats the other calls."
            ),
        };
        warnings.push(format!("Cells without a judgment: {unjudged} of {ok}. {mend}"));
    }
    let single = findings.grading().map_or(0, |grading| grading.single_judge_cells);
    if single > 0 {
        warnings.push(format!(
            "Cells graded by a single judge although a consensus is configured: {single}. They keep that judge's score."
        ));
    }
    let few = findings.grading().map_or(0, |grading| grading.few_judge_cells).saturating_sub(single);
    if few > 0 {
        warnings.push(format!(
            "Cells graded by several judges, but by fewer than `consensus.min_judges`: {few}. They keep their scores; \
             `karat retry` calls the other judges again."
        ));
    }
    let kinds = findings.notes().map_or(&[][..], |notes| &notes.kinds);
    warnings.extend(kinds.iter().find(|note| note.kind == NoteKind::Breach).map(|breach| {
        format!(
            "Calls that used more than was reserved for them: {}. Such a provider can exceed a budget. The first one: \
             {}, sample {}.",
            breach.times, breach.example, breach.sample
        )
    }));
    warnings.extend(several_names_warnings("model", &findings.run.answered_as));
    warnings.extend(findings.judges.iter().flat_map(|judge| several_names_warnings("judge", &judge.answered_as)));
    let clusters: std::collections::BTreeSet<u32> =
        (0..findings.samples()).map(|sample| findings.table.cluster(sample)).take(100_000).collect();
    match clusters.len() {
        _ if !findings.table.is_clustered() => {}
        1 => warnings.push(
            "All samples belong to one cluster, so the variation between clusters is unknown and means have no interval."
                .to_owned(),
        ),
        found => {
            let open = findings.systems.iter().chain([&findings.run]).flat_map(|group| &group.metrics);
            let worth = open.filter_map(|it| it.figure()?.effective_clusters()).fold(f64::INFINITY, f64::min);
            if worth < DECIDABLE_DF + 1.0 {
                warnings.push(format!(
                    "The samples belong to {found} clusters, worth {worth:.1} of equal size: intervals are shown, and nothing is decided by them."
                ));
            }
        }
    }
    warnings.extend(findings.analyses.iter().filter_map(|analysis| match &analysis.outcome {
        Outcome::Diagnostics(found) if found.lacks_items() => Some(format!(
            "The analysis `{}` found no list at `{}` in any of {} outputs, so it has no items. Correct `items`.",
            analysis.id, found.items, found.all.evaluated
        )),
        Outcome::Diagnostics(found) if !found.absent_sections.is_empty() => Some(format!(
            "The analysis `{}` found the header of these sections in no text: {}. Correct their patterns under `sections`.",
            analysis.id,
            found.absent_sections.join(", ")
        )),
        _ => None,
    }));
    warnings.extend(by_words_warning(&findings.plan));
    if !skipped.unknown.is_empty() {
        let unknown = skipped.unknown.join(", ");
        warnings.push(format!("This version does not know these analyses and skipped them: {unknown}."));
    }
    warnings.extend(skipped.unreadable.iter().map(|(id, _)| {
        format!("The analysis `{id}` was skipped: this version does not have the options that the run was stored with.")
    }));
    warnings
}

/// The warning about metrics without a single score because they apply to no output, or because no scorer is on.
fn unscored_metrics_warning(findings: &Findings) -> Option<String> {
    if findings.run.tally.ok == 0 {
        return None;
    }
    if findings.plan.metrics.is_empty() {
        return Some(
            "No output is scored, because no scorer is enabled. The outputs are stored; `karat score` can score them."
                .to_owned(),
        );
    }
    let spreads = findings.plan.metrics.iter().zip(&findings.run.metrics);
    let silent = spreads.filter(|(metric, spread)| {
        metric.name != PASS && spread.n() == 0 && spread.n_unscored() == 0 && spread.n_na() > 0
    });
    let names: Vec<&str> = silent.map(|(metric, _)| metric.name.as_str()).collect();
    let why = "; `karat show` prints the reason of each cell";
    (!names.is_empty())
        .then(|| format!("Metrics without a score, because they apply to no output: {}{why}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, example};

    /// CL-18: an empty matrix is a structured error that says what to do.
    #[test]
    fn an_empty_matrix_is_an_error() {
        let error = analyse(&Sketch::new(2, 1, 3).run(), &Options::default()).unwrap_err();
        assert!(matches!(&error, AnalysisError::Empty { planned: 6, .. }));
        assert!(error.to_string().contains("resume"), "{error}");
    }

    /// CL-18: a valid summary from a full matrix; best, worst and hardest on shared cells.
    #[test]
    fn the_example_has_a_best_a_worst_and_a_hardest() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        let summary = &findings.summary;
        assert_eq!(summary.metric.as_deref(), Some("quality.overallScore"));
        assert_eq!(summary.best_model.as_deref(), Some("atlas-large"));
        assert!(summary.worst_model.is_some() && summary.hardest_sample.is_some());
        assert!(summary.shared < summary.scored);
    }

    #[test]
    fn the_overall_figure_is_the_equal_weight_mean_over_systems() {
        let run = Sketch::new(2, 1, 3).value(0, 0, 9.0).value(1, 0, 9.0).value(2, 0, 9.0).value(0, 1, 3.0).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        assert_eq!(findings.run.metrics[0].value(), Some(6.0));
        assert_eq!(findings.run.metrics[0].n(), 4);
    }

    #[test]
    fn analysis_is_deterministic() {
        let run = example();
        let both: Vec<String> = (0..2).map(|_| format!("{:?}", analyse(&run, &Options::default()).unwrap())).collect();
        assert_eq!(both[0], both[1]);
    }

    /// CL-16: a warning if one judge is left of several.
    #[test]
    fn cells_with_a_single_judge_cause_a_warning() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        assert!(findings.warnings.iter().any(|warning| warning.contains("a single judge")), "{:?}", findings.warnings);
    }

    /// CL-16: fewer judges than `min_judges` give a warning with the number of cells; the scores stay.
    #[test]
    fn fewer_judges_than_configured_cause_a_warning() {
        let mut run = example();
        let of_two = analyse(&run, &Options::default()).unwrap();
        let plan = Arc::make_mut(&mut run.header.plan);
        for scorer in &mut plan.scorers {
            if let karat_types::ScorerKind::Rubric(rubric) = &mut scorer.kind {
                rubric.consensus.min_judges = 3;
            }
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let (before, after) = (of_two.grading().unwrap(), findings.grading().unwrap());
        assert_eq!(before.few_judge_cells, before.single_judge_cells);
        assert_eq!(after.few_judge_cells, before.shared_cells + before.single_judge_cells);
        let said = format!("fewer than `consensus.min_judges`: {}.", before.shared_cells);
        assert!(findings.warnings.iter().any(|warning| warning.contains(&said)), "{:?}", findings.warnings);
        assert_eq!(findings.run.metrics[0].value(), of_two.run.metrics[0].value());
    }

    #[test]
    fn an_unknown_system_contradicts_the_plan() {
        let mut run = Sketch::new(1, 1, 1).fill(5.0).run();
        run.cells[0].system = 7;
        let error = analyse(&run, &Options::default()).unwrap_err();
        assert!(matches!(error, AnalysisError::OutOfPlan { .. }));
    }

    /// CL-22: costs add up to the same sum over models, variants and samples.
    #[test]
    fn costs_add_up_in_every_breakdown() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        let total = findings.run.spend.cost().unwrap();
        let by_variant = findings.variants.iter().filter_map(|it| it.spend.cost()).sum();
        let by_sample = (0..findings.samples()).filter_map(|at| findings.sample(at).cost).sum();
        assert_eq!((total, total), (by_variant, by_sample));
        let judges = findings.breakdown.judges.iter().filter_map(|line| line.cost).sum();
        let steps = findings.breakdown.steps.iter().filter_map(|line| line.cost).sum();
        let spend = findings.run.spend;
        assert_eq!((spend.judging.cost(), spend.extraction.cost()), (Some(judges), Some(steps)));
        assert!(findings.run.spend.amount_paid() < total);
    }
}
