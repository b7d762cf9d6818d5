//! Speakers: names with roles, as data and as a text names them.
//!
//! A text names a person when it says that the person speaks. People who are denied, silent or only ask are not named: "Ana Ruiz did not
//! comment". An unknown person counts where a role stands beside the name, or next to a person who counts: "Carl Roe
//! (COO) said", "Ana Ruiz and Carl Roe said".

use std::fmt;
use std::ops::Range;

use karat_text::similar;
use karat_text::speaker::name_and_role;
use serde_json::Value;

/// Folded for comparison, with one form of apostrophe: "O’Neil" is "O'Neil".
fn fold_name(text: &str) -> String {
    similar::fold(text).replace(['’', '‘', 'ʼ'], "'")
}

/// Somebody who speaks, folded for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub(crate) name: String,
    pub(crate) role: Option<String>,
    /// As written.
    pub(crate) written: String,
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl Speaker {
    /// `{name, role}`, or a text: `Ada Lind`, `Ada Lind (CFO)`, `Ada Lind, CFO`.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(speaker) => {
                Self::new(speaker.get("name")?.as_str()?, speaker.get("role").and_then(Value::as_str))
            }
            Value::String(text) => {
                let (name, role) = name_and_role(text);
                Self::new(name, role)
            }
            _ => None,
        }
    }

    fn new(name: &str, role: Option<&str>) -> Option<Self> {
        let (name, role) = (name.trim(), role.map(str::trim).filter(|role| !role.is_empty()));
        let written = role.map_or_else(|| name.to_owned(), |role| format!("{name} ({role})"));
        (!name.is_empty()).then(|| Self { name: fold_name(name), role: role.map(fold_name), written })
    }

    pub(crate) fn all(values: &[Value]) -> Vec<Self> {
        values.iter().filter_map(Self::read).collect()
    }

    /// True if it is the wanted one: by name, and by role where one is wanted.
    pub(crate) fn is_wanted(&self, wanted: &Self) -> bool {
        self.name == wanted.name && (wanted.role.is_none() || self.role == wanted.role)
    }

    /// True if it has this name and another role.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        self.name == other.name && self.role.is_some() && other.role.is_some() && self.role != other.role
    }

    /// This speaker as a folded text names it: with the role beside the name, else with the own role where the text has that.
    fn within(&self, text: &str) -> Option<Self> {
        let at = matches(text, &self.name).find(|at| is_speaking(&text[..at.start], &text[at.end..]))?;
        let bare = self.written.split(" (").next().unwrap_or_default();
        let beside = title_after(&text[at.end..]).map(|title| &text[at.end + title.start..at.end + title.end]);
        let own = self.role.as_ref().filter(|role| has_words(beside.unwrap_or(text), role));
        let role = own.cloned().or(beside.map(str::to_owned));
        let written = match &role {
            Some(_) if own.is_some() => self.written.clone(),
            Some(role) => format!("{bare} ({role})"),
            None => bare.to_owned(),
        };
        Some(Self { role, written, ..self.clone() })
    }
}

/// Returns the offsets at which a folded text holds folded words, as words.
fn matches(text: &str, words: &str) -> impl Iterator<Item = Range<usize>> {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let matches = text.match_indices(words).map(|(at, words)| at..at + words.len());
    matches.filter(move |at| ends(text[..at.start].chars().next_back()) && ends(text[at.end..].chars().next()))
}

fn has_words(text: &str, words: &str) -> bool {
    matches(text, words).next().is_some()
}

/// The speakers that `text` names: those of `known`, and others whose role it states.
pub(crate) fn named_in(text: &str, known: &[Speaker]) -> Vec<Speaker> {
    let folded = fold_name(text);
    let mut named: Vec<Speaker> = known.iter().filter_map(|speaker| speaker.within(&folded)).collect();
    named.extend(unknown_speakers(text, known));
    named
}

/// A name in a text, with the role beside it.
struct Mention<'a> {
    name: &'a str,
    role: Option<&'a str>,
    /// The bytes of both.
    span: Range<usize>,
    /// True if it is a known speaker, or has a role.
    certain: bool,
    known: bool,
}

