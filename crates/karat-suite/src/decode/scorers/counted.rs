//! Dimensions that are counted: their list and their condition must fit the findings that the judge returns.

use karat_text::template::Expression;
use karat_types::{CountedShare, DiagnosticSpec, Dimension, FieldType, OverallMethod, Rubric};

use crate::decode::Decoder;
use crate::diagnostics::nearest::suggestion;
use crate::syntax::node::{Entry, Node};
use crate::syntax::notation;

/// The name under which a condition reads the whole finding.
const FINDING: &str = "item";

impl Decoder<'_> {
    /// The share that a dimension counts.
    pub(super) fn decode_counted(&mut self, node: &Node) -> Option<CountedShare> {
        let counted = node.field("counted")?;
        let condition = counted.field("where")?;
        Some(CountedShare {
            list: counted.text_of("in")?.to_owned(),
            condition: self.params.inline_expression(condition.text()?, &condition.place, &mut self.problems),
        })
    }

    /// A dimension of a breakdown, which only a judge can grade.
    pub(super) fn graded_dimension(&mut self, entry: &Entry) -> Option<Dimension> {
        if let Some(counted) = entry.node.field("counted") {
            self.problems
                .error(&counted.place, "`counted` cannot be used in a breakdown")
                .hint("count in a dimension of the rubric, or give a `scale`");
        }
        self.dimension(entry)
    }

    /// Reports counted dimensions whose list or fields do not exist, and conditions that hold for no finding.
    pub(super) fn counted_shares(&mut self, node: &Node, rubric: &Rubric) {
        for dimension in &rubric.dimensions {
            let entry = node.field("dimensions").and_then(|dimensions| dimensions.field(&dimension.name));
            let Some((counted, entry)) = dimension.counted.as_ref().zip(entry) else { continue };
            if let Some(chunks) = entry.field("chunks") {
                self.problems.error(&chunks.place, "a dimension that is `counted` takes no `chunks`").hint(format!(
                    "write `chunks` at the list: `diagnostics: {{ {}: {{ chunks: … }} }}`",
                    counted.list
                ));
            }
            self.counted_share(entry, counted, &rubric.diagnostics);
        }
        let is_given = rubric.overall.as_ref().is_some_and(|overall| overall.method == OverallMethod::Given);
        if is_given && rubric.dimensions.iter().all(|dimension| dimension.counted.is_some()) {
            let place = node.field("overall").map_or(&node.place, |overall| &overall.place);
            self.problems
                .error(place, "`given` needs a dimension that the judge grades, but all of them are `counted`")
                .hint("choose another `method`");
        }
    }

    fn counted_share(&mut self, dimension: &Node, counted: &CountedShare, lists: &[DiagnosticSpec]) {
        let Some(node) = dimension.field("counted") else { return };
        let place = |key: &str| node.field(key).map_or(&node.place, |it| &it.place).clone();
        let Some(spec) = lists.iter().find(|spec| spec.name == counted.list) else {
            let known = lists.iter().map(|spec| spec.name.as_str());
            self.problems
                .error(&place("in"), format!("`diagnostics` has no list `{}`", counted.list))
                .maybe_hint(suggestion(&counted.list, known));
            return;
        };
        let Ok(condition) = Expression::compile(&counted.condition) else { return };
        let root = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
        for name in condition.reads().iter().map(root) {
            let field = spec.fields.iter().find(|(field, _)| *field == name);
            let at = notation::name_within(&place("where"), &counted.condition, &name, &self.problems);
            match field {
                None if name == FINDING => {}
                None => {
                    let known = spec.fields.iter().map(|(field, _)| field.as_str()).chain([FINDING]);
                    self.problems
                        .error(&at, format!("an item of `{}` has no `{name}`", counted.list))
                        .maybe_hint(suggestion(&name, known));
                }
                Some((_, FieldType::OneOf { words, .. })) if !names_a_word(&counted.condition, words) => {
                    let message = format!("`where` names none of the words of `{name}`, so it never counts anything");
                    self.problems.error(&at, message).hint(format!("words: {}", words.join(", ")));
                }
                Some(_) => {}
            }
        }
    }
}

/// Returns whether an expression holds one of these words in quotes.
fn names_a_word(expression: &str, words: &[String]) -> bool {
    words.iter().any(|word| ['"', '\''].iter().any(|quote| expression.contains(&format!("{quote}{word}{quote}"))))
}
