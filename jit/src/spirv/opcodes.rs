//! Table of opcodes: one row per opcode, with its operand shape.
//!
//! A shape is read left to right: `t` is a result type, `r` a result id, `i` an id, `n` a literal
//! word and `s` a literal string. Open ends are `I` for ids, `N` for literals, `W` for (literal,
//! label) pairs of a switch, and `m` for an optional mask followed by its operands. The reader
//! checks the minimum length of every instruction by its shape. An opcode without a row is refused
//! where it is reached.

/// Properties of an opcode.
#[derive(Debug)]
pub(crate) struct Row {
    /// Number in the binary.
    pub number: u16,
    /// Name in the specification.
    pub name: &'static str,
    /// True if the instruction has a result type, and true if it has a result.
    pub has: (bool, bool),
    /// Minimum number of operand words.
    pub least: u8,
    /// Number of leading one-word operands after result type and result. `ids` has a bit for each
    /// of them that is an id.
    pub single: u8,
    pub ids: u16,
    /// Shape of the operands that follow the leading ones.
    pub rest: &'static [u8],
}

impl Row {
    /// Evaluates a shape at compile time, because every instruction of every module needs the
    /// results.
    const fn new(number: u16, name: &'static str, shape: &'static [u8]) -> Row {
        let has_type = !shape.is_empty() && shape[0] == b't';
        let second = has_type as usize;
        let has_result = shape.len() > second && shape[second] == b'r';
        let (_, operands) = shape.split_at(second + has_result as usize);
        let (mut single, mut ids) = (0, 0);
        while single < operands.len() && matches!(operands[single], b'i' | b'n') {
            ids |= ((operands[single] == b'i') as u16) << single;
            single += 1;
        }
        assert!(single <= 16);
        let (mut least, mut i) = (0, 0);
        while i < shape.len() {
            least += (shape[i].is_ascii_lowercase() && shape[i] != b'm') as u8;
            i += 1;
        }
        let (_, rest) = operands.split_at(single);
        Row { number, name, has: (has_type, has_result), least, single: single as u8, ids, rest }
    }
}

macro_rules! opcodes {
    ($($number:literal $name:ident $shape:literal;)*) => {
        /// Opcode numbers by their names in the specification.
        #[allow(non_upper_case_globals, dead_code, reason = "the specification's names; the table is complete, its use need not be")]
        pub(crate) mod op {
            $(pub(crate) const $name: u16 = $number;)*
        }
        static TABLE: &[Row] = &[$(Row::new($number, stringify!($name), $shape)),*];
    };
}

/// Returns the row of an opcode.
#[inline]
pub(crate) fn row(number: u16) -> Option<&'static Row> {
    let small = INDEX.get(number as usize).copied();
    match small {
        Some(0) => None,
        Some(i) => Some(&TABLE[i as usize - 1]),
        None => TABLE.binary_search_by_key(&number, |r| r.number).ok().map(|i| &TABLE[i]),
    }
}

/// Returns the opcode's name, for messages.
pub(crate) fn name(number: u16) -> &'static str {
    row(number).map_or("Op?", |r| r.name)
}

/// Upper bound of the opcodes of core SPIR-V, which are few enough for tables by number.
pub(crate) const CORE: usize = 404;

/// Row number plus one of the core opcodes; 0 if an opcode has no row.
static INDEX: [u16; CORE] = index();

const fn index() -> [u16; CORE] {
    let mut table = [0; CORE];
    let mut i = 0;
    while i < TABLE.len() {
        let number = TABLE[i].number as usize;
        if number < table.len() {
            table[number] = i as u16 + 1;
        }
        i += 1;
    }
    table
}

