//! The estimators: the mean of people for all outputs, from labels of some and grades of all.

use karat_stats::correction::{JudgeCounts, rogan_gladen};
use karat_stats::interval::Level;

use super::outcome::{AnchorMethod, AnchoredFigure};
use crate::infer::anchored::{AnchorRule, AnchoredMean, JudgedOutput, anchored_mean};
use crate::infer::finding::Finding;

/// The outputs of one metric and system, one of each sample.
#[derive(Default)]
pub(super) struct LabelledOutputs {
    /// With the mean of the labels where a label is open.
    pub outputs: Vec<JudgedOutput>,
    /// The lowest and the highest label of each output.
    pub bounds: Vec<Option<(f64, f64)>>,
    /// Outputs whose labels are open.
    pub open: u64,
    /// The choice of the labelled outputs, where it was not at random from all.
    pub chosen_by: Option<String>,
}

impl LabelledOutputs {
    pub fn labels(&self) -> usize {
        self.outputs.iter().filter(|output| output.human.is_some()).count()
    }

    /// People's mean; where labels are open, with the hull of what they can become.
    fn mean_by(&self, rule: AnchorRule) -> Option<AnchoredMean> {
        let found = anchored_mean(&self.outputs, rule)?;
        if self.open == 0 {
            return Some(found);
        }
        let with = |pick: fn((f64, f64)) -> f64| {
            let all = self.outputs.iter().zip(&self.bounds);
            let outputs: Vec<JudgedOutput> =
                all.map(|(output, ends)| JudgedOutput { human: ends.map(pick), ..*output }).collect();
            anchored_mean(&outputs, rule)
        };
        Some(found.widen_to(&with(|(lo, _)| lo)?, &with(|(_, hi)| hi)?))
    }

    /// The mean of people − judge.
    fn correction(&self, rule: AnchorRule) -> Option<AnchoredMean> {
        let off = |output: &JudgedOutput| JudgedOutput {
            human: output.human.map(|human| human - output.judge),
            judge: 0.0,
            ..*output
        };
        let range = rule.range.map(|(lo, hi)| (lo - hi, hi - lo));
        let outputs: Vec<JudgedOutput> = self.outputs.iter().map(off).collect();
        anchored_mean(&outputs, AnchorRule { binary: false, range, weight: Some(0.0), ..rule })
    }

    /// Writes the figures of people into one of a metric and system: labels alone, the judge's bias, and the anchored mean by
    /// a method. Returns the standard errors of the last and of labels alone.
    pub fn write(&self, method: AnchorMethod, rule: AnchorRule, figure: &mut AnchoredFigure) -> Option<(f64, f64)> {
        let by = self.chosen_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let n = self.outputs.len();
        let human = self.mean_by(AnchorRule { weight: Some(0.0), ..rule })?;
        figure.human = human.finding(self.labels(), &format!("labels alone{by}"));
        figure.correction =
            self.correction(rule).and_then(|it| it.finding(self.labels(), &format!("people − judge{by}")));
        let (weight, name) = match method {
            AnchorMethod::Ppi => (Some(1.0), "PPI"),
            AnchorMethod::Human => (Some(0.0), "labels alone"),
            AnchorMethod::Tuned | AnchorMethod::RoganGladen => (None, "PPI++"),
        };
        let found = self.mean_by(AnchorRule { weight, ..rule })?;
        figure.anchored = found.finding(n, &format!("{name}{by}"));
        let point = |value, name| Finding::point(value, self.labels(), name);
        figure.lambda = point(found.lambda, "PPI++ weight of the judge").filter(|_| found.lambda > 0.0);
        let worth = self.labels() as f64 * (human.se / found.se).powi(2);
        figure.worth = point(worth, "labels of equal precision").filter(|_| found.se > 0.0);
        Some((found.se, human.se))
    }

    /// The labels needed for an interval of this width, where `labels` of them have this standard error: n₀ of outputs
    /// without end, n₀/(1 + n₀/N) of these.
    pub fn labels_needed(&self, error: f64, width: f64, level: Level) -> u64 {
        let (n, all) = (self.labels() as f64, self.outputs.len() as f64);
        let left = (1.0 - n / all).max(f64::EPSILON);
        let unlimited = n / left * (2.0 * level.z() * error / width).powi(2);
        (unlimited / (1.0 + unlimited / all)).ceil() as u64
    }
}

/// The pass rate corrected by the judge's sensitivity and specificity.
pub(super) fn corrected_rate(
    labelled: &LabelledOutputs,
    clustered: bool,
    level: Level,
) -> Result<Option<Finding>, String> {
    if let Some(by) = &labelled.chosen_by {
        return Err(format!("these labels were chosen by {by}, so sensitivity cannot be read from them: use ppi++"));
    }
    if labelled.open > 0 {
        return Err("open labels are neither pass nor fail: use ppi++".to_owned());
    }
    let is_verdict = |value: f64| [0.0_f64, 1.0].iter().any(|verdict| value.total_cmp(verdict).is_eq());
    let outputs = || labelled.outputs.iter();
    if !outputs().all(|it| is_verdict(it.judge) && it.human.is_none_or(is_verdict)) {
        return Err("rogan_gladen corrects pass and fail; use ppi++ for grades".to_owned());
    }
    if clustered {
        return Err("rogan_gladen does not support clusters; use ppi++".to_owned());
    }
    let passes = |value: f64| value >= 1.0;
    let count = |human: bool, agrees: bool| {
        let both = outputs().filter_map(|it| Some((it.human?, it.judge)));
        both.filter(|(y, f)| passes(*y) == human && (!agrees || passes(*f) == human)).count() as u64
    };
    let others = || outputs().filter(|it| it.human.is_none());
    let counts = JudgeCounts {
        judge_pass: others().filter(|it| passes(it.judge)).count() as u64,
        judge_total: others().count() as u64,
        true_pos: count(true, true),
        human_pos: count(true, false),
        true_neg: count(false, true),
        human_neg: count(false, false),
    };
    let found = rogan_gladen(&counts, level).map_err(|error| error.to_string())?;
    let corrected = found.corrected.ok_or(
        "the judge is no better than chance on the labels, or they lack passes or fails: its pass rate cannot be corrected",
    )?;
    let point = Finding::point(corrected.estimate, labelled.outputs.len(), "Rogan-Gladen");
    Ok(point.map(|it| it.with_named_interval(corrected.interval).with_se(corrected.standard_error)))
}
