//! Levels, modes and the dispatcher: what an operator meets, and what is left when a level has closed.

use super::level::{self, Below, GradMode, Randomness, Snapshot};
use super::method_scope::{self, LevelSet};
use super::node::{Meta, present_seq};
use super::origin::Origin;
use super::tensor::Payload;
use super::trace::{Atom, Recorder};
use super::{Forward, LevelId, Node, Tensor, shared};
use crate::{ErrorKind, Result};
use std::sync::Arc;

const NOWHERE: Origin = Origin::UNKNOWN;

fn vector(values: &[f64]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}

fn values(t: &Tensor) -> Vec<f64> {
    t.innermost().unwrap().to_vec().unwrap()
}

fn leaf(level: LevelId, x: &Tensor) -> Tensor {
    Tensor::taped(level, x.clone(), Node::leaf(level, Meta::of(x), None), 0)
}

fn batch(size: usize) -> level::Guard {
    level::push_batch(size, Randomness::Error, NOWHERE)
}

#[test]
fn an_operator_runs_at_its_highest_level() {
    let x = vector(&[1.0, 2.0]);
    let (tape, duals, rows) = (level::push_tape(NOWHERE), level::push_dual(NOWHERE), batch(2));
    let a = leaf(tape.id(), &x);
    let b = Tensor::dual(duals.id(), x.clone(), x.ones_like().unwrap());
    let c = Tensor::batched(rows.id(), x.clone(), 0);
    for (left, right, level) in
        [(&x, &x, LevelId::DENSE), (&x, &a, tape.id()), (&a, &b, duals.id()), (&b, &c, rows.id())]
    {
        assert_eq!(left.mul(right).unwrap().level(), level);
        assert_eq!(right.mul(left).unwrap().level(), level);
    }
    // Below its batch the product is dual, and its primal is taped.
    let product = a.mul(&b).unwrap().mul(&c).unwrap();
    let below = product.below().unwrap();
    assert_eq!((product.numel(), below.level()), (2, duals.id()));
    assert_eq!(below.below().unwrap().level(), tape.id());
    // Each member multiplies all of x · x.
    assert_eq!(values(&product).iter().sum::<f64>(), (1.0 + 4.0) * (1.0 + 2.0));
}

#[test]
fn values_of_closed_levels_are_what_they_wrap_or_raise() {
    let x = vector(&[1.0, 2.0]);
    let (taped, dual, batched) = {
        let (tape, duals, rows) = (level::push_tape(NOWHERE), level::push_dual(NOWHERE), batch(2));
        let tangent = x.ones_like().unwrap();
        (leaf(tape.id(), &x), Tensor::dual(duals.id(), x.clone(), tangent), Tensor::batched(rows.id(), x.clone(), 0))
    };
    assert_eq!(level::height(), 0);
    for dead in [&taped, &dual] {
        let y = dead.mul(2.0).unwrap();
        assert_eq!((y.level(), values(&y)), (LevelId::DENSE, vec![2.0, 4.0]));
    }
    let e = batched.mul(2.0).unwrap_err();
    assert!(e.kind() == ErrorKind::Runtime && e.message().contains("escaped"), "{e}");
    // Another level at the same depth is another level.
    let tape = level::push_tape(NOWHERE);
    assert_eq!(tape.id().depth(), taped.level().depth());
    assert!(!level::is_live(taped.level()) && level::is_live(tape.id()));
    assert_eq!(taped.mul(2.0).unwrap().level(), LevelId::DENSE);
}

#[test]
fn levels_close_in_any_order() {
    let (a, b, c) = (level::push_tape(NOWHERE), batch(2), level::push_dual(NOWHERE));
    let ids = [a.id(), b.id(), c.id()];
    drop(b);
    assert!(level::is_live(ids[0]) && !level::is_live(ids[1]) && level::is_live(ids[2]));
    assert_eq!(level::current(), ids[2]);
    drop(c);
    assert_eq!((level::height(), level::current()), (1, ids[0]));
    drop(a);
    assert_eq!((level::height(), level::current()), (0, LevelId::DENSE));
}

#[test]
fn there_is_room_for_so_many_levels() {
    let mut open = Vec::new();
    while level::check_room().is_ok() {
        open.push(batch(1));
    }
    assert_eq!(open.len(), level::MAX_LEVELS);
    assert_eq!(level::check_room().unwrap_err().kind(), ErrorKind::Recursion);
    drop(open);
    assert!(level::check_room().is_ok());
}

