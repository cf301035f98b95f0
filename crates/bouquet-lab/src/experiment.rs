//! An experiment: a figure, a table or the numbers of a section, done again.

use std::fs;
use std::path::Path;

use crate::claim::{self, Claim, Verdict};
use crate::error::{Error, Result};
use crate::plot::{self, Plot};
use crate::simulate::Lab;
use crate::table::Table;

/// A paper whose results are reproduced.
///
/// ```
/// assert!(bouquet_lab::experiments().iter().all(|experiment| experiment.paper.year > 2000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paper {
    /// How the gallery calls it.
    pub title: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// When it appeared.
    pub year: u16,
}

/// One figure, table or section of a paper, and how to do it again.
///
/// ```
/// use bouquet_lab::{Lab, find};
/// let experiment = find("survey001-counters")?;
/// let report = experiment.run(&Lab { quick: true, seed: 1 })?;
/// assert!(report.claims.iter().any(|claim| claim.paper.contains("1.37e-15")));
/// # Ok::<(), bouquet_lab::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its word on the command line and the name of its files.
    pub id: &'static str,
    /// The paper.
    pub paper: &'static Paper,
    /// Where in the paper, such as `Figure 7`.
    pub place: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Does it.
    pub run: fn(&Lab) -> Result<Report>,
}

impl Experiment {
    /// Runs it. Its random numbers are its own: no other experiment has them, and which others run changes nothing.
    ///
    /// ```
    /// let lab = bouquet_lab::Lab { quick: true, seed: 1 };
    /// assert!(!bouquet_lab::find("survey000-fig2")?.run(&lab)?.claims.is_empty());
    /// # Ok::<(), bouquet_lab::Error>(())
    /// ```
    pub fn run(&self, lab: &Lab) -> Result<Report> {
        let own = bouquet::hash::Hashing::seeded(lab.seed).digest(self.id.as_bytes()).h1;
        (self.run)(&Lab { seed: own, ..*lab })
    }
}

