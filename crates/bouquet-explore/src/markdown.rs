//! The Markdown of the kinds' texts as HTML: paragraphs, lists, tables, code, and little else.

use crate::formula;

/// Text that may stand in HTML, also in an attribute.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text as HTML.
///
/// ```
/// use bouquet_explore::markdown::html;
/// assert_eq!(html("Is `x` in S?"), "<p>Is <code>x</code> in S?</p>");
/// assert_eq!(html("- a <b>\n- c"), "<ul><li>a &lt;b&gt;</li><li>c</li></ul>");
/// ```
#[must_use]
pub fn html(text: &str) -> String {
    blocks(text, false)
}

/// The same, with the lines of code that has no language set as formulas.
#[must_use]
pub fn with_formulas(text: &str) -> String {
    blocks(text, true)
}

fn blocks(text: &str, formulas: bool) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
            out.push_str(&code(&body, formulas && matches!(language, "" | "text")));
        } else if let Some(first) = line.strip_prefix("    ") {
            let mut body = vec![first];
            while let Some(more) = lines.next_if(|line| line.starts_with("    ")) {
                body.push(&more[4..]);
            }
            out.push_str(&code(&body, formulas));
        } else if line.starts_with('#') {
            out.push_str(&format!("<h4>{}</h4>", inline(line.trim_start_matches('#').trim())));
        } else if let Some(first) = line.strip_prefix("- ") {
            let mut items = vec![first.to_string()];
            while let Some(more) = lines.next_if(|line| line.starts_with("- ") || line.starts_with("  ")) {
                match more.strip_prefix("- ") {
                    Some(item) => items.push(item.to_string()),
                    None => items.last_mut().into_iter().for_each(|item| *item += &format!(" {}", more.trim())),
                }
            }
            let items: String = items.iter().map(|item| format!("<li>{}</li>", inline(item))).collect();
            out.push_str(&format!("<ul>{items}</ul>"));
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            while let Some(more) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(more);
            }
            out.push_str(&table(&rows));
        } else if !line.trim().is_empty() {
            let mut paragraph = line.trim().to_string();
            let goes_on = |line: &&str| {
                !line.trim().is_empty() && !["- ", "|", "#", "```"].iter().any(|start| line.starts_with(start))
            };
            while let Some(more) = lines.next_if(goes_on) {
                paragraph += &format!(" {}", more.trim());
            }
            out.push_str(&format!("<p>{}</p>", inline(&paragraph)));
        }
    }
    out
}

fn code(body: &[&str], formulas: bool) -> String {
    if !formulas {
        return format!("<pre><code>{}</code></pre>", escape(&body.join("\n")));
    }
    let line = |line: &&str| match line {
        line if line.trim().is_empty() => String::new(),
        line if formula::is_prose(line) => format!("<p class=\"beside\">{}</p>", inline(line.trim())),
        line => formula::mathml(line),
    };
    format!("<div class=\"formulas\">{}</div>", body.iter().map(line).collect::<String>())
}

fn table(rows: &[&str]) -> String {
    let cells = |row: &str| -> Vec<String> {
        row.trim().trim_matches('|').split('|').map(|cell| inline(cell.trim())).collect()
    };
    let mut out = String::from("<div class=\"wide\"><table>");
    for (at, row) in rows.iter().enumerate() {
        if row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
            continue;
        }
        let tag = if at == 0 { "th" } else { "td" };
        let row: String = cells(row).iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect();
        out.push_str(&format!("<tr>{row}</tr>"));
    }
    out + "</table></div>"
}

/// Code, emphasis and links in a line. Links that lead nowhere on this page are their text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        match at % 2 {
            1 => out.push_str(&format!("<code>{}</code>", escape(part))),
            _ => out.push_str(&emphasised(&unlinked(part))),
        }
    }
    out
}

fn unlinked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let (Some(start), Some(end)) = (rest[..middle].rfind('['), rest[middle..].find(')')) else { break };
        out.push_str(&rest[..start]);
        out.push_str(&rest[start + 1..middle]);
        rest = &rest[middle + end + 1..];
    }
    out + rest
}

fn emphasised(text: &str) -> String {
    let stars: Vec<&str> = text.split('*').collect();
    // A star alone is one that multiplies.
    let emphasis = stars.len() % 2 == 1 && stars.len() > 1;
    let parts = stars.iter().enumerate().map(|(at, part)| match at % 2 {
        1 if emphasis && !part.is_empty() && !part.starts_with(' ') => format!("<em>{}</em>", escape(part)),
        1 if emphasis && part.is_empty() => String::new(),
        1 => format!("*{}*", escape(part)),
        _ => escape(part),
    });
    if emphasis { parts.collect() } else { escape(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_what_they_are() {
        assert_eq!(html("one\ntwo\n\nthree"), "<p>one two</p><p>three</p>");
        assert_eq!(html("```text\na < b\n```"), "<pre><code>a &lt; b</code></pre>");
        assert_eq!(html("- a\n  b\n- c"), "<ul><li>a b</li><li>c</li></ul>");
        assert!(
            html("| a | b |\n|---|---|\n| 1 | 2 |")
                .contains("<tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>")
        );
        assert_eq!(html("see [this](there.md), *now*"), "<p>see this, <em>now</em></p>");
    }

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        assert_eq!(html("<script>alert(\"x\")</script>"), "<p>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;</p>");
        assert!(!with_formulas("```text\n<img src=x> = 1\n```").contains("<img"));
    }

    #[test]
    fn formulas_are_set_and_sentences_are_not() {
        let told =
            with_formulas("```text\nrate = p^k\nthis line tells in many words what the formula above means\n```");
        assert!(told.contains("<math") && told.contains("<p class=\"beside\">this line"), "{told}");
    }
}
