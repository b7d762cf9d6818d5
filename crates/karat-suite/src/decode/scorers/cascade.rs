//! Cascades: a cheaper judge or scorer goes first, and the judges see only part of the cells.

use karat_text::template::Expression;
use karat_types::{CascadeSpec, Consensus, RubricScorer, ScorerKind, ScorerSpec, UnsureRule, first_metric};

use crate::check::share;
use crate::decode::Decoder;
use crate::decode::scorers::metrics;
use crate::registry::Registry;
use crate::syntax::names;
use crate::syntax::node::{Entry, Node};

/// The end of the id of a first judge's own scorer.
const FIRST: &str = "-first";

impl Decoder<'_> {
    /// The scorers with their cascades. A judge that goes first becomes a scorer of its own, right after the one that it
    /// goes before.
    pub(super) fn cascades(
        &mut self,
        entries: &[Entry],
        mut scorers: Vec<ScorerSpec>,
        judges: &[String],
        registry: &Registry,
    ) -> Vec<ScorerSpec> {
        for entry in entries {
            let Some(node) = entry.node.field("cascade") else { continue };
            let Some(at) = scorers.iter().position(|scorer| scorer.id == entry.key) else { continue };
            let Some((mut spec, own)) = self.cascade(entry, node, &scorers, registry) else { continue };
            let ScorerKind::Rubric(rubric) = &scorers[at].kind else { continue };
            if let Some(judge) = own.as_ref().filter(|judge| is_only_judge(entry, rubric, judge, judges)) {
                let place = node.field("first").map_or(&node.place, |first| &first.place);
                self.problems
                    .error(place, format!("the first judge `{judge}` is also the only judge of `{}`", entry.key))
                    .hint("name another judge under `judges` or with --judges, or a cheaper one as `first`");
                continue;
            }
            // Without judges the scorer is off, and so is what goes before it.
            if rubric.judges.is_empty() {
                continue;
            }
            if let Some(judge) = own {
                let first = first_judge(&scorers[at], rubric, judge);
                if scorers.iter().any(|scorer| scorer.id == first.id) {
                    let message = format!("a scorer has the id `{}`, which is that of the first judge", first.id);
                    self.problems.error(&node.place, message).hint("give that scorer another id");
                    continue;
                }
                spec.first.clone_from(&first.id);
                scorers.insert(at + 1, first);
            }
            scorers[at].cascade = Some(spec);
            self.same_scale(node, &scorers, at);
        }
        scorers
    }

    /// The cascade of a scorer, and the judge that goes first where it is not a scorer.
    fn cascade(
        &mut self,
        entry: &Entry,
        node: &Node,
        scorers: &[ScorerSpec],
        registry: &Registry,
    ) -> Option<(CascadeSpec, Option<String>)> {
        self.only_means(entry);
        let first = node.field("first")?;
        let id = first.text()?;
        let own = match scorers.iter().find(|scorer| scorer.id == id) {
            Some(scorer) if scorer.id == entry.key => {
                self.problems
                    .error(&first.place, "a scorer cannot go before itself")
                    .hint("name a cheaper judge, or another scorer");
                return None;
            }
            Some(scorer) => {
                if matches!(&scorer.kind, ScorerKind::Rubric(rubric) if rubric.judges.is_empty()) {
                    self.problems
                        .error(&first.place, format!("the scorer `{id}` goes first, but it has no judge"))
                        .hint("name one under its `judges`");
                }
                if scorer.cascade.is_some() {
                    self.problems
                        .error(&first.place, format!("the scorer `{id}` goes first, but it has a cascade itself"))
                        .hint("name a scorer that scores every cell");
                }
                None
            }
            None => Some(self.chat_model(id, &first.place, registry)?.id),
        };
        let asked = node.field("share").and_then(|node| Some((node, share(node)?.0)));
        if let Some((node, share)) = asked.filter(|(_, share)| *share < CascadeSpec::MIN_SHARE) {
            let message = format!("`share` is {} %, too few answers for an estimate", share * 100.0);
            self.problems.error(&node.place, message).hint("write at least `5%`");
        }
        let spec = CascadeSpec {
            first: id.to_owned(),
            share: asked.map_or(CascadeSpec::SHARE, |(_, share)| share),
            unsure: node.field("unsure").map(|unsure| self.unsure(unsure)).unwrap_or_default(),
            sure: Vec::new(),
        };
        Some((spec, own))
    }

    fn unsure(&mut self, node: &Node) -> UnsureRule {
        let Some(text) = node.text() else { return UnsureRule::Standard };
        if text.trim() == "false" {
            return UnsureRule::Never;
        }
        let inlined = self.params.inline_expression(text, &node.place, &mut self.problems);
        if let Ok(expression) = Expression::compile(&inlined) {
            names::check(expression.reads(), text, &node.place, names::CASCADE, &mut self.pending, &mut self.problems);
        }
        UnsureRule::Where(inlined)
    }

    /// A cascade estimates a mean over single outputs.
    fn only_means(&mut self, entry: &Entry) {
        for key in ["reduce", "aggregate"] {
            if let Some(other) = entry.node.field(key).filter(|it| it.text() != Some("mean")) {
                self.problems
                    .error(&other.place, format!("a cascade estimates means, so `{key}` must be `mean`"))
                    .hint(format!("remove `{key}` or `cascade`"));
            }
        }
        if let Some(versus) = entry.node.field("versus") {
            self.problems
                .error(&versus.place, "`versus` cannot be combined with `cascade`: a cascade is about single outputs")
                .hint("remove one of the two");
        }
    }

    /// Refuses a first scorer that does not have a scorer's metrics on the same scale.
    fn same_scale(&mut self, node: &Node, scorers: &[ScorerSpec], at: usize) {
        let metrics = metrics::of_scorers(scorers, self.catalog);
        let first = scorers[at].cascade.as_ref().map_or("", |cascade| cascade.first.as_str());
        let place = node.field("first").map_or(&node.place, |first| &first.place);
        for (index, own) in metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == at) {
            let range = |range: Option<(f64, f64)>| {
                range.map_or("without a range".to_owned(), |(lo, hi)| format!("from {lo} to {hi}"))
            };
            match first_metric(scorers, &metrics, index).and_then(|it| metrics.get(it)) {
                None => {
                    self.problems
                        .error(place, format!("`{first}` has no score that stands for `{}`", own.name))
                        .hint("name a judge, or a scorer with the same dimensions");
                }
                Some(other) if other.range != own.range || own.range.is_none() || other.better != own.better => {
                    let message = format!(
                        "`{}` is {}, and `{}` is {}: a cascade needs the same scale and direction",
                        other.name,
                        range(other.range),
                        own.name,
                        range(own.range)
                    );
                    self.problems.error(place, message).hint("name a judge, or a scorer on the same scale");
                }
                Some(_) => {}
            }
        }
    }
}

