//! Rows of [`super::features`]: every feature by its name in the specification, and whether it is
//! implemented. `cargo xtask generate` finds the structures that contain the features in the
//! registry of Vulkan.

#![forbid(unsafe_code)]

use super::extensions::{Dependency, Extension as E, Support};
use super::features::{FeatureRow, FeatureStruct};
use super::{V1_1, V1_2, V1_3, V1_4};
use Dependency::{Core, Ext};
use ash::vk;

macro_rules! features {
    ($($name:ident, $support:expr;)*) => {
        /// A feature, named as in the specification.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are the specification's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Feature { $($name),* }

        /// All features, in table order.
        pub const ALL_FEATURES: &[Feature] = &[$(Feature::$name),*];

        /// The table of features, in the order of [`Feature`].
        pub static FEATURES: &[FeatureRow] =
            &[$(FeatureRow { name: stringify!($name), support: $support }),*];
    };
}

macro_rules! core {
    ($($name:ident)*;) => {
        /// The members of VkPhysicalDeviceFeatures, in order.
        pub const CORE_FEATURES: &[Feature] = &[$(Feature::$name),*];
    };
}

macro_rules! structures {
    ($($name:ident $tag:literal [$($need:expr),*]: $($feature:ident)*;)*) => {
        /// Feature structures, and the extensions or versions that provide them.
        pub static STRUCTS: &[FeatureStruct] = &[$(FeatureStruct {
            name: stringify!($name),
            s_type: vk::StructureType::from_raw($tag),
            from: &[$($need),*],
            features: &[$(Feature::$feature),*],
        }),*];
    };
}

macro_rules! mandatory {
    ($([$($need:expr),*]: $($feature:ident)*;)*) => {
        /// "Feature Requirements": the needs that together require one of the features.
        #[cfg(test)]
        pub static MANDATORY: &[(&[Dependency], &[Feature])] =
            &[$((&[$($need),*], &[$(Feature::$feature),*])),*];
    };
}

const YES: Support = Support::Yes;
const LATER: Support = Support::No("not written yet");
const NO_MASK: Support = Support::No("no SampleMask of fragments with several pixels, which its tests read");
const NO_SPARSE: Support = Support::No("samples are sub-images, which no block has together");
const NO_SHARED: Support = Support::No("no kernels for blocks that are decoded to shared exponents");
const NO_VIDEO: Support = Support::No("no video");
const NO_PROTECTED: Support = Support::No("no protected memory on a CPU");
const NO_REPLAY: Support = Support::No("the words of a heap are those of one process");
/// The extension's own bufferDeviceAddressCaptureReplay gives a buffer its address before it has
/// memory. The feature of the KHR extension gives the address to the memory. The name has a suffix,
/// because these are two features with one name.
const NO_EXT_REPLAY: Support = Support::No("addresses are replayed by VK_KHR_buffer_device_address");
const NO_NV: Support = Support::No("an extension of one vendor's hardware");
const NO_DUMP: Support = Support::No("what there is to say of a fault is in its reports");
const NO_MASKED: Support = Support::No("no fault is recovered from");
const ONE_DEVICE: Support = Support::No("a device group has one device");

