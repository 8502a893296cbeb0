use crate::engine::pass::Pass;
use crate::engine::plan::Step;
use crate::engine::{Budget, Database, Engine};
use crate::lineage::Lineage;
use crate::program::{Program, RelationId, RuleId};
use crate::value::Word;

/// How far a rule that did not fire came for one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The rule (one of the alternatives of a decision rule) that came farthest.
    pub rule: RuleId,
    /// Place in its body of the first literal that failed.
    pub literal: usize,
    /// Whether that literal, or one that it takes its values from, reads what can still come in this session.
    pub open: bool,
}

impl Engine {
    /// How far a decision rule (by its place in `Program::decision_rules`) comes for an action, in the model that is
    /// there. None where it fires.
    pub fn reach(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        rule: usize,
        action: u64,
        budget: Budget,
    ) -> Option<Reach> {
        let mut farthest: Option<(usize, Reach)> = None;
        for (plan, slot) in self.probes.get(rule)? {
            let given: Vec<_> = slot.iter().map(|&slot| (slot, Word::unsigned(action))).collect();
            let depth = Pass::new(self, program, database, lineage, budget).reach(plan, &given);
            let failed = plan.steps.get(depth)?;
            let literal = plan.literals.get(depth).and_then(|places| places.first()).copied().unwrap_or(0);
            let before = plan.steps.get(..=depth).unwrap_or(&[]);
            let open = !matches!(failed, Step::Absent { .. } | Step::AbsentLineage { .. })
                && before.iter().any(|step| self.reads_what_grows(step));
            let reach = Reach { rule: plan.rule, literal, open };
            if farthest.as_ref().is_none_or(|&(best, _)| depth > best) {
                farthest = Some((depth, reach));
            }
        }
        farthest.map(|(_, reach)| reach)
    }

    fn reads_what_grows(&self, step: &Step) -> bool {
        let grows = |relation: &RelationId| self.grows.get(relation.0 as usize) == Some(&true);
        match step {
            Step::Scan { relation, .. } => grows(relation),
            Step::Among(_) | Step::Lineage { .. } | Step::Aggregate(_) => true,
            Step::Absent { .. }
            | Step::AbsentLineage { .. }
            | Step::Filter(_)
            | Step::Match { .. }
            | Step::Generate { .. }
            | Step::Counted(_) => false,
            Step::Stage(steps) => steps.iter().any(|step| self.reads_what_grows(step)),
        }
    }
}
