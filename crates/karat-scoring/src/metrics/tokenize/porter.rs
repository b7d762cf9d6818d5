//! The Porter stemmer with NLTK's extensions, as rouge-score uses it.
//!
//! Source: Porter 1980, "An algorithm for suffix stripping"; extensions of
//! `nltk.stem.porter.PorterStemmer` in its default mode `NLTK_EXTENSIONS`. Snowball's English
//! stemmer (Porter 2) is another algorithm and gives other stems.

/// The stem of `word`, lower-cased.
///
/// ```
/// use karat_scoring::metrics::tokenize::porter;
///
/// assert_eq!(porter::stem("relational"), "relat");
/// assert_eq!(porter::stem("Flies"), "fli");
/// assert_eq!(porter::stem("dies"), "die");
/// ```
#[must_use]
pub fn stem(word: &str) -> String {
    let is_short = word.chars().nth(2).is_none();
    let word = word.to_lowercase();
    if let Some(known) = irregular(&word) {
        return known.to_owned();
    }
    if is_short {
        return word;
    }
    let steps = [plural, past_or_gerund, final_y, double_suffix, simple_suffix, residual_suffix, final_e, final_ll];
    steps.iter().fold(word, |word, step| step(word))
}

/// Words that the rules would stem wrongly.
fn irregular(word: &str) -> Option<&'static str> {
    Some(match word {
        "sky" | "skies" => "sky",
        "dying" => "die",
        "lying" => "lie",
        "tying" => "tie",
        "news" => "news",
        "innings" | "inning" => "inning",
        "outings" | "outing" => "outing",
        "cannings" | "canning" => "canning",
        "howe" => "howe",
        "proceed" => "proceed",
        "exceed" => "exceed",
        "succeed" => "succeed",
        _ => return None,
    })
}

/// When a rule may take its suffix off: a test of what would be left.
type Condition = fn(&str) -> bool;

/// Suffix, replacement, condition.
type Rule = (&'static str, &'static str, Condition);

/// Applies the first rule whose suffix ends the word; if its condition fails, the word stays.
fn apply(word: String, rules: &[Rule]) -> String {
    for (suffix, replacement, condition) in rules {
        if let Some(stem) = word.strip_suffix(suffix) {
            return if condition(stem) { format!("{stem}{replacement}") } else { word };
        }
    }
    word
}

fn always(_: &str) -> bool {
    true
}

fn has_measure(stem: &str) -> bool {
    measure(stem) > 0
}

fn has_measure_above_one(stem: &str) -> bool {
    measure(stem) > 1
}

/// For each letter whether it is a consonant; y is one at the start and after a vowel.
fn consonants(word: &str) -> impl Iterator<Item = bool> {
    word.chars().scan(false, |after_consonant, letter| {
        let consonant = match letter {
            'a' | 'e' | 'i' | 'o' | 'u' => false,
            'y' => !*after_consonant,
            _ => true,
        };
        *after_consonant = consonant;
        Some(consonant)
    })
}

/// Porter's m: the number of vowel–consonant sequences.
fn measure(stem: &str) -> usize {
    let mut after_vowel = false;
    let mut sequences = 0;
    for consonant in consonants(stem) {
        sequences += usize::from(consonant && after_vowel);
        after_vowel = !consonant;
    }
    sequences
}

fn contains_vowel(stem: &str) -> bool {
    consonants(stem).any(|consonant| !consonant)
}

/// The last letter of a word that ends in two equal consonants.
fn double_consonant(word: &str) -> Option<char> {
    let mut letters = word.chars().rev();
    let last = letters.next()?;
    let doubled = letters.next() == Some(last) && consonants(word).last() == Some(true);
    doubled.then_some(last)
}

/// Porter's *o: consonant, vowel, consonant other than w, x, y at the end; NLTK adds the words of
/// vowel and consonant alone.
fn ends_cvc(stem: &str) -> bool {
    let kinds: Vec<bool> = consonants(stem).collect();
    match kinds.as_slice() {
        [false, true] => true,
        [.., true, false, true] => !stem.ends_with(['w', 'x', 'y']),
        _ => false,
    }
}

/// Step 1a.
fn plural(word: String) -> String {
    if word.ends_with("ies") && word.chars().count() == 4 {
        return apply(word, &[("ies", "ie", always)]);
    }
    apply(word, &[("sses", "ss", always), ("ies", "i", always), ("ss", "ss", always), ("s", "", always)])
}

/// Step 1b.
fn past_or_gerund(word: String) -> String {
    if word.ends_with("ied") {
        let short = word.chars().count() == 4;
        return apply(word, &[("ied", if short { "ie" } else { "i" }, always)]);
    }
    if word.ends_with("eed") {
        return apply(word, &[("eed", "ee", has_measure)]);
    }
    let stripped = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing"));
    match stripped.filter(|stem| contains_vowel(stem)) {
        Some(stem) => mended(stem),
        None => word,
    }
}

