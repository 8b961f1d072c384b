//! Capabilities that are implemented, with one row each.

use super::generated::capabilities::{CAPABILITIES, Capability};

/// An implemented capability.
#[derive(Debug)]
pub(crate) struct Implemented {
    pub capability: Capability,
    /// True if the results of a module may depend on the number of lanes of a chunk, or if that has
    /// not been examined. Code of other modules may have more lanes (`emit::unseen`).
    pub subgroup_visible: bool,
}

macro_rules! implemented {
    ($($capability:ident $visible:literal;)*) => {
        /// The implemented capabilities, sorted by number.
        pub(crate) static IMPLEMENTED: &[Implemented] = &[$(Implemented {
            capability: Capability::$capability,
            subgroup_visible: $visible,
        }),*];
    };
}

implemented! {
    Matrix false;
    Shader false;
    Geometry false;
    Tessellation false;
    Float16 false;
    Float64 false;
    Int64 false;
    Int64Atomics true;
    Int16 false;
    TessellationPointSize true;
    GeometryPointSize true;
    ImageGatherExtended false;
    StorageImageMultisample false;
    UniformBufferArrayDynamicIndexing false;
    SampledImageArrayDynamicIndexing false;
    StorageBufferArrayDynamicIndexing false;
    StorageImageArrayDynamicIndexing false;
    ClipDistance false;
    CullDistance false;
    ImageCubeArray false;
    SampleRateShading false;
    Int8 false;
    InputAttachment false;
    SparseResidency false;
    MinLod false;
    Sampled1D false;
    Image1D false;
    SampledCubeArray false;
    SampledBuffer false;
    ImageBuffer false;
    ImageMSArray false;
    StorageImageExtendedFormats false;
    ImageQuery false;
    DerivativeControl false;
    InterpolationFunction false;
    TransformFeedback false;
    GeometryStreams false;
    StorageImageReadWithoutFormat false;
    StorageImageWriteWithoutFormat false;
    MultiViewport false;
    GroupNonUniform true;
    GroupNonUniformVote true;
    GroupNonUniformArithmetic true;
    GroupNonUniformBallot true;
    GroupNonUniformShuffle true;
    GroupNonUniformShuffleRelative true;
    GroupNonUniformClustered true;
    GroupNonUniformQuad true;
    ShaderLayer false;
    ShaderViewportIndex false;
    Float8EXT true;
    Float8CooperativeMatrixEXT true;
    FragmentShadingRateKHR false;
    SubgroupBallotKHR true;
    DrawParameters false;
    WorkgroupMemoryExplicitLayoutKHR false;
    WorkgroupMemoryExplicitLayout8BitAccessKHR false;
    WorkgroupMemoryExplicitLayout16BitAccessKHR false;
    SubgroupVoteKHR true;
    StorageBuffer16BitAccess false;
    UniformAndStorageBuffer16BitAccess false;
    StoragePushConstant16 false;
    StorageInputOutput16 false;
    DeviceGroup true;
    MultiView false;
    VariablePointersStorageBuffer false;
    VariablePointers false;
    SampleMaskPostDepthCoverage false;
    StorageBuffer8BitAccess false;
    UniformAndStorageBuffer8BitAccess false;
    StoragePushConstant8 false;
    DenormPreserve false;
    DenormFlushToZero false;
    SignedZeroInfNanPreserve false;
    RoundingModeRTE false;
    RoundingModeRTZ false;
    RayQueryKHR false;
    UntypedPointersKHR false;
    RayTraversalPrimitiveCullingKHR false;
    RayTracingKHR true;
    StencilExportEXT false;
    Int64ImageEXT true;
    ShaderClockKHR true;
    QuadControlKHR true;
    BFloat16TypeKHR true;
    BFloat16DotProductKHR true;
    BFloat16CooperativeMatrixKHR true;
    DescriptorHeapEXT true;
    ShaderViewportIndexLayerEXT false;
    FragmentFullyCoveredEXT false;
    MeshShadingEXT true;
    FragmentBarycentricKHR false;
    ComputeDerivativeGroupQuadsKHR true;
    GroupNonUniformPartitionedEXT true;
    ShaderNonUniform false;
    RuntimeDescriptorArray false;
    InputAttachmentArrayDynamicIndexing false;
    UniformTexelBufferArrayDynamicIndexing false;
    StorageTexelBufferArrayDynamicIndexing false;
    UniformBufferArrayNonUniformIndexing false;
    SampledImageArrayNonUniformIndexing false;
    StorageBufferArrayNonUniformIndexing false;
    StorageImageArrayNonUniformIndexing false;
    InputAttachmentArrayNonUniformIndexing false;
    UniformTexelBufferArrayNonUniformIndexing false;
    StorageTexelBufferArrayNonUniformIndexing false;
    RayTracingPositionFetchKHR true;
    RayTracingMotionBlurNV false;
    VulkanMemoryModel false;
    VulkanMemoryModelDeviceScope false;
    PhysicalStorageBufferAddresses false;
    ComputeDerivativeGroupLinearKHR true;
    FragmentShaderSampleInterlockEXT true;
    FragmentShaderPixelInterlockEXT true;
    DemoteToHelperInvocation false;
    RayTracingOpacityMicromapEXT false;
    ShaderInvocationReorderNV true;
    ShaderInvocationReorderEXT true;
    RayQueryPositionFetchKHR false;
    CooperativeVectorNV false;
    AtomicFloat16VectorNV true;
    RawAccessChainsNV false;
    RayTracingSpheresGeometryNV false;
    RayTracingLinearSweptSpheresGeometryNV false;
    LongVectorEXT false;
    CooperativeMatrixReductionsNV true;
    CooperativeMatrixConversionsNV true;
    CooperativeMatrixPerElementOperationsNV true;
    CooperativeVectorTrainingNV true;
    AtomicFloat32MinMaxEXT true;
    AtomicFloat64MinMaxEXT true;
    AtomicFloat16MinMaxEXT true;
    ExpectAssumeKHR false;
    DotProductInputAll false;
    DotProductInput4x8Bit false;
    DotProductInput4x8BitPacked false;
    DotProduct false;
    RayCullMaskKHR true;
    CooperativeMatrixKHR true;
    ReplicatedCompositesEXT false;
    GroupNonUniformRotateKHR true;
    FloatControls2 false;
    FMAKHR false;
    RayTracingOpacityMicromapExecutionModeKHR false;
    AtomicFloat32AddEXT true;
    AtomicFloat64AddEXT true;
    AtomicFloat16AddEXT true;
    DotProductFloat16AccFloat32VALVE true;
    DotProductFloat16AccFloat16VALVE true;
    DotProductBFloat16AccVALVE true;
    DotProductFloat8AccFloat32VALVE true;
}