/// Speakers who are not known but are named with a role, or beside someone who is.
fn unknown_speakers(text: &str, known: &[Speaker]) -> Vec<Speaker> {
    let mut mentions: Vec<Mention<'_>> = names(text).into_iter().map(|at| Mention::read(text, at, known)).collect();
    for at in 1..mentions.len() {
        let joint = text.get(mentions[at - 1].span.end..mentions[at].span.start).map_or("", str::trim);
        let joined = ["and", ", and", "&", "und", "et", "y", "e"].contains(&joint);
        let either = mentions[at - 1].certain || mentions[at].certain;
        if joined && either && !is_organisation(mentions[at - 1].name) && !is_organisation(mentions[at].name) {
            mentions[at - 1].certain = true;
            mentions[at].certain = true;
        }
    }
    let strange = mentions.into_iter().filter(|it| it.certain && !it.known);
    let speaking = strange.filter(|it| {
        is_speaking(&fold_name(near_end(&text[..it.span.start])), &fold_name(near_start(&text[it.span.end..])))
    });
    speaking.filter_map(|it| Speaker::new(it.name, it.role)).collect()
}

impl<'a> Mention<'a> {
    fn read(text: &'a str, at: Range<usize>, known: &[Speaker]) -> Self {
        let name = &text[at.clone()];
        let after = title_after(&text[at.end..]).map(|title| at.end + title.start..at.end + title.end);
        let before = title_before(&text[..at.start]);
        let closing = |end: usize| end + usize::from(text[end..].starts_with(')'));
        let end = after.as_ref().map_or(at.end, |title| closing(title.end));
        let start = before.as_ref().map_or(at.start, |title| title.start);
        let role = after.or(before).map(|title| &text[title]);
        let folded = fold_name(name);
        let known = known.iter().any(|speaker| has_words(&folded, &speaker.name) || has_words(&speaker.name, &folded));
        Self { name, role, span: start..end, certain: known || role.is_some(), known }
    }
}

/// Bytes looked at on either side of a name.
const NEAR: usize = 120;

fn near_end(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(NEAR))..]
}

fn near_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(NEAR.min(text.len()))]
}

/// Words and where they begin.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’');
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_part).map(|start| at + start) {
        let length = text[start..].find(|c| !is_part(c)).unwrap_or(text.len() - start);
        words.push((start, &text[start..start + length]));
        at = start + length;
    }
    words
}

/// Possible names of people: two to four words that begin with capitals, no roles among them.
fn names(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<(Range<usize>, usize)> = Vec::new();
    for (at, word) in words(text) {
        let end = at + word.len();
        let open = runs.last_mut().filter(|(run, _)| matches!(text.get(run.end..at), Some(" " | ". ")));
        match open {
            Some((run, count)) if is_name(word) => (run.end, *count) = (end, *count + 1),
            Some((run, _)) if is_particle(word, &text[end..]) => run.end = end,
            _ if is_name(word) && !is_opening(word) => runs.push((at..end, 1)),
            _ => {}
        }
    }
    runs.into_iter().filter(|(_, count)| (2..=4).contains(count)).map(|(run, _)| run).collect()
}

/// True if a word may be part of a name: `Ana`, `J`, and no role.
fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    let capital = chars.next().is_some_and(char::is_uppercase);
    let rest = chars.as_str();
    capital && (rest.is_empty() || rest.contains(char::is_lowercase)) && !is_title_word(word)
}

/// "Carl van Roe".
fn is_particle(word: &str, after: &str) -> bool {
    const PARTICLES: &[&str] =
        &["van", "von", "de", "der", "den", "la", "le", "el", "bin", "al", "di", "da", "dos", "du"];
    let next = words(near_start(after)).first().is_some_and(|(_, next)| is_name(next) || PARTICLES.contains(next));
    PARTICLES.contains(&word) && next
}

/// True if a word with a capital begins a sentence or an address rather than a name.
fn is_opening(word: &str) -> bool {
    #[rustfmt::skip]
    const OPENING: &[&str] = &[
        "According", "And", "As", "At", "But", "By", "Der", "Die", "Dr", "El", "From", "However", "In", "La", "Laut", "Le",
        "Mr", "Mrs", "Ms", "On", "Per", "Selon", "Según", "The", "While",
    ];
    OPENING.contains(&word)
}

#[rustfmt::skip]
const TITLES: &[&str] = &[
    "ceo", "cfo", "coo", "cto", "cio", "cmo", "cro", "cpo", "cso", "cao", "chro", "ciso", "chair", "chairman", "chairwoman",
    "chairperson", "chief", "officer", "president", "vp", "svp", "evp", "director", "head", "treasurer", "controller", "founder",
    "counsel", "vorstand", "geschäftsführer", "geschäftsführerin", "leiter", "leiterin", "directeur", "directrice", "président",
    "présidente", "pdg", "directora", "presidente", "presidenta", "consejero", "consejera",
];

/// Last parts of German words for those who lead: `Finanzvorstand`, `Vorstandsvorsitzende`.
const GERMAN_TITLES: &[&str] = &["vorstand", "vorständin", "vorsitzende", "vorsitzender", "chef", "chefin"];