/// What an experiment found.
///
/// ```
/// use bouquet_lab::{Claim, Report};
/// let report = Report::new().claim(Claim::printed("ln 2", "0.69", 0.693)).note("Only a number.");
/// assert_eq!(report.claims.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The charts of the figure, from left to right.
    pub plots: Vec<Plot>,
    /// A table, where the paper has one or the charts do not hold all data.
    pub table: Option<Table>,
    /// The claims and what became of them.
    pub claims: Vec<Claim>,
    /// What a reader should know: settings that the paper leaves open, what is measured how.
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    ///
    /// ```
    /// assert!(bouquet_lab::Report::new().claims.is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Report::default()
    }

    /// Adds a chart.
    ///
    /// ```
    /// use bouquet_lab::{Axis, Plot, Report};
    /// assert_eq!(Report::new().plot(Plot::new(Axis::linear("x"), Axis::linear("y"))).plots.len(), 1);
    /// ```
    #[must_use]
    pub fn plot(mut self, plot: Plot) -> Self {
        self.plots.push(plot);
        self
    }

    /// Gives the table.
    ///
    /// ```
    /// use bouquet_lab::{Report, Table};
    /// assert!(Report::new().table(Table::new(["x"])).table.is_some());
    /// ```
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    /// Adds a claim.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Report};
    /// assert_eq!(Report::new().claim(Claim::printed("e", "2.72", 2.718)).claims.len(), 1);
    /// ```
    #[must_use]
    pub fn claim(mut self, claim: Claim) -> Self {
        self.claims.push(claim);
        self
    }

    /// Adds claims.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Report};
    /// let claims = ["2.7", "2.72"].map(|printed| Claim::printed(format!("e as {printed}"), printed, 2.718));
    /// assert_eq!(Report::new().claims(claims).claims.len(), 2);
    /// ```
    #[must_use]
    pub fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// Adds a note.
    ///
    /// ```
    /// assert_eq!(bouquet_lab::Report::new().note("k is a whole number here.").notes.len(), 1);
    /// ```
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// How many claims had this verdict.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Report, Verdict};
    /// let report = Report::new().claim(Claim::printed("e", "2.72", 2.718));
    /// assert_eq!((report.count(Verdict::Agrees), report.count(Verdict::Differs)), (1, 0));
    /// ```
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict() == verdict).count()
    }

    /// The verdict in a few words, such as `7 agree, 1 corrected`.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Report};
    /// let report = Report::new().claim(Claim::printed("e", "2.72", 2.718));
    /// assert_eq!(report.summary(), "1 agrees");
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let parts = [Verdict::Agrees, Verdict::Corrected, Verdict::Differs].map(|verdict| {
            let count = self.count(verdict);
            let word = match (verdict, count) {
                (_, 0) => return None,
                (Verdict::Agrees, 2..) => "agree",
                (Verdict::Differs, 2..) => "differ",
                _ => verdict.name(),
            };
            Some(format!("{count} {word}"))
        });
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "no claim".into() } else { parts.join(", ") }
    }

    /// The claims with aligned columns, for a terminal.
    ///
    /// ```
    /// use bouquet_lab::{Claim, Report};
    /// assert!(Report::new().claim(Claim::printed("e", "2.72", 2.718)).console().contains("2.72"));
    /// ```
    #[must_use]
    pub fn console(&self) -> String {
        claim::table(&self.claims).console()
    }

    /// The section of the gallery: the plot, the table, the claims, the notes.
    ///
    /// ```
    /// use bouquet_lab::{Lab, find};
    /// let experiment = find("survey000-fig2")?;
    /// let text = experiment.run(&Lab { quick: true, seed: 1 })?.markdown(experiment);
    /// assert!(text.contains("](survey000-fig2.svg)") && text.contains("| verdict |"));
    /// # Ok::<(), bouquet_lab::Error>(())
    /// ```
    #[must_use]
    pub fn markdown(&self, of: &Experiment) -> String {
        let Experiment { id, place, title, .. } = of;
        let mut text = format!("### `{id}` ({place}): {title}\n\n");
        if !self.plots.is_empty() {
            text += &format!("![{title}]({id}.svg)\n\n");
        }
        if let Some(table) = &self.table {
            text += &format!("{}\n", table.markdown());
        }
        text += &claim::table(&self.claims).markdown();
        for note in &self.notes {
            text += &format!("\n{note}\n");
        }
        text
    }

    /// Writes the plot as `ID.svg`, its data as `ID.csv`, the claims as `ID-verdict.csv` and the table, if there is
    /// one, as `ID-table.csv`.
    ///
    /// ```
    /// use bouquet_lab::{Lab, find};
    /// let folder = tempfile::tempdir().unwrap();
    /// let experiment = find("survey000-fig2")?;
    /// experiment.run(&Lab { quick: true, seed: 1 })?.write(experiment, folder.path())?;
    /// assert!(folder.path().join("survey000-fig2.svg").exists());
    /// # Ok::<(), bouquet_lab::Error>(())
    /// ```
    pub fn write(&self, of: &Experiment, folder: &Path) -> Result<()> {
        let id = of.id;
        if !self.plots.is_empty() {
            let title = format!("{}: {}", of.place, of.title);
            write(&folder.join(format!("{id}.svg")), &plot::svg(&title, &self.plots))?;
            write(&folder.join(format!("{id}.csv")), &plot::data(&self.plots).csv())?;
        }
        if let Some(table) = &self.table {
            write(&folder.join(format!("{id}-table.csv")), &table.csv())?;
        }
        write(&folder.join(format!("{id}-verdict.csv")), &claim::table(&self.claims).csv())
    }
}

/// Writes a file, and its folder where there is none.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::of_file(folder))?;
    }
    fs::write(path, text).map_err(Error::of_file(path))
}
