//! Rubrics: files, inline, and the one-question shorthand.

use karat_text::template::{Expression, Template};
use karat_types::{
    Better, BreakdownSpec, Cap, ChunkMerge, DiagnosticSpec, Dimension, FieldType, InvalidReplyRule, Overall,
    OverallMethod, Rationale, ReferenceUse, ReplyShape, Rubric, RubricPrompt, Scale, ShowAs, ShowChunk, ShowItem,
};

use crate::check::{self, share};
use crate::decode::scorers::output_fields::OutputFields;
use crate::decode::{Decoder, integer_at, word_at};
use crate::diagnostics::nearest::suggestion;
use crate::grammar::RUBRIC;
use crate::syntax::node::{Entry, Node};
use crate::syntax::{names, notation, yaml};

/// A decoded rubric and the names that its templates and expressions read.
pub(crate) struct Decoded {
    pub rubric: Rubric,
    pub reads: Vec<String>,
}

impl Decoder<'_> {
    /// The rubric of a scorer: from a file, or written in the suite.
    pub fn rubric(&mut self, node: &Node, scorer: &str) -> Option<Decoded> {
        let Some(file) = node.main("file") else {
            return self.whole_rubric(node, scorer);
        };
        if let Some(other) = node.entries().iter().find(|entry| entry.key != "file") {
            self.problems
                .error(&other.place, format!("`{}` cannot be combined with `file`", other.key))
                .hint("a rubric is either a file or written here");
        }
        let (path, text) = self.text(file)?;
        let place = self.register(&path, &text);
        let tree = yaml::read_tree(&text, place.file, &mut self.problems)?;
        check::check_at(&tree, &RUBRIC, &["rubric"], self.catalog, &mut self.problems);
        if let Some(entry) = tree.entries().iter().find(|entry| entry.key == "file") {
            self.problems.error(&entry.place, "a rubric file cannot refer to another rubric file");
            return None;
        }
        let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or(scorer);
        self.whole_rubric(&tree, stem)
    }

    /// The rubric of a tree, with the ready rubric below it where it names one.
    fn whole_rubric(&mut self, node: &Node, name: &str) -> Option<Decoded> {
        let Some(used) = node.field("use") else {
            self.needed_values(node, name, None)?;
            return self.inline_rubric(node, name);
        };
        let tree = self.over_ready_rubric(node, used)?;
        let name = used.text()?;
        self.needed_values(&tree, name, Some(&used.place))?;
        self.inline_rubric(&tree, name)
    }

    fn inline_rubric(&mut self, node: &Node, name: &str) -> Option<Decoded> {
        let Some(ask) = node.text_of("ask") else {
            self.problems.error(&node.place, "a rubric needs `ask`").hint("describe the judge's task");
            return None;
        };
        if let Some(asked) = node.field("ask").filter(|_| ask.contains("{{")) {
            self.problems
                .warn(&asked.place, "`ask` is not a template: the judge reads `{{ … }}` literally")
                .hint("list the values for the judge: `show: { question: \"{{ sample.question }}\" }`");
        }
        let mut reads = Vec::new();
        let reference = word_at::<ReferenceUse>(node, "reference");
        let dimensions = self.dimensions(node.field("dimensions"), ask);
        let show = match node.field("show") {
            Some(show) => show.entries().iter().filter_map(|entry| self.shown_values(entry, &mut reads)).collect(),
            None => self.shown_by_default(node, &mut reads),
        };
        let rubric = Rubric {
            id: node.text_of("id").unwrap_or(name).to_owned(),
            version: self.version(node),
            ask: ask.to_owned(),
            show,
            reference: reference.unwrap_or_default(),
            breakdowns: self.breakdowns(node),
            overall: node.field("overall").map(overall),
            rationale: node.field("rationale").map(rationale).unwrap_or_default(),
            diagnostics: self.diagnostics(node),
            caps: self.caps(node, &dimensions, &mut reads),
            reply: word_at::<ReplyShape>(node, "reply").unwrap_or_default(),
            examples: integer_at(node, "examples").unwrap_or(0),
            prompt: node.field("prompt").and_then(|prompt| self.own_prompt(prompt)),
            invalid: invalid(node),
            dimensions,
        };
        match rubric.reference {
            ReferenceUse::Hidden => self.warn_of_unseen_reference(node, &rubric),
            ReferenceUse::Optional | ReferenceUse::Required => reads.push("reference".to_owned()),
        }
        self.consistency(node, &rubric);
        reads.sort_unstable();
        reads.dedup();
        Some(Decoded { rubric, reads })
    }

    /// Warns of a question about a reference that the judge is not shown under any name.
    fn warn_of_unseen_reference(&mut self, node: &Node, rubric: &Rubric) {
        let speaks =
            |text: &str| ["reference", "expected answer"].iter().any(|word| text.to_lowercase().contains(word));
        let is_shown = |item: &ShowItem| speaks(&item.value) || item.name.contains("expected") || speaks(&item.name);
        let asked = node.field("ask").filter(|_| speaks(&rubric.ask) && !rubric.show.iter().any(is_shown));
        if let Some(asked) = asked {
            self.problems
                .warn(&asked.place, "the judge does not see the reference that `ask` speaks of")
                .hint("add `reference: optional`, or list it: `show: { expected: \"{{ reference }}\" }`");
        }
    }

    fn dimensions(&mut self, node: Option<&Node>, ask: &str) -> Vec<Dimension> {
        match node {
            Some(node) if !node.entries().is_empty() => {
                node.entries().iter().filter_map(|entry| self.dimension(entry)).collect()
            }
            Some(node) => {
                self.problems.error(&node.place, "`dimensions` is empty");
                Vec::new()
            }
            None => vec![Dimension {
                name: "pass".to_owned(),
                definition: Some(ask.trim().to_owned()),
                scale: Scale::Choices(vec![("pass".to_owned(), 1.0), ("fail".to_owned(), 0.0)]),
                weight: 1.0,
                anchors: Vec::new(),
                better: Better::Higher,
                chunks: ChunkMerge::Weighted,
                counted: None,
            }],
        }
    }

    pub(super) fn dimension(&mut self, entry: &Entry) -> Option<Dimension> {
        let node = &entry.node;
        let scale = self.scale(node)?;
        let (lo, hi) = scale.bounds();
        Some(Dimension {
            name: entry.key.clone(),
            definition: node.text_of("definition").map(|text| text.trim().to_owned()),
            anchors: self.anchors(node, lo, hi),
            scale,
            weight: node.field("weight").and_then(Node::number).unwrap_or(1.0),
            better: word_at(node, "better").unwrap_or_default(),
            chunks: word_at(node, "chunks").unwrap_or_default(),
            counted: self.decode_counted(node),
        })
    }

    fn scale(&mut self, node: &Node) -> Option<Scale> {
        if let Some(choices) = node.field("choices") {
            if let Some(step) = node.field("step") {
                self.problems.error(&step.place, "`step` needs `scale`; it cannot be combined with `choices`");
            }
            let choices: Vec<_> =
                choices.entries().iter().filter_map(|entry| Some((entry.key.clone(), entry.node.number()?))).collect();
            if choices.len() < 2 {
                self.problems.error(&node.place, "`choices` needs at least two answers");
                return None;
            }
            return Some(Scale::Choices(choices));
        }
        if node.field("counted").is_some() {
            return Some(Scale::Range { lo: 0.0, hi: 1.0, step: None });
        }
        let scale = node.field("scale")?;
        let [lo, hi] = scale.items() else { return None };
        let (lo, hi) = (lo.number()?, hi.number()?);
        let step = node.field("step").and_then(Node::number);
        if let Some(step) = step.filter(|step| *step <= 0.0 || *step > hi - lo) {
            let place = node.field("step").map_or(&node.place, |step| &step.place);
            self.problems.error(place, format!("a `step` of {step} does not fit a scale from {lo} to {hi}"));
        }
        Some(Scale::Range { lo, hi, step })
    }

    fn anchors(&mut self, node: &Node, lo: f64, hi: f64) -> Vec<(f64, String)> {
        let mut anchors = Vec::new();
        for entry in node.field("anchors").map(Node::entries).unwrap_or_default() {
            match entry.key.parse::<f64>() {
                Ok(value) if (lo..=hi).contains(&value) => {
                    anchors.extend(entry.node.text().map(|text| (value, text.to_owned())));
                }
                _ => {
                    self.problems
                        .error(&entry.place, format!("the anchor `{}` is not a value from {lo} to {hi}", entry.key));
                }
            }
        }
        anchors.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        anchors
    }

    fn shown_values(&mut self, entry: &Entry, reads: &mut Vec<String>) -> Option<ShowItem> {
        let node = &entry.node;
        let value = self.rubric_template(node.main("value")?, names::RUBRIC, reads)?;
        let form = word_at::<ShowAs>(node, "as").unwrap_or_default();
        let line = match node.field("line") {
            Some(line) => Some(self.rubric_template(line, names::RUBRIC_LINE, reads)?),
            None => None,
        };
        if let Some(at) = node.field("line").filter(|_| form != ShowAs::Lines) {
            self.problems.error(&at.place, "`line` needs `as: lines`: it is the template of one line");
        }
        let chunk = node.field("chunk");
        if let Some(chunk) = chunk.filter(|it| it.field("tokens").is_some() && it.field("items").is_some()) {
            self.problems.error(&chunk.place, "`tokens` cannot be combined with `items`").hint("keep one of the two");
        }
        let times = match node.field("times") {
            Some(times) => Some(self.rubric_template(times, names::RUBRIC, reads)?),
            None => None,
        };
        if let Some(at) = node.field("times").filter(|_| chunk.is_none()) {
            self.problems.error(&at.place, "`times` needs `chunk`: it gives the times of the pieces");
        }
        Some(ShowItem {
            name: entry.key.clone(),
            value,
            about: node.text_of("about").map(str::to_owned),
            times,
            form,
            line,
            shuffle: node.field("shuffle").and_then(Node::boolean).unwrap_or(false),
            route: node.text_of("route").map(str::to_owned),
            required: node.field("required").and_then(Node::boolean).unwrap_or(false),
            chunk: chunk.map(|chunk| ShowChunk {
                tokens: integer_at(chunk, "tokens"),
                items: integer_at(chunk, "items"),
                overlap: integer_at(chunk, "overlap").unwrap_or(0),
                window: self.window(chunk),
            }),
        })
    }

    /// The share of the judge's window that may be filled before a text is cut.
    fn window(&mut self, chunk: &Node) -> Option<f64> {
        let node = chunk.field("window")?;
        let (share, _) = share(node)?;
        if share <= 0.0 || share > 1.0 {
            self.problems.error(&node.place, "`window` is a share of the judge's context window").hint("such as 80%");
        }
        Some(share)
    }

    /// Without `show`, a judge sees the input and the output; of an output that may call tools, its words.
    fn shown_by_default(&mut self, node: &Node, reads: &mut Vec<String>) -> Vec<ShowItem> {
        let names = ["input", "output"];
        for name in names {
            let name = name.to_owned();
            names::check(
                std::slice::from_ref(&name),
                &name,
                &node.place,
                names::RUBRIC,
                &mut self.pending,
                &mut self.problems,
            );
            let waiting = self.pending.last_mut().filter(|waiting| waiting.name == name);
            waiting.into_iter().for_each(|waiting| waiting.is_shown_by_default = true);
            reads.push(name);
        }
        let mut shown = names.map(plain);
        if self.output_fields.as_ref().is_some_and(OutputFields::is_turn) {
            shown[1].value = "{{ output.text }}".to_owned();
        }
        shown.into()
    }

    fn rubric_template(&mut self, node: &Node, roots: &[&str], reads: &mut Vec<String>) -> Option<String> {
        let text = node.text()?;
        let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
        let template = Template::compile(&inlined).ok()?;
        names::check(template.reads(), text, &node.place, roots, &mut self.pending, &mut self.problems);
        self.check_output_reads(template.reads(), text, &node.place);
        let known = |name: &&String| names::RUBRIC.contains(&name.split('.').next().unwrap_or_default());
        reads.extend(template.reads().iter().filter(known).cloned());
        Some(inlined)
    }

    fn breakdowns(&mut self, node: &Node) -> Vec<BreakdownSpec> {
        let entries = node.field("breakdowns").map(Node::entries).unwrap_or_default();
        let decoded = entries.iter().map(|entry| BreakdownSpec {
            name: entry.key.clone(),
            over: entry.node.field("over").map(Node::texts).unwrap_or_default(),
            scores: entry
                .node
                .field("scores")
                .map(Node::entries)
                .unwrap_or_default()
                .iter()
                .filter_map(|score| self.graded_dimension(score))
                .collect(),
            default: entry.node.field("default").and_then(Node::number),
        });
        decoded.collect()
    }

    fn diagnostics(&mut self, node: &Node) -> Vec<DiagnosticSpec> {
        let shown: Vec<String> =
            node.field("show").map(Node::entries).unwrap_or_default().iter().map(|entry| entry.key.clone()).collect();
        let entries = node.field("diagnostics").map(Node::entries).unwrap_or_default();
        let decoded = entries.iter().map(|entry| {
            let each = entry.node.field("each").map(Node::entries).unwrap_or_default();
            let fields: Vec<(String, FieldType)> = each.iter().filter_map(|field| self.field(field, &shown)).collect();
            DiagnosticSpec {
                name: entry.key.clone(),
                differ: self.differ(&entry.node, &fields),
                fields,
                explain: entry.node.text_of("explain").map(str::to_owned),
                max: integer_at(&entry.node, "max"),
                chunks: word_at(&entry.node, "chunks").unwrap_or_default(),
            }
        });
        decoded.collect()
    }

    fn field(&mut self, entry: &Entry, shown: &[String]) -> Option<(String, FieldType)> {
        let node = &entry.node;
        let kind = if let Some(words) = node.field("one_of") {
            let words = words.texts();
            let default = node.text_of("default").map(str::to_owned);
            if let Some(default) = default.as_ref().filter(|default| !words.contains(default)) {
                let place = node.field("default").map_or(&node.place, |default| &default.place);
                self.problems
                    .error(place, format!("the default `{default}` is not one of the words"))
                    .maybe_hint(suggestion(default, words.iter().map(String::as_str)));
            }
            FieldType::OneOf { words, default }
        } else if let Some(list) = node.field("index_of") {
            let name = list.text()?;
            if !shown.iter().any(|known| known == name) {
                self.problems
                    .error(&list.place, format!("`show` has no `{name}`"))
                    .maybe_hint(suggestion(name, shown.iter().map(String::as_str)));
            }
            if node.text_of("default") != Some("-1") {
                self.no_default(node);
            }
            FieldType::IndexOf(name.to_owned())
        } else {
            let kind = node.main("type")?.text()?;
            let default = node.text_of("default").filter(|_| kind == "text");
            if default.is_none() {
                self.no_default(node);
            }
            match (kind, default) {
                ("number", _) => FieldType::Number,
                ("integer", _) => FieldType::Integer,
                ("boolean", _) => FieldType::Boolean,
                (_, Some(default)) => FieldType::TextOr(default.to_owned()),
                (_, None) => FieldType::Text,
            }
        };
        Some((entry.key.clone(), kind))
    }

    /// The two fields that must differ.
    fn differ(&mut self, node: &Node, fields: &[(String, FieldType)]) -> Option<(String, String)> {
        let given = node.field("differ")?;
        let names = given.texts();
        let known = |name: &String| fields.iter().any(|(field, _)| field == name);
        match names.as_slice() {
            [one, other] if known(one) && known(other) => Some((one.clone(), other.clone())),
            _ => {
                self.problems.error(&given.place, "`differ` needs the names of two fields of `each`");
                None
            }
        }
    }

    fn no_default(&mut self, node: &Node) {
        if let Some(default) = node.field("default") {
            self.problems.warn(&default.place, "`default` has no effect without `one_of`");
        }
    }

    fn caps(&mut self, node: &Node, dimensions: &[Dimension], reads: &mut Vec<String>) -> Vec<Cap> {
        let mut caps: Vec<Cap> = Vec::new();
        for cap in node.field("caps").map(Node::items).unwrap_or_default() {
            let Some((when, id)) = cap.field("when").zip(cap.text_of("id")) else { continue };
            let Some(text) = when.text() else { continue };
            let inlined = self.params.inline_expression(text, &when.place, &mut self.problems);
            let Ok(expression) = Expression::compile(&inlined) else { continue };
            names::check(expression.reads(), text, &when.place, names::RUBRIC, &mut self.pending, &mut self.problems);
            reads.extend(expression.reads().iter().cloned());
            let max = cap.field("max").map(Node::entries).unwrap_or_default();
            for entry in max {
                self.check_cap_limit(entry, dimensions);
            }
            if caps.iter().any(|earlier| earlier.id == id) {
                self.problems.error(&cap.place, format!("two caps have the id `{id}`"));
            }
            caps.push(Cap {
                id: id.to_owned(),
                when: inlined,
                max: max.iter().filter_map(|entry| Some((entry.key.clone(), entry.node.number()?))).collect(),
                say: cap.text_of("say").map(str::to_owned),
            });
        }
        caps
    }

    /// Checks that the limit of a cap is a value of its dimension: where the cap applies, it becomes the score.
    fn check_cap_limit(&mut self, entry: &Entry, dimensions: &[Dimension]) {
        let Some(dimension) = dimensions.iter().find(|known| known.name == entry.key) else {
            self.problems
                .error(&entry.place, format!("there is no dimension `{}`", entry.key))
                .maybe_hint(suggestion(&entry.key, dimensions.iter().map(|known| known.name.as_str())));
            return;
        };
        if let Some(value) = entry.node.number().filter(|value| !dimension.scale.has(*value)) {
            self.problems.error(
                &entry.node.place,
                format!(
                    "the cap `{}: {value}` is not a value of that dimension, which is {}",
                    entry.key, dimension.scale
                ),
            );
        }
    }

    fn own_prompt(&mut self, node: &Node) -> Option<RubricPrompt> {
        let mut message = |key: &str| {
            let file = node.field(key)?;
            let (path, text) = self.text(file)?;
            let place = self.register(&path, &text);
            match Template::compile(&text) {
                Ok(template) => {
                    names::check(
                        template.reads(),
                        &text,
                        &place,
                        names::RUBRIC_PROMPT,
                        &mut self.pending,
                        &mut self.problems,
                    );
                    Some(text)
                }
                Err(error) => {
                    notation::report(&error, "template", &text, &place, &mut self.problems);
                    None
                }
            }
        };
        let (system, user) = (message("system")?, message("user")?);
        let reads = |text: &str| Template::compile(text).map_or_else(|_| Vec::new(), |it| it.reads().to_vec());
        let read = [reads(&system), reads(&user)].concat();
        for needed in ["sections", "dimensions", "format"].into_iter().filter(|name| !read.iter().any(|it| it == name))
        {
            let message = format!("this prompt lacks `{{{{ {needed} }}}}`, which the judge must see");
            self.problems.error(&node.place, message).hint("add it to the file of `system` or `user`");
        }
        Some(RubricPrompt { system, user })
    }

    /// `once` needs a text that may be cut, `members` a list that is routed to it.
    fn folds(&mut self, node: &Node, rubric: &Rubric) {
        let cut_text = rubric.show.iter().any(|item| item.chunk.is_some_and(|chunk| chunk.items.is_none()));
        let routed = rubric.show.iter().any(|item| item.route.is_some());
        let lists = ["dimensions", "diagnostics"].into_iter().filter_map(|key| node.field(key));
        for at in lists.flat_map(Node::entries).filter_map(|entry| entry.node.field("chunks")) {
            match at.text() {
                Some("once") if !cut_text => {
                    self.problems
                        .error(&at.place, "`once` needs a text under `show` with `chunk`")
                        .hint("add `chunk` to a text under `show`");
                }
                Some("members") if !routed => {
                    self.problems
                        .error(&at.place, "`members` needs a list under `show` with `route`")
                        .hint("add `route` to a list under `show`");
                }
                _ => {}
            }
        }
    }

    /// Refuses a rubric that asks a judge for two fields of one name: its reply could hold only one of them.
    fn reply_fields(&mut self, node: &Node, rubric: &Rubric) {
        let entries = |key: &'static str, what: &'static str| {
            let entries = node.field(key).map(Node::entries).unwrap_or_default().iter();
            entries.map(move |entry| (entry.key.as_str(), what, &entry.place))
        };
        let asked = |name: &str| rubric.dimensions.iter().any(|it| it.name == name && it.counted.is_none());
        let scores = match rubric.reply {
            ReplyShape::Flat => None,
            ReplyShape::Nested => Some("scores"),
            ReplyShape::List => Some("dimensions"),
        };
        let dimensions = entries("dimensions", "dimension").filter(|(name, ..)| scores.is_none() && asked(name));
        let place = |key: &str| node.field(key).map_or(&node.place, |at| &at.place);
        let overall = rubric.overall.iter().filter(|overall| overall.method == OverallMethod::Given);
        let mut fields = vec![(rubric.rationale.field.as_str(), "rationale", place("rationale"))];
        fields.extend(scores.map(|name| (name, "object of the dimensions", place("reply"))));
        fields.extend(dimensions);
        fields.extend(overall.map(|overall| (overall.id.as_str(), "overall", place("overall"))));
        fields.extend(entries("breakdowns", "breakdown"));
        fields.extend(entries("diagnostics", "diagnostic"));
        for (at, (name, what, place)) in fields.iter().enumerate() {
            // An overall that is called as a dimension is refused under every method.
            let earlier = fields[..at].iter().find(|(other, ..)| other == name);
            if let Some((_, other, _)) = earlier.filter(|(_, other, _)| (*other, *what) != ("dimension", "overall")) {
                self.problems
                    .error(
                        place,
                        format!("the judge's reply would have two fields `{name}`: the {other} and the {what}"),
                    )
                    .hint("rename one of them; `rationale: { field: NAME }` renames the rationale");
            }
        }
    }

    fn consistency(&mut self, node: &Node, rubric: &Rubric) {
        let shown = node.field("show").map(Node::entries).unwrap_or_default();
        if let Some(second) = shown.iter().filter_map(|entry| entry.node.field("chunk")).nth(1) {
            self.problems
                .error(&second.place, "only one value under `show` can have `chunk`, and this is the second")
                .hint("for a list that belongs to it, use `route`");
        }
        for entry in shown {
            let Some(route) = entry.node.field("route") else { continue };
            let target = route.text().and_then(|name| rubric.show.iter().find(|item| item.name == name));
            if target.is_none_or(|item| item.chunk.is_none()) {
                let chunked = rubric.show.iter().filter(|item| item.chunk.is_some()).map(|item| item.name.as_str());
                let name = route.text().unwrap_or_default();
                self.problems
                    .error(
                        &route.place,
                        format!("`route` must name a value under `show` with `chunk`; `{name}` is not one"),
                    )
                    .maybe_hint(suggestion(name, chunked));
            }
        }
        self.reply_fields(node, rubric);
        self.folds(node, rubric);
        self.counted_shares(node, rubric);
        let weights: f64 = rubric.dimensions.iter().map(|dimension| dimension.weight).sum();
        if let Some(overall) = node.field("overall") {
            let weighted = rubric.overall.as_ref().is_some_and(|it| it.method == OverallMethod::WeightedMean);
            if weighted && weights <= 0.0 {
                self.problems.error(&overall.place, "a weighted mean needs a dimension with a weight above 0");
            }
            let id = rubric.overall.as_ref().map(|it| it.id.as_str()).unwrap_or_default();
            if rubric.dimensions.iter().any(|dimension| dimension.name == id) {
                self.problems
                    .error(&overall.place, format!("there is already a dimension `{id}`"))
                    .hint("give `overall` another id");
            }
        }
    }
}

