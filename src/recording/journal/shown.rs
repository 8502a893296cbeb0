//! Requests to models, of which a journal holds each content once.
//!
//! A model is shown the whole history before each thing that it says. Written in full every time, that is the square of the
//! session; so a journal names what it holds already. A request says how many contents of the last one of the same agent it
//! begins with, and what comes then: a text that is new, or a run of texts by their numbers. Texts have numbers from 0, in
//! the order in which they came.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::recording::journal::{Entry, ModelRequest};

/// Bytes of a request that is written in parts. One that is longer is written in full.
const LONGEST: usize = 64 << 20;

/// A request to a model, in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The agent whose model it is.
    pub agent: String,
    /// The invocation.
    pub invocation: String,
    /// How many contents are those of the last request of this agent that was written in parts, from its beginning.
    pub same: u64,
    /// The contents after those.
    pub contents: Vec<Piece>,
    /// All else that the request has, by its keys.
    pub others: Vec<(String, Piece)>,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// JSON text that the journal does not hold yet.
    New(String),
    /// Texts that it holds: the number of the first, and how many.
    Held(u64, u64),
}

/// The texts of requests that a journal holds.
///
/// Whoever writes needs their digests, whoever reads the texts.
#[derive(Debug, Default)]
pub struct Shelf {
    numbers: BTreeMap<[u8; 32], u64>,
    texts: Vec<Box<str>>,
    /// How many texts there are.
    count: u64,
    /// The contents of the last request of each agent, by number.
    last: BTreeMap<String, Vec<u64>>,
}

/// Why a request cannot be put together: it names what is not there, or is longer than any that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request names contents that the journal does not hold, or too many")]
pub struct Unheld;

impl Shelf {
    /// The entry as it is written: a request in parts, anything else as it is. So is a request that is no object with a list
    /// of contents.
    pub fn short(&mut self, entry: Entry) -> Entry {
        match entry {
            Entry::ModelRequest(request) => match self.parts(&request) {
                Some(shown) => Entry::Shown(shown),
                None => Entry::ModelRequest(request),
            },
            entry => entry,
        }
    }

    fn parts(&mut self, request: &ModelRequest) -> Option<Shown> {
        if request.request.len() > LONGEST {
            return None;
        }
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(&request.request).ok()?;
        let contents: Vec<&RawValue> = serde_json::from_str(members.get("contents")?.get()).ok()?;
        let numbered: Vec<_> = contents.iter().map(|text| (self.number(text.get()), text.get())).collect();
        let last = self.last.entry(request.agent.clone()).or_default();
        let same = numbered.iter().zip(&*last).take_while(|(((number, _), _), last)| number == *last).count();
        last.truncate(same);
        last.extend(numbered.iter().skip(same).map(|((number, _), _)| number));
        let mut pieces: Vec<Piece> = Vec::new();
        for ((number, is_new), text) in numbered.into_iter().skip(same) {
            match (is_new, pieces.last_mut()) {
                (true, _) => pieces.push(Piece::New(text.to_owned())),
                (false, Some(Piece::Held(first, count))) if first.checked_add(*count) == Some(number) => {
                    *count += 1;
                }
                (false, _) => pieces.push(Piece::Held(number, 1)),
            }
        }
        let others = members.into_iter().filter(|(key, _)| key != "contents");
        let others = others.map(|(key, text)| match self.number(text.get()) {
            (_, true) => (key, Piece::New(text.get().to_owned())),
            (number, false) => (key, Piece::Held(number, 1)),
        });
        let others = others.collect();
        let (agent, invocation) = (request.agent.clone(), request.invocation.clone());
        Some(Shown {
            agent,
            invocation,
            same: u64::try_from(same).unwrap_or(u64::MAX),
            contents: pieces,
            others,
        })
    }

    /// The number of a text, and whether it is new.
    fn number(&mut self, text: &str) -> (u64, bool) {
        let next = self.count;
        let number = *self.numbers.entry(Sha256::digest(text).into()).or_insert(next);
        self.count += u64::from(number == next);
        (number, number == next)
    }

