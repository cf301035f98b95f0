//! Formulas as the texts of kinds write them (`rate = (1 - (1 - 1/m)^(k n))^k`), set as MathML.

use crate::markdown::escape;

/// A line of a formula as MathML. What is no formula comes out as text in it.
///
/// ```
/// use bouquet_explore::formula::mathml;
/// assert!(mathml("rate = p^k").contains("<msup><mi>p</mi><mi>k</mi></msup>"));
/// assert!(mathml("m/n").contains("<mfrac><mi>m</mi><mi>n</mi></mfrac>"));
/// ```
#[must_use]
pub fn mathml(line: &str) -> String {
    let tokens = tokens(line);
    let mut parser = Parser { tokens: &tokens, at: 0 };
    let mut out = String::new();
    while parser.at < parser.tokens.len() {
        out.push_str(&parser.sequence());
        // A parenthesis that closes nothing.
        if let Some(token) = parser.take() {
            out.push_str(&format!("<mo>{}</mo>", escape(&token.text)));
        }
    }
    format!("<math display=\"block\" title=\"{0}\" aria-label=\"{0}\"><mrow>{out}</mrow></math>", escape(line.trim()))
}

/// Whether a line is rather a sentence.
#[must_use]
pub fn is_prose(line: &str) -> bool {
    let words = line.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2 && !FUNCTIONS.contains(word));
    let relates = ["=", "<", ">", "~", "≈", "≤"].iter().any(|sign| line.contains(sign));
    words.count() > if relates { 10 } else { 3 }
}

const FUNCTIONS: &[&str] =
    &["ln", "log", "log2", "log10", "exp", "min", "max", "sqrt", "ceil", "floor", "erf", "mod", "sum", "prod"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Number,
    Word,
    Sign,
    /// Two spaces or more: what follows is beside the formula.
    Gap,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Token {
    sort: Sort,
    text: String,
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let len = |valid: fn(char) -> bool| rest.find(|c| !valid(c)).unwrap_or(rest.len());
        let (sort, end) = match first {
            ' ' => {
                let end = len(|c| c == ' ');
                if end > 1 {
                    tokens.push(Token { sort: Sort::Gap, text: String::new() });
                }
                rest = &rest[end..];
                continue;
            }
            '0'..='9' => {
                let end = len(|c| c.is_ascii_digit() || c == '.' || c == ',');
                (Sort::Number, rest[..end].trim_end_matches(['.', ',']).len().max(1))
            }
            c if c.is_alphabetic() => (Sort::Word, len(|c| c.is_alphanumeric() || c == '\'' || c == '-').max(1)),
            c => (Sort::Sign, c.len_utf8()),
        };
        let text = &rest[..end];
        // A hyphen joins words, but not letters: `n-k` is a difference.
        let end = match text.find('-') {
            Some(hyphen) if sort == Sort::Word && (hyphen < 3 || text.ends_with('-')) => hyphen.max(1),
            _ => end,
        };
        tokens.push(Token { sort, text: rest[..end].to_string() });
        rest = &rest[end..];
    }
    tokens
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    fn sees(&self, sign: &str) -> bool {
        self.peek().is_some_and(|token| token.sort == Sort::Sign && token.text == sign)
    }

    /// What stands beside each other, up to a closing parenthesis.
    fn sequence(&mut self) -> String {
        let mut out = String::new();
        while let Some(token) = self.peek() {
            match (token.sort, token.text.as_str()) {
                (Sort::Sign, ")" | "]" | "}") => break,
                (Sort::Gap, _) => {
                    self.at += 1;
                    out.push_str("<mspace width=\"1.5em\"/>");
                }
                (Sort::Sign, "(" | "[" | "{") | (Sort::Number | Sort::Word, _) => out.push_str(&self.fraction()),
                (Sort::Sign, sign) => {
                    let sign = match sign {
                        "-" => "−".to_string(),
                        "*" => "·".into(),
                        sign => escape(sign),
                    };
                    self.at += 1;
                    // `<=` is one sign.
                    if matches!(sign.as_str(), "&lt;" | "&gt;") && self.sees("=") {
                        self.at += 1;
                        out.push_str(if sign == "&lt;" { "<mo>≤</mo>" } else { "<mo>≥</mo>" });
                    } else {
                        out.push_str(&format!("<mo>{sign}</mo>"));
                    }
                }
            }
        }
        out
    }

    /// A factor, or one over another.
    fn fraction(&mut self) -> String {
        let mut value = self.factor();
        while self.sees("/") && self.tokens.get(self.at + 1).is_some_and(|next| next.sort != Sort::Gap) {
            self.at += 1;
            let below = self.factor();
            value = format!("<mfrac>{}{}</mfrac>", bare(&value), bare(&below));
        }
        value
    }

    /// An atom with what is raised or lowered on it.
    fn factor(&mut self) -> String {
        let mut value = self.atom();
        loop {
            let tag = match () {
                () if self.sees("^") => "msup",
                () if self.sees("_") => "msub",
                () => return value,
            };
            self.at += 1;
            let raised = if self.sees("-") {
                self.at += 1;
                format!("<mrow><mo>−</mo>{}</mrow>", bare(&self.atom()))
            } else {
                bare(&self.atom())
            };
            value = format!("<{tag}>{value}{raised}</{tag}>");
        }
    }

    fn atom(&mut self) -> String {
        let Some(token) = self.take() else { return "<mrow></mrow>".into() };
        match (token.sort, token.text.as_str()) {
            (Sort::Number, text) => format!("<mn>{}</mn>", escape(text)),
            (Sort::Word, "sqrt") if self.sees("(") => format!("<msqrt>{}</msqrt>", bare(&self.atom())),
            (Sort::Word, word) if FUNCTIONS.contains(&word) => {
                let name = match word.strip_prefix("log") {
                    Some(base) if !base.is_empty() => format!("<msub><mi>log</mi><mn>{base}</mn></msub>"),
                    _ => format!("<mi mathvariant=\"normal\">{word}</mi>"),
                };
                match self.peek() {
                    Some(next) if next.text == "(" || !matches!(next.sort, Sort::Sign | Sort::Gap) => {
                        format!("<mrow>{name}<mo>&#x2061;</mo>{}</mrow>", self.atom())
                    }
                    _ => name,
                }
            }
            (Sort::Word, word) if word.chars().count() > 2 && word.chars().all(|c| c.is_alphabetic() || c == '-') => {
                let greek = [("eps", "ε"), ("delta", "δ"), ("lambda", "λ"), ("alpha", "α"), ("inf", "∞")];
                match greek.iter().find(|(name, _)| *name == word) {
                    Some((_, letter)) => format!("<mi>{letter}</mi>"),
                    None => format!("<mtext>&#8197;{}&#8197;</mtext>", escape(word)),
                }
            }
            (Sort::Word, word) => format!("<mi>{}</mi>", escape(word)),
            (Sort::Sign, open @ ("(" | "[" | "{")) => {
                let inside = self.sequence();
                let close = self.peek().is_some().then(|| self.take()).flatten();
                let close = close.map_or(String::new(), |token| token.text);
                format!("<mrow><mo>{open}</mo>{inside}<mo>{}</mo></mrow>", escape(&close))
            }
            (_, text) => format!("<mo>{}</mo>", escape(text)),
        }
    }
}

