//! Tables of results, written as CSV and shown as Markdown.

use crate::number::significant;

/// Rows under named columns.
///
/// ```
/// let mut table = bouquet_lab::Table::new(["m/n", "f"]);
/// table.row(["16".into(), 0.000_459_1.into()]);
/// assert_eq!(table.csv(), "m/n,f\n16,0.0004591\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A cell: text, made from text or from a number (six significant digits).
///
/// ```
/// use bouquet_lab::Cell;
/// assert_eq!(Cell::from(1.0 / 3.0), Cell::from("0.333333"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell(String);

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell(significant(value, 6))
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Cell(value.to_string())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell(text)
    }
}

impl Table {
    /// An empty table with these columns.
    ///
    /// ```
    /// assert_eq!(bouquet_lab::Table::new(["x", "y"]).csv(), "x,y\n");
    /// ```
    #[must_use]
    pub fn new<const N: usize>(columns: [&str; N]) -> Self {
        Table { columns: columns.map(Into::into).into(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// ```
    /// let mut table = bouquet_lab::Table::new(["x"]);
    /// table.row([2_u64.into()]);
    /// assert_eq!(table.len(), 1);
    /// ```
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// How many rows there are.
    ///
    /// ```
    /// assert_eq!(bouquet_lab::Table::new(["x"]).len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    ///
    /// ```
    /// assert!(bouquet_lab::Table::new(["x"]).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as CSV (RFC 4180, lines end with a newline alone).
    ///
    /// ```
    /// let mut table = bouquet_lab::Table::new(["claim"]);
    /// table.row(["a \"b\", c".into()]);
    /// assert_eq!(table.csv(), "claim\n\"a \"\"b\"\", c\"\n");
    /// ```
    #[must_use]
    pub fn csv(&self) -> String {
        self.lines(|cells| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(","))
    }

    /// The table as Markdown.
    ///
    /// ```
    /// let mut table = bouquet_lab::Table::new(["a|b"]);
    /// table.row([1_u64.into()]);
    /// assert_eq!(table.markdown(), "| a\\|b |\n|---|\n| 1 |\n");
    /// ```
    #[must_use]
    pub fn markdown(&self) -> String {
        let cells = |cells: &[&str]| {
            format!("| {} |", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
        };
        let text = self.lines(cells);
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        format!("{head}\n|{}\n{body}", "---|".repeat(self.columns.len()))
    }

    /// The table with aligned columns, for a terminal.
    ///
    /// ```
    /// let mut table = bouquet_lab::Table::new(["n", "f"]);
    /// table.row([1000_u64.into(), 0.5.into()]);
    /// assert_eq!(table.console(), "n     f\n1000  0.5\n");
    /// ```
    #[must_use]
    pub fn console(&self) -> String {
        let width = |at: usize| {
            let of = |text: &str| text.chars().count();
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| of(&cell.0));
            cells.chain(self.columns.get(at).map(|name| of(name))).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        self.lines(|cells| {
            let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().into()
        })
    }

    fn lines(&self, line: impl Fn(&[&str]) -> String) -> String {
        let head = self.columns.iter().map(String::as_str).collect::<Vec<_>>();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| cell.0.as_str()).collect());
        std::iter::once(head).chain(rows).map(|cells: Vec<&str>| line(&cells) + "\n").collect()
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}
