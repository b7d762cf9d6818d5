//! The members of routed lists, and which of them a finding is about (CL-14).
//!
//! A member is itself by its place in its list, not by its words: two may say the same, and the quote of one may be what
//! another says. So a finding is first looked for in what the members of its piece say, then in their quotes, and only then
//! among members of other pieces; each time the equal ones come before those that are alike.

use std::collections::{BTreeSet, HashMap};

use karat_text::similar::Folded;
use serde_json::Value;

use super::case::Piece;
use super::sayings::Sayings;
use super::setup::Aspect;

/// Similarity from which two texts of different pieces say the same.
const SAME: f64 = 0.85;

/// All members of the pieces of one judgment, each once.
pub(super) struct Roll {
    members: Vec<Member>,
    /// By piece, the members that it judges: positions in `members`.
    shown: Vec<BTreeSet<usize>>,
}

struct Member {
    own: Vec<Said>,
    quoted: Vec<Said>,
    /// How many pieces judge it.
    pieces: usize,
}

impl Roll {
    pub fn new(pieces: &[Piece]) -> Self {
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        let (mut members, mut shown) = (Vec::new(), Vec::new());
        for piece in pieces {
            // The call beside the pieces shows every member, and is asked for nothing about where they come from.
            let judged = piece.routed.iter().filter(|_| piece.aspect != Aspect::Once);
            let positions = judged.map(|routed| {
                let at = *known.entry(routed.place).or_insert_with(|| {
                    members.push(Member::new(&routed.value));
                    members.len() - 1
                });
                members[at].pieces += 1;
                at
            });
            shown.push(positions.collect());
        }
        Self { members, shown }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The members that a piece judges.
    pub fn shown(&self, piece: usize) -> &BTreeSet<usize> {
        static NONE: BTreeSet<usize> = BTreeSet::new();
        self.shown.get(piece).unwrap_or(&NONE)
    }

    /// How many pieces judge a member.
    pub fn pieces_of(&self, member: usize) -> usize {
        self.members.get(member).map_or(0, |member| member.pieces)
    }

    /// Members that every piece which shows them names, by what each piece names.
    pub fn named_everywhere(&self, named: &[BTreeSet<usize>]) -> BTreeSet<usize> {
        let mut times: HashMap<usize, usize> = HashMap::new();
        for (piece, members) in named.iter().enumerate() {
            members.intersection(self.shown(piece)).for_each(|member| *times.entry(*member).or_default() += 1);
        }
        times
            .into_iter()
            .filter(|(member, times)| self.pieces_of(*member) == *times)
            .map(|(member, _)| member)
            .collect()
    }

    /// The members that a finding of a piece is about, by any of its texts; none where it is about no member.
    pub fn about(&self, piece: usize, texts: &[Said]) -> BTreeSet<usize> {
        let own: fn(&Member) -> &[Said] = |member| &member.own;
        let quoted: fn(&Member) -> &[Said] = |member| &member.quoted;
        let (shown, all): (Vec<usize>, Vec<usize>) =
            (self.shown(piece).iter().copied().collect(), (0..self.members.len()).collect());
        let looks = [(&shown, own), (&shown, quoted), (&all, own), (&all, quoted)];
        let mut found = looks.into_iter().map(|(among, sayings)| self.closest(among, sayings, texts));
        found.find(|members| !members.is_empty()).unwrap_or_default()
    }

    /// Those that say one of the texts; where none does, those that say something alike.
    fn closest(&self, among: &[usize], sayings: fn(&Member) -> &[Said], texts: &[Said]) -> BTreeSet<usize> {
        let that = |says: fn(&Said, &Said) -> bool| -> BTreeSet<usize> {
            let says = |at: &&usize| {
                let said = self.members.get(**at).map(sayings).unwrap_or_default();
                said.iter().any(|said| texts.iter().any(|text| says(said, text)))
            };
            among.iter().filter(says).copied().collect()
        };
        let equal = that(Said::equals);
        if equal.is_empty() { that(Said::is_like) } else { equal }
    }
}

impl Member {
    fn new(value: &Value) -> Self {
        let Sayings { own, quoted } = Sayings::of(value);
        let said = |texts: Vec<&str>| texts.into_iter().map(Said::new).collect();
        Self { own: said(own), quoted: said(quoted), pieces: 0 }
    }
}

/// A text as it is compared: by similarity, but what has other numbers says something else.
#[derive(Debug)]
pub(super) struct Said {
    text: Folded,
    numbers: Vec<String>,
}

impl Said {
    pub fn new(text: &str) -> Self {
        let text = Folded::new(text);
        let mut numbers: Vec<String> =
            text.words().filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_owned).collect();
        numbers.sort_unstable();
        Self { text, numbers }
    }

    /// Whether both are the same but for case and white space.
    pub fn equals(&self, other: &Self) -> bool {
        self.text.text() == other.text.text()
    }

    /// Whether both say about the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.numbers == other.numbers && self.text.is_similar(&other.text, SAME)
    }
}
