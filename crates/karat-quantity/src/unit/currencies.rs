//! Codes and names of currencies that are written rarely, so that none passes for another.

macro_rules! codes {
    ($($code:literal)*) => { &[$(($code, &[$code])),*] };
}

/// ISO 4217 codes, as they stand beside numbers, and coins; without those that commonly say
/// something else (ALL, CUP, MGA, SCR, SDG, TOP).
pub(crate) const CODES: &[(&str, &[&str])] = codes!(
    "USDT" "USDC" "BTC" "ETH"
    "USD" "EUR" "GBP" "JPY" "CNY" "CHF" "CAD" "AUD" "NZD" "HKD" "SGD" "TWD" "KRW" "INR" "BRL" "MXN"
    "ARS" "CLP" "COP" "SEK" "NOK" "DKK" "ISK" "PLN" "CZK" "HUF" "RON" "BGN" "RUB" "UAH" "TRY" "ILS"
    "SAR" "AED" "QAR" "KWD" "EGP" "ZAR" "NGN" "KES" "THB" "IDR" "MYR" "PHP" "VND" "PKR" "BDT" "LKR"
    "AFN" "AMD" "ANG" "AOA" "AWG" "AZN" "BAM" "BBD" "BHD" "BIF" "BMD" "BND" "BOB" "BSD" "BTN" "BWP"
    "BYN" "BZD" "CDF" "CRC" "CVE" "DJF" "DOP" "DZD" "ERN" "ETB" "FJD" "FKP" "GEL" "GHS" "GIP" "GMD"
    "GNF" "GTQ" "GYD" "HNL" "HTG" "IQD" "IRR" "JMD" "JOD" "KGS" "KHR" "KMF" "KPW" "KYD" "KZT" "LAK"
    "LBP" "LRD" "LSL" "LYD" "MAD" "MDL" "MKD" "MMK" "MNT" "MOP" "MRU" "MUR" "MVR" "MWK" "MZN"
    "NAD" "NIO" "NPR" "OMR" "PAB" "PEN" "PGK" "PYG" "RSD" "RWF" "SBD" "SHP" "SLE" "SOS"
    "SRD" "SSP" "STN" "SVC" "SYP" "SZL" "TJS" "TMT" "TND" "TTD" "TZS" "UGX" "UYU" "UZS" "VES" "VUV"
    "XAF" "XCD" "XOF" "XPF" "YER" "ZMW"
);

/// Nations whose money shares a sign with others, lower-cased.
#[rustfmt::skip]
pub(crate) const NATIONS: &[(&str, &[&str])] = &[
    ("canadian", &["CAD"]), ("australian", &["AUD"]), ("new zealand", &["NZD"]), ("hong kong", &["HKD"]),
    ("singapore", &["SGD"]), ("singaporean", &["SGD"]), ("taiwanese", &["TWD"]), ("mexican", &["MXN"]),
    ("cdn", &["CAD"]), ("cad", &["CAD"]), ("aud", &["AUD"]),
];

