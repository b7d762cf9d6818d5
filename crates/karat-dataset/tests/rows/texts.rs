//! Seeded texts, and copies of them with changed words.

/// A generator of numbers: SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A word of a vocabulary of 5,000, common ones more often, as in prose.
    pub fn word(&mut self) -> String {
        const SYLLABLES: [&str; 18] = [
            "ba", "co", "di", "fe", "gu", "ha", "ki", "lo", "mu", "ne", "po", "ra", "si", "ta", "vu", "we", "xi", "zo",
        ];
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut rank = (5000.0_f64.powf(unit)) as usize;
        let mut word = String::new();
        for _ in 0..3 {
            word.push_str(SYLLABLES[rank % SYLLABLES.len()]);
            rank /= SYLLABLES.len();
        }
        word
    }

    pub fn words(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    /// The same words with this share of them replaced, at least one where the share is not 0. The new words are in no text.
    pub fn edited(&mut self, words: &[String], share: f64) -> Vec<String> {
        let mut edited = words.to_vec();
        let count = (share * words.len() as f64).round() as usize;
        let mut places: Vec<usize> = (0..words.len()).collect();
        for at in 0..count {
            let other = at + self.below(places.len() - at);
            places.swap(at, other);
            edited[places[at]] = format!("neu{:x}q", self.next() as u16).replace(|it: char| it.is_ascii_digit(), "y");
        }
        edited
    }
}