/// Returns whether a rubric names the judge that goes first and no other, or the suite's `judges` do where it names none.
fn is_only_judge(entry: &Entry, rubric: &RubricScorer, first: &str, judges: &[String]) -> bool {
    let is_alone = |judges: &[String]| !judges.is_empty() && judges.iter().all(|judge| judge == first);
    // The scorer's judges are those of the suite without the first, unless it names its own.
    is_alone(&rubric.judges)
        || rubric.judges.is_empty()
            && is_alone(judges)
            && entry.node.field("judges").is_none_or(|own| !own.items().is_empty())
}

/// The scorer of the judge that goes before `scorer`: the same rubric and bounds.
fn first_judge(scorer: &ScorerSpec, rubric: &RubricScorer, judge: String) -> ScorerSpec {
    let shows_labels = rubric.rubric.examples > 0;
    ScorerSpec {
        id: format!("{}{FIRST}", scorer.id),
        about: Some(format!("The first judge of `{}`", scorer.id)),
        kind: ScorerKind::Rubric(Box::new(RubricScorer {
            judges: vec![judge],
            consensus: Consensus::default(),
            labels: if shows_labels { rubric.labels.clone() } else { Vec::new() },
            ..rubric.clone()
        })),
        cascade: None,
        is_first_judge: true,
        ..scorer.clone()
    }
}
