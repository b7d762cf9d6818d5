//! Labels, and the raters behind them, that cannot be used.

use super::{Lines, Names, errors};

errors! {
    /// Labels or raters that cannot be used.
    enum LabelError {
        NoRuns {} => "there is no finished run to compare" hint "`karat run` makes one";
        NothingShared { shared: String, raters: Names } => "nothing to compare: no output was graded by two raters{shared}"
            hint "raters of this run: {raters}; run with several `--judges`, name several runs over the same outputs \
                  (judged again: `--no-cache`), or give `--labels FILE`";
        NoLabel { place: String, source: serde_json::Error } => "{place}: this is not a label: {source}"
            hint "a label is a line such as {{\"sample\": \"s1\", \"annotator\": \"ann\", \"scores\": {{\"accuracy\": 7}}}}";
        Misfit { place: String, problem: String } => "{place}: {problem}" hint "correct the label, or leave it out";
        Empty { path: String } => "reading the labels {path}: it holds no label"
            hint "a label is a line such as {{\"sample\": \"s1\", \"annotator\": \"ann\", \"scores\": {{\"accuracy\": 7}}}}";
        NoOutputs { run: String } => "run {run} has no output that could be labelled"
            hint "outputs are kept unless the suite says `privacy: {{ keep_content: false }}`";
        WrongTasks { problems: Lines<String> } => "{problems}" hint "fix these lines and import again; nothing was changed";
        NoRubric { scorers: Names } => "labels need a scorer with a rubric and judges, and this suite has none"
            hint "scorers with judges: {scorers}";
        NotJson { place: String, source: serde_json::Error } => "{place}: this is not JSON: {source}";

        TrialsOfRound {} => "`--trials` has no effect on a calibration round: it grades labelled outputs and makes none"
            hint "leave it out; `votes` of the scorer lets a judge grade each output several times";
        NoLabelledRows { scorer: String } => "the labels of `{scorer}` hold no row with `sample`, `output` and `scores`"
            hint "a label is a line such as {{\"sample\": \"s1\", \"output\": {{…}}, \"scores\": {{\"accuracy\": 7}}}}";
        NoRounds { suite: String, path: String } => "no round of calibration of `{suite}` is stored"
            hint "`karat calibrate {path}` makes one";
        NotJudged { scorer: String, scorers: Names } => "calibrating `{scorer}`: this suite has no such scorer with judges"
            hint "scorers with judges: {scorers}";
        NothingToCalibrate {} => "nothing to calibrate: no scorer of this suite has judges and `labels`"
            hint "add `labels: FILE` to a scorer with a `rubric`: lines of {{sample, output, scores}}";
        NoReason {} => "`--threshold` changes what counts as calibrated and needs a reason"
            hint "give it with `--reason`; it is recorded with the round";
    }
}