#[test]
fn grad_mode_cuts_the_tapes_that_are_live() {
    let x = vector(&[3.0]);
    let outer = level::push_tape(NOWHERE);
    let a = leaf(outer.id(), &x);
    {
        let _off = GradMode::set(false);
        assert!(!level::records(outer.id()));
        assert_eq!(a.mul(2.0).unwrap().level(), LevelId::DENSE);
        // A tape that opens inside records; those below stay cut.
        let inner = level::push_tape(NOWHERE);
        assert!(level::records(inner.id()) && !level::records(outer.id()) && level::grad_enabled());
        let y = leaf(inner.id(), &a).mul(2.0).unwrap();
        assert_eq!((y.level(), y.below().unwrap().level()), (inner.id(), LevelId::DENSE));
    }
    assert!(level::records(outer.id()) && level::grad_enabled());
    assert_eq!(a.mul(2.0).unwrap().level(), outer.id());
}

#[test]
fn forward_mode_has_a_switch_of_its_own() {
    let x = vector(&[3.0]);
    let duals = level::push_dual(NOWHERE);
    let a = Tensor::dual(duals.id(), x.clone(), x.clone());
    let _off = GradMode::set(false);
    assert_eq!(a.mul(2.0).unwrap().level(), duals.id());
    let before = level::set_forward_enabled(false);
    assert_eq!(a.mul(2.0).unwrap().level(), LevelId::DENSE);
    level::set_forward_enabled(before);
}

#[test]
fn what_runs_below_a_level_does_not_see_it() {
    let (tape, rows) = (level::push_tape(NOWHERE), batch(2));
    {
        let _below = Below::enter(rows.id());
        assert_eq!(level::current(), tape.id());
        assert_eq!(level::visible().len(), 1);
        // What opens meanwhile is seen.
        let duals = level::push_dual(NOWHERE);
        assert_eq!(level::current(), duals.id());
    }
    assert_eq!((level::current(), level::visible().len()), (rows.id(), 2));
    let _below = Below::all();
    assert_eq!((level::current(), level::grad_enabled()), (LevelId::DENSE, false));
}

#[test]
fn a_snapshot_makes_closed_levels_live() {
    let x = vector(&[3.0]);
    let (snapshot, a) = {
        let tape = level::push_tape(NOWHERE);
        (Snapshot::take(), leaf(tape.id(), &x))
    };
    assert_eq!(a.mul(2.0).unwrap().level(), LevelId::DENSE);
    {
        let _revived = snapshot.revive();
        assert_eq!((level::height(), a.mul(2.0).unwrap().level()), (1, a.level()));
    }
    assert_eq!((level::height(), a.mul(2.0).unwrap().level()), (0, LevelId::DENSE));
}

