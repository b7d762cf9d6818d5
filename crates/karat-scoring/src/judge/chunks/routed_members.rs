//! The members of routed lists, and which of them a finding is about (CL-14).
//!
//! A member is itself by its place in its list, not by its words: two may say the same, and the quote of one may be what
//! another says. So a finding is first looked for in what the members of its piece say, then in their quotes, and only then
//! among members of other pieces; each time the equal ones come before those that are alike.

use std::collections::{BTreeSet, HashMap};

use karat_text::similar::Folded;
use serde_json::Value;

use crate::judge::chunks::item_texts::ItemTexts;
use crate::judge::round::prepare::Piece;
use crate::judge::rubric::compiled::Aspect;

/// Similarity from which two texts of different pieces say the same.
const SAME: f64 = 0.85;

/// All members of the pieces of one judgment, each once.
pub(crate) struct RoutedMembers {
    members: Vec<RoutedMember>,
    /// By piece, the members that it judges: positions in `members`.
    shown: Vec<BTreeSet<usize>>,
}

struct RoutedMember {
    own: Vec<ComparedText>,
    quoted: Vec<ComparedText>,
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
    pub fn members_about(&self, piece: usize, texts: &[ComparedText]) -> BTreeSet<usize> {
        let own: fn(&RoutedMember) -> &[ComparedText] = |member| &member.own;
        let quoted: fn(&RoutedMember) -> &[ComparedText] = |member| &member.quoted;
        let (shown, all): (Vec<usize>, Vec<usize>) =
            (self.members_of_piece(piece).iter().copied().collect(), (0..self.members.len()).collect());
        let searches = [(&shown, own), (&shown, quoted), (&all, own), (&all, quoted)];
        let mut candidates = searches.into_iter().map(|(among, texts_of)| self.closest(among, texts_of, texts));
        candidates.find(|members| !members.is_empty()).unwrap_or_default()
    }

    /// Those that say one of the texts; where none does, those that say something alike.
    fn closest(
        &self,
        among: &[usize],
        texts_of: fn(&RoutedMember) -> &[ComparedText],
        texts: &[ComparedText],
    ) -> BTreeSet<usize> {
        let that = |says: fn(&ComparedText, &ComparedText) -> bool| -> BTreeSet<usize> {
            let says = |at: &&usize| {
                let texts_of_member = self.members.get(**at).map(texts_of).unwrap_or_default();
                texts_of_member.iter().any(|one| texts.iter().any(|other| says(one, other)))
            };
            among.iter().filter(says).copied().collect()
        };
        let equal = that(ComparedText::equals);
        if equal.is_empty() { that(ComparedText::is_like) } else { equal }
    }
}

impl RoutedMember {
    fn new(value: &Value) -> Self {
        let ItemTexts { own, quoted } = ItemTexts::of(value);
        let compared = |texts: Vec<&str>| texts.into_iter().map(ComparedText::new).collect();
        Self { own: compared(own), quoted: compared(quoted), pieces: 0 }
    }
}

/// A text as it is compared: by similarity, but what has other numbers says something else.
#[derive(Debug)]
pub(crate) struct ComparedText {
    text: Folded,
    numbers: Vec<String>,
}

impl ComparedText {
    pub fn new(text: &str) -> Self {
        let text = Folded::new(text);
        let mut numbers: Vec<String> =
            text.words().filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_owned).collect();
        numbers.sort_unstable();
        Self { text, numbers }
    }

    /// True if both are the same but for case and white space.
    pub fn equals(&self, other: &Self) -> bool {
        self.text.text() == other.text.text()
    }

    /// True if both say about the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.numbers == other.numbers && self.text.is_similar(&other.text, SAME)
    }
}