    /// The entry as it was given: a request put together, anything else as it is.
    ///
    /// # Errors
    /// Where a request names what is not there; nothing changes then that a reader may go on with.
    pub fn whole(&mut self, entry: Entry) -> Result<Entry, Unheld> {
        match entry {
            Entry::Shown(shown) => self.together(shown).map(Entry::ModelRequest),
            entry => Ok(entry),
        }
    }

    fn together(&mut self, shown: Shown) -> Result<ModelRequest, Unheld> {
        let mut last = self.last.remove(&shown.agent).unwrap_or_default();
        let same = usize::try_from(shown.same).ok().filter(|same| *same <= last.len()).ok_or(Unheld)?;
        last.truncate(same);
        // Every text has a byte at least, so the limit of bytes is one of texts too.
        for piece in shown.contents {
            let (first, count) = self.shelved(piece)?;
            let room = LONGEST.checked_sub(last.len()).ok_or(Unheld)?;
            if usize::try_from(count).map_or(true, |count| count > room) {
                return Err(Unheld);
            }
            last.extend(first..first.checked_add(count).ok_or(Unheld)?);
        }
        let mut request = String::from("{\"contents\":[");
        for (place, number) in last.iter().enumerate() {
            self.write(&mut request, if place == 0 { "" } else { "," }, *number)?;
        }
        request.push(']');
        for (key, piece) in shown.others {
            let (number, 1) = self.shelved(piece)? else { return Err(Unheld) };
            let key = serde_json::to_string(&key).map_err(|_| Unheld)?;
            self.write(&mut request, &format!(",{key}:"), number)?;
        }
        request.push('}');
        self.last.insert(shown.agent.clone(), last);
        Ok(ModelRequest { agent: shown.agent, invocation: shown.invocation, request })
    }

    fn write(&self, request: &mut String, before: &str, number: u64) -> Result<(), Unheld> {
        let text = usize::try_from(number).ok().and_then(|number| self.texts.get(number)).ok_or(Unheld)?;
        if request.len().saturating_add(text.len()) > 2 * LONGEST {
            return Err(Unheld);
        }
        request.push_str(before);
        request.push_str(text);
        Ok(())
    }

    /// The numbers of a piece, which is held from now on: the first, and how many.
    fn shelved(&mut self, piece: Piece) -> Result<(u64, u64), Unheld> {
        match piece {
            Piece::New(text) => {
                let (number, true) = self.number(&text) else { return Err(Unheld) };
                self.texts.push(text.into_boxed_str());
                Ok((number, 1))
            }
            Piece::Held(first, count) if first.checked_add(count).is_some_and(|end| end <= self.count) => {
                Ok((first, count))
            }
            Piece::Held(..) => Err(Unheld),
        }
    }

    /// Lets go of the texts: from here on entries are written, and none is read.
    pub fn close(&mut self) {
        self.texts = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};

