//! The members of routed lists, and which of them a finding is about.
//!
//! A member is itself by its place in its list, not by its words: two may say the same, and the quote of one may be what
//! another says. So a finding is first looked for in what the members of its piece say, then in their quotes, and only then
//! among members of other pieces; each time the equal ones come before those that are alike.

use std::collections::{BTreeSet, HashMap};

use karat_text::similar::Statement;
use serde_json::Value;

use crate::judge::chunks::item_texts::ItemTexts;
use crate::judge::round::prepare::Piece;
use crate::judge::rubric::compiled::Aspect;

/// Least likeness of a finding's text and the member that it is about.
const LIKE: f64 = 0.85;

/// All members of the pieces of one judgment, each once.
pub(crate) struct RoutedMembers {
    members: Vec<RoutedMember>,
    /// By piece, the members that it judges: positions in `members`.
    shown: Vec<BTreeSet<usize>>,
}

struct RoutedMember {
    own: Vec<Statement>,
    quoted: Vec<Statement>,
    /// The number of pieces that judge it.
    pieces: usize,
}

impl RoutedMembers {
    pub fn new(pieces: &[Piece]) -> Self {
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        let (mut members, mut shown) = (Vec::new(), Vec::new());
        for piece in pieces {
            // The call beside the pieces shows every member, and is asked for nothing about where they come from.
            let judged = piece.routed.iter().filter(|_| piece.aspect != Aspect::Once);
            let positions = judged.map(|routed| {
                let at = *known.entry(routed.place).or_insert_with(|| {
                    members.push(RoutedMember::new(&routed.value));
                    members.len() - 1
                });
                members[at].pieces += 1;
                at
            });
            shown.push(positions.collect());
        }
        Self { members, shown }
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The members that a piece judges.
    pub fn members_of_piece(&self, piece: usize) -> &BTreeSet<usize> {
        static NONE: BTreeSet<usize> = BTreeSet::new();
        self.shown.get(piece).unwrap_or(&NONE)
    }

    /// The number of pieces that judge a member.
    pub fn pieces_of(&self, member: usize) -> usize {
        self.members.get(member).map_or(0, |member| member.pieces)
    }

    /// Members that every piece which shows them names, by what each piece names.
    pub fn named_everywhere(&self, named: &[BTreeSet<usize>]) -> BTreeSet<usize> {
        let mut times: HashMap<usize, usize> = HashMap::new();
        for (piece, members) in named.iter().enumerate() {
            members
                .intersection(self.members_of_piece(piece))
                .for_each(|member| *times.entry(*member).or_default() += 1);
        }
        times
            .into_iter()
            .filter(|(member, times)| self.pieces_of(*member) == *times)
            .map(|(member, _)| member)
            .collect()
    }

    /// The members that a finding of a piece is about, by any of its texts; none where it is about no member.
    pub fn members_about(&self, piece: usize, texts: &[Statement]) -> BTreeSet<usize> {
        let own: fn(&RoutedMember) -> &[Statement] = |member| &member.own;
        let quoted: fn(&RoutedMember) -> &[Statement] = |member| &member.quoted;
        let (shown, all): (Vec<usize>, Vec<usize>) =
            (self.members_of_piece(piece).iter().copied().collect(), (0..self.members.len()).collect());
        let searches = [(&shown, own), (&shown, quoted), (&all, own), (&all, quoted)];
        let mut candidates = searches.into_iter().map(|(among, texts_of)| self.closest(among, texts_of, texts));
        candidates.find(|members| !members.is_empty()).unwrap_or_default()
    }

    /// Those that say one of the texts; where none does, those most like one that no number, name or other deciding word
    /// tells apart from it.
    fn closest(
        &self,
        among: &[usize],
        texts_of: fn(&RoutedMember) -> &[Statement],
        texts: &[Statement],
    ) -> BTreeSet<usize> {
        let likeness = |at: usize| {
            let of_member = self.members.get(at).map(texts_of).unwrap_or_default().iter();
            let pairs = of_member.flat_map(|one| texts.iter().map(move |other| (one, other)));
            let alike = pairs.filter(|(one, other)| one.key() == other.key() || one.may_mean(other, LIKE));
            alike.map(|(one, other)| one.likeness(other)).reduce(f64::max)
        };
        let alike: Vec<(usize, f64)> = among.iter().filter_map(|at| Some((*at, likeness(*at)?))).collect();
        let most = alike.iter().map(|(_, likeness)| *likeness).fold(0.0, f64::max);
        alike.into_iter().filter(|(_, likeness)| *likeness >= most).map(|(at, _)| at).collect()
    }
}

impl RoutedMember {
    fn new(value: &Value) -> Self {
        let ItemTexts { own, quoted } = ItemTexts::of(value);
        let compared = |texts: Vec<&str>| texts.into_iter().map(Statement::new).collect();
        Self { own: compared(own), quoted: compared(quoted), pieces: 0 }
    }
}
