//! Physical pointers: addresses that the shader computes, checked against what is alive ([`base::abi::AddressSpace`]).

use super::Emitter;
use super::memory::{at, read_only, trusted};
use super::rep::{Rep, scalar_type};
use crate::error::Result;
use crate::ir::{Ty, Value};
use crate::lir::{Access, IntCond, Type, Value as C};
use base::abi::{ADDRESS_GRANULE_BITS, AddressSpace, ShaderContext};
use core::mem::offset_of;

impl Emitter<'_> {
    fn address_space(&mut self, field: usize) -> C {
        let at = offset_of!(ShaderContext, addresses) + field;
        self.b.load(Type::I64, read_only(at as i32), self.ctx)
    }

    /// I8: memory is alive at the address (I64).
    pub fn is_live(&mut self, address: C) -> C {
        let base = self.address_space(offset_of!(AddressSpace, base));
        let last = self.address_space(offset_of!(AddressSpace, last));
        let live = self.address_space(offset_of!(AddressSpace, live));
        let offset = self.b.isub(address, base);
        let granule = self.b.lshr_imm(offset, ADDRESS_GRANULE_BITS);
        let granule = self.b.umin(granule, last);
        let byte = self.b.iadd(live, granule);
        let byte = self.b.load(Type::I8, trusted(0), byte);
        self.b.icmp_imm(IntCond::Ne, byte, 0)
    }

    /// Loads through a pointer; zero where nothing is alive. Inactive lanes load too, whatever their address is.
    pub fn load_global(&mut self, pointer: Value, results: &[Value], ty: Ty, flags: Access) -> Result<()> {
        let bytes = ty.bytes() as i32;
        let load = |e: &mut Self, address: C| -> Vec<C> {
            let live = e.is_live(address);
            let address = e.b.select(live, address, e.zeros);
            (0..results.len()).map(|i| e.b.load(scalar_type(ty), at(flags, i as i32 * bytes), address)).collect()
        };
        if let Rep::Uniform(address) = self.rep(pointer)? {
            let values = load(self, address);
            return self.define_all(results, values.into_iter().map(Rep::Uniform));
        }
        let mut lanes: Vec<Vec<C>> = vec![Vec::new(); results.len()];
        for lane in 0..self.lanes as usize {
            let address = self.value_lane(pointer, lane)?;
            let values = load(self, address);
            lanes.iter_mut().zip(values).for_each(|(list, c)| list.push(c));
        }
        let reps: Vec<Rep> = lanes.iter().map(|l| Rep::Varying(self.b.build(l))).collect();
        self.define_all(results, reps.into_iter())
    }
}
