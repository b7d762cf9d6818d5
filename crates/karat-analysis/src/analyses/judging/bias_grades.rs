//! The grades that `judge_bias` looks at, each with the features of its output other than quality.
//!
//! In a tournament each game is a grade of both of its outputs, whichever cell holds the judgment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use karat_stats::describe::mean;
use karat_types::{PairDesign, PlanHeader};
use serde_json::Value;

use crate::analyses::ScoredCell;

/// The grade of one judge for one cell in one metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct JudgeGrade {
    pub sample: usize,
    pub grade: f64,
    pub words: f64,
    pub markup: f64,
    /// People's mean grade, if any.
    pub human: Option<f64>,
    /// The other judges' mean, if any.
    pub others: Option<f64>,
    pub system: usize,
}

/// Grades by judge and metric.
pub(super) type GradesByJudge = BTreeMap<(usize, usize), Vec<JudgeGrade>>;

/// The features of an output, and what people say of it.
#[derive(Debug, Clone, Default)]
pub(super) struct JudgedOutput {
    pub words: f64,
    pub markup: f64,
    /// People's mean grade by metric.
    pub human: BTreeMap<usize, f64>,
}

impl JudgedOutput {
    pub fn new(output: &Value, human: BTreeMap<usize, f64>) -> Self {
        let text = all_text(output);
        let words = (1.0 + text.split_whitespace().count() as f64).log2();
        Self { words, markup: markup_share(&text), human }
    }
}

/// A game.
#[derive(Debug, Clone, Copy)]
struct CollectedGame {
    judge: usize,
    metric: usize,
    own: (usize, u32),
    other: (usize, u32),
    /// 1, ½ or 0 for the own output.
    points: f64,
}

/// Collects the games of a tournament, sample by sample.
#[derive(Debug)]
pub(super) struct GameCollector {
    design: PairDesign,
    scorer: usize,
    sample: usize,
    /// Outputs of the sample by system and trial.
    outputs: BTreeMap<(usize, u32), JudgedOutput>,
    games: Vec<CollectedGame>,
}

impl GameCollector {
    pub fn new(design: PairDesign, scorer: usize) -> Self {
        Self { design, scorer, sample: 0, outputs: BTreeMap::new(), games: Vec::new() }
    }

    /// Adds a cell; cells of a sample follow each other.
    pub fn add(&mut self, plan: &PlanHeader, cell: &ScoredCell<'_>, judged: JudgedOutput, grades: &mut GradesByJudge) {
        if cell.sample != self.sample {
            self.close_sample(grades);
            self.sample = cell.sample;
        }
        let (system, trial) = (cell.row.system, cell.row.trial);
        self.outputs.insert((system, trial), judged);
        let opponents = self.design.opponents(plan.place(cell.row.cell.ordinal).0, system);
        for judgment in cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == self.scorer) {
            for metric in judgment.scores.iter().map(|(metric, _)| *metric) {
                for game in judgment.games(metric) {
                    let Some(other) = opponents.get(usize::from(game.opponent)).copied() else { continue };
                    self.games.push(CollectedGame {
                        judge: usize::from(judgment.judge),
                        metric: usize::from(metric),
                        own: (system, trial),
                        other: (other, plan.paired_trial(other, trial)),
                        points: game.result.points(),
                    });
                }
            }
        }
    }

    /// Grades both outputs of each game of the sample, once all of its outputs are known.
    pub fn close_sample(&mut self, grades: &mut GradesByJudge) {
        let (games, outputs) = (std::mem::take(&mut self.games), std::mem::take(&mut self.outputs));
        for game in &games {
            let is_same = |it: &&CollectedGame| (it.metric, it.own, it.other) == (game.metric, game.own, game.other);
            let others = games.iter().filter(is_same).filter(|it| it.judge != game.judge).map(|it| it.points);
            let others = mean(&others.collect::<Vec<_>>());
            let sides = [(game.own, game.points, others), (game.other, 1.0 - game.points, others.map(|it| 1.0 - it))];
            for (place, grade, others) in sides {
                let Some(judged) = outputs.get(&place) else { continue };
                grades.entry((game.judge, game.metric)).or_default().push(JudgeGrade {
                    sample: self.sample,
                    grade,
                    words: judged.words,
                    markup: judged.markup,
                    human: judged.human.get(&game.metric).copied(),
                    others,
                    system: place.0,
                });
            }
        }
    }
}

/// All texts within an output, one per line; other values as JSON.
fn all_text(output: &Value) -> String {
    fn gather<'v>(value: &'v Value, into: &mut Vec<Cow<'v, str>>) {
        match value {
            Value::String(text) => into.push(text.into()),
            Value::Array(items) => items.iter().for_each(|item| gather(item, into)),
            Value::Object(members) => members.values().for_each(|member| gather(member, into)),
            Value::Null => {}
            other => into.push(other.to_string().into()),
        }
    }
    let mut texts = Vec::new();
    gather(output, &mut texts);
    texts.join("\n")
}

/// The share of a text's lines with Markdown: headings, lists, tables, quotes, code, bold.
fn markup_share(text: &str) -> f64 {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let numbered = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "))
    };
    let marked = |line: &&&str| {
        ["#", "- ", "* ", "+ ", "> ", "|", "```"].iter().any(|mark| line.starts_with(mark))
            || numbered(line)
            || line.matches("**").count() >= 2
    };
    if lines.is_empty() { 0.0 } else { lines.iter().filter(marked).count() as f64 / lines.len() as f64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_of_an_output_counts() {
        assert_eq!(all_text(&json!({"a": "x", "b": [1, {"c": "y"}, null]})), "x\n1\ny");
    }

    #[test]
    fn markup_is_a_share_of_lines() {
        assert_eq!((markup_share("# Head\n\nplain\n- item\n2. second"), markup_share("**a**")), (0.75, 1.0));
        assert_eq!((markup_share(""), markup_share("2024 was plain"), markup_share("a **b** c")), (0.0, 0.0, 1.0));
    }
}
