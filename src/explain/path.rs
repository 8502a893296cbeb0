//! Ways through a session.

use crate::lineage::{Lineage, RecordId};

/// Records of one way at most.
const LONGEST: usize = 10_000;

/// A short way from a record to one of the last ones: each record is an input of the next. Empty where there is none. Each
/// step goes to the earliest record that leads on from the source.
pub(crate) fn path(lineage: &Lineage, source: RecordId, last: &[RecordId]) -> Vec<RecordId> {
    let reads = |record: RecordId| lineage.member_set(lineage.inputs(record)).contains(source);
    let descends = |record: RecordId| lineage.ancestors(record).contains(source);
    let direct = last.iter().copied().find(|&record| reads(record));
    let Some(end) = direct.or_else(|| last.iter().copied().find(|&record| descends(record))) else {
        return Vec::new();
    };
    let (mut way, mut at) = (vec![end], end);
    while !reads(at) && way.len() < LONGEST {
        let inputs = lineage.member_set(lineage.inputs(at));
        let Some(next) = inputs.iter().find(|&record| record > source && descends(record)) else {
            return Vec::new();
        };
        way.push(next);
        at = next;
    }
    way.push(source);
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::ContextId;

    #[test]
    fn a_way_is_as_short_as_its_first_steps_allow() {
        let mut lineage = Lineage::default();
        // 0 <- 1 <- 2 <- 3, 2 also read by 4, and 4 read all but 0 and 1.
        let mut last = ContextId::EMPTY;
        for number in 0..4 {
            let record = lineage.push(last);
            assert_eq!(record, RecordId(number));
            last = lineage.extend(ContextId::EMPTY, &[record]);
        }
        let context = lineage.extend(ContextId::EMPTY, &[RecordId(2), RecordId(3)]);
        let call = lineage.push(context);
        let way =
            |source: u32| path(&lineage, RecordId(source), &[call]).iter().map(|r| r.0).collect::<Vec<_>>();
        assert_eq!(way(3), [3, 4]);
        assert_eq!(way(2), [2, 4]);
        assert_eq!(way(0), [0, 1, 2, 4]);
        assert_eq!(way(4), [0_u32; 0]);
    }
}
