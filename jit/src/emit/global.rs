//! Physical pointers: addresses that the shader computes, checked against what is alive ([`base::abi::AddressSpace`]).

use super::Emitter;
use super::memory::{read_only, trusted};
use super::rep::{Rep, scalar_type};
use crate::error::Result;
use crate::ir::{Ty, Value};
use base::abi::{ADDRESS_GRANULE_BITS, AddressSpace, ShaderContext};
use core::mem::offset_of;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as C, types};

impl Emitter<'_> {
    fn address_space(&mut self, field: usize) -> C {
        let at = offset_of!(ShaderContext, addresses) + field;
        self.b.ins().load(types::I64, read_only(), self.ctx, at as i32)
    }

    /// I8: memory is alive at the address (I64).
    pub fn is_live(&mut self, address: C) -> C {
        let base = self.address_space(offset_of!(AddressSpace, base));
        let last = self.address_space(offset_of!(AddressSpace, last));
        let live = self.address_space(offset_of!(AddressSpace, live));
        let offset = self.b.ins().isub(address, base);
        let granule = self.b.ins().ushr_imm_u(offset, i64::from(ADDRESS_GRANULE_BITS));
        let granule = self.b.ins().umin(granule, last);
        let at = self.b.ins().iadd(live, granule);
        let byte = self.b.ins().load(types::I8, trusted(), at, 0);
        self.b.ins().icmp_imm_u(IntCC::NotEqual, byte, 0)
    }

    /// Loads through a pointer; zero where nothing is alive. Inactive lanes load too, whatever their address is.
    pub fn load_global(&mut self, pointer: Value, results: &[Value], ty: Ty, flags: MemFlagsData) -> Result<()> {
        let bytes = ty.bytes() as i32;
        let load = |e: &mut Self, address: C| -> Vec<C> {
            let live = e.is_live(address);
            let at = e.b.ins().select(live, address, e.zeros);
            (0..results.len()).map(|i| e.b.ins().load(scalar_type(ty), flags, at, i as i32 * bytes)).collect()
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
        let reps: Vec<Rep> = lanes.iter().map(|l| Rep::Varying(self.gather_lanes(ty, l))).collect();
        self.define_all(results, reps.into_iter())
    }
}
