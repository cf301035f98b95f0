//! The text of a kind: one page that documentation, program and catalogue show.

/// A page in Markdown, with a title and the sections [`Text::SECTIONS`].
///
/// ```
/// use bouquet::registry;
/// let text = registry::find("cuckoo")?.facts().text;
/// assert_eq!(text.title(), "Cuckoo filter");
/// assert!(text.summary().starts_with("Is x still in S?"));
/// assert!(text.section("Formula").contains("rate ="));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text(pub(crate) &'static str);

impl Text {
    /// The sections of every page, in order. `Picture` may be missing.
    pub const SECTIONS: &[&str] =
        &["Question", "Idea", "Picture", "Formula", "Guarantee", "Cost", "Choose another", "Papers"];

    /// A page of this text.
    #[must_use]
    pub const fn new(markdown: &'static str) -> Self {
        Text(markdown)
    }

    /// The whole page.
    #[must_use]
    pub fn markdown(&self) -> &'static str {
        self.0
    }

    /// Its title: the name in the literature.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.0.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }

    /// The body of a section, empty if there is none.
    #[must_use]
    pub fn section(&self, title: &str) -> &'static str {
        let mut rest = self.0;
        while let Some(at) = rest.find("\n## ") {
            let (heading, body) = rest[at + 4..].split_once('\n').unwrap_or((&rest[at + 4..], ""));
            rest = body;
            if heading.trim() == title {
                return body.find("\n## ").map_or(body, |end| &body[..end + 1]).trim_matches('\n');
            }
        }
        ""
    }

    /// The sections that the page has, with their titles, as people read them: without the lines of examples that only the
    /// compiler sees.
    pub fn sections(self) -> impl Iterator<Item = (&'static str, String)> {
        let all = Self::SECTIONS.iter().map(move |title| (*title, self.section(title)));
        all.filter(|(_, body)| !body.is_empty()).map(|(title, body)| (title, shown(body)))
    }

    /// The items of a section that is a list.
    ///
    /// ```
    /// let papers = bouquet::registry::find("cuckoo")?.facts().text.items("Papers");
    /// assert!(papers.map(str::to_owned).collect::<Vec<_>>()[0].starts_with("B. Fan"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn items(self, title: &str) -> impl Iterator<Item = &'static str> {
        self.section(title).lines().filter_map(|line| line.strip_prefix("- "))
    }

    /// One line: the question that it answers and for whom.
    #[must_use]
    pub fn summary(&self) -> String {
        self.section("Question").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Markdown without the lines of Rust examples that rustdoc hides: those that begin with `# `.
fn shown(body: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut shown = Vec::new();
    for line in body.lines() {
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_none() { Some(language) } else { None };
        }
        // A fence without a language is Rust.
        let is_hidden = matches!(fence, Some("" | "rust")) && (line == "#" || line.starts_with("# "));
        shown.extend((!is_hidden).then_some(line));
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn sections_end_where_the_next_begins() {
        let text =
            Text::new("# Rose\n\n## Question\n\nIs it\nred?\n\n## Idea\n\nPetals.\n\n    1 + 1\n\n## Papers\n- one\n");
        assert_eq!((text.title(), text.summary().as_str()), ("Rose", "Is it red?"));
        assert_eq!(text.section("Idea"), "Petals.\n\n    1 + 1");
        assert_eq!((text.section("Papers"), text.section("Cost")), ("- one", ""));
        assert_eq!(text.sections().map(|(title, _)| title).collect::<Vec<_>>(), ["Question", "Idea", "Papers"]);
    }

    #[test]
    fn lines_that_only_the_compiler_sees_are_not_shown() {
        let page = "# Rose\n\n## Idea\n\n```\n# use rose;\nlet petals = 5;\n#\n# Ok::<(), Error>(())\n```\n\n```text\n# 5\n```\n";
        let idea = Text::new(page).sections().next().map(|(_, body)| body);
        assert_eq!(idea.as_deref(), Some("```\nlet petals = 5;\n```\n\n```text\n# 5\n```"));
    }
}
