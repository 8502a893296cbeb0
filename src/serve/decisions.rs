//! Verdicts of the decision log, for those who answer for a tenant.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hyper::StatusCode;
use tokio::task::spawn_blocking;
use url::form_urlencoded;

use crate::gate::GateError;
use crate::recording::decisions::{Decided, LogReader, Said};
use crate::recording::journal::Word;
use crate::serve::answers::{Answer, document};
use crate::serve::problem::Problem;
use crate::serve::server::Service;
use crate::serve::tokens::Holder;
use crate::serve::wire::{DecisionRow, DecisionsAnswer};
use crate::store::{LogError, files_of, read_file};

/// Verdicts of a list, where its asker names no number.
const LISTED: usize = 100;

/// Most verdicts of a list.
const MOST_LISTED: usize = 1000;

/// What is looked for.
#[derive(Debug, Default)]
struct Wanted {
    tenant: String,
    app: Option<String>,
    user: Option<String>,
    session: Option<String>,
    tool: Option<String>,
    call_id: Option<String>,
    verdict: Option<Word>,
    /// Only what comes after that line, the oldest first. Without it the newest are looked for.
    after: Option<u64>,
    limit: usize,
}

impl Wanted {
    fn read(tenant: &str, query: &str) -> Result<Self, Problem> {
        let mut wanted = Self { tenant: tenant.to_owned(), limit: LISTED, ..Self::default() };
        let bad = |words: String| Problem::bad("bad_query", words);
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let text = || Some(value.clone().into_owned());
            match &*key {
                "app" => wanted.app = text(),
                "user" => wanted.user = text(),
                "session" => wanted.session = text(),
                "tool" => wanted.tool = text(),
                "call_id" => wanted.call_id = text(),
                "verdict" => {
                    let named =
                        [Word::Allow, Word::Ask, Word::Deny].into_iter().find(|word| word.name() == value);
                    let none = || bad("`verdict` is `allow`, `ask` or `deny`".to_owned());
                    wanted.verdict = Some(named.ok_or_else(none)?);
                }
                "after" => {
                    let none = |_| bad("`after` is the number of a verdict".to_owned());
                    wanted.after = Some(value.parse().map_err(none)?);
                }
                "limit" => {
                    let number = value.parse().ok().filter(|limit| (1..=MOST_LISTED).contains(limit));
                    let none = || bad(format!("`limit` is a number from 1 to {MOST_LISTED}"));
                    wanted.limit = number.ok_or_else(none)?;
                }
                _ => {
                    return Err(bad(
                        "the query has a key that means nothing here: write `app`, `user`, `session`, \
                                    `tool`, `call_id`, `verdict`, `after` or `limit`"
                            .to_owned(),
                    ));
                }
            }
        }
        Ok(wanted)
    }

    fn fits(&self, decided: &Decided) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        decided.key.tenant == self.tenant
            && is(&self.app, &decided.key.app)
            && is(&self.user, &decided.key.user)
            && is(&self.session, &decided.key.session)
            && is(&self.tool, &decided.tool)
            && is(&self.call_id, &decided.call_id)
            && self.verdict.is_none_or(|verdict| verdict == decided.verdict)
    }

    /// Reads the newest file of the log, and older ones for as long as there may be more. Time is linear in what is read;
    /// no more is held than was asked for.
    fn find(&self, path: &Path) -> Result<BTreeMap<u64, Box<Decided>>, LogError> {
        let mut found = BTreeMap::new();
        for file in files_of(path)?.iter().rev() {
            let mut first = None;
            read_file(file, &mut LogReader::default(), &mut |head, said| {
                let number = head.lines.saturating_sub(1);
                first.get_or_insert(number);
                let Said::Decision(decided) = said else { return };
                if self.after.is_none_or(|after| number > after) && self.fits(&decided) {
                    found.insert(number, decided);
                    self.trim(&mut found);
                }
            })?;
            let is_enough = match (self.after, first) {
                (Some(after), Some(first)) => first <= after,
                (None, _) => found.len() >= self.limit,
                (Some(_), None) => false,
            };
            if is_enough {
                break;
            }
        }
        Ok(found)
    }

    /// Lets go of what is one too many: the newest behind a number, else the oldest.
    fn trim(&self, found: &mut BTreeMap<u64, Box<Decided>>) {
        if found.len() > self.limit {
            match self.after {
                Some(_) => found.pop_last(),
                None => found.pop_first(),
            };
        }
    }
}

/// Lists verdicts of the asker's tenant: the newest, or with `after` those behind that number, so that asking again with the
/// last number follows the log. Needs the scope `approve` or `administer`.
#[utoipa::path(get, path = "/v1/decisions",
    params(
        ("after" = Option<u64>, Query, description = "The number of a verdict: only those behind it, the oldest first"),
        ("limit" = Option<usize>, Query, description = "How many, 1 to 1000"),
        ("verdict" = Option<String>, Query, description = "`allow`, `ask` or `deny`"),
        ("app" = Option<String>, Query),
        ("user" = Option<String>, Query),
        ("session" = Option<String>, Query),
        ("tool" = Option<String>, Query),
        ("call_id" = Option<String>, Query),
    ),
    responses((status = 200, body = DecisionsAnswer)))]
pub(crate) async fn decisions(
    service: &Arc<Service>,
    holder: &Holder,
    query: &str,
) -> Result<Answer, Problem> {
    let wanted = Wanted::read(holder.tenant(), query)?;
    let Some(path) = service.decisions.clone() else {
        let text = "the service keeps no decision log: start it with --decision-log";
        return Err(Problem::new(StatusCode::NOT_FOUND, "no_log", text));
    };
    let Ok(_alone) = service.log_readers.try_acquire() else {
        return Err(Problem::busy("busy", "the log is being read for somebody else: try again"));
    };
    let found = spawn_blocking(move || wanted.find(&path)).await.map_err(|_| GateError::BrokenOff)?;
    let found = found
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "broken_log", error.to_string()))?;
    let decisions = found.into_iter().map(|(number, decision)| DecisionRow { number, decision }).collect();
    Ok(document(&DecisionsAnswer { decisions }))
}
