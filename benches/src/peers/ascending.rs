//! ascent, a macro that compiles rules.

use crate::peers::Facts;

ascent::ascent! {
    struct Walk;
    relation edge(u32, u32);
    relation current(u32);
    relation barred(u32);
    relation wanted(u32);
    relation reached(u32);
    relation found(u32);

    reached(record) <-- current(record);
    reached(source) <-- reached(dest), edge(dest, source), !barred(source);
    found(record) <-- reached(record), wanted(record);
}

pub(super) fn finds(facts: &Facts) -> bool {
    let single = |records: &[u32]| records.iter().map(|&record| (record,)).collect();
    let mut walk = Walk {
        edge: facts.edges.clone(),
        current: single(&facts.current),
        barred: single(&facts.barred),
        wanted: single(&facts.wanted),
        ..Walk::default()
    };
    walk.run();
    !walk.found.is_empty()
}