features! {
    robustBufferAccess, YES;
    fullDrawIndexUint32, YES;
    imageCubeArray, YES;
    independentBlend, YES;
    geometryShader, YES;
    tessellationShader, YES;
    sampleRateShading, YES;
    dualSrcBlend, YES;
    logicOp, YES;
    multiDrawIndirect, YES;
    drawIndirectFirstInstance, YES;
    depthClamp, YES;
    depthBiasClamp, YES;
    fillModeNonSolid, YES;
    depthBounds, YES;
    wideLines, YES;
    largePoints, YES;
    alphaToOne, YES;
    multiViewport, YES;
    samplerAnisotropy, YES;
    textureCompressionETC2, YES;
    textureCompressionASTC_LDR, YES;
    textureCompressionBC, YES;
    occlusionQueryPrecise, YES;
    pipelineStatisticsQuery, YES;
    vertexPipelineStoresAndAtomics, YES;
    fragmentStoresAndAtomics, YES;
    shaderTessellationAndGeometryPointSize, YES;
    shaderImageGatherExtended, YES;
    shaderStorageImageExtendedFormats, YES;
    shaderStorageImageMultisample, YES;
    shaderStorageImageReadWithoutFormat, YES;
    shaderStorageImageWriteWithoutFormat, YES;
    shaderUniformBufferArrayDynamicIndexing, YES;
    shaderSampledImageArrayDynamicIndexing, YES;
    shaderStorageBufferArrayDynamicIndexing, YES;
    shaderStorageImageArrayDynamicIndexing, YES;
    shaderClipDistance, YES;
    shaderCullDistance, YES;
    shaderFloat64, YES;
    shaderInt64, YES;
    shaderInt16, YES;
    shaderResourceResidency, YES;
    shaderResourceMinLod, YES;
    sparseBinding, YES;
    sparseResidencyBuffer, YES;
    sparseResidencyImage2D, YES;
    sparseResidencyImage3D, YES;
    sparseResidency2Samples, NO_SPARSE;
    sparseResidency4Samples, NO_SPARSE;
    sparseResidency8Samples, NO_SPARSE;
    sparseResidency16Samples, NO_SPARSE;
    sparseResidencyAliased, YES;
    variableMultisampleRate, YES;
    inheritedQueries, YES;
    storageBuffer16BitAccess, YES;
    uniformAndStorageBuffer16BitAccess, YES;
    storagePushConstant16, YES;
    storageInputOutput16, YES;
    multiview, YES;
    multiviewGeometryShader, YES;
    multiviewTessellationShader, YES;
    variablePointersStorageBuffer, YES;
    variablePointers, YES;
    protectedMemory, NO_PROTECTED;
    samplerYcbcrConversion, YES;
    shaderDrawParameters, YES;
    samplerMirrorClampToEdge, YES;
    drawIndirectCount, YES;
    storageBuffer8BitAccess, YES;
    uniformAndStorageBuffer8BitAccess, YES;
    storagePushConstant8, YES;
    shaderBufferInt64Atomics, YES;
    shaderSharedInt64Atomics, YES;
    shaderFloatControls2, YES;
    shaderBFloat16Type, YES;
    shaderBFloat16DotProduct, YES;
    shaderBFloat16CooperativeMatrix, YES;
    shaderFloat8, YES;
    shaderFloat8CooperativeMatrix, YES;
    shaderMixedFloatDotProductFloat16AccFloat32, YES;
    shaderMixedFloatDotProductFloat16AccFloat16, YES;
    shaderMixedFloatDotProductBFloat16Acc, YES;
    shaderMixedFloatDotProductFloat8AccFloat32, YES;
    shaderRelaxedExtendedInstruction, YES;
    shaderFloat16, YES;
    shaderInt8, YES;
    descriptorIndexing, YES;
    shaderInputAttachmentArrayDynamicIndexing, YES;
    shaderUniformTexelBufferArrayDynamicIndexing, YES;
    shaderStorageTexelBufferArrayDynamicIndexing, YES;
    shaderUniformBufferArrayNonUniformIndexing, YES;
    shaderSampledImageArrayNonUniformIndexing, YES;
    shaderStorageBufferArrayNonUniformIndexing, YES;
    shaderStorageImageArrayNonUniformIndexing, YES;
    shaderInputAttachmentArrayNonUniformIndexing, YES;
    shaderUniformTexelBufferArrayNonUniformIndexing, YES;
    shaderStorageTexelBufferArrayNonUniformIndexing, YES;
    descriptorBindingUniformBufferUpdateAfterBind, YES;
    descriptorBindingSampledImageUpdateAfterBind, YES;
    descriptorBindingStorageImageUpdateAfterBind, YES;
    descriptorBindingStorageBufferUpdateAfterBind, YES;
    descriptorBindingUniformTexelBufferUpdateAfterBind, YES;
    descriptorBindingStorageTexelBufferUpdateAfterBind, YES;
    descriptorBindingUpdateUnusedWhilePending, YES;
    descriptorBindingPartiallyBound, YES;
    descriptorBindingVariableDescriptorCount, YES;
    runtimeDescriptorArray, YES;
    samplerFilterMinmax, YES;
    scalarBlockLayout, YES;
    imagelessFramebuffer, YES;
    uniformBufferStandardLayout, YES;
    shaderSubgroupExtendedTypes, YES;
    separateDepthStencilLayouts, YES;
    hostQueryReset, YES;
    timelineSemaphore, YES;
    bufferDeviceAddress, YES;
    bufferDeviceAddressCaptureReplay, YES;
    bufferDeviceAddressMultiDevice, ONE_DEVICE;
    bufferDeviceAddressCaptureReplayEXT, NO_EXT_REPLAY;
    vulkanMemoryModel, YES;
    vulkanMemoryModelDeviceScope, YES;
    vulkanMemoryModelAvailabilityVisibilityChains, YES;
    shaderOutputViewportIndex, YES;
    shaderOutputLayer, YES;
    subgroupBroadcastDynamicId, YES;
    robustImageAccess, YES;
    inlineUniformBlock, YES;
    descriptorBindingInlineUniformBlockUpdateAfterBind, YES;
    pipelineCreationCacheControl, YES;
    privateData, YES;
    shaderDemoteToHelperInvocation, YES;
    shaderTerminateInvocation, YES;
    subgroupSizeControl, YES;
    computeFullSubgroups, YES;
    synchronization2, YES;
    textureCompressionASTC_HDR, YES;
    shaderZeroInitializeWorkgroupMemory, YES;
    dynamicRendering, YES;
    shaderIntegerDotProduct, YES;
    maintenance4, YES;
    maintenance6, YES;
    maintenance7, YES;
    maintenance8, YES;
    maintenance10, YES;
    maintenance9, YES;
    // Without protected memory no command buffer is protected. A pipeline for protected command
    // buffers is never bound, and a pipeline for the other ones is any pipeline.
    pipelineProtectedAccess, YES;
    pushDescriptor, YES;
    maintenance5, YES;
    vertexAttributeRobustness, YES;
    vertexAttributeInstanceRateDivisor, YES;
    vertexAttributeInstanceRateZeroDivisor, YES;
    indexTypeUint8, YES;
    rectangularLines, YES;
    bresenhamLines, YES;
    smoothLines, YES;
    stippledRectangularLines, YES;
    stippledBresenhamLines, YES;
    stippledSmoothLines, YES;
    workgroupMemoryExplicitLayout, YES;
    workgroupMemoryExplicitLayoutScalarBlockLayout, YES;
    workgroupMemoryExplicitLayout8BitAccess, YES;
    workgroupMemoryExplicitLayout16BitAccess, YES;
    texelBufferAlignment, YES;
    ycbcr2plane444Formats, YES;
    ycbcrImageArrays, YES;
    formatRgba10x6WithoutYCbCrSampler, YES;
    formatA4R4G4B4, YES;
    formatA4B4G4R4, YES;
    extendedDynamicState, YES;
    extendedDynamicState2, YES;
    extendedDynamicState2LogicOp, YES;
    extendedDynamicState2PatchControlPoints, YES;
    extendedDynamicState3TessellationDomainOrigin, YES;
    extendedDynamicState3DepthClampEnable, YES;
    extendedDynamicState3PolygonMode, YES;
    extendedDynamicState3RasterizationSamples, YES;
    extendedDynamicState3SampleMask, YES;
    extendedDynamicState3AlphaToCoverageEnable, YES;
    extendedDynamicState3AlphaToOneEnable, YES;
    extendedDynamicState3LogicOpEnable, YES;
    extendedDynamicState3ColorBlendEnable, YES;
    extendedDynamicState3ColorBlendEquation, YES;
    extendedDynamicState3ColorWriteMask, YES;
    extendedDynamicState3DepthClipEnable, YES;
    extendedDynamicState3LineRasterizationMode, YES;
    extendedDynamicState3LineStippleEnable, YES;
    extendedDynamicState3RasterizationStream, YES;
    extendedDynamicState3ConservativeRasterizationMode, YES;
    extendedDynamicState3ExtraPrimitiveOverestimationSize, YES;
    extendedDynamicState3SampleLocationsEnable, YES;
    extendedDynamicState3ColorBlendAdvanced, YES;
    extendedDynamicState3ProvokingVertexMode, YES;
    extendedDynamicState3DepthClipNegativeOneToOne, YES;
    extendedDynamicState3ViewportWScalingEnable, NO_NV;
    extendedDynamicState3ViewportSwizzle, NO_NV;
    extendedDynamicState3CoverageToColorEnable, NO_NV;
    extendedDynamicState3CoverageToColorLocation, NO_NV;
    extendedDynamicState3CoverageModulationMode, NO_NV;
    extendedDynamicState3CoverageModulationTableEnable, NO_NV;
    extendedDynamicState3CoverageModulationTable, NO_NV;
    extendedDynamicState3CoverageReductionMode, NO_NV;
    extendedDynamicState3RepresentativeFragmentTestEnable, NO_NV;
    extendedDynamicState3ShadingRateImageEnable, NO_NV;
    shaderObject, YES;
    advancedBlendCoherentOperations, YES;
    multisampledRenderToSingleSampled, YES;
    multisampledRenderToSwapchain, YES;
    multiDraw, YES;
    robustBufferAccess2, YES;
    robustImageAccess2, YES;
    nullDescriptor, YES;
    shaderExpectAssume, YES;
    shaderSubgroupRotate, YES;
    shaderSubgroupRotateClustered, YES;
    shaderSubgroupUniformControlFlow, YES;
    shaderMaximalReconvergence, YES;
    shaderQuadControl, YES;
    shaderSubgroupClock, YES;
    shaderDeviceClock, YES;
    shaderReplicatedComposites, YES;
    computeDerivativeGroupQuads, YES;
    computeDerivativeGroupLinear, YES;
    cooperativeMatrix, YES;
    cooperativeMatrixRobustBufferAccess, YES;
    cooperativeMatrixWorkgroupScope, LATER;
    cooperativeMatrixFlexibleDimensions, LATER;
    cooperativeMatrixReductions, YES;
    cooperativeMatrixConversions, YES;
    cooperativeMatrixPerElementOperations, YES;
    cooperativeMatrixTensorAddressing, LATER;
    cooperativeMatrixBlockLoads, LATER;
    cooperativeVector, YES;
    cooperativeVectorTraining, YES;
    longVector, YES;
    shaderFmaFloat16, YES;
    shaderFmaFloat32, YES;
    shaderFmaFloat64, LATER;
    shaderUntypedPointers, YES;
    shaderSubgroupPartitioned, YES;
    pipelineRobustness, YES;
    shaderModuleIdentifier, YES;
    pipelineBinaries, YES;
    customBorderColors, YES;
    customBorderColorWithoutFormat, YES;
    depthClipEnable, YES;
    depthClipControl, YES;
    provokingVertexLast, YES;
    transformFeedbackPreservesProvokingVertex, YES;
    primitiveTopologyListRestart, YES;
    primitiveTopologyPatchListRestart, YES;
    colorWriteEnable, YES;
    vertexInputDynamicState, YES;
    conditionalRendering, YES;
    inheritedConditionalRendering, YES;
    transformFeedback, YES;
    geometryStreams, YES;
    primitivesGeneratedQuery, YES;
    taskShader, YES;
    meshShader, YES;
    multiviewMeshShader, YES;
    primitiveFragmentShadingRateMeshShader, YES;
    meshShaderQueries, YES;
    primitivesGeneratedQueryWithRasterizerDiscard, YES;
    primitivesGeneratedQueryWithNonZeroStreams, YES;
    depthBiasControl, YES;
    leastRepresentableValueForceUnormRepresentation, YES;
    floatRepresentation, YES;
    depthBiasExact, YES;
    memoryPriority, YES;
    pageableDeviceLocalMemory, YES;
    globalPriorityQuery, YES;
    decodeModeSharedExponent, NO_SHARED;
    minLod, YES;
    nonSeamlessCubeMap, YES;
    mutableDescriptorType, YES;
    shaderBufferFloat32Atomics, YES;
    shaderBufferFloat32AtomicAdd, YES;
    shaderBufferFloat64Atomics, YES;
    shaderBufferFloat64AtomicAdd, YES;
    shaderSharedFloat32Atomics, YES;
    shaderSharedFloat32AtomicAdd, YES;
    shaderSharedFloat64Atomics, YES;
    shaderSharedFloat64AtomicAdd, YES;
    shaderImageFloat32Atomics, YES;
    shaderImageFloat32AtomicAdd, YES;
    sparseImageFloat32Atomics, YES;
    sparseImageFloat32AtomicAdd, YES;
    shaderFloat16VectorAtomics, YES;
    shaderBufferFloat16Atomics, YES;
    shaderBufferFloat16AtomicAdd, YES;
    shaderBufferFloat16AtomicMinMax, YES;
    shaderBufferFloat32AtomicMinMax, YES;
    shaderBufferFloat64AtomicMinMax, YES;
    shaderSharedFloat16Atomics, YES;
    shaderSharedFloat16AtomicAdd, YES;
    shaderSharedFloat16AtomicMinMax, YES;
    shaderSharedFloat32AtomicMinMax, YES;
    shaderSharedFloat64AtomicMinMax, YES;
    shaderImageFloat32AtomicMinMax, YES;
    sparseImageFloat32AtomicMinMax, YES;
    shaderImageInt64Atomics, YES;
    dynamicRenderingLocalRead, YES;
    hostImageCopy, YES;
    nestedCommandBuffer, YES;
    nestedCommandBufferRendering, YES;
    nestedCommandBufferSimultaneousUse, YES;
    zeroInitializeDeviceMemory, YES;
    image2DViewOf3D, YES;
    sampler2DViewOf3D, YES;
    imageSlicedViewOf3D, YES;
    unifiedImageLayouts, YES;
    unifiedImageLayoutsVideo, NO_VIDEO;
    dynamicRenderingUnusedAttachments, YES;
    deviceAddressCommands, YES;
    indirectMemoryCopy, YES;
    indirectMemoryToImageCopy, YES;
    deviceGeneratedCommands, YES;
    dynamicGeneratedPipelineLayout, YES;
    borderColorSwizzle, YES;
    borderColorSwizzleFromImage, YES;
    primitiveRestartIndex, YES;
    legacyVertexAttributes, YES;
    attachmentFeedbackLoopLayout, YES;
    presentId, YES;
    presentWait, YES;
    maintenance11, YES;
    presentId2, YES;
    presentWait2, YES;
    swapchainMaintenance1, YES;
    descriptorBuffer, YES;
    descriptorBufferCaptureReplay, YES;
    descriptorBufferImageLayoutIgnored, YES;
    descriptorBufferPushDescriptors, YES;
    descriptorHeap, YES;
    descriptorHeapCaptureReplay, NO_REPLAY;
    deviceFault, YES;
    deviceFaultVendorBinary, NO_DUMP;
    deviceFaultReportMasked, NO_MASKED;
    deviceFaultDeviceLostOnMasked, NO_MASKED;
    pipelineExecutableInfo, YES;
    graphicsPipelineLibrary, YES;
    rayTracingPipeline, YES;
    rayTracingPipelineShaderGroupHandleCaptureReplay, YES;
    rayTracingPipelineShaderGroupHandleCaptureReplayMixed, YES;
    rayTracingPipelineTraceRaysIndirect, YES;
    rayTraversalPrimitiveCulling, YES;
    pipelineLibraryGroupHandles, YES;
    attachmentFeedbackLoopDynamicState, YES;
    rasterizationOrderColorAttachmentAccess, YES;
    rasterizationOrderDepthAttachmentAccess, YES;
    rasterizationOrderStencilAttachmentAccess, YES;
    fragmentShaderSampleInterlock, YES;
    fragmentShaderPixelInterlock, YES;
    fragmentShaderShadingRateInterlock, NO_MASK;
    pipelineFragmentShadingRate, YES;
    primitiveFragmentShadingRate, YES;
    attachmentFragmentShadingRate, YES;
    fragmentShaderBarycentric, YES;
    sparseImageInt64Atomics, YES;
    shaderEarlyAndLateFragmentTests, YES;
    shaderRawAccessChains, YES;
    internallySynchronizedQueues, YES;
    extendedFlags, YES;
    inheritedViewportScissor2D, YES;
    commandBufferInheritance, YES;
    rayQuery, YES;
    rayTracingPositionFetch, YES;
    accelerationStructure, YES;
    accelerationStructureCaptureReplay, YES;
    accelerationStructureIndirectBuild, YES;
    accelerationStructureHostCommands, YES;
    descriptorBindingAccelerationStructureUpdateAfterBind, YES;
    rayTracingMaintenance1, YES;
    rayTracingPipelineTraceRaysIndirect2, YES;
    micromap, YES;
    micromapCaptureReplay, YES;
    micromapHostCommands, YES;
    rayTracingInvocationReorder, YES;
    // The feature of the NV extension has the same name.
    rayTracingInvocationReorderNV, YES;
    spheres, YES;
    linearSweptSpheres, YES;
    rayTracingMotionBlur, YES;
    rayTracingMotionBlurPipelineTraceRaysIndirect, YES;
}

include!("generated/features.rs");