/// What stands above or below a line, or is raised, needs no parentheses.
fn bare(value: &str) -> String {
    let inside = value.strip_prefix("<mrow><mo>(</mo>").and_then(|rest| rest.strip_suffix("<mo>)</mo></mrow>"));
    // Only if the first parenthesis is closed by the last one.
    let whole = inside.filter(|inside| {
        let mut depth = 0i32;
        let least = inside.match_indices("<mo>").fold(0, |least, (at, _)| {
            let text = &inside[at + 4..];
            depth += i32::from(text.starts_with('(')) - i32::from(text.starts_with(')'));
            least.min(depth)
        });
        least == 0 && depth == 0
    });
    whole.map_or_else(|| value.to_string(), |inside| format!("<mrow>{inside}</mrow>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is open is closed, in order.
    fn is_balanced(html: &str) -> bool {
        let mut open = Vec::new();
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            let end = rest[at..].find('>').map_or(rest.len(), |end| at + end);
            let tag = &rest[at + 1..end];
            let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) if open.pop() != Some(name) => return false,
                (false, false) => open.push(name),
                _ => {}
            }
            rest = &rest[(end + 1).min(rest.len())..];
        }
        open.is_empty()
    }

    #[test]
    fn powers_fractions_and_functions_are_set() {
        let told = mathml("rate = (1 - (1 - 1/m)^(k n))^k");
        assert!(told.contains("<mfrac><mn>1</mn><mi>m</mi></mfrac>") && told.matches("<msup>").count() == 2, "{told}");
        assert!(mathml("bits = n log2(1/p)").contains("<msub><mi>log</mi><mn>2</mn></msub>"));
        assert!(mathml("x^-1").contains("<mo>−</mo><mn>1</mn>"));
        assert!(mathml("sqrt(n) <= 5").contains("<msqrt>") && mathml("a <= b").contains("≤"));
        assert!(mathml("(a)/(b)").contains("<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>"));
        assert!(mathml("((a) (b))/c").contains("<mfrac><mrow><mrow>"));
    }

    #[test]
    fn every_formula_of_every_kind_is_well_formed_and_holds_its_numbers() {
        for kind in bouquet::registry::kinds() {
            for line in kind.facts().text.section("Formula").lines() {
                let told = mathml(line);
                assert!(is_balanced(&told), "{}: {line}\n{told}", kind.facts().id);
            }
        }
    }

    #[test]
    fn parentheses_that_match_nothing_do_no_harm() {
        for line in ["", "(", ")", "^", "a^", "_ b", "((x)", "x)) = 1/", "1/ /2", "sqrt", "log2"] {
            assert!(is_balanced(&mathml(line)), "{line}: {}", mathml(line));
        }
        assert!(is_prose("the filter is asked for keys that are not there"));
        assert!(!is_prose("rate = (1 - e^(-k n/m))^k"));
    }
}