    fn request(agent: &str, contents: &[String], system: &str) -> Entry {
        let request = format!(r#"{{ "contents" : [{}], "config":{{"s":"{system}"}}}}"#, contents.join(" , "));
        Entry::ModelRequest(ModelRequest { agent: agent.to_owned(), invocation: "i".to_owned(), request })
    }

    fn told(entry: &Entry) -> (String, String) {
        let Entry::ModelRequest(request) = entry else { panic!("{entry:?}") };
        let json = json::parse(&request.request).unwrap();
        let field = |key: &str| json.field(key).unwrap().as_written();
        (request.agent.clone(), field("contents") + &field("config"))
    }

    /// Histories that grow, lose their beginning, and say the same twice.
    fn histories() -> impl Strategy<Value = Vec<Entry>> {
        let step = (0..2_usize, prop::collection::vec(0..6_u8, 0..3), 0..4_usize, 0..2_u8);
        prop::collection::vec(step, 0..12).prop_map(|steps| {
            let mut histories = [Vec::new(), Vec::new()];
            let of = |(agent, new, cut, system): (usize, Vec<u8>, usize, u8)| {
                let history: &mut Vec<String> = &mut histories[agent];
                history.extend(new.iter().map(|n| format!(r#"{{"parts":[{{"text":"{n} é\n"}}]}}"#)));
                if cut == 3 {
                    history.drain(..history.len() / 2);
                }
                request(["a", "b"][agent], history, ["x", "y"][usize::from(system)])
            };
            steps.into_iter().map(of).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn what_is_written_in_parts_is_put_together_again(entries in histories(), anew in 0..12_usize) {
            let (mut writer, mut reader) = (Shelf::default(), Shelf::default());
            for (number, entry) in entries.iter().enumerate() {
                let short = writer.short(entry.clone());
                assert!(matches!(short, Entry::Shown(_)));
                let line = serde_json::to_string(&short).unwrap();
                let whole = reader.whole(serde_json::from_str(&line).unwrap()).unwrap();
                assert_eq!(told(&whole), told(entry));
                if number == anew {
                    // Whoever has read goes on writing as the one before would have.
                    reader.close();
                    writer = std::mem::take(&mut reader);
                    break;
                }
            }
            let mut second = Shelf::default();
            let again: Vec<_> = entries.iter().map(|entry| second.short(entry.clone())).collect();
            let rest = entries.iter().skip(anew + 1).map(|entry| writer.short(entry.clone()));
            assert_eq!(rest.collect::<Vec<_>>(), again.iter().skip(anew + 1).cloned().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_history_that_grows_is_written_once() {
        let mut shelf = Shelf::default();
        let mut history: Vec<String> = Vec::new();
        let mut sizes = Vec::new();
        for n in 0..200 {
            history.extend([format!("\"question {n:04}\""), "\"yes\"".to_owned()]);
            let short = shelf.short(request("bot", &history, "be brief"));
            sizes.push(serde_json::to_string(&short).unwrap().len());
        }
        assert!(sizes.iter().skip(2).all(|size| *size < 160), "{sizes:?}");
    }

    #[test]
    fn what_names_more_than_is_there_is_refused() {
        let shown = |same, contents: Vec<Piece>, others: Vec<(String, Piece)>| {
            let (agent, invocation) = ("a".to_owned(), String::new());
            Entry::Shown(Shown { agent, invocation, same, contents, others })
        };
        let new = |text: &str| Piece::New(text.to_owned());
        for entry in [
            shown(1, Vec::new(), Vec::new()),
            shown(u64::MAX, Vec::new(), Vec::new()),
            shown(0, vec![Piece::Held(0, 1)], Vec::new()),
            shown(0, vec![new("1"), Piece::Held(0, 2)], Vec::new()),
            shown(0, vec![new("1"), Piece::Held(1, u64::MAX)], Vec::new()),
            shown(0, vec![new("1"), new("1")], Vec::new()),
            shown(0, vec![new("1")], vec![("k".to_owned(), Piece::Held(0, 0))]),
        ] {
            assert_eq!(Shelf::default().whole(entry.clone()), Err(Unheld), "{entry:?}");
        }
        // A few bytes that stand for more than any request holds.
        let mut shelf = Shelf::default();
        let long = format!("\"{}\"", "x".repeat(1 << 20));
        shelf.whole(shown(0, vec![Piece::New(long)], Vec::new())).unwrap();
        let many = vec![Piece::Held(0, 1); 200];
        assert_eq!(shelf.whole(shown(0, many, Vec::new())), Err(Unheld));
    }

    #[test]
    fn what_is_no_request_of_that_form_is_written_as_it_is() {
        for text in ["{", "[]", "{}", r#"{"contents":{}}"#] {
            let request =
                ModelRequest { agent: "a".to_owned(), invocation: String::new(), request: text.to_owned() };
            let entry = Entry::ModelRequest(request);
            assert_eq!(Shelf::default().short(entry.clone()), entry);
        }
    }
}
