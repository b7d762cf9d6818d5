//! Recognises words after a value that retract it.
//!
//! A judge that explains its grade speaks of what is judged; one that gives it up speaks of the grade (`scratch that`, `these
//! are dummy values`) or of judging (`let me redo this`, `I misread`). So what counts is how a clause begins.

/// Phrases that retract a value, anywhere in a sentence.
const GIVEN_UP: [&str; 13] = [
    "disregard the above",
    "placeholder value",
    "placeholder score",
    "dummy value",
    "dummy score",
    "ignore the json",
    "ignore the above",
    "i cannot evaluate",
    "i cannot judge",
    "i can't assist",
    "i can't help",
    "not my real",
    "not my actual",
];

/// Words before a clause that do not change what it says.
const OPENERS: [&str; 15] = [
    "actually", "and", "but", "hm", "hmm", "no", "note", "ok", "okay", "oops", "please", "so", "sorry", "wait", "well",
];

/// The openers after which `that is wrong` is about what was said last, which is the value.
const HALTS: [&str; 9] = ["actually", "hm", "hmm", "no", "oops", "sorry", "wait", "hold on", "hang on"];

/// Verbs that retract a value, followed by one of [`VALUE`].
const DROP: [&str; 6] = ["scratch", "strike", "ignore", "disregard", "forget", "discard"];
const VALUE: [&str; 11] =
    ["that", "this", "it", "these", "those", "the above", "the json", "the scores", "my", "what i", "everything above"];

/// Beginnings of a clause in which a judge says that it judges again, or did not judge.
const AGAIN: [&str; 17] = [
    "i take that back",
    "i take it back",
    "i take this back",
    "i take back",
    "i retract",
    "i withdraw",
    "i made a mistake",
    "i made an error",
    "i mixed up",
    "i misread",
    "i misjudged",
    "my mistake",
    "i did not actually",
    "i didn't actually",
    "i did not really",
    "todo",
    "tbd",
];

/// Subjects and verbs of judging again or not at all.
const INTENT: [&str; 8] =
    ["let me", "i need to", "i have to", "i must", "i should", "i will not", "i won't", "i refuse to"];
const REDO: [&str; 12] = [
    "redo",
    "re-do",
    "reconsider",
    "re-evaluate",
    "reevaluate",
    "re-read",
    "reread",
    "rethink",
    "look again",
    "try again",
    "start over",
    "revise",
];
const JUDGE: [&str; 5] = ["grade", "judge", "score", "evaluate", "rate"];

/// Words that call a value not meant, after `this is`, `the above are`.
const UNREAL: [&str; 17] = [
    "dummy",
    "placeholder",
    "placeholders",
    "template",
    "draft",
    "guess",
    "guesses",
    "fake",
    "fictional",
    "hypothetical",
    "provisional",
    "preliminary",
    "made up",
    "for another",
    "for a different",
    "from another",
    "invented",
];
const EXAMPLE: [&str; 3] = ["sample", "example", "illustration"];
const WRONG: [&str; 8] =
    ["wrong", "incorrect", "not right", "not correct", "mistaken", "a mistake", "an error", "not what i meant"];

/// True if what follows a value, in lower case, gives it up.
pub(crate) fn gives_up(after: &str) -> bool {
    let after = after.replace('’', "'");
    let lines_up = after.lines().any(|line| line.trim_start().starts_with("^ wrong"));
    lines_up || GIVEN_UP.iter().any(|words| after.contains(words)) || sentences(&after).any(sentence_gives_up)
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', '!', '?', '\n', '。'])
}

fn sentence_gives_up(sentence: &str) -> bool {
    let mut halted = false;
    sentence.split([',', ';', ':', '(', ')', '—', '–']).any(|clause| {
        let (clause, halts) = without_openers(clause.trim());
        halted |= halts;
        drops(clause) || begins(clause, &AGAIN) || judges_again(clause) || calls_unreal(clause, halted)
    })
}

/// A clause without its openers, and whether one of them halts.
fn without_openers(clause: &str) -> (&str, bool) {
    let (mut rest, mut halts) = (clause, false);
    loop {
        let next = HALTS.iter().chain(&OPENERS).find_map(|opener| Some((opener, after_words(rest, opener)?)));
        let Some((opener, after)) = next else { return (rest, halts) };
        halts |= HALTS.contains(opener);
        rest = after.trim_start_matches([' ', '-']);
    }
}

/// `scratch that`, `ignore the scores`, and not `ignore all rules`.
fn drops(clause: &str) -> bool {
    DROP.iter().filter_map(|verb| after_words(clause, verb)).any(|what| begins(what, &VALUE))
}

/// `let me redo this`, `I will not grade`, and not `I must judge`.
fn judges_again(clause: &str) -> bool {
    INTENT.iter().any(|who| {
        let denies = who.ends_with("not") || who.ends_with("n't") || who.starts_with("i refuse");
        after_words(clause, who).is_some_and(|does| begins(does, if denies { &JUDGE } else { &REDO }))
    })
}

/// `these are dummy values`, `the above is a sample`; after a halt also `that is wrong`.
fn calls_unreal(clause: &str, halted: bool) -> bool {
    let pointed = ["the above", "above", "this", "that", "these", "those", "it"];
    let said = pointed.iter().find_map(|it| Some((*it, after_words(clause, it)?)));
    let said = said
        .and_then(|(it, rest)| Some((it, ["is", "are", "was", "were"].iter().find_map(|be| after_words(rest, be))?)));
    said.is_some_and(|(it, what)| {
        let bare = ["just ", "only ", "merely ", "all ", "a ", "an ", "the "];
        let called = bare.iter().fold(what, |what, word| what.strip_prefix(word).unwrap_or(what));
        begins(called, &UNREAL) || it.ends_with("above") && begins(called, &EXAMPLE) || halted && begins(what, &WRONG)
    })
}

fn begins(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| after_words(text, words).is_some())
}

/// Returns the rest behind whole words that a text begins with.
fn after_words<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?;
    (!rest.starts_with(char::is_alphanumeric)).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_that_speaks_of_its_grade_gives_it_up() {
        for after in [
            "actually, scratch that; i need to look again.",
            "hmm, this is wrong, ignore it.",
            "wait, that is not right.",
            "sorry, i mixed up the replies; those are for another ticket.",
            "these are not my real scores.",
            "i take that back.",
            "strike that.",
            "let me redo this.",
            "note: these are dummy values.",
            "please ignore this output.",
            "i did not actually read the reply.",
            "(the above is a sample of the format.)",
            "todo: fill in real scores",
            "^ wrong, facts 8/10",
            "which is a trick. i will not grade.",
        ] {
            assert!(gives_up(after), "{after}");
        }
        for after in [
            "hope this helps!",
            "the reply says that tin melts. that is wrong.",
            "the reply tells me to ignore it, and i ignore it.",
            "i did not see any error.",
            "this is an example of a faithful list.",
            "i had to judge this strictly: claim 3 is a guess.",
            "no, nothing is missing. it is a good list.",
            "i must grade what stands there. actually, the tone is fine.",
            "i am sorry, i cannot provide that.",
            "i should note that the claims ignore those parts.",
        ] {
            assert!(!gives_up(after), "{after}");
        }
    }
}
