//! The findings of several pieces as one list.

use std::collections::BTreeSet;

use karat_text::similar::Statement;
use karat_types::{DiagnosticSpec, FieldType, FindingMerge};
use serde_json::Value;

use crate::judge::chunks::routed_members::RoutedMembers;

/// Least likeness of two findings of different pieces that are one; see [`Statement`].
const SIMILAR: f64 = 0.85;

/// The findings of one kind, of all pieces that are asked for it.
pub(crate) struct PieceFindings<'a> {
    pub spec: &'a DiagnosticSpec,
    /// By piece; none for one that is not asked.
    pieces: Vec<Option<Vec<ComparedFinding<'a>>>>,
}

impl<'a> PieceFindings<'a> {
    /// `items` are those of each piece; none for one that is not asked.
    pub fn new(
        spec: &'a DiagnosticSpec,
        members: &RoutedMembers,
        items: impl IntoIterator<Item = Option<&'a [Value]>>,
    ) -> Self {
        let of = |(piece, items): (usize, Option<&'a [Value]>)| {
            Some(items?.iter().map(|item| ComparedFinding::new(spec, item, members, piece)).collect())
        };
        Self { spec, pieces: items.into_iter().enumerate().map(of).collect() }
    }

    /// The members that each piece names.
    pub fn named_members(&self) -> Vec<BTreeSet<usize>> {
        let of = |findings: &Option<Vec<ComparedFinding>>| {
            findings.iter().flatten().flat_map(|finding| finding.members.iter().copied()).collect()
        };
        self.pieces.iter().map(of).collect()
    }

    /// One list, equal findings once, the first `max` of them.
    ///
    /// An `all` finding is kept only where every piece that could see it names it: a member that was sent to some pieces
    /// only is judged by those. An `any` finding is dropped where it is about a member of the list that its piece was not
    /// shown: what looks absent there is judged with another piece.
    ///
    /// Of equal findings the first one that `counts` is kept: a claim is supported if any piece supports it.
    pub fn merge(&self, members: &RoutedMembers, counts: impl Fn(&Value) -> bool) -> Vec<Value> {
        let everywhere = members.named_everywhere(&self.named_members());
        let mut kept: Vec<&ComparedFinding> = Vec::new();
        for (piece, findings) in self.pieces.iter().enumerate() {
            for finding in findings.iter().flatten() {
                let is_kept = match self.spec.chunks {
                    FindingMerge::All if finding.members.is_empty() => self.is_named_by_all(finding),
                    FindingMerge::All => !finding.members.is_disjoint(&everywhere),
                    FindingMerge::Any => {
                        finding.members.is_empty() || !finding.members.is_disjoint(members.members_of_piece(piece))
                    }
                    FindingMerge::Once => true,
                };
                match kept.iter_mut().find(|other| other.is_same(finding)) {
                    _ if !is_kept => {}
                    None => kept.push(finding),
                    Some(other) if counts(finding.item) && !counts(other.item) => *other = finding,
                    Some(_) => {}
                }
            }
        }
        let most = self.spec.max.map_or(usize::MAX, |max| max as usize);
        kept.into_iter().take(most).map(|finding| finding.item.clone()).collect()
    }

    fn is_named_by_all(&self, finding: &ComparedFinding) -> bool {
        self.pieces.iter().flatten().all(|findings| findings.iter().any(|other| other.is_same(finding)))
    }
}

/// A finding as it is compared: by the members that it is about, else by what its texts say; positions in lists exactly,
/// words such as a severity not at all.
struct ComparedFinding<'a> {
    item: &'a Value,
    text: Statement,
    positions: Vec<&'a Value>,
    members: BTreeSet<usize>,
}

impl<'a> ComparedFinding<'a> {
    fn new(spec: &DiagnosticSpec, item: &'a Value, members: &RoutedMembers, piece: usize) -> Self {
        let fields = |wanted: fn(&FieldType) -> bool| {
            spec.fields.iter().filter(move |(_, kind)| wanted(kind)).filter_map(|(name, _)| item.get(name))
        };
        let texts: Vec<String> = fields(FieldType::is_text).map(words).collect();
        let text = Statement::new(&if texts.is_empty() { words(item) } else { texts.join(" | ") });
        let members = match texts.as_slice() {
            [] | [_] => members.members_about(piece, std::slice::from_ref(&text)),
            several => {
                members.members_about(piece, &several.iter().map(|text| Statement::new(text)).collect::<Vec<_>>())
            }
        };
        let positions = fields(|kind| matches!(kind, FieldType::IndexOf(_) | FieldType::Integer | FieldType::Number));
        Self { item, text, positions: positions.collect(), members }
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_of_no_member = self.members.is_empty() && other.members.is_empty();
        self.positions == other.positions
            && (!self.members.is_disjoint(&other.members)
                || self.text.is_one_with(&other.text, is_of_no_member.then_some(SIMILAR)))
    }
}

/// All texts and numbers of a value.
fn words(item: &Value) -> String {
    match item {
        Value::Object(members) => members.values().map(words).collect::<Vec<_>>().join(" | "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
