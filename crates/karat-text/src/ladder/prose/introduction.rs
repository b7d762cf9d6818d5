//! Reads the line before a value: who gives the value, and whether it is meant.
//!
//! A judge introduces its own verdict by naming it (`My evaluation:`, `Here is the JSON`). A value after `The reply claims:` is
//! another author's; one after `Format:`, `Initial guess:` or `A bad reply would get:` is no verdict. The same words within a
//! longer line may be about the judged text, so most count only in a label: a few words before a colon.

/// The most words of a label.
const LABEL: usize = 5;

/// Words of a label that is no verdict's.
const UNREAL: [&str; 14] = [
    "default",
    "defaults",
    "guess",
    "prior",
    "expected",
    "provisional",
    "tentative",
    "fake",
    "mock",
    "dummy",
    "tbd",
    "todo",
    "imaginary",
    "unverified",
];

/// Stems of such words in several languages: fictional, fiktives, hypothétique.
const STEMS: [&str; 4] = ["ficti", "fikti", "hypoth", "hipot"];

/// Beginnings of a label that is no verdict's; `Sample 3:` is one.
const EARLY: [&str; 4] = ["initial", "preliminary", "interim", "sample"];

/// Phrases, before a colon, of a value that comes before the verdict.
const FIRST: [&str; 8] = [
    "first pass",
    "first guess",
    "first attempt",
    "first impression",
    "first thought",
    "will revise",
    "to be revised",
    "my prior",
];

/// Names of a form, and beginnings of a line that only says how the verdict is written.
const SHAPE: [&str; 4] = ["format", "schema", "shape", "structure"];
const WRITTEN: [&str; 7] = ["in", "with", "using", "as", "per", "following", "json"];

/// Beginnings of a sentence in which nothing was judged yet.
const UNSEEN: [&str; 7] = [
    "before reading",
    "before seeing",
    "before looking",
    "without reading",
    "without seeing",
    "without having",
    "without looking",
];

/// Verbs of a hypothetical judgment: `A bad reply would get`.
const GET: [&str; 5] = ["get", "receive", "earn", "deserve", "look"];

/// Other authors of a verdict, and verbs of saying.
const OTHERS: [&str; 22] = [
    "answer",
    "article",
    "assistant",
    "author",
    "candidate",
    "colleague",
    "content",
    "document",
    "email",
    "grader",
    "judge",
    "output",
    "page",
    "reply",
    "response",
    "reviewer",
    "someone",
    "student",
    "submission",
    "text",
    "transcript",
    "user",
];
const SAY: [&str; 17] = [
    "asks",
    "claimed",
    "claims",
    "contained",
    "contains",
    "demands",
    "gave",
    "includes",
    "insists",
    "proposes",
    "reads",
    "said",
    "says",
    "stated",
    "states",
    "wrote",
    "writes",
];

/// Endings of words that may stand before the verb: `explicitly`, `itself`, and not `reply`.
const ADVERBS: [&str; 4] = ["tly", "rly", "self", "also"];

/// Words between what is said and what was.
const SAID: [&str; 15] = [
    "this",
    "that",
    "the",
    "following",
    "line",
    "text",
    "json",
    "object",
    "verdict",
    "score",
    "scores",
    "as",
    "follows",
    "about",
    "itself",
];

/// Words for other judges: of a colleague, of a previous judge.
const EARLIER: [&str; 6] = ["previous", "prior", "earlier", "another", "other", "former"];
const VERDICT: [&str; 16] = [
    "assessment",
    "evaluation",
    "evaluator",
    "grade",
    "grader",
    "grades",
    "judge",
    "judges",
    "judgment",
    "rater",
    "rating",
    "reviewer",
    "score",
    "scores",
    "verdict",
    "annotator",
];

