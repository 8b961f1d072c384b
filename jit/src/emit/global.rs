//! Physical pointers: addresses that the shader computes, checked against live memory
//! ([`base::abi::AddressSpace`]), for all lanes of a chunk at once.
//!
//! Only the first byte of an access is checked, because at least [`base::abi::ADDRESS_TAIL`] bytes
//! behind live memory are accessible.

use super::Emitter;
use super::memory::{access_at_offset, check_access_size, read_only, trusted};
use super::value_rep::{ValueRep, scalar_type};
use crate::error::Result;
use crate::ir::{Ty, Value};
use crate::lir::{Access, AccessReason, IntCond, Type, Value as C};
use base::abi::{ADDRESS_GRANULE_BITS, AddressSpace, ShaderContext};
use core::mem::offset_of;

impl Emitter<'_> {
    fn address_space(&mut self, field: usize) -> C {
        let at = offset_of!(ShaderContext, addresses) + field;
        self.b.load(Type::I64, read_only(AccessReason::Field, at as i32), self.function.ctx())
    }

    /// Returns whether memory is live at the address (I64), as I8.
    pub fn is_live(&mut self, address: C) -> C {
        let base = self.address_space(offset_of!(AddressSpace, base));
        let offset = self.b.isub(address, base);
        let granule = self.b.lshr_imm(offset, ADDRESS_GRANULE_BITS);
        self.is_live_granule(granule)
    }

    /// Returns the mask of lanes whose addresses are in live memory. Usually all are in the granule
    /// of the first lane or in that of the last one; otherwise each granule is looked up.
    pub fn live_lanes(&mut self, addresses: C) -> C {
        let lanes = self.lanes.count() as usize;
        let long = self.vector_type(Ty::I64);
        let base = self.address_space(offset_of!(AddressSpace, base));
        let base = self.b.splat(long, base);
        let offsets = self.b.isub(addresses, base);
        let granules = self.b.lshr_imm(offsets, ADDRESS_GRANULE_BITS);
        let ends = [0, lanes - 1].map(|lane| self.b.extract(granules, lane));
        let [first, last] = ends.map(|end| {
            let end = self.b.splat(long, end);
            self.b.icmp(IntCond::Eq, granules, end)
        });
        let near = self.b.or(first, last);
        let near = self.b.all(near);
        let [first, last] = ends.map(|end| self.is_live_granule(end));
        let alive = self.b.and(first, last);
        let simple = self.b.and(near, alive);
        let (slow, done) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let masks = self.vector_type(Ty::B1);
        let found = self.b.append_param(done, masks);
        let all = self.mask(true);
        self.b.branch(simple, done, &[all], slow, &[]);
        self.enter(slow);
        let each: Vec<C> = (0..lanes)
            .map(|lane| {
                let granule = self.b.extract(granules, lane);
                self.is_live_granule(granule)
            })
            .collect();
        let each = self.b.build(&each);
        self.b.jump(done, &[each]);
        self.enter(done);
        found
    }

    /// Returns whether the granule (I64, any number) is live, as I8.
    fn is_live_granule(&mut self, granule: C) -> C {
        let last = self.address_space(offset_of!(AddressSpace, last));
        let live = self.address_space(offset_of!(AddressSpace, live));
        let granule = self.b.umin(granule, last);
        let byte = self.b.iadd(live, granule);
        let byte = self.b.load(Type::I8, trusted(AccessReason::Live, 0), byte);
        self.b.icmp_imm(IntCond::Ne, byte, 0)
    }

    /// Emits a load through a pointer, which gives zero where no memory is live. Inactive lanes
    /// load too, whatever their address is.
    pub fn load_global(&mut self, pointer: Value, results: &[Value], ty: Ty, flags: Access) -> Result<()> {
        let bytes = ty.bytes() as i32;
        check_access_size(ty.bytes() * results.len() as u32)?;
        if let ValueRep::Uniform(address) = self.value_rep(pointer)? {
            let live = self.is_live(address);
            let address = self.b.select(live, address, self.function.zeros());
            let values = self.load_components(address, ty, results.len(), flags);
            return self.define_all(results, values.into_iter().map(ValueRep::Uniform));
        }
        let long = self.vector_type(Ty::I64);
        let addresses = self.vector(pointer)?;
        let live = self.live_lanes(addresses);
        let zeros = self.b.splat(long, self.function.zeros());
        let addresses = self.b.select(live, addresses, zeros);
        let mut lanes: Vec<Vec<C>> = vec![Vec::new(); results.len()];
        for lane in 0..self.lanes.count() as usize {
            let address = self.b.extract(addresses, lane);
            for (i, list) in lanes.iter_mut().enumerate() {
                list.push(self.b.load(scalar_type(ty), access_at_offset(flags, i as i32 * bytes), address));
            }
        }
        let value_reps: Vec<ValueRep> = lanes.iter().map(|l| ValueRep::Varying(self.b.build(l))).collect();
        self.define_all(results, value_reps.into_iter())
    }
}