fn is_title_word(word: &str) -> bool {
    let word = word.to_lowercase();
    TITLES.contains(&word.as_str()) || GERMAN_TITLES.iter().any(|end| word.ends_with(end))
}

/// The title that directly follows a name, in parentheses or after a comma: " (CFO)", ", our Chief Financial Officer,",
/// ", Chief Financial Officer (CFO)".
fn title_after(rest: &str) -> Option<Range<usize>> {
    let near = near_start(rest);
    let (start, ends): (usize, &[char]) = match near.strip_prefix(" (") {
        Some(_) => (" (".len(), &[')']),
        None => (near.strip_prefix(", ").map(|_| ", ".len())?, &[',', '.', ';', ':', '(', ')', '\n']),
    };
    let length = near[start..].find(ends).unwrap_or(near.len() - start);
    let end = start + length;
    let titled = words(&near[start..end]).into_iter().take(6).any(|(_, word)| is_title_word(word));
    let short = near[end..].strip_prefix('(').and_then(|inside| inside.find(')'));
    titled.then(|| start..short.map_or(end, |length| end + "(".len() + length))
}

/// The title that directly precedes a name: "CFO ", "Chief Financial Officer ".
fn title_before(before: &str) -> Option<Range<usize>> {
    let near = near_end(before);
    let offset = before.len() - near.len();
    let trimmed = near.strip_suffix(' ')?;
    let (mut start, mut end) = (trimmed.len(), trimmed.len());
    let mut titled = false;
    for (at, word) in words(trimmed).into_iter().rev().take(4) {
        let beside = trimmed[at + word.len()..start].trim().is_empty();
        let title = is_title_word(word);
        let part = titled && word.starts_with(char::is_uppercase) && !is_opening(word);
        if !beside || !title && !part {
            break;
        }
        (start, titled, end) = (at, true, end.max(at + word.len()));
    }
    titled.then_some(offset + start..offset + end)
}

/// True if a name is one of a company rather than of a person.
fn is_organisation(name: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "inc", "corp", "corporation", "company", "group", "holding", "holdings", "ag", "se", "plc", "ltd", "gmbh", "sa", "nv",
        "bank", "capital", "partners", "energy", "energie", "systems", "technologies", "software", "industries", "street",
        "america", "europe", "management",
    ];
    words(name).iter().any(|(_, word)| WORDS.contains(&word.to_lowercase().as_str()))
}

/// True if the texts around a name say that the person speaks: neither denied, nor silent, nor only asking.
fn is_speaking(before: &str, after: &str) -> bool {
    !is_denied(before) && !asks(before) && !has_asked(after) && !is_silent(after)
}

/// "It was not (the CFO) Ana Ruiz", "rather than Ana Ruiz".
fn is_denied(before: &str) -> bool {
    const DENYING: &[&str] = &["not", "rather", "instead", "nicht", "statt", "pas", "neither", "nor"];
    let clause = near_end(before).rsplit(['.', ',', ';', ':', '!', '?', '"', '“']).next().unwrap_or_default();
    words(clause).iter().rev().take(3).any(|(_, word)| DENYING.contains(word))
}

/// "asked by Tom Berg", "a question from Tom Berg".
fn asks(before: &str) -> bool {
    #[rustfmt::skip]
    const ASKING: &[&str] = &[
        "asked by", "question from", "questions from", "question by", "questions by", "question of", "in response to",
        "responding to", "in reply to", "replying to", "answering", "answered", "frage von", "fragen von", "question de",
        "questions de", "pregunta de", "preguntas de",
    ];
    ASKING.iter().any(|words| before.trim_end().ends_with(words))
}

/// "(Analyst)'s follow-up question".
fn has_asked(after: &str) -> bool {
    let after = title_after(after).map_or(after, |title| after[title.end..].trim_start_matches(')'));
    let owned = after.strip_prefix("'s ").or_else(|| after.strip_prefix("' "));
    let near = words(near_start(owned.unwrap_or_default()));
    near.iter().take(3).any(|(_, word)| matches!(*word, "question" | "questions" | "query" | "inquiry"))
}

