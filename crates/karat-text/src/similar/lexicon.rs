//! Words that decide what a statement says, in the languages that Karat's users write most.
//!
//! The lists need not be complete: a word that stands in place of another one makes another statement anyway. They are for
//! words that one text has and the other lacks, and for long texts, in which a changed word alone says little.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The part of a word in what its text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// A word as any other.
    Plain,
    /// A word that often begins a sentence, and says little.
    Common,
    /// An article.
    Filler,
    /// A sign that only structures the text.
    Mark,
    /// A word with a capital at the start of a sentence: it may be a name.
    Opening,
    /// A unit, a name, a direction, a quantity: another one makes another statement.
    Deciding,
    /// A number in words.
    NumberWord,
    /// A number in digits.
    Number,
    /// A negation.
    Negating,
}

/// Words that carry no meaning of their own.
const FILLERS: &str = "a an the";

/// Words that often begin a sentence and are not names, and words after a number that are not units.
const COMMON: &str = "however moreover also additionally furthermore overall generally typically usually often then there this \
    that these those it its he she they we you his her their our in on at for and or but so if when while where as since \
    of by is was were are be been has have had who which what how why according";

const NEGATIONS: &str = "not no never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt isnt arent \
    wasnt werent wont wouldnt hasnt havent hadnt couldnt shouldnt hardly barely scarcely rarely seldom unable unlikely false \
    fail fails failed failing lack lacks lacked lacking deny denies denied refuse refuses refused stop stops stopped except \
    nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder kaum \
    ne pas jamais aucun aucune rien sans ni non personne \
    nunca jamás nada nadie ningún ninguno ninguna sin tampoco \
    mai nessun nessuno nessuna niente senza né \
    não sem nenhum nenhuma niet geen nooit zonder inte aldrig utan ej ikke aldri uden nie bez żaden nic \
    не нет ни без никогда ничего لا لم لن ليس نہیں नहीं değil yok \
    不 没 沒 無 无 未 非 否 勿 莫";

const NUMBERS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion \
    dozen half quarter zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig hundert tausend million millionen \
    milliarde milliarden deux trois quatre cinq sept huit neuf dix onze douze vingt cent mille milliard milliards \
    dos tres cuatro cinco seis siete ocho nueve diez cien mil millón millones due tre quattro cinque sei sette otto nove \
    dieci cento mila milione milioni 一 二 三 四 五 六 七 八 九 十 百 千 万 亿";

const QUANTITIES: &str = "hundreds thousands millions billions trillions dozens first second third fourth fifth sixth seventh \
    eighth ninth tenth last halves quarters twice thrice double doubles doubled triple triples tripled halved both all most \
    many much several some few fewer every each only almost nearly \
    null erste ersten zweite zweiten dritte dritten halb halbe hälfte doppelt alle beide viele wenige einige nur fast \
    premier première deuxième moitié tous toutes plusieurs seulement presque primero primera segundo mitad todos todas varios \
    sólo solo casi primo prima metà tutti";

const HEDGES: &str = "may might could should must would perhaps maybe possibly probably can können könnte sollte muss vielleicht \
    wahrscheinlich peut pourrait devrait doit puede podría debería debe può potrebbe";

const UNITS: &str = "percent percentage points basis dollar dollars euro euros pound pounds yen cent cents kilogram kilograms \
    gram grams milligram milligrams tonne tonnes ton tons kilometre kilometres kilometer kilometers metre metres meter meters \
    mile miles inch inches foot feet litre litres liter liters second seconds minute minutes hour hours day days week weeks \
    month months year years decade decades century centuries hourly daily weekly monthly quarterly yearly annual annually \
    celsius fahrenheit kelvin degrees per prozent jahr jahre tag tage woche wochen monat monate stunde stunden \
    pour-cent an ans année années jour jours semaine semaines mois heure heures por ciento año años día días mes meses";

const DIRECTIONS: &str = "up down upward upwards downward downwards above below over under before after prior earlier later \
    until left right north south east west northern southern eastern western inside outside into out from to toward towards \
    away with against for pro contra more less least higher lower highest lowest high low larger smaller bigger longer \
    shorter faster slower stronger weaker better worse best worst rise rises rose risen rising fall falls fell fallen \
    falling grow grows grew grown growing shrink shrinks shrank shrunk shrinking gain gains gained gaining lose loses lost \
    losing loss losses win wins won winning raise raises raised raising cut cuts cutting drop drops dropped dropping climb \
    climbs climbed decline declines declined declining buy buys bought buying sell sells sold selling import imports \
    imported export exports exported open opens opened close closes closed begin begins began start starts started end ends \
    ended allow allows allowed forbid forbids forbidden ban bans banned accept accepts accepted reject rejects rejected \
    include includes included exclude excludes excluded help helps helped harm harms harmed prevent prevents prevented cause \
    causes caused always sometimes positive negative plus minus hot cold warm cool true likely possible impossible profit \
    profits deficit surplus increase increases increased increasing decrease decreases decreased decreasing reduce reduces \
    reduced reducing reduction improve improves improved improving worsen worsens worsened worsening accelerate accelerates \
    accelerated slow slows slowed expand expands expanded contract contracts contracted strengthen strengthens strengthened \
    weaken weakens weakened widen widens widened narrow narrows narrowed \
    auf ab über unter vor nach mehr weniger höher niedriger steigt stieg gestiegen steigen fällt fiel gefallen sinkt sank \
    gesunken sinken wächst wuchs schrumpft schrumpfte gewinn verlust links rechts nord süd ost besser schlechter größer \
    kleiner oben unten plus hausse baisse monte monté baissé augmente augmenté diminue diminué avant après dessus dessous \
    gauche droite nord sud est ouest mieux pire moins sube subió baja bajó aumenta aumentó disminuye disminuyó antes después \
    más menos mejor peor izquierda derecha norte sur este oeste arriba abajo \
    上 下 左 右 前 后 後 升 降 增 减 減 高 低 多 少 大 小 南 北 内 外 買 买 売 卖 出 入 進 退";

static KINDS: LazyLock<HashMap<&'static str, WordKind>> = LazyLock::new(|| {
    let lists = [
        (COMMON, WordKind::Common),
        (DIRECTIONS, WordKind::Deciding),
        (UNITS, WordKind::Deciding),
        (HEDGES, WordKind::Deciding),
        (QUANTITIES, WordKind::Deciding),
        (NUMBERS, WordKind::NumberWord),
        (NEGATIONS, WordKind::Negating),
        (FILLERS, WordKind::Filler),
    ];
    lists.iter().flat_map(|(words, kind)| words.split_whitespace().map(|word| (word, *kind))).collect()
});

/// The kind of a word in lower case; `None` for one that is in no list.
pub(super) fn kind_of(word: &str) -> Option<WordKind> {
    KINDS.get(word).copied()
}