opcodes! {
    0 OpNop b"";
    1 OpUndef b"tr";
    2 OpSourceContinued b"s";
    3 OpSource b"nnIN";
    4 OpSourceExtension b"s";
    5 OpName b"is";
    6 OpMemberName b"ins";
    7 OpString b"rs";
    8 OpLine b"inn";
    10 OpExtension b"s";
    11 OpExtInstImport b"rs";
    12 OpExtInst b"trinI";
    14 OpMemoryModel b"nn";
    15 OpEntryPoint b"nisI";
    16 OpExecutionMode b"inN";
    17 OpCapability b"n";
    19 OpTypeVoid b"r";
    20 OpTypeBool b"r";
    21 OpTypeInt b"rnn";
    22 OpTypeFloat b"rnN";
    23 OpTypeVector b"rin";
    24 OpTypeMatrix b"rin";
    25 OpTypeImage b"rinnnnnnN";
    26 OpTypeSampler b"r";
    27 OpTypeSampledImage b"ri";
    28 OpTypeArray b"rii";
    29 OpTypeRuntimeArray b"ri";
    30 OpTypeStruct b"rI";
    31 OpTypeOpaque b"rs";
    32 OpTypePointer b"rni";
    33 OpTypeFunction b"riI";
    39 OpTypeForwardPointer b"in";
    41 OpConstantTrue b"tr";
    42 OpConstantFalse b"tr";
    43 OpConstant b"trN";
    44 OpConstantComposite b"trI";
    46 OpConstantNull b"tr";
    48 OpSpecConstantTrue b"tr";
    49 OpSpecConstantFalse b"tr";
    50 OpSpecConstant b"trN";
    51 OpSpecConstantComposite b"trI";
    52 OpSpecConstantOp b"trnI";
    54 OpFunction b"trni";
    55 OpFunctionParameter b"tr";
    56 OpFunctionEnd b"";
    57 OpFunctionCall b"triI";
    59 OpVariable b"trnI";
    60 OpImageTexelPointer b"triii";
    61 OpLoad b"trim";
    62 OpStore b"iim";
    63 OpCopyMemory b"iimm";
    64 OpCopyMemorySized b"iiimm";
    65 OpAccessChain b"triI";
    66 OpInBoundsAccessChain b"triI";
    67 OpPtrAccessChain b"triiI";
    68 OpArrayLength b"trin";
    70 OpInBoundsPtrAccessChain b"triiI";
    71 OpDecorate b"inN";
    72 OpMemberDecorate b"innN";
    73 OpDecorationGroup b"r";
    74 OpGroupDecorate b"iI";
    75 OpGroupMemberDecorate b"iI";
    77 OpVectorExtractDynamic b"trii";
    78 OpVectorInsertDynamic b"triii";
    79 OpVectorShuffle b"triiN";
    80 OpCompositeConstruct b"trI";
    81 OpCompositeExtract b"triN";
    82 OpCompositeInsert b"triiN";
    83 OpCopyObject b"tri";
    84 OpTranspose b"tri";
    86 OpSampledImage b"trii";
    87 OpImageSampleImplicitLod b"triim";
    88 OpImageSampleExplicitLod b"triinI";
    89 OpImageSampleDrefImplicitLod b"triiim";
    90 OpImageSampleDrefExplicitLod b"triiinI";
    91 OpImageSampleProjImplicitLod b"triim";
    92 OpImageSampleProjExplicitLod b"triinI";
    93 OpImageSampleProjDrefImplicitLod b"triiim";
    94 OpImageSampleProjDrefExplicitLod b"triiinI";
    95 OpImageFetch b"triim";
    96 OpImageGather b"triiim";
    97 OpImageDrefGather b"triiim";
    98 OpImageRead b"triim";
    99 OpImageWrite b"iiim";
    100 OpImage b"tri";
    101 OpImageQueryFormat b"tri";
    102 OpImageQueryOrder b"tri";
    103 OpImageQuerySizeLod b"trii";
    104 OpImageQuerySize b"tri";
    105 OpImageQueryLod b"trii";
    106 OpImageQueryLevels b"tri";
    107 OpImageQuerySamples b"tri";
    109 OpConvertFToU b"tri";
    110 OpConvertFToS b"tri";
    111 OpConvertSToF b"tri";
    112 OpConvertUToF b"tri";
    113 OpUConvert b"tri";
    114 OpSConvert b"tri";
    115 OpFConvert b"tri";
    116 OpQuantizeToF16 b"tri";
    117 OpConvertPtrToU b"tri";
    118 OpSatConvertSToU b"tri";
    119 OpSatConvertUToS b"tri";
    120 OpConvertUToPtr b"tri";
    124 OpBitcast b"tri";
    126 OpSNegate b"tri";
    127 OpFNegate b"tri";
    128 OpIAdd b"trii";
    129 OpFAdd b"trii";
    130 OpISub b"trii";
    131 OpFSub b"trii";
    132 OpIMul b"trii";
    133 OpFMul b"trii";
    134 OpUDiv b"trii";
    135 OpSDiv b"trii";
    136 OpFDiv b"trii";
    137 OpUMod b"trii";
    138 OpSRem b"trii";
    139 OpSMod b"trii";
    140 OpFRem b"trii";
    141 OpFMod b"trii";
    142 OpVectorTimesScalar b"trii";
    143 OpMatrixTimesScalar b"trii";
    144 OpVectorTimesMatrix b"trii";
    145 OpMatrixTimesVector b"trii";
    146 OpMatrixTimesMatrix b"trii";
    147 OpOuterProduct b"trii";
    148 OpDot b"trii";
    149 OpIAddCarry b"trii";
    150 OpISubBorrow b"trii";
    151 OpUMulExtended b"trii";
    152 OpSMulExtended b"trii";
    154 OpAny b"tri";
    155 OpAll b"tri";
    156 OpIsNan b"tri";
    157 OpIsInf b"tri";
    158 OpIsFinite b"tri";
    159 OpIsNormal b"tri";
    160 OpSignBitSet b"tri";
    161 OpLessOrGreater b"trii";
    162 OpOrdered b"trii";
    163 OpUnordered b"trii";
    164 OpLogicalEqual b"trii";
    165 OpLogicalNotEqual b"trii";
    166 OpLogicalOr b"trii";
    167 OpLogicalAnd b"trii";
    168 OpLogicalNot b"tri";
    169 OpSelect b"triii";
    170 OpIEqual b"trii";
    171 OpINotEqual b"trii";
    172 OpUGreaterThan b"trii";
    173 OpSGreaterThan b"trii";
    174 OpUGreaterThanEqual b"trii";
    175 OpSGreaterThanEqual b"trii";
    176 OpULessThan b"trii";
    177 OpSLessThan b"trii";
    178 OpULessThanEqual b"trii";
    179 OpSLessThanEqual b"trii";
    180 OpFOrdEqual b"trii";
    181 OpFUnordEqual b"trii";
    182 OpFOrdNotEqual b"trii";
    183 OpFUnordNotEqual b"trii";
    184 OpFOrdLessThan b"trii";
    185 OpFUnordLessThan b"trii";
    186 OpFOrdGreaterThan b"trii";
    187 OpFUnordGreaterThan b"trii";
    188 OpFOrdLessThanEqual b"trii";
    189 OpFUnordLessThanEqual b"trii";
    190 OpFOrdGreaterThanEqual b"trii";
    191 OpFUnordGreaterThanEqual b"trii";
    194 OpShiftRightLogical b"trii";
    195 OpShiftRightArithmetic b"trii";
    196 OpShiftLeftLogical b"trii";
    197 OpBitwiseOr b"trii";
    198 OpBitwiseXor b"trii";
    199 OpBitwiseAnd b"trii";
    200 OpNot b"tri";
    201 OpBitFieldInsert b"triiii";
    202 OpBitFieldSExtract b"triii";
    203 OpBitFieldUExtract b"triii";
    204 OpBitReverse b"tri";
    205 OpBitCount b"tri";
    207 OpDPdx b"tri";
    208 OpDPdy b"tri";
    209 OpFwidth b"tri";
    210 OpDPdxFine b"tri";
    211 OpDPdyFine b"tri";
    212 OpFwidthFine b"tri";
    213 OpDPdxCoarse b"tri";
    214 OpDPdyCoarse b"tri";
    215 OpFwidthCoarse b"tri";
    218 OpEmitVertex b"";
    219 OpEndPrimitive b"";
    220 OpEmitStreamVertex b"i";
    221 OpEndStreamPrimitive b"i";
    224 OpControlBarrier b"iii";
    225 OpMemoryBarrier b"ii";
    227 OpAtomicLoad b"triii";
    228 OpAtomicStore b"iiii";
    229 OpAtomicExchange b"triiii";
    230 OpAtomicCompareExchange b"triiiiii";
    231 OpAtomicCompareExchangeWeak b"triiiiii";
    232 OpAtomicIIncrement b"triii";
    233 OpAtomicIDecrement b"triii";
    234 OpAtomicIAdd b"triiii";
    235 OpAtomicISub b"triiii";
    236 OpAtomicSMin b"triiii";
    237 OpAtomicUMin b"triiii";
    238 OpAtomicSMax b"triiii";
    239 OpAtomicUMax b"triiii";
    240 OpAtomicAnd b"triiii";
    241 OpAtomicOr b"triiii";
    242 OpAtomicXor b"triiii";
    245 OpPhi b"trI";
    246 OpLoopMerge b"iinN";
    247 OpSelectionMerge b"in";
    248 OpLabel b"r";
    249 OpBranch b"i";
    250 OpBranchConditional b"iiiN";
    251 OpSwitch b"iiW";
    252 OpKill b"";
    253 OpReturn b"";
    254 OpReturnValue b"i";
    255 OpUnreachable b"";
    256 OpLifetimeStart b"in";
    257 OpLifetimeStop b"in";
    261 OpGroupAll b"trii";
    262 OpGroupAny b"trii";
    263 OpGroupBroadcast b"triii";
    264 OpGroupIAdd b"trini";
    265 OpGroupFAdd b"trini";
    266 OpGroupFMin b"trini";
    267 OpGroupUMin b"trini";
    268 OpGroupSMin b"trini";
    269 OpGroupFMax b"trini";
    270 OpGroupUMax b"trini";
    271 OpGroupSMax b"trini";
    305 OpImageSparseSampleImplicitLod b"triim";
    306 OpImageSparseSampleExplicitLod b"triinI";
    307 OpImageSparseSampleDrefImplicitLod b"triiim";
    308 OpImageSparseSampleDrefExplicitLod b"triiinI";
    309 OpImageSparseSampleProjImplicitLod b"triim";
    310 OpImageSparseSampleProjExplicitLod b"triinI";
    311 OpImageSparseSampleProjDrefImplicitLod b"triiim";
    312 OpImageSparseSampleProjDrefExplicitLod b"triiinI";
    313 OpImageSparseFetch b"triim";
    314 OpImageSparseGather b"triiim";
    315 OpImageSparseDrefGather b"triiim";
    316 OpImageSparseTexelsResident b"tri";
    317 OpNoLine b"";
    318 OpAtomicFlagTestAndSet b"triii";
    319 OpAtomicFlagClear b"iii";
    320 OpImageSparseRead b"triim";
    330 OpModuleProcessed b"s";
    331 OpExecutionModeId b"inN";
    332 OpDecorateId b"inN";
    333 OpGroupNonUniformElect b"tri";
    334 OpGroupNonUniformAll b"trii";
    335 OpGroupNonUniformAny b"trii";
    336 OpGroupNonUniformAllEqual b"trii";
    337 OpGroupNonUniformBroadcast b"triii";
    338 OpGroupNonUniformBroadcastFirst b"trii";
    339 OpGroupNonUniformBallot b"trii";
    340 OpGroupNonUniformInverseBallot b"trii";
    341 OpGroupNonUniformBallotBitExtract b"triii";
    342 OpGroupNonUniformBallotBitCount b"trini";
    343 OpGroupNonUniformBallotFindLSB b"trii";
    344 OpGroupNonUniformBallotFindMSB b"trii";
    345 OpGroupNonUniformShuffle b"triii";
    346 OpGroupNonUniformShuffleXor b"triii";
    347 OpGroupNonUniformShuffleUp b"triii";
    348 OpGroupNonUniformShuffleDown b"triii";
    349 OpGroupNonUniformIAdd b"triniI";
    350 OpGroupNonUniformFAdd b"triniI";
    351 OpGroupNonUniformIMul b"triniI";
    352 OpGroupNonUniformFMul b"triniI";
    353 OpGroupNonUniformSMin b"triniI";
    354 OpGroupNonUniformUMin b"triniI";
    355 OpGroupNonUniformFMin b"triniI";
    356 OpGroupNonUniformSMax b"triniI";
    357 OpGroupNonUniformUMax b"triniI";
    358 OpGroupNonUniformFMax b"triniI";
    359 OpGroupNonUniformBitwiseAnd b"triniI";
    360 OpGroupNonUniformBitwiseOr b"triniI";
    361 OpGroupNonUniformBitwiseXor b"triniI";
    362 OpGroupNonUniformLogicalAnd b"triniI";
    363 OpGroupNonUniformLogicalOr b"triniI";
    364 OpGroupNonUniformLogicalXor b"triniI";
    365 OpGroupNonUniformQuadBroadcast b"triii";
    366 OpGroupNonUniformQuadSwap b"triii";
    400 OpCopyLogical b"tri";
    401 OpPtrEqual b"trii";
    402 OpPtrNotEqual b"trii";
    403 OpPtrDiff b"trii";
    4416 OpTerminateInvocation b"";
    4417 OpTypeUntypedPointerKHR b"rn";
    4418 OpUntypedVariableKHR b"trnI";
    4419 OpUntypedAccessChainKHR b"triiI";
    4420 OpUntypedInBoundsAccessChainKHR b"triiI";
    4421 OpSubgroupBallotKHR b"tri";
    4422 OpSubgroupFirstInvocationKHR b"tri";
    4423 OpUntypedPtrAccessChainKHR b"triiiI";
    4424 OpUntypedInBoundsPtrAccessChainKHR b"triiiI";
    4425 OpUntypedArrayLengthKHR b"triin";
    4426 OpUntypedPrefetchKHR b"iiI";
    4428 OpSubgroupAllKHR b"tri";
    4429 OpSubgroupAnyKHR b"tri";
    4430 OpSubgroupAllEqualKHR b"tri";
    4431 OpGroupNonUniformRotateKHR b"triiiI";
    4432 OpSubgroupReadInvocationKHR b"trii";
    4433 OpExtInstWithForwardRefsKHR b"trinI";
    4445 OpTraceRayKHR b"iiiiiiiiiii";
    4446 OpExecuteCallableKHR b"ii";
    4447 OpConvertUToAccelerationStructureKHR b"tri";
    4448 OpIgnoreIntersectionKHR b"";
    4449 OpTerminateRayKHR b"";
    4450 OpSDot b"triiN";
    4451 OpUDot b"triiN";
    4452 OpSUDot b"triiN";
    4453 OpSDotAccSat b"triiiN";
    4454 OpUDotAccSat b"triiiN";
    4455 OpSUDotAccSat b"triiiN";
    4456 OpTypeCooperativeMatrixKHR b"riiiii";
    4457 OpCooperativeMatrixLoadKHR b"triiI";
    4458 OpCooperativeMatrixStoreKHR b"iiiI";
    4459 OpCooperativeMatrixMulAddKHR b"triiiN";
    4460 OpCooperativeMatrixLengthKHR b"tri";
    4461 OpConstantCompositeReplicateEXT b"tri";
    4462 OpSpecConstantCompositeReplicateEXT b"tri";
    4463 OpCompositeConstructReplicateEXT b"tri";
    4472 OpTypeRayQueryKHR b"r";
    4473 OpRayQueryInitializeKHR b"iiiiiiii";
    4477 OpRayQueryProceedKHR b"tri";
    4479 OpRayQueryGetIntersectionTypeKHR b"trii";
    5056 OpReadClockKHR b"tri";
    5110 OpGroupNonUniformQuadAllKHR b"tri";
    5111 OpGroupNonUniformQuadAnyKHR b"tri";
    5115 OpTypeBufferEXT b"rn";
    5119 OpBufferPointerEXT b"tri";
    5126 OpUntypedImageTexelPointerEXT b"triiii";
    5127 OpMemberDecorateIdEXT b"innN";
    5129 OpConstantSizeOfEXT b"tri";
    5293 OpCooperativeMatrixConvertNV b"tri";
    5294 OpEmitMeshTasksEXT b"iiiI";
    5295 OpSetMeshOutputsEXT b"ii";
    5296 OpGroupNonUniformPartitionEXT b"tri";
    5299 OpWritePackedPrimitiveIndices4x8NV b"ii";
    5341 OpTypeAccelerationStructureKHR b"r";
    5358 OpTypeCooperativeMatrixNV b"riiii";
    5364 OpBeginInvocationInterlockEXT b"";
    5365 OpEndInvocationInterlockEXT b"";
    5366 OpCooperativeMatrixReduceNV b"trini";
    5369 OpCooperativeMatrixPerElementOpNV b"triiI";
    5380 OpDemoteToHelperInvocation b"";
    5381 OpIsHelperInvocationEXT b"tr";
    5390 OpCooperativeMatrixTransposeNV b"tri";
    5614 OpAtomicFMinEXT b"triiii";
    5615 OpAtomicFMaxEXT b"triiii";
    5630 OpAssumeTrueKHR b"i";
    5631 OpExpectKHR b"trii";
    5632 OpDecorateString b"inN";
    5633 OpMemberDecorateString b"innN";
    6035 OpAtomicFAddEXT b"triiii";
    6916 OpFDot2MixAcc32VALVE b"triii";
    6917 OpFDot2MixAcc16VALVE b"triii";
    6918 OpFDot4MixAcc32VALVE b"triii";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_indexed() {
        assert!(TABLE.windows(2).all(|w| w[0].number < w[1].number));
        assert!(TABLE.iter().all(|r| row(r.number).is_some_and(|x| x.name == r.name)));
        assert!(row(34).is_none());
        assert_eq!(name(op::OpLoad), "OpLoad");
        assert!(row(op::OpLoad).is_some_and(|r| r.has == (true, true) && r.least == 3));
    }
}