/// "did not comment", "declined to answer", "(CFO) made no statement".
fn is_silent(after: &str) -> bool {
    #[rustfmt::skip]
    const DECLINING: &[&str] = &[
        "declined to", "declines to", "refused to", "refuses to", "had no comment", "made no", "gave no", "offered no",
        "remained silent", "stayed silent", "kept silent", "was silent", "schwieg", "lehnte", "a refusé de", "se negó a",
        "rehusó", "guardó silencio",
    ];
    #[rustfmt::skip]
    const SPEAKING: &[&str] = &[
        "comment", "say", "said", "speak", "spoke", "told", "tell", "answer", "respon", "repl", "mention", "address", "quote",
        "ask", "available", "present", "attend", "state", "äußer", "geäußert", "sag", "antwort", "sprach", "dit", "répond",
        "parl", "habl", "coment", "dij",
    ];
    const DENYING: &[&str] = &["not", "never", "cannot", "nicht", "nichts", "pas", "rien", "no", "nunca"];
    let after = title_after(after).map_or(after, |title| after[title.end..].trim_start_matches([')', ',']));
    let clause = near_start(after.trim_start()).split(['.', ';', ':', '!', '?', '\n', ',']).next().unwrap_or_default();
    let clause = clause.replace('’', "'");
    let words: Vec<&str> = words(&clause).into_iter().map(|(_, word)| word).take(6).collect();
    let spoken = words.iter().position(|word| SPEAKING.iter().any(|stem| word.starts_with(stem)));
    let denied = words.iter().position(|word| DENYING.contains(word) || word.ends_with("n't"));
    let denied = denied.zip(spoken).is_some_and(|(denied, spoken)| denied < spoken);
    denied || DECLINING.iter().any(|phrase| clause.starts_with(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Speaker> {
        Speaker::all(&[serde_json::json!({"name": "Ana Ruiz", "role": "CFO"}), serde_json::json!("Bo Ek (CEO)")])
    }

    /// RG-07: an apostrophe is one in either form.
    #[test]
    fn apostrophes_are_alike() {
        let gold = Speaker::read(&serde_json::json!({"name": "Mary O'Neil", "role": "COO"})).unwrap();
        let named = named_in("Mary O’Neil (COO) said so.", std::slice::from_ref(&gold));
        assert!(matches!(named.as_slice(), [only] if only.is_wanted(&gold)), "{named:?}");
    }

    /// RG-07: speakers are found in a text, unknown ones too; silent people are not.
    #[test]
    fn speakers_are_found_in_text() {
        for (text, expected) in [
            ("Ana Ruiz (CFO) did not comment; Carl Roe (COO) said so.", vec!["Carl Roe (COO)"]),
            ("CFO Ana Ruiz said so.", vec!["Ana Ruiz (CFO)"]),
            ("Ana Ruiz (COO) said so, not the CFO.", vec!["Ana Ruiz (coo)"]),
            ("Ana Ruiz, our CFO, said no comment was needed.", vec!["Ana Ruiz (CFO)"]),
            ("Ana Ruiz (CFO) and Carl van Roe said so.", vec!["Ana Ruiz (CFO)", "Carl van Roe"]),
            ("COO Carl Roe said so, Ana Ruiz (CFO) declined to comment.", vec!["Carl Roe (COO)"]),
            ("Chief Operating Officer Carl J. Roe said so.", vec!["Carl J. Roe (Chief Operating Officer)"]),
            ("It was not Bo Ek (CEO) but Ana Ruiz (CFO) who said so.", vec!["Ana Ruiz (CFO)"]),
            ("Ana Ruiz (CFO) answered Carl Roe (Chief Analyst Officer)’s question.", vec!["Ana Ruiz (CFO)"]),
            ("Ana Ruiz (CFO) took Bo Ek's second question.", vec!["Ana Ruiz (CFO)"]),
            ("Asked by Tom Berg, Ana Ruiz (CFO) said so.", vec!["Ana Ruiz (CFO)"]),
            ("Helios Grid said so, according to Ana Ruiz (CFO).", vec!["Ana Ruiz (CFO)"]),
            ("Ana Ruiz (CFO) of Helios Grid (Q2 call) said so.", vec!["Ana Ruiz (CFO)"]),
            ("Ana Ruiz (CFO) hat sich nicht geäußert.", vec![]),
            ("Ana Ruiz (CFO) didn’t say so; she left.", vec![]),
            ("Ana Ruiz (CFO) does not see a decline.", vec!["Ana Ruiz (CFO)"]),
            ("CFO Ana Ruiz, Bo Ek (CEO) said so.", vec!["Ana Ruiz (CFO)", "Bo Ek (CEO)"]),
            ("Ana Ruiz, Chief Financial Officer (CFO), said so.", vec!["Ana Ruiz (CFO)"]),
            ("Der Finanzvorstand Karl Roe sagte das.", vec!["Karl Roe (Finanzvorstand)"]),
            ("", vec![]),
        ] {
            let named: Vec<String> = named_in(text, &known()).iter().map(Speaker::to_string).collect();
            assert_eq!(named, expected, "{text}");
        }
    }
}