fn plain(name: &str) -> ShowItem {
    ShowItem {
        name: name.to_owned(),
        value: format!("{{{{ {name} }}}}"),
        about: None,
        form: ShowAs::Text,
        line: None,
        shuffle: false,
        route: None,
        chunk: None,
        times: None,
        required: false,
    }
}

fn overall(node: &Node) -> Overall {
    Overall {
        id: node.text_of("id").unwrap_or("overall").to_owned(),
        method: word_at(node, "method").unwrap_or_default(),
        round: integer_at(node, "round"),
    }
}

fn rationale(node: &Node) -> Rationale {
    let standard = Rationale::default();
    Rationale {
        field: node.text_of("field").map_or(standard.field, str::to_owned),
        min_chars: integer_at(node, "min_chars").unwrap_or(standard.min_chars),
        max_chars: integer_at(node, "max_chars"),
    }
}

fn invalid(node: &Node) -> InvalidReplyRule {
    let standard = InvalidReplyRule::default();
    let Some(node) = node.field("invalid") else { return standard };
    InvalidReplyRule {
        reask: integer_at(node, "reask").unwrap_or(standard.reask),
        out_of_range: word_at(node, "out_of_range").unwrap_or(standard.out_of_range),
        tolerance: node.field("tolerance").and_then(Node::number).unwrap_or(standard.tolerance),
        absent: word_at(node, "absent").unwrap_or(standard.absent),
        then: word_at(node, "then").unwrap_or(standard.then),
    }
}