errors! {
    /// A task for people that cannot be used.
    enum AnnotateError {
        NoTask { task: String, known: Names } => "there is no annotation task `{task}`"
            hint "tasks: {known}; `karat annotate create RUN` makes one";
        NoItem { id: String, task: String } => "the task {task} has no item `{id}`" hint "`next` gives items with their ids";
        BadName { name: String } => "`{name}` cannot name a task"
            hint "use 1 to 64 letters, digits, `_`, `-` and `.`, with a letter or digit first";
        BadPerson {} => "a person needs a name of 1 to 64 characters without `/`" hint "name the person, such as `ann`";
        Questions { file: String, problem: String } => "reading the questions {file}: {problem}"
            hint "a question is such as {{id: helpful, ask: Is it helpful?, kind: choice, choices: [{{id: good}}, {{id: bad}}]}}";
        NoQuestions {} => "a task needs questions" hint "give `--questions FILE`, or a run whose suite has a rubric scorer";
        Select { text: String, problem: String } => "`--select {text}`: {problem}"
            hint "use random, stratified:COLUMN, verdict, uncertain, failed or ids:FILE";
        Rows { file: String, problem: String } => "reading the rows {file}: {problem}"
            hint "use JSON lines, a JSON list of objects, or CSV with a head, as a suite's dataset does";
        Gold { file: String, problem: String } => "reading the gold items {file}: {problem}"
            hint "a gold item is a line such as {{\"input\": \"…\", \"output\": \"…\", \"scores\": {{\"quality\": 4}}}}";
        NoShownColumn { column: String, columns: Names } => "`--show {column}`: no row has this column"
            hint "the columns are {columns}";
        NoItems { source_name: String } => "no item to label is left of {source_name}"
            hint "select others, or keep outputs: `privacy: {{ keep_content: true }}`";
        NoIds { file: String } => "reading the ids {file}: it has none" hint "write the id of a sample on each line";
        UnknownIds { file: String, count: usize, all: usize, named: Names } =>
            "selecting the ids of {file}: {count} of {all} are no sample with an output, such as {named}"
            hint "correct these ids, or remove their lines";
        Count {} => "`--n 0` asks for a task without items" hint "give a number of 1 or more, or leave `--n` out for all";
        TwinName { name: String, known: String } =>
            "`{name}` differs from `{known}` by case or space only, so one person would count as two"
            hint "label as `{known}`, or choose another name";
        Places { places: usize } => "`-k {places}`: an item needs 1 to 20 different people" hint "use 2 or 3";
        Share { share: f64 } => "a share of gold items of {share} is not above 0 and below 0.9" hint "use `--gold-share 0.1`";
        GoldLimit { limit: f64 } => "`--gold-limit {limit}` is not a share" hint "use `--gold-limit 0.7`";
        TooFew { people: usize, places: usize } => "`--assign` names {people} different people, and an item needs {places}"
            hint "name more, or lower `-k`";
        Mask { pattern: String, problem: String } => "`--mask {pattern}`: {problem}" hint "give a regular expression";
        NotAssigned { person: String, task: String } => "`{person}` is not assigned to the task {task}"
            hint "ask the owner of the task for a place";
        Closed { task: String } => "the task {task} is closed" hint "`karat annotate create` with a change makes a new version";
        NotShown { id: String } => "the item `{id}` was not handed out to this person" hint "ask for `next` first";
        WithOwner { id: String } => "the item `{id}` is with the owner of the task" hint "ask for `next`";
        Answers { problem: String } => "{problem}" hint "correct the answers and submit again";
        Reason { reason: String, known: Names } => "`{reason}` is not a reason here" hint "reasons: {known}";
        NothingToUndo {} => "there is no label to take back";
        NoSettled { task: String } => "no item of the task {task} is settled"
            hint "`karat annotate show {task}` says what is open";
        NoLabels { task: String } => "the task {task} has no label that a rubric could read"
            hint "labels need a scale, or choices with values";
        NotScored { task: String } => "the task {task} does not ask a rubric, so no judge can be compared with it"
            hint "create the task from a run with a rubric scorer";
        NotClosed { task: String } => "pinning the labels of {task}: people still label there"
            hint "`karat annotate close {task}` ends the task";
        PairsPinNothing { task: String } =>
            "pinning the labels of {task}: its people compare two outputs, and a golden set pins scores of single ones"
            hint "`karat report` shows these labels in the ranking; for a golden set ask a rubric without `versus`";
        NoMetric { task: String } =>
            "pinning the labels of {task}: its questions come from a file, so they belong to no metric of a suite"
            hint "create the task from a run with a rubric scorer, without `--questions`";
        NoGoldenFolder { suite: String } => "pinning labels: the suite {suite} names no folder for a golden set"
            hint "give the folder with `-o DIR`, or add `baseline: golden` to the suite";
        OtherOutputs { task: String, system: String } =>
            "pinning the labels of {task}: no settled output is of the system `{system}`"
            hint "`karat annotate export {task} --as jsonl` shows whose outputs are settled";
        NoClosedTask { suite: String, known: Names } =>
            "pinning labels: the suite {suite} has no closed annotation task that asks its rubric"
            hint "tasks: {known}; `karat annotate close TASK` ends one";
        NoTaskOrSuite { name: String, known: Names } =>
            "`{name}` is not an annotation task, no suite file and no preset"
            hint "tasks: {known}";
        Exclusion {} => "excluding a person needs a reason" hint "give it with `--reason`; it is stored with the task";
        NoPerson { person: String, task: String } => "`{person}` has done nothing in the task {task}"
            hint "`karat annotate show {task}` lists the people";
        Damaged { task: String, source: serde_json::Error } => "reading the task {task} from the store: {source}"
            hint "a newer Karat may have written it; otherwise the file is damaged";
        NoRandom { source: getrandom::Error } => "creating a task: the system gives no random bytes ({source})";
    }
}
