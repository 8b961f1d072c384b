//! Render pass instances: subpasses and dynamic rendering become sets of targets with load operations, clears and resolves.
//!
//! With multiview every draw is repeated for each view, and the rasterizer takes the view index as the layer.

#![forbid(unsafe_code)]

use super::Executor;
use crate::command::{BeginRenderPass, BeginRendering, RenderingAttachment};
use crate::device::Device;
use crate::object::image::ImageView;
use crate::object::query::QueryPool;
use ash::vk;
use base::pixel::{Locations, MAX_COLOR_ATTACHMENTS, OWN_LOCATIONS};
use rasterizer::RenderPassInstance;
use rasterizer::api::{Attachment, RenderTargets};
use smallvec::SmallVec;
use std::sync::Arc;

/// One attachment of a set of targets.
#[derive(Clone)]
struct Target {
    view: Arc<ImageView>,
    clear: Option<[u32; 4]>,
    /// With multiview: the views that are cleared.
    clear_views: u32,
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

/// View indices.
pub(super) type Views = SmallVec<[u32; 6]>;

/// The views of a mask; view 0 for no multiview.
fn views_of(mask: u32) -> Views {
    if mask == 0 { Views::from_slice(&[0]) } else { (0..32).filter(|v| mask & (1 << v) != 0).collect() }
}

/// A render pass instance under way.
pub(super) struct RenderInstance<'d> {
    /// The rasterizer's pass; `None` only while it is being exchanged.
    pub pass: Option<RenderPassInstance<'d>>,
    /// View indices that draws are repeated for; one 0 without multiview.
    pub views: Views,
    /// Queries that ended in it; available once their draws are done.
    pub ended_queries: Vec<(Arc<QueryPool>, u32)>,
    /// vkCmdSetRenderingAttachmentLocations; pipelines say the same.
    pub locations: Locations,
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
            pass: Some(device.engine.begin_rendering(targets.for_rasterizer(samples))),
            views: views_of(targets.view_mask),
            ended_queries: Vec::new(),
            locations: OWN_LOCATIONS,
            targets,
            samples,
            suspends: false,
            subpasses: None,
        };
        instance.clear();
        instance
    }

    /// Load operations that clear.
    fn clear(&mut self) {
        let (t, Some(pass)) = (&self.targets, &mut self.pass) else { return };
        for (i, target) in t.colors.iter().enumerate() {
            if let Some((target, value)) = target.as_ref().and_then(|t| Some((t, t.clear?))) {
                t.layers_cleared(target)
                    .iter()
                    .for_each(|&(first, count)| pass.clear_color(i, value, t.area, first, count));
            }
        }
        for (target, stencil) in [(&t.depth, false), (&t.stencil, true)] {
            if let Some((target, value)) = target.as_ref().and_then(|t| Some((t, t.clear?))) {
                let (depth, stencil) =
                    if stencil { (None, Some(value[1])) } else { (Some(f32::from_bits(value[0])), None) };
                let layers = t.layers_cleared(target);
                layers
                    .iter()
                    .for_each(|&(first, count)| pass.clear_depth_stencil(depth, stencil, t.area, first, count));
            }
        }
    }

    /// Without attachments the pipeline says how many samples there are.
    pub fn use_samples(&mut self, device: &'d Device, samples: u32) {
        if self.samples != samples && self.targets.samples().is_none() {
            self.pass.take().into_iter().for_each(RenderPassInstance::end);
            self.samples = samples;
            self.pass = Some(device.engine.begin_rendering(self.targets.for_rasterizer(samples)));
        }
    }

    pub fn is_multiview(&self) -> bool {
        self.targets.view_mask != 0
    }

    /// Deferred draws are done when this returns.
    fn flush(&mut self, device: &Device) {
        self.pass.iter_mut().for_each(RenderPassInstance::flush);
        for (pool, query) in self.ended_queries.drain(..) {
            pool.range(query, self.views.len() as u32).iter().for_each(|q| device.make_available(q));
        }
    }

    fn end(mut self, device: &Device) {
        self.flush(device);
        self.pass.take().into_iter().for_each(RenderPassInstance::end);
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
        self.all().next().map(|t| t.view.attachment.image.layout.desc.samples)
    }

    fn for_rasterizer(&self, samples: u32) -> RenderTargets {
        let attachment = |target: &Target| -> Attachment { target.view.attachment.clone() };
        let mut targets = RenderTargets {
            depth: self.depth.as_ref().map(attachment),
            stencil: self.stencil.as_ref().map(attachment),
            samples,
            layers: if self.view_mask != 0 { 32 - self.view_mask.leading_zeros() } else { self.layers },
            area: self.area,
            ..Default::default()
        };
        for (i, color) in self.colors.iter().enumerate().take(MAX_COLOR_ATTACHMENTS) {
            targets.color[i] = color.as_ref().map(attachment);
        }
        targets
    }

    /// Layers (first, count) that a target's load operation clears.
    fn layers_cleared(&self, target: &Target) -> SmallVec<[(u32, u32); 6]> {
        match self.view_mask {
            0 => SmallVec::from_slice(&[(0, self.layers)]),
            mask => (0..32).filter(|v| mask & target.clear_views & (1 << v) != 0).map(|v| (v, 1)).collect(),
        }
    }

    fn resolve(&self, device: &Device) {
        let views: SmallVec<[(u32, u32); 8]> = match self.view_mask {
            0 => SmallVec::from_slice(&[(0, self.layers)]),
            mask => views_of(mask).iter().map(|&v| (v, 1)).collect(),
        };
        let aspects = [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL];
        let colors = self.colors.iter().flatten().map(|t| (t, vk::ImageAspectFlags::COLOR));
        let others = [&self.depth, &self.stencil].into_iter().zip(aspects).filter_map(|(t, a)| Some((t.as_ref()?, a)));
        for (target, aspect) in colors.chain(others) {
            let Some((resolve, mode)) = &target.resolve else { continue };
            for &layers in &views {
                let (from, to) = (&target.view.attachment, &resolve.attachment);
                crate::command::transfer::resolve_attachment(device, (from, to), aspect, *mode, self.area, layers);
            }
        }
    }
}

