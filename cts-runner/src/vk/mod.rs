//! A small Vulkan harness with the part of an application that every test, demo and benchmark here
//! needs.
//!
//! Idea: a [`Gpu`] owns every object made through it. It destroys them newest first, either when it
//! is dropped or when a [`Gpu::mark`]/[`Gpu::release_to`] pair brackets a test. Callers therefore
//! write no destruction code, and the validation layer still finds no object left over.
//!
//! Invariants:
//! - Only Vulkan 1.0 is used unless a caller asks for more.
//! - A driver is opened without any Vulkan package installed ([`Api::open_icd`]) or through the
//!   loader ([`Api::open_loader`]). Both give the same [`Api`].
//!
//! Unsafe code of this crate lies in this module and in the recording functions of its callers.

mod api;
mod core;
mod draw;
mod error;
mod generated;
mod generated_api;
mod gpu;
mod graphics;
mod library;
mod memory;
mod optional;
mod pipeline;
mod programs;
mod ray_program;
mod rays;
mod record;
mod recorder;
mod report;
mod shader_object;
mod structure;
mod submit;
mod ycbcr;

pub use api::{Api, Manifest};
pub use ash::vk as raw;
pub use core::Core;
pub use draw::{Attachment, Pass, Program, ProgramDesc, Role, Stream, bindings};
pub use error::{Error, Result};
pub use generated::{ExecutionSet, GeneratedDraws, GeneratedProgram};
pub use gpu::{Gpu, GpuOptions, VALIDATION_LAYER, version_text};
pub use graphics::{Constants, PipelineDesc, Target, blend_state, stage_info, whole};
pub use library::LibraryPart;
pub use memory::{Buffer, Image, ImageDesc};
pub use optional::Optional;
pub use pipeline::{Binding, EntryPoint, GraphicsDesc, Resource, ShaderStage, StagesDesc, spirv_words};
pub use programs::Programs;
pub use ray_program::{HitGroup, RayProgram, RayProgramDesc};
pub use rays::Rays;
pub use record::Recorded;
pub use recorder::Recorder;
pub use report::{DeviceReport, FormatFeatures};
pub use shader_object::{DrawState, ObjectCode, ObjectDesc, ShaderBinary};
pub use structure::{Geometry, Instance, Structure, StructureDesc};
pub use submit::{image_barrier, memory_barrier};
