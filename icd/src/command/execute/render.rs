//! Render pass instances: subpasses and dynamic rendering become sets of targets with load operations, clears and resolves.
//!
//! With multiview there is one rasterizer pass per view, each on its layer; every draw goes to all of them.

use super::Executor;
use crate::command::{BeginRenderPass, BeginRendering, RenderingAttachment};
use crate::object::device::Device;
use crate::object::image::ImageView;
use crate::object::query::QueryPool;
use ash::vk;
use rasterizer::RenderPass;
use rasterizer::api::{Attachment, MAX_COLOR_ATTACHMENTS, RenderTargets};
use smallvec::SmallVec;
use std::sync::Arc;

/// One attachment of a set of targets.
#[derive(Clone)]
struct Target {
    view: Arc<ImageView>,
    clear: Option<[u32; 4]>,
    resolve: Option<(Arc<ImageView>, vk::ResolveModeFlags)>,
}

/// Attachments of a subpass or a dynamic rendering instance.
#[derive(Clone, Default)]
struct Targets {
    colors: SmallVec<[Option<Target>; 4]>,
    depth: Option<Target>,
    stencil: Option<Target>,
    area: [u32; 4],
    layers: u32,
    view_mask: u32,
}

/// A render pass instance under way.
pub(super) struct RenderInstance<'d> {
    /// View index and pass.
    pub passes: SmallVec<[(u32, RenderPass<'d>); 1]>,
    /// Queries that ended in it; available once their draws are done.
    pub ended_queries: Vec<(Arc<QueryPool>, u32)>,
    targets: Targets,
    samples: u32,
    /// Does rendering end here (resolves), or is it suspended?
    suspends: bool,
    /// A render pass object's instance: what began it and the current subpass.
    subpasses: Option<(Arc<SubpassSource>, usize)>,
}

/// What a render pass object's subpasses are made from.
struct SubpassSource {
    render_pass: Arc<crate::object::render_pass::RenderPass>,
    views: Vec<Arc<ImageView>>,
    clear_values: Vec<[u32; 4]>,
    area: [u32; 4],
    layers: u32,
}

impl<'d> RenderInstance<'d> {
    fn begin(device: &'d Device, targets: Targets) -> RenderInstance<'d> {
        let samples = targets.samples().unwrap_or(1);
        let mut instance = RenderInstance {
            passes: SmallVec::new(),
            ended_queries: Vec::new(),
            targets,
            samples,
            suspends: false,
            subpasses: None,
        };
        instance.begin_passes(device);
        instance.clear();
        instance
    }

    fn begin_passes(&mut self, device: &'d Device) {
        let mask = self.targets.view_mask;
        if mask == 0 {
            let targets = self.targets.for_view(None, self.samples);
            self.passes.push((0, device.engine.begin_rendering(targets)));
        }
        for view in (0..32).filter(|v| mask & (1 << v) != 0) {
            let targets = self.targets.for_view(Some(view), self.samples);
            self.passes.push((view, device.engine.begin_rendering(targets)));
        }
    }

    /// Load operations that clear.
    fn clear(&mut self) {
        let t = &self.targets;
        let layers = if t.view_mask != 0 { 1 } else { t.layers };
        for (_, pass) in &mut self.passes {
            for (i, target) in t.colors.iter().enumerate() {
                if let Some(value) = target.as_ref().and_then(|t| t.clear) {
                    pass.clear_color(i, value, t.area, 0, layers);
                }
            }
            let depth = t.depth.as_ref().and_then(|d| d.clear).map(|c| f32::from_bits(c[0]));
            let stencil = t.stencil.as_ref().and_then(|s| s.clear).map(|c| c[1]);
            if depth.is_some() || stencil.is_some() {
                pass.clear_depth_stencil(depth, stencil, t.area, 0, layers);
            }
        }
    }

    /// Without attachments the pipeline says how many samples there are.
    pub fn use_samples(&mut self, device: &'d Device, samples: u32) {
        if self.samples != samples && self.targets.samples().is_none() {
            self.passes.drain(..).for_each(|(_, pass)| pass.end());
            self.samples = samples;
            self.begin_passes(device);
        }
    }

    pub fn is_multiview(&self) -> bool {
        self.targets.view_mask != 0
    }

    /// Deferred draws are done when this returns.
    fn flush(&mut self, device: &Device) {
        self.passes.iter_mut().for_each(|(_, pass)| pass.flush());
        let views = self.targets.view_mask.count_ones().max(1);
        for (pool, query) in self.ended_queries.drain(..) {
            pool.range(query, views).iter().for_each(|q| q.make_available(&device.sync));
        }
    }

    fn end(mut self, device: &Device) {
        self.flush(device);
        self.passes.drain(..).for_each(|(_, pass)| pass.end());
        if !self.suspends {
            self.targets.resolve(device);
        }
    }
}

impl Targets {
    fn all(&self) -> impl Iterator<Item = &Target> {
        self.colors.iter().flatten().chain(&self.depth).chain(&self.stencil)
    }

    /// Samples of the attachments; `None` when there are none.
    fn samples(&self) -> Option<u32> {
        self.all().next().map(|t| t.view.image.layout.desc.samples)
    }

    fn for_view(&self, view: Option<u32>, samples: u32) -> RenderTargets {
        let attachment = |target: &Target| {
            let mut a: Attachment = target.view.attachment.clone();
            if let Some(view) = view {
                a.base_layer += view;
                a.layers = 1;
            }
            a
        };
        let mut targets = RenderTargets {
            depth: self.depth.as_ref().map(attachment),
            stencil: self.stencil.as_ref().map(attachment),
            samples,
            layers: if view.is_some() { 1 } else { self.layers },
            area: self.area,
            ..Default::default()
        };
        for (i, color) in self.colors.iter().enumerate().take(MAX_COLOR_ATTACHMENTS) {
            targets.color[i] = color.as_ref().map(attachment);
        }
        targets
    }

    fn resolve(&self, device: &Device) {
        let views: SmallVec<[(u32, u32); 8]> = match self.view_mask {
            0 => SmallVec::from_slice(&[(0, self.layers)]),
            mask => (0..32).filter(|v| mask & (1 << v) != 0).map(|v| (v, 1)).collect(),
        };
        let aspects = [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL];
        let colors = self.colors.iter().flatten().map(|t| (t, vk::ImageAspectFlags::COLOR));
        let others = [&self.depth, &self.stencil].into_iter().zip(aspects).filter_map(|(t, a)| Some((t.as_ref()?, a)));
        for (target, aspect) in colors.chain(others) {
            let Some((resolve, mode)) = &target.resolve else { continue };
            for &layers in &views {
                let (from, to) = (&target.view.attachment, &resolve.attachment);
                crate::backend::transfer::resolve_attachment(device, (from, to), aspect, *mode, self.area, layers);
            }
        }
    }
}

impl SubpassSource {
    fn targets(&self, number: usize) -> Targets {
        let pass = &self.render_pass;
        let Some(subpass) = pass.subpasses.get(number) else { return Targets::default() };
        let clears = |a: u32, op: vk::AttachmentLoadOp| {
            let first = pass.attachments[a as usize].first_use == Some(number);
            (first && op == vk::AttachmentLoadOp::CLEAR)
                .then(|| self.clear_values.get(a as usize).copied().unwrap_or_default())
        };
        let view = |a: u32| self.views.get(a as usize).cloned();
        let color = |(i, a): (usize, &Option<u32>)| {
            let a = (*a)?;
            let resolve = subpass.resolves.get(i).copied().flatten().and_then(view);
            let clear = clears(a, pass.attachments[a as usize].load_op);
            Some(Target { view: view(a)?, clear, resolve: resolve.map(|v| (v, vk::ResolveModeFlags::AVERAGE)) })
        };
        let mut targets = Targets {
            colors: subpass.colors.iter().enumerate().map(color).collect(),
            area: self.area,
            layers: self.layers,
            view_mask: subpass.view_mask,
            ..Default::default()
        };
        if let Some((a, view)) = subpass.depth_stencil.and_then(|a| Some((a, view(a)?))) {
            let info = &pass.attachments[a as usize];
            let resolve = |stencil: bool| {
                let (target, depth_mode, stencil_mode) = subpass.depth_stencil_resolve?;
                let mode = if stencil { stencil_mode } else { depth_mode };
                (!mode.is_empty()).then_some((self.views.get(target as usize)?.clone(), mode))
            };
            let format = view.attachment.format;
            if format.has_depth() {
                targets.depth =
                    Some(Target { view: view.clone(), clear: clears(a, info.load_op), resolve: resolve(false) });
            }
            if format.has_stencil() {
                targets.stencil = Some(Target { view, clear: clears(a, info.stencil_load_op), resolve: resolve(true) });
            }
        }
        targets
    }

    /// Attachments that this subpass is the first to use, only as inputs: cleared on their own.
    fn input_clears(&self, number: usize) -> Vec<Targets> {
        let pass = &self.render_pass;
        let Some(subpass) = pass.subpasses.get(number) else { return Vec::new() };
        let is_target = |a: u32| subpass.colors.contains(&Some(a)) || subpass.depth_stencil == Some(a);
        let mut list = Vec::new();
        for &a in subpass.inputs.iter().filter(|&&a| !is_target(a)) {
            let info = &pass.attachments[a as usize];
            let Some(view) = self.views.get(a as usize).filter(|_| info.first_use == Some(number)) else { continue };
            let value = self.clear_values.get(a as usize).copied().unwrap_or_default();
            let target = |op| {
                (op == vk::AttachmentLoadOp::CLEAR).then(|| Target {
                    view: view.clone(),
                    clear: Some(value),
                    resolve: None,
                })
            };
            let mut targets =
                Targets { area: self.area, layers: self.layers, view_mask: subpass.view_mask, ..Default::default() };
            let format = view.attachment.format;
            if format.has_depth() || format.has_stencil() {
                targets.depth = target(info.load_op).filter(|_| format.has_depth());
                targets.stencil = target(info.stencil_load_op).filter(|_| format.has_stencil());
            } else {
                targets.colors.push(target(info.load_op));
            }
            if targets.all().next().is_some() {
                list.push(targets);
            }
        }
        list
    }
}

fn area_of(rect: &vk::Rect2D) -> [u32; 4] {
    [rect.offset.x.max(0) as u32, rect.offset.y.max(0) as u32, rect.extent.width, rect.extent.height]
}

/// The area cut to the attachments' extents: nothing outside an image is ever touched.
fn cut(mut area: [u32; 4], views: impl Iterator<Item = [u32; 3]>) -> [u32; 4] {
    for extent in views {
        for i in 0..2 {
            area[i] = area[i].min(extent[i]);
            area[2 + i] = area[2 + i].min(extent[i] - area[i]);
        }
    }
    area
}

impl Executor<'_> {
    pub(super) fn begin_render_pass(&mut self, c: &BeginRenderPass) {
        let area = cut(area_of(&c.area), c.views.iter().map(|v| v.extent()));
        let source = SubpassSource {
            render_pass: c.render_pass.clone(),
            views: c.views.clone(),
            clear_values: c.clear_values.clone(),
            area,
            layers: c.framebuffer.layers,
        };
        self.begin_subpass(Arc::new(source), 0);
    }

    fn begin_subpass(&mut self, source: Arc<SubpassSource>, number: usize) {
        for targets in source.input_clears(number) {
            RenderInstance::begin(self.device, targets).end(self.device);
        }
        let mut instance = RenderInstance::begin(self.device, source.targets(number));
        instance.subpasses = Some((source, number));
        self.render = Some(instance);
    }

    pub(super) fn next_subpass(&mut self) {
        let Some(instance) = self.render.take() else { return };
        let subpasses = instance.subpasses.clone();
        instance.end(self.device);
        if let Some((source, number)) = subpasses {
            self.begin_subpass(source, number + 1);
        }
    }

    pub(super) fn end_render_pass(&mut self) {
        if let Some(instance) = self.render.take() {
            instance.end(self.device);
        }
        self.device.queue.watchdog.end();
    }

    pub(super) fn begin_rendering(&mut self, c: &BeginRendering) {
        let resumes = c.flags.contains(vk::RenderingFlags::RESUMING);
        let target = |a: &RenderingAttachment| Target {
            view: a.view.clone(),
            clear: (a.load_op == vk::AttachmentLoadOp::CLEAR && !resumes).then_some(a.clear_value),
            resolve: a.resolve.clone(),
        };
        let mut targets = Targets {
            colors: c.colors.iter().map(|a| a.as_ref().map(target)).collect(),
            depth: c.depth.as_ref().map(target),
            stencil: c.stencil.as_ref().map(target),
            area: area_of(&c.area),
            layers: c.layer_count,
            view_mask: c.view_mask,
        };
        targets.area = cut(targets.area, targets.all().map(|t| t.view.extent()));
        let mut instance = RenderInstance::begin(self.device, targets);
        instance.suspends = c.flags.contains(vk::RenderingFlags::SUSPENDING);
        self.render = Some(instance);
    }

    pub(super) fn end_rendering(&mut self) {
        self.end_render_pass();
    }

    /// Deferred draws are done when this returns.
    pub(super) fn flush(&mut self) {
        if let Some(render) = &mut self.render {
            render.flush(self.device);
        }
    }
}