impl SubpassSource {
    fn targets(&self, number: usize) -> Targets {
        let pass = &self.render_pass;
        let Some(subpass) = pass.subpasses.get(number) else { return Targets::default() };
        // The load operation is done at the first use; with multiview, at each view's first use.
        let clear_views = |a: u32| pass.first_use_views(a, number);
        let clears = |a: u32, op: vk::AttachmentLoadOp| {
            let first =
                pass.attachments[a as usize].first_use == Some(number) || (subpass.view_mask & clear_views(a)) != 0;
            (first && op == vk::AttachmentLoadOp::CLEAR)
                .then(|| self.clear_values.get(a as usize).copied().unwrap_or_default())
        };
        let view = |a: u32| self.views.get(a as usize).cloned();
        let color = |(i, a): (usize, &Option<u32>)| {
            let a = (*a)?;
            let resolve = subpass.resolves.get(i).copied().flatten().and_then(view);
            let clear = clears(a, pass.attachments[a as usize].load_op);
            Some(Target {
                view: view(a)?,
                clear,
                clear_views: clear_views(a),
                resolve: resolve.map(|v| (v, vk::ResolveModeFlags::AVERAGE)),
            })
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
                targets.depth = Some(Target {
                    view: view.clone(),
                    clear: clears(a, info.load_op),
                    clear_views: clear_views(a),
                    resolve: resolve(false),
                });
            }
            if format.has_stencil() {
                targets.stencil = Some(Target {
                    view,
                    clear: clears(a, info.stencil_load_op),
                    clear_views: clear_views(a),
                    resolve: resolve(true),
                });
            }
        }
        targets
    }

    /// Attachments that this subpass is the first to use, but not as targets: cleared on their own. They are inputs, and the aspects of a
    /// depth/stencil resolve's target that nothing is resolved to.
    fn other_clears(&self, number: usize) -> Vec<Targets> {
        let pass = &self.render_pass;
        let Some(subpass) = pass.subpasses.get(number) else { return Vec::new() };
        let is_target = |a: u32| subpass.colors.contains(&Some(a)) || subpass.depth_stencil == Some(a);
        let inputs = subpass.inputs.iter().map(|&a| (a, true, true));
        let unresolved =
            subpass.depth_stencil_resolve.map(|(a, depth, stencil)| (a, depth.is_empty(), stencil.is_empty()));
        let mut list = Vec::new();
        for (a, depth, stencil) in inputs.chain(unresolved).filter(|&(a, ..)| !is_target(a)) {
            let info = &pass.attachments[a as usize];
            let first = info.first_use == Some(number) || (subpass.view_mask & pass.first_use_views(a, number)) != 0;
            let Some(view) = self.views.get(a as usize).filter(|_| first) else { continue };
            let value = self.clear_values.get(a as usize).copied().unwrap_or_default();
            let target = |op| {
                (op == vk::AttachmentLoadOp::CLEAR).then(|| Target {
                    view: view.clone(),
                    clear: Some(value),
                    clear_views: pass.first_use_views(a, number),
                    resolve: None,
                })
            };
            let mut targets =
                Targets { area: self.area, layers: self.layers, view_mask: subpass.view_mask, ..Default::default() };
            let format = view.attachment.format;
            if format.has_depth() || format.has_stencil() {
                targets.depth = target(info.load_op).filter(|_| depth && format.has_depth());
                targets.stencil = target(info.stencil_load_op).filter(|_| stencil && format.has_stencil());
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

/// x, y, width, height of what a rectangle has at positions from 0 on.
pub(super) fn area_of(rect: &vk::Rect2D) -> [u32; 4] {
    let axis = |at: i32, size: u32| (at.max(0) as u32, size.saturating_sub(at.min(0).unsigned_abs()));
    let ((x, width), (y, height)) = (axis(rect.offset.x, rect.extent.width), axis(rect.offset.y, rect.extent.height));
    [x, y, width, height]
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
        self.check_area(&c.area, area);
        let source = SubpassSource {
            render_pass: c.render_pass.clone(),
            views: c.views.clone(),
            clear_values: c.clear_values.clone(),
            area,
            layers: c.framebuffer.layers,
        };
        self.begin_subpass(Arc::new(source), 0);
    }

    /// What lies outside of the attachments is not rendered; the application is told.
    fn check_area(&self, asked: &vk::Rect2D, [x, y, width, height]: [u32; 4]) {
        let (o, e) = (asked.offset, asked.extent);
        if (i64::from(o.x), i64::from(o.y), e.width, e.height) != (x.into(), y.into(), width, height) {
            self.device.misuse(&format!("the render area {asked:?} reaches outside of an attachment"));
        }
    }

    fn begin_subpass(&mut self, source: Arc<SubpassSource>, number: usize) {
        for targets in source.other_clears(number) {
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
    }

    pub(super) fn begin_rendering(&mut self, c: &BeginRendering) {
        let resumes = c.flags.contains(vk::RenderingFlags::RESUMING);
        let target = |a: &RenderingAttachment| Target {
            view: a.view.clone(),
            clear: (a.load_op == vk::AttachmentLoadOp::CLEAR && !resumes).then_some(a.clear_value),
            clear_views: !0,
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
        self.check_area(&c.area, targets.area);
        let mut instance = RenderInstance::begin(self.device, targets);
        instance.suspends = c.flags.contains(vk::RenderingFlags::SUSPENDING);
        self.render = Some(instance);
    }

    pub(super) fn set_rendering_attachment_locations(&mut self, locations: Locations) {
        match &mut self.render {
            Some(render) => render.locations = locations,
            None => self.device.misuse("vkCmdSetRenderingAttachmentLocations outside of a render pass"),
        }
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