/// True if the line before a value, in lower case, says that it is not the judge's verdict.
pub(crate) fn is_of_another(line: &str) -> bool {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_heading = line.ends_with([':', '：']);
    let is_called = is_heading && (is_of_other_judge(&words) || FIRST.iter().any(|first| line.contains(first)));
    let is_label = is_heading && words.len() <= LABEL && (is_unreal(&words) || is_a_form(&words));
    is_called || is_label || is_quoted_speech(line) || is_unjudged(line)
}

/// `Default values`, `Initial guess`, `Sample output`.
fn is_unreal(words: &[&str]) -> bool {
    let is_numbered = words.iter().any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    words.iter().any(|word| UNREAL.contains(word) || STEMS.iter().any(|stem| word.starts_with(stem)))
        || !is_numbered
            && words
                .iter()
                .find(|word| !["my", "a", "an", "the"].contains(word))
                .is_some_and(|first| EARLY.contains(first))
}

/// `Format`, `Reply format`, and not `In the format asked for`, `JSON format`.
fn is_a_form(words: &[&str]) -> bool {
    let is_shape = words.last().is_some_and(|last| SHAPE.contains(last));
    is_shape && words.len() <= 3 && !words.iter().any(|word| WRITTEN.contains(word))
}

/// `My colleague's verdict`, `Scores of the previous grader`.
fn is_of_other_judge(words: &[&str]) -> bool {
    let is_verdict = |word: &str| VERDICT.contains(&word);
    let colleague = words.iter().any(|word| ["colleague", "coworker", "somebody", "someone"].contains(word));
    let pairs = words.windows(2).any(|pair| EARLIER.contains(&pair[0]) && is_verdict(pair[1]));
    pairs || colleague && words.iter().any(|word| is_verdict(word))
}

/// `The candidate wrote`, `The reply contains this line`: a verb of saying has the value as its object.
fn is_quoted_speech(line: &str) -> bool {
    let sentence = line.rsplit(['.', '!', '?', '。']).next().unwrap_or_default();
    let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.rev().skip_while(|word| SAID.contains(word));
    let is_verb = words.next().is_some_and(|verb| SAY.contains(&verb));
    is_verb
        && words
            .find(|word| !ADVERBS.iter().any(|adverb| word.ends_with(adverb)))
            .is_some_and(|who| OTHERS.contains(&who))
}

/// `Without having seen the reply`, `A bad reply would get`.
fn is_unjudged(line: &str) -> bool {
    let sentence = line.rsplit(['.', '!', '?', '。']).next().unwrap_or_default().trim_start();
    let is_anybody = ["a ", "an ", "any ", "some "].iter().any(|begin| sentence.starts_with(begin));
    let gets = sentence.split_once(" would ").is_some_and(|(_, does)| GET.iter().any(|get| does.starts_with(get)));
    is_anybody && gets || UNSEEN.iter().any(|begin| sentence.starts_with(begin)) && line.ends_with([':', '：'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_introduced_as_the_judges_own() {
        for line in [
            "the candidate wrote:",
            "the reply said",
            "the reply contains this line:",
            "the reply claims:",
            "sample output:",
            "format:",
            "expected format:",
            "default values:",
            "initial guess (will revise):",
            "previous grader said:",
            "my colleague's verdict:",
            "a bad reply would get:",
            "fiktives ergebnis:",
            "step 1, first pass:",
            "before reading the reply, my prior is:",
            "without having seen the reply:",
            "preliminary scores:",
        ] {
            assert!(is_of_another(line), "{line}");
        }
        for line in [
            "here is my evaluation:",
            "sure!",
            "json:",
            "json format:",
            "in the format asked for:",
            "sample 3:",
            "evaluation of the claims:",
            "the reply contains two errors:",
            "i would give:",
            "a fair grade would be:",
            "having compared both lists, i conclude:",
            "the judge's scores:",
            "the transcript says little.",
            "before grading i read everything. my verdict:",
            "after checking what the transcript says, my scores:",
            "the expected claims are there, and the rest is faithful:",
        ] {
            assert!(!is_of_another(line), "{line}");
        }
    }
}
