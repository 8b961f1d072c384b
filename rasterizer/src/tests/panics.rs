//! Tests that a panic in a worker reaches the caller and has no other effect: the engine continues,
//! and so does other work.

use super::*;
use execution::RunningCommand;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn image_of(engine: &Engine) -> Vec<u8> {
    let image = Image::new(R32F, 300, 200, 1, 1);
    let mut random = Rng(9);
    let vertices: Vec<V> = (0..900).map(|_| v(random.unit(), random.unit(), 0.5, WHITE)).collect();
    let mut s = state(Topology::TriangleList, 300, 200);
    s.pixel.blend[0] = ADDITIVE;
    let mut pass = engine.begin_rendering(targets(&image, None));
    pass.draw(draw(s, &vertices));
    pass.end();
    image.bytes()
}

#[test]
fn a_panic_in_a_worker_leaves_the_engine_usable() {
    let other = Engine::new(2);
    let want = image_of(&Engine::new(1));
    for threads in [1, 3] {
        let engine = Engine::new(threads);
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| (0..4).map(|_| image_of(&other)).collect::<Vec<_>>());
            for round in 0..4 {
                let items = catch_unwind(AssertUnwindSafe(|| {
                    engine.pool().for_each(64, execution::CostHint::Large, |worker, _, i| {
                        worker.set_running(RunningCommand { command: 7, pipeline: 7 });
                        assert_ne!(i, 5 * round, "on purpose");
                    });
                }));
                assert!(items.is_err(), "the panic reaches the caller");
                assert_eq!(engine.pool().running(), [], "nobody is at work any more");
                assert!(image_of(&engine) == want, "round {round}, {threads} threads");
            }
            assert!(beside.join().is_ok_and(|images| images.iter().all(|i| *i == want)), "another engine");
        });
    }
}