/// A stem that lost -ed or -ing, with the e it needs, or without the doubled consonant.
fn mended(stem: &str) -> String {
    if ["at", "bl", "iz"].iter().any(|end| stem.ends_with(end)) {
        return format!("{stem}e");
    }
    if let Some(last) = double_consonant(stem) {
        let single = &stem[..stem.len() - last.len_utf8()];
        return if matches!(last, 'l' | 's' | 'z') { stem } else { single }.to_owned();
    }
    if measure(stem) == 1 && ends_cvc(stem) {
        return format!("{stem}e");
    }
    stem.to_owned()
}

/// Step 1c in NLTK's wording: y after a consonant that is not the first letter.
fn final_y(word: String) -> String {
    let after_consonant: Condition = |stem| stem.chars().count() > 1 && consonants(stem).last() == Some(true);
    apply(word, &[("y", "i", after_consonant)])
}

/// Step 2.
fn double_suffix(word: String) -> String {
    if let Some(stem) = word.strip_suffix("alli").filter(|stem| has_measure(stem)) {
        return double_suffix(format!("{stem}al"));
    }
    // The l of "logi" belongs to the stem, so that "theology" is treated like "archaeology".
    if word.ends_with("logi") {
        let keeps_l = has_measure(&word[..word.len() - 3]);
        return if keeps_l { apply(word, &[("logi", "log", always)]) } else { word };
    }
    apply(
        word,
        &[
            ("ational", "ate", has_measure),
            ("tional", "tion", has_measure),
            ("enci", "ence", has_measure),
            ("anci", "ance", has_measure),
            ("izer", "ize", has_measure),
            ("bli", "ble", has_measure),
            ("alli", "al", has_measure),
            ("entli", "ent", has_measure),
            ("eli", "e", has_measure),
            ("ousli", "ous", has_measure),
            ("ization", "ize", has_measure),
            ("ation", "ate", has_measure),
            ("ator", "ate", has_measure),
            ("alism", "al", has_measure),
            ("iveness", "ive", has_measure),
            ("fulness", "ful", has_measure),
            ("ousness", "ous", has_measure),
            ("aliti", "al", has_measure),
            ("iviti", "ive", has_measure),
            ("biliti", "ble", has_measure),
            ("fulli", "ful", has_measure),
        ],
    )
}

/// Step 3.
fn simple_suffix(word: String) -> String {
    apply(
        word,
        &[
            ("icate", "ic", has_measure),
            ("ative", "", has_measure),
            ("alize", "al", has_measure),
            ("iciti", "ic", has_measure),
            ("ical", "ic", has_measure),
            ("ful", "", has_measure),
            ("ness", "", has_measure),
        ],
    )
}

/// Step 4.
fn residual_suffix(word: String) -> String {
    let before_ion: Condition = |stem| has_measure_above_one(stem) && stem.ends_with(['s', 't']);
    apply(
        word,
        &[
            ("al", "", has_measure_above_one),
            ("ance", "", has_measure_above_one),
            ("ence", "", has_measure_above_one),
            ("er", "", has_measure_above_one),
            ("ic", "", has_measure_above_one),
            ("able", "", has_measure_above_one),
            ("ible", "", has_measure_above_one),
            ("ant", "", has_measure_above_one),
            ("ement", "", has_measure_above_one),
            ("ment", "", has_measure_above_one),
            ("ent", "", has_measure_above_one),
            ("ion", "", before_ion),
            ("ou", "", has_measure_above_one),
            ("ism", "", has_measure_above_one),
            ("ate", "", has_measure_above_one),
            ("iti", "", has_measure_above_one),
            ("ous", "", has_measure_above_one),
            ("ive", "", has_measure_above_one),
            ("ize", "", has_measure_above_one),
        ],
    )
}

/// Step 5a.
fn final_e(word: String) -> String {
    apply(
        word,
        &[("e", "", |stem| match measure(stem) {
            0 => false,
            1 => !ends_cvc(stem),
            _ => true,
        })],
    )
}

/// Step 5b: the l that goes belongs to neither the measure's stem nor the suffix.
fn final_ll(word: String) -> String {
    match word.strip_suffix('l') {
        Some(stem) if stem.ends_with('l') && measure(stem) > 1 => stem.to_owned(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_equal_nltk_s() {
        for (word, expected) in [
            ("", ""),
            ("as", "as"),
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "tie"),
            ("cats", "cat"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("plastered", "plaster"),
            ("spied", "spi"),
            ("died", "die"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("troubled", "troubl"),
            ("sized", "size"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("hissing", "hiss"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("enjoy", "enjoy"),
            ("rational", "ration"),
            ("valenci", "valenc"),
            ("radically", "radic"),
            ("theology", "theolog"),
            ("geology", "geolog"),
            ("vietnamization", "vietnam"),
            ("triplicate", "triplic"),
            ("replacement", "replac"),
            ("adoption", "adopt"),
            ("controller", "control"),
            ("cease", "ceas"),
            ("rate", "rate"),
            ("sensibility", "sensibl"),
            ("4512", "4512"),
            ("Generalizations", "gener"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn letters_outside_ascii_are_consonants() {
        assert_eq!(stem("éés"), "éé");
        assert_eq!(stem("東京タワー"), "東京タワー");
    }
}