#[test]
fn batches_nest() {
    let x = Tensor::from_slice([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let (outer, inner) = (batch(2), batch(3));
    let a = Tensor::batched(inner.id(), Tensor::batched(outer.id(), x.clone(), 0), 0);
    assert_eq!((a.rank(), a.level()), (0, inner.id()));
    let y = a.mul(&a).unwrap();
    assert_eq!((y.rank(), y.below().unwrap().rank(), y.below().unwrap().level()), (0, 1, outer.id()));
    assert_eq!(y.innermost().unwrap().shape()[..], [2, 3]);
    assert_eq!(values(&y), [1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
    // With a value of the inner batch alone: its members meet those of the outer one.
    let b = Tensor::batched(inner.id(), vector(&[10.0, 20.0, 30.0]), 0);
    let sum = a.add(&b).unwrap();
    let mut got = values(&sum);
    got.sort_by(f64::total_cmp);
    assert_eq!(got, [11.0, 14.0, 22.0, 25.0, 33.0, 36.0]);
}

#[test]
fn operators_on_values_that_all_members_share_keep_them_shared() {
    let rows = batch(2);
    let one = Tensor::batched(rows.id(), vector(&[1.0, 1.0]), 0);
    let each = Tensor::batched(rows.id(), vector(&[1.0, 2.0]), 0);
    assert!(!shared::is_shared(rows.id(), &one));
    shared::note(rows.id(), &one);
    let known = |t: Result<Tensor>| shared::is_shared(rows.id(), &t.unwrap());
    assert!(known(one.mul(2.0)) && known(one.add(&one)) && known(one.exp()));
    assert!(!known(one.mul(&each)) && !known(each.mul(2.0)));
    shared::close(rows.id());
    assert!(!shared::is_shared(rows.id(), &one) && !known(one.mul(2.0)));
}

#[test]
fn nodes_have_larger_numbers_than_what_they_depend_on() {
    let tape = level::push_tape(NOWHERE);
    let before = present_seq();
    let x = leaf(tape.id(), &vector(&[1.0, 2.0]));
    let y = x.mul(&x).unwrap().exp().unwrap();
    let mut todo = vec![y.node_at(tape.id()).unwrap().0.clone()];
    let mut seen = 0;
    while let Some(node) = todo.pop() {
        seen += 1;
        assert!(node.seq >= before && node.seq < present_seq());
        for e in node.edges.iter().flatten() {
            assert!(e.node.seq < node.seq && e.node.level == tape.id());
            todo.push(e.node.clone());
        }
        assert_eq!(node.is_leaf(), node.edges.iter().next().is_none());
    }
    // exp, mul, and the leaf by both of its factors.
    assert_eq!(seen, 4);
    assert_eq!(x.gt(1.5).unwrap().level(), LevelId::DENSE, "what has no derivative is not recorded");
}

#[test]
fn a_running_method_must_not_use_what_is_followed() {
    let x = vector(&[1.0, 2.0]);
    let (tape, rows) = (level::push_tape(NOWHERE), batch(2));
    let (taped, batched) = (leaf(tape.id(), &x), Tensor::batched(rows.id(), x.clone(), 0));
    let levels = LevelSet::live();
    let message = |t: &Tensor| t.mul(2.0).unwrap_err().message().to_string();
    {
        let _running = method_scope::enter(Origin::intern("F".into()), "forward", levels);
        assert!(message(&taped).starts_with("F.forward: mul() uses a captured tensor that requires grad"));
        assert!(message(&batched).starts_with("F.forward: mul() uses a captured tensor that is batched by vmap"));
        assert!(x.mul(2.0).is_ok() && method_scope::has_forbidden(&taped) && !method_scope::has_forbidden(&x));
        // A constant by the program's own word.
        let before = level::set_grad_enabled(false);
        assert_eq!(values(&taped.mul(2.0).unwrap()), [2.0, 4.0]);
        level::set_grad_enabled(before);
        // Its own levels are its own.
        let own = level::push_tape(NOWHERE);
        assert_eq!(leaf(own.id(), &x).mul(2.0).unwrap().level(), own.id());
    }
    assert!(taped.mul(2.0).is_ok() && batched.mul(2.0).is_ok());
}

#[test]
fn a_trace_writes_down_all_operators_and_a_partial_one_what_depends() {
    let x = vector(&[1.0, 2.0]);
    for partial in [false, true] {
        let recorder = Arc::new(if partial { Recorder::partial() } else { Recorder::default() });
        let level = level::push_trace(recorder.clone(), NOWHERE);
        let a = Tensor::traced(level.id(), x.clone(), recorder.new_var(Meta::of(&x)));
        let constant = x.exp().unwrap();
        let y = a.mul(&constant).unwrap();
        assert_eq!(y.level(), level.id());
        assert!(matches!(y.payload(), Some(Payload::Traced { .. })));
        drop(level);
        let recording = recorder.take();
        let names: Vec<&str> = recording.instructions.iter().map(|i| i.prim.name()).collect();
        assert_eq!(names, if partial { vec!["mul"] } else { vec!["exp", "mul"] });
        let last = recording.instructions.last().unwrap();
        assert!(matches!(last.args[0], Atom::Var(0)));
        assert_eq!(matches!(last.args[1], Atom::Const(_)), partial);
    }
}

#[test]
fn hidden_outputs_are_no_results() {
    let run = Forward { hidden: 1, ..Forward::of([vector(&[1.0]), vector(&[2.0])]) };
    assert_eq!((run.outputs.len(), run.results()), (2, 1));
    assert_eq!(Forward { hidden: 3, ..run }.results(), 0);
}