/// Names of one currency, a nation's before the bare noun.
#[rustfmt::skip]
pub(crate) const NAMES: &[(&str, &[&str])] = &[
    ("dollars canadiens", &["CAD"]), ("dollars australiens", &["AUD"]), ("dollars américains", &["USD"]),
    ("dollars de Hong Kong", &["HKD"]), ("dollars de Singapour", &["SGD"]), ("dollars néo-zélandais", &["NZD"]),
    ("dólares canadienses", &["CAD"]), ("dólares australianos", &["AUD"]), ("dólares estadounidenses", &["USD"]),
    ("kanadische Dollar", &["CAD"]), ("kanadischen Dollar", &["CAD"]), ("kanadischer Dollar", &["CAD"]),
    ("australische Dollar", &["AUD"]), ("australischen Dollar", &["AUD"]), ("Hongkong-Dollar", &["HKD"]),
    ("Singapur-Dollar", &["SGD"]), ("francs suisses", &["CHF"]), ("Schweizer Franken", &["CHF"]),
    ("pesos mexicanos", &["MXN"]), ("pesos argentinos", &["ARS"]), ("pesos chilenos", &["CLP"]),
    ("pesos colombianos", &["COP"]),
    ("Egyptian pounds", &["EGP"]), ("Lebanese pounds", &["LBP"]), ("Syrian pounds", &["SYP"]),
    ("Turkish liras", &["TRY"]), ("Turkish lira", &["TRY"]), ("Turkish pounds", &["TRY"]), ("liras", &["TRY"]),
    ("lira", &["TRY"]), ("Thai baht", &["THB"]), ("baht", &["THB"]), ("Hungarian forints", &["HUF"]),
    ("Hungarian forint", &["HUF"]), ("forints", &["HUF"]), ("forint", &["HUF"]), ("Jamaican dollars", &["JMD"]),
    ("Taiwan dollars", &["TWD"]), ("Taiwanese dollars", &["TWD"]), ("Bahamian dollars", &["BSD"]),
    ("Barbados dollars", &["BBD"]), ("Fijian dollars", &["FJD"]), ("Namibian dollars", &["NAD"]),
    ("Mexican pesos", &["MXN"]), ("Argentine pesos", &["ARS"]), ("Chilean pesos", &["CLP"]),
    ("Colombian pesos", &["COP"]), ("Philippine pesos", &["PHP"]), ("Swedish kronor", &["SEK"]),
    ("Swedish krona", &["SEK"]), ("Norwegian kroner", &["NOK"]), ("Norwegian krone", &["NOK"]),
    ("Danish kroner", &["DKK"]), ("Danish krone", &["DKK"]), ("krónur", &["ISK"]), ("Czech koruna", &["CZK"]),
    ("Czech crowns", &["CZK"]), ("korunas", &["CZK"]), ("koruna", &["CZK"]), ("korun", &["CZK"]),
    ("Polish zlotys", &["PLN"]), ("Polish zloty", &["PLN"]), ("zlotys", &["PLN"]), ("złotych", &["PLN"]),
    ("Russian rubles", &["RUB"]), ("Russian roubles", &["RUB"]), ("South African rand", &["ZAR"]),
    ("Brazilian reais", &["BRL"]), ("Indonesian rupiah", &["IDR"]), ("rupiah", &["IDR"]),
    ("Malaysian ringgit", &["MYR"]), ("ringgit", &["MYR"]), ("Chinese yuan", &["CNY"]),
    ("South Korean won", &["KRW"]), ("Korean won", &["KRW"]), ("Pakistani rupees", &["PKR"]),
    ("Sri Lankan rupees", &["LKR"]), ("Nepalese rupees", &["NPR"]), ("Saudi riyals", &["SAR"]),
    ("Qatari riyals", &["QAR"]), ("Omani rials", &["OMR"]), ("Iranian rials", &["IRR"]), ("Kuwaiti dinars", &["KWD"]),
    ("Bahraini dinars", &["BHD"]), ("Jordanian dinars", &["JOD"]), ("Iraqi dinars", &["IQD"]),
    ("Serbian dinars", &["RSD"]), ("Algerian dinars", &["DZD"]), ("Tunisian dinars", &["TND"]),
    ("Emirati dirhams", &["AED"]), ("UAE dirhams", &["AED"]), ("Moroccan dirhams", &["MAD"]),
    ("Israeli shekels", &["ILS"]), ("shekels", &["ILS"]), ("shekel", &["ILS"]), ("Kenyan shillings", &["KES"]),
    ("Ugandan shillings", &["UGX"]), ("Tanzanian shillings", &["TZS"]), ("hryvnias", &["UAH"]), ("hryvnia", &["UAH"]),
    ("Romanian lei", &["RON"]), ("Bulgarian leva", &["BGN"]), ("leva", &["BGN"]), ("taka", &["BDT"]),
    ("tenge", &["KZT"]), ("Vietnamese dong", &["VND"]), ("dong", &["VND"]), ("Nigerian naira", &["NGN"]),
    ("naira", &["NGN"]), ("cedis", &["GHS"]), ("birr", &["ETB"]), ("kwacha", &["ZMW"]), ("soles", &["PEN"]),
    ("quetzals", &["GTQ"]), ("quetzales", &["GTQ"]), ("lempiras", &["HNL"]), ("córdobas", &["NIO"]),
    ("guaraníes", &["PYG"]), ("guaranies", &["PYG"]), ("bolivianos", &["BOB"]), ("colones", &["CRC"]),
    ("balboas", &["PAB"]), ("gourdes", &["HTG"]), ("manats", &["AZN"]), ("manat", &["AZN"]), ("drams", &["AMD"]),
    ("kyats", &["MMK"]), ("kyat", &["MMK"]), ("riels", &["KHR"]), ("bitcoins", &["BTC"]), ("bitcoin", &["BTC"]),
    ("ether", &["ETH"]), ("tether", &["USDT"]), ("rials", &["IRR", "OMR", "YER"]), ("rial", &["IRR", "OMR", "YER"]),
    ("riyals", &["SAR", "QAR"]), ("riyal", &["SAR", "QAR"]),
    ("dinars", &["KWD", "BHD", "JOD", "IQD", "DZD", "TND", "LYD", "RSD", "MKD"]),
    ("dinar", &["KWD", "BHD", "JOD", "IQD", "DZD", "TND", "LYD", "RSD", "MKD"]), ("dirhams", &["AED", "MAD"]),
    ("dirham", &["AED", "MAD"]), ("shillings", &["KES", "UGX", "TZS", "SOS"]), ("lei", &["RON", "MDL"]),
    ("crowns", &["CZK", "SEK", "NOK", "DKK", "ISK"]), ("krona", &["SEK", "ISK"]), ("krone", &["NOK", "DKK"]),
    ("peso", &["MXN", "ARS", "CLP", "COP", "PHP"]),
];
