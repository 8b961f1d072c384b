//! Bind points, and values of each.

use ash::vk;
use base::shader::{PipelineType, Stage};
use std::ops::{Index, IndexMut};

/// Use for which a program and descriptor sets are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindPoint {
    /// The point VK_PIPELINE_BIND_POINT_GRAPHICS.
    Graphics,
    /// The point VK_PIPELINE_BIND_POINT_COMPUTE.
    Compute,
    /// The point of ray tracing.
    RayTracing,
}

impl BindPoint {
    /// Converts a `VkPipelineBindPoint`; `None` if the driver does not have it.
    pub fn from_vk(point: vk::PipelineBindPoint) -> Option<BindPoint> {
        Some(match point {
            vk::PipelineBindPoint::GRAPHICS => BindPoint::Graphics,
            vk::PipelineBindPoint::COMPUTE => BindPoint::Compute,
            vk::PipelineBindPoint::RAY_TRACING_KHR => BindPoint::RayTracing,
            _ => return None,
        })
    }

    /// Returns the bind point at which a stage executes.
    pub fn of_stage(stage: Stage) -> BindPoint {
        match stage.row().pipeline {
            PipelineType::Graphics => BindPoint::Graphics,
            PipelineType::Compute => BindPoint::Compute,
            PipelineType::RayTracing => BindPoint::RayTracing,
        }
    }
}

/// One value for each bind point.
#[derive(Default)]
pub struct PerBindPoint<T>([T; 3]);

impl<T> PerBindPoint<T> {
    /// Returns all three values, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> Index<BindPoint> for PerBindPoint<T> {
    type Output = T;
    fn index(&self, point: BindPoint) -> &T {
        &self.0[point as usize]
    }
}

impl<T> IndexMut<BindPoint> for PerBindPoint<T> {
    fn index_mut(&mut self, point: BindPoint) -> &mut T {
        &mut self.0[point as usize]
    }
}