/// Returns the row of a capability, if it is implemented.
pub(crate) fn implemented(number: u32) -> Option<&'static Implemented> {
    let row = IMPLEMENTED.binary_search_by_key(&number, |row| row.capability as u32);
    row.ok().map(|i| &IMPLEMENTED[i])
}

/// Returns true if modules with this capability may have results that depend on the number of lanes
/// of a chunk.
pub fn is_subgroup_visible(number: u32) -> bool {
    implemented(number).is_none_or(|row| row.subgroup_visible)
}

/// Returns a capability as messages name it.
pub(crate) fn name(number: u32) -> String {
    let known = CAPABILITIES.binary_search_by_key(&number, |c| *c as u32).ok();
    known.map_or_else(|| number.to_string(), |i| format!("{:?}", CAPABILITIES[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(IMPLEMENTED.windows(2).all(|w| (w[0].capability as u32) < w[1].capability as u32));
        assert!(CAPABILITIES.windows(2).all(|w| (w[0] as u32) < w[1] as u32));
    }

    /// A module that declares a capability declares the implied ones too.
    #[test]
    fn implied_capabilities_are_implemented() {
        for row in IMPLEMENTED {
            for &implied in row.capability.implied() {
                assert!(implemented(implied as u32).is_some(), "{:?} implies {implied:?}", row.capability);
            }
        }
    }
}
