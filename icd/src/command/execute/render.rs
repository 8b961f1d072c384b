//! Render pass instances: subpasses and dynamic rendering become sets of targets with load
//! operations, clears and resolves.
//!
//! Single-sampled attachments that are rendered to with several samples have these samples in an
//! implicit image (`object::implicit`). It begins with the content of the attachment if that is
//! loaded. It is resolved to the attachment at the end of the subpass, and at barriers in it.
//!
//! With multiview every draw is repeated for each view, and the rasterizer takes the view index as
//! the layer.

#![forbid(unsafe_code)]

use super::Executor;
use crate::command::implicit::layers_of;
use crate::command::transfer::{replicate_attachment, resolve_attachment};
use crate::command::{BeginRenderPass, BeginRendering, RenderingAttachment};
use crate::device::Device;
use crate::device::fault::Cause;
use crate::object::image::ImageView;
use crate::object::implicit::{ImplicitDesc, ImplicitImage};
use crate::object::query::QueryPool;
use ash::vk;
use base::limits::MAX_COLOR_ATTACHMENTS;
use base::pixel::{IDENTITY_LOCATIONS, Locations};
use rasterizer::RenderPassInstance;
use rasterizer::api::{Attachment, AttachmentLoops, RenderTargets};
use smallvec::SmallVec;
use std::sync::Arc;

/// One attachment of a set of targets.
#[derive(Clone)]
struct TargetAttachment {
    view: Arc<ImageView>,
    clear: Option<[u32; 4]>,
    /// Mask of the views that are cleared, with multiview.
    clear_views: u32,
    resolve: Option<(Arc<ImageView>, vk::ResolveModeFlags)>,
    /// True if the previous content is needed.
    loads: bool,
    /// Implicit image that is rendered to in place of the view.
    implicit: Option<Arc<ImplicitImage>>,
}

impl TargetAttachment {
    /// Returns false if the image of the attachment, or of its resolve attachment, has been
    /// destroyed.
    fn has_memory(&self) -> bool {
        self.view.has_memory() && self.resolve.as_ref().is_none_or(|(view, _)| view.has_memory())
    }

    fn attachment(&self) -> &Attachment {
        self.implicit.as_ref().map_or(&self.view.attachment, |implicit| &implicit.attachment)
    }
}

/// Attachments of a subpass or a dynamic rendering instance.
#[derive(Clone, Default)]
struct TargetAttachments {
    colors: SmallVec<[Option<TargetAttachment>; 4]>,
    depth: Option<TargetAttachment>,
    stencil: Option<TargetAttachment>,
    area: [u32; 4],
    layers: u32,
    view_mask: u32,
    /// Number of samples with which single-sampled attachments are rendered to.
    multisampled: Option<u32>,
    /// Attachments that may also be input attachments.
    inputs: AttachmentLoops,
    shading_rate: Option<Arc<ImageView>>,
}

/// Indices of views.
pub(super) type Views = SmallVec<[u32; 6]>;

/// Returns the views of a mask, or view 0 without multiview.
fn views_of(mask: u32) -> Views {
    if mask == 0 { Views::from_slice(&[0]) } else { (0..32).filter(|v| mask & (1 << v) != 0).collect() }
}

/// A render pass instance that has begun and not ended.
pub(super) struct RenderInstance<'d> {
    /// The rasterizer's pass; `None` only while it is being exchanged.
    pub pass: Option<RenderPassInstance<'d>>,
    /// Indices of the views for which draws are repeated; only 0 without multiview.
    pub views: Views,
    /// Queries that ended in the instance. They become available when their draws are done.
    pub ended_queries: Vec<(Arc<QueryPool>, u32)>,
    /// Locations of vkCmdSetRenderingAttachmentLocations; pipelines contain the same ones.
    pub locations: Locations,
    targets: TargetAttachments,
    samples: u32,
    /// True if rendering is suspended, false if it ends with the instance and resolves.
    suspends: bool,
    /// Source and number of the current subpass, for an instance of a render pass object.
    subpasses: Option<(Arc<SubpassSource>, usize)>,
}

/// Data from which the subpasses of a render pass object's instance are made.
struct SubpassSource {
    render_pass: Arc<crate::object::render_pass::RenderPass>,
    views: Vec<Arc<ImageView>>,
    clear_values: Vec<[u32; 4]>,
    area: [u32; 4],
    layers: u32,
}

impl<'d> RenderInstance<'d> {
    fn begin(device: &'d Device, targets: TargetAttachments) -> RenderInstance<'d> {
        let samples = targets.samples().unwrap_or(1);
        let mut instance = RenderInstance {
            pass: Some(device.engine.begin_rendering(targets.for_rasterizer(samples))),
            views: views_of(targets.view_mask),
            ended_queries: Vec::new(),
            locations: IDENTITY_LOCATIONS,
            targets,
            samples,
            suspends: false,
            subpasses: None,
        };
        instance.clear();
        instance
    }

    /// Executes load operations that clear.
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

    /// Sets the number of samples from the pipeline if there are no attachments.
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

    /// Executes deferred draws. They are done when this returns.
    fn flush(&mut self, device: &Device) {
        self.pass.iter_mut().for_each(RenderPassInstance::flush);
        for (pool, query) in self.ended_queries.drain(..) {
            pool.range(query, self.views.len() as u32).iter().for_each(|q| device.make_available(q));
        }
    }

    fn end(mut self, device: &Device, queue: usize) {
        self.flush(device);
        self.pass.take().into_iter().for_each(RenderPassInstance::end);
        if !self.suspends {
            self.targets.resolve(device, |_| true);
        }
        for implicit in self.targets.take_samples() {
            if self.suspends {
                device.implicit_images.suspend(queue, implicit);
            } else {
                device.implicit_images.recycle(implicit);
            }
        }
    }

    /// Returns true if fragments may read attachments after barriers.
    fn reads_attachments(&self) -> bool {
        let subpass = self.subpasses.as_ref().map(|(source, number)| source.render_pass.subpasses.get(*number));
        subpass.is_none_or(|subpass| subpass.is_some_and(|subpass| !subpass.inputs.is_empty()))
    }
}

impl TargetAttachments {
    fn all(&self) -> impl Iterator<Item = &TargetAttachment> {
        self.colors.iter().flatten().chain(&self.depth).chain(&self.stencil)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut TargetAttachment> {
        self.colors.iter_mut().flatten().chain(&mut self.depth).chain(&mut self.stencil)
    }

    /// Returns the targets with their aspects.
    fn by_aspect(&self) -> impl Iterator<Item = (&TargetAttachment, vk::ImageAspectFlags)> {
        let aspects = [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL];
        let colors = self.colors.iter().flatten().map(|t| (t, vk::ImageAspectFlags::COLOR));
        colors.chain([&self.depth, &self.stencil].into_iter().zip(aspects).filter_map(|(t, a)| Some((t.as_ref()?, a))))
    }

    /// Returns the number of samples of the attachments; `None` without attachments.
    fn samples(&self) -> Option<u32> {
        self.multisampled.or_else(|| self.all().next().map(|t| t.view.samples()))
    }

    /// Returns true if rendering has more samples than this attachment.
    fn is_single(&self, view: &ImageView) -> bool {
        self.multisampled.is_some_and(|samples| view.samples() < samples)
    }

    /// Gives single-sampled attachments their implicit images: those of the rendering that is
    /// resumed, or new ones. Fails with VK_ERROR_OUT_OF_DEVICE_MEMORY.
    fn add_samples(&mut self, device: &Device, queue: usize, resumes: bool) -> Result<(), vk::Result> {
        let Some(samples) = self.multisampled else { return Ok(()) };
        let [x, y, width, height] = self.area;
        let (end, layers) = ([x + width, y + height], layers_of(self.layers, self.view_mask));
        let mut known: SmallVec<[Arc<ImplicitImage>; 4]> = SmallVec::new();
        for target in self.all_mut().filter(|t| t.view.samples() < samples) {
            let same = known.iter().find(|implicit| implicit.belongs_to_view(&target.view)).cloned();
            let resumed = || device.implicit_images.resume(queue, &target.view).filter(|_| resumes);
            let implicit = match same.or_else(resumed) {
                Some(implicit) => implicit,
                None => {
                    let wanted = ImplicitDesc { view: &target.view, samples, end, layers };
                    Arc::new(device.implicit_images.create(&device.heap, wanted)?)
                }
            };
            known.push(implicit.clone());
            target.implicit = Some(implicit);
        }
        Ok(())
    }

    /// Takes the implicit images, each once, out of the targets.
    fn take_samples(&mut self) -> SmallVec<[Arc<ImplicitImage>; 4]> {
        let mut all: SmallVec<[Arc<ImplicitImage>; 4]> = SmallVec::new();
        for implicit in self.all_mut().filter_map(|t| t.implicit.take()) {
            if !all.iter().any(|known| Arc::ptr_eq(known, &implicit)) {
                all.push(implicit);
            }
        }
        all
    }

    /// Copies attachments whose content is loaded to their implicit images.
    fn load(&self, device: &Device) {
        for (target, aspect) in self.by_aspect().filter(|(t, _)| t.loads) {
            let Some(implicit) = &target.implicit else { continue };
            for &layers in &self.layer_ranges() {
                let both = (&target.view.attachment, &implicit.attachment);
                replicate_attachment(device, both, aspect, self.area, layers);
            }
        }
    }

    /// Returns the layers (first, count) that are rendered to.
    fn layer_ranges(&self) -> SmallVec<[(u32, u32); 8]> {
        match self.view_mask {
            0 => SmallVec::from_slice(&[(0, self.layers)]),
            mask => views_of(mask).iter().map(|&v| (v, 1)).collect(),
        }
    }

    fn for_rasterizer(&self, samples: u32) -> RenderTargets {
        let attachment = |target: &TargetAttachment| -> Attachment { target.attachment().clone() };
        let mut targets = RenderTargets {
            depth: self.depth.as_ref().map(attachment),
            stencil: self.stencil.as_ref().map(attachment),
            samples,
            layers: layers_of(self.layers, self.view_mask),
            area: self.area,
            inputs: self.inputs,
            shading_rate: self.shading_rate.as_ref().map(|view| view.attachment.clone()),
            ..Default::default()
        };
        for (i, color) in self.colors.iter().enumerate().take(MAX_COLOR_ATTACHMENTS) {
            targets.color[i] = color.as_ref().map(attachment);
        }
        targets
    }

    /// Returns the layers (first, count) that a target's load operation clears.
    fn layers_cleared(&self, target: &TargetAttachment) -> SmallVec<[(u32, u32); 6]> {
        match self.view_mask {
            0 => SmallVec::from_slice(&[(0, self.layers)]),
            mask => (0..32).filter(|v| mask & target.clear_views & (1 << v) != 0).map(|v| (v, 1)).collect(),
        }
    }

    /// Resolves the targets that `which` selects and that have a resolve attachment.
    fn resolve(&self, device: &Device, which: impl Fn(&TargetAttachment) -> bool) {
        let ranges = self.layer_ranges();
        for (target, aspect) in self.by_aspect().filter(|(t, _)| which(t)) {
            let Some((resolve, mode)) = &target.resolve else { continue };
            for &layers in &ranges {
                let both = (target.attachment(), &resolve.attachment);
                resolve_attachment(device, both, aspect, *mode, self.area, layers);
            }
        }
    }
}

impl SubpassSource {
    fn targets(&self, number: usize) -> TargetAttachments {
        let pass = &self.render_pass;
        let Some(subpass) = pass.subpasses.get(number) else { return TargetAttachments::default() };
        // The load operation is executed at the first use; with multiview, at each view's first
        // use.
        let clear_views = |a: u32| pass.first_use_views(a, number);
        let clears = |a: u32, op: vk::AttachmentLoadOp| {
            let first =
                pass.attachments[a as usize].first_use == Some(number) || (subpass.view_mask & clear_views(a)) != 0;
            (first && op == vk::AttachmentLoadOp::CLEAR)
                .then(|| self.clear_values.get(a as usize).copied().unwrap_or_default())
        };
        let loads = |a: u32, op: vk::AttachmentLoadOp| {
            pass.attachments[a as usize].first_use != Some(number) || op == vk::AttachmentLoadOp::LOAD
        };
        let stores = |a: u32, op: vk::AttachmentStoreOp| {
            pass.attachments[a as usize].last_use > number || op == vk::AttachmentStoreOp::STORE
        };
        let view = |a: u32| self.views.get(a as usize).cloned();
        let mut targets = TargetAttachments {
            area: self.area,
            layers: self.layers,
            view_mask: subpass.view_mask,
            multisampled: subpass.multisampled,
            inputs: subpass.own_inputs(),
            shading_rate: subpass.shading_rate.and_then(view),
            ..Default::default()
        };
        let color = |(i, a): (usize, &Option<u32>)| {
            let a = (*a)?;
            let (info, own) = (&pass.attachments[a as usize], view(a)?);
            let resolve = match targets.is_single(&own) {
                true => stores(a, info.store_op).then(|| own.clone()),
                false => subpass.resolves.get(i).copied().flatten().and_then(view),
            };
            Some(TargetAttachment {
                view: own,
                clear: clears(a, info.load_op),
                clear_views: clear_views(a),
                resolve: resolve.map(|v| (v, vk::ResolveModeFlags::AVERAGE)),
                loads: loads(a, info.load_op),
                implicit: None,
            })
        };
        targets.colors = subpass.colors.iter().enumerate().map(color).collect();
        if let Some((a, view)) = subpass.depth_stencil.and_then(|a| Some((a, view(a)?))) {
            let info = &pass.attachments[a as usize];
            let single = targets.is_single(&view);
            let resolve = |stencil: bool| {
                let (depth_mode, stencil_mode) = subpass.resolve_modes;
                let mode = if stencil { stencil_mode } else { depth_mode };
                let store_op = if stencil { info.stencil_store_op } else { info.store_op };
                let target = match single {
                    true => stores(a, store_op).then_some(a),
                    false => subpass.depth_stencil_resolve,
                };
                (!mode.is_empty()).then_some((self.views.get(target? as usize)?.clone(), mode))
            };
            let format = view.attachment.format;
            if format.has_depth() {
                targets.depth = Some(TargetAttachment {
                    view: view.clone(),
                    clear: clears(a, info.load_op),
                    clear_views: clear_views(a),
                    resolve: resolve(false),
                    loads: loads(a, info.load_op),
                    implicit: None,
                });
            }
            if format.has_stencil() {
                targets.stencil = Some(TargetAttachment {
                    clear: clears(a, info.stencil_load_op),
                    clear_views: clear_views(a),
                    resolve: resolve(true),
                    loads: loads(a, info.stencil_load_op),
                    implicit: None,
                    view,
                });
            }
        }
        targets
    }

    /// Returns attachments that this subpass is the first to use, but not as targets. They are
    /// cleared separately. They are input attachments, and the aspects of a depth/stencil resolve
    /// attachment to which nothing is resolved.
    fn other_clears(&self, number: usize) -> Vec<TargetAttachments> {
        let pass = &self.render_pass;
        let Some(subpass) = pass.subpasses.get(number) else { return Vec::new() };
        let is_target = |a: u32| subpass.colors.contains(&Some(a)) || subpass.depth_stencil == Some(a);
        let inputs = subpass.inputs.iter().map(|&a| (a, true, true));
        let (depth_mode, stencil_mode) = subpass.resolve_modes;
        let unresolved = subpass.depth_stencil_resolve.map(|a| (a, depth_mode.is_empty(), stencil_mode.is_empty()));
        let mut list = Vec::new();
        for (a, depth, stencil) in inputs.chain(unresolved).filter(|&(a, ..)| !is_target(a)) {
            let info = &pass.attachments[a as usize];
            let first = info.first_use == Some(number) || (subpass.view_mask & pass.first_use_views(a, number)) != 0;
            let Some(view) = self.views.get(a as usize).filter(|_| first) else { continue };
            let value = self.clear_values.get(a as usize).copied().unwrap_or_default();
            let target = |op| {
                (op == vk::AttachmentLoadOp::CLEAR).then(|| TargetAttachment {
                    view: view.clone(),
                    clear: Some(value),
                    clear_views: pass.first_use_views(a, number),
                    resolve: None,
                    loads: true,
                    implicit: None,
                })
            };
            let mut targets = TargetAttachments {
                area: self.area,
                layers: self.layers,
                view_mask: subpass.view_mask,
                ..Default::default()
            };
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

/// Message about a render pass instance that is not begun because there is no memory to render to.
const IMAGE_DESTROYED: &str = "an attachment's image has been destroyed: nothing is rendered";

/// Returns x, y, width and height of the part of a rectangle with coordinates of at least 0.
pub(super) fn area_of(rect: &vk::Rect2D) -> [u32; 4] {
    let axis = |at: i32, size: u32| (at.max(0) as u32, size.saturating_sub(at.min(0).unsigned_abs()));
    let ((x, width), (y, height)) = (axis(rect.offset.x, rect.extent.width), axis(rect.offset.y, rect.extent.height));
    [x, y, width, height]
}

/// Clips the area to the attachments' extents, so that nothing outside an image is ever accessed.
fn clip_area(mut area: [u32; 4], views: impl Iterator<Item = [u32; 3]>) -> [u32; 4] {
    for extent in views {
        for i in 0..2 {
            area[i] = area[i].min(extent[i]);
            area[2 + i] = area[2 + i].min(extent[i] - area[i]);
        }
    }
    area
}

impl<'d> Executor<'d> {
    pub(super) fn begin_render_pass(&mut self, c: &BeginRenderPass) {
        let of_pixels = c.views.iter().zip(0..).filter(|(_, a)| !c.render_pass.is_shading_rate(*a));
        let area = clip_area(area_of(&c.area), of_pixels.map(|(v, _)| v.extent()));
        self.check_area(&c.area, area);
        if !c.views.iter().all(|view| view.has_memory()) {
            return self.device.report_invalid_usage(IMAGE_DESTROYED);
        }
        let source = SubpassSource {
            render_pass: c.render_pass.clone(),
            views: c.views.clone(),
            clear_values: c.clear_values.clone(),
            area,
            layers: c.framebuffer.layers,
        };
        self.begin_subpass(Arc::new(source), 0);
    }

    /// Reports invalid usage if the render area reaches outside of the attachments, because that
    /// part is not rendered.
    fn check_area(&self, requested: &vk::Rect2D, [x, y, width, height]: [u32; 4]) {
        let (o, e) = (requested.offset, requested.extent);
        if (i64::from(o.x), i64::from(o.y), e.width, e.height) != (x.into(), y.into(), width, height) {
            self.device
                .report_invalid_usage(&format!("the render area {requested:?} reaches outside of an attachment"));
        }
    }

    /// Begins an instance. Loses the device if there is no memory for samples.
    fn begin(&self, mut targets: TargetAttachments, resumes: bool) -> Option<RenderInstance<'d>> {
        if targets.add_samples(self.device, self.queue.number, resumes).is_err() {
            self.queue.lose(self.device, Cause::Memory, "there is no memory for the samples of a render pass");
            return None;
        }
        targets.load(self.device);
        Some(RenderInstance::begin(self.device, targets))
    }

    fn begin_subpass(&mut self, source: Arc<SubpassSource>, number: usize) {
        for targets in source.other_clears(number) {
            RenderInstance::begin(self.device, targets).end(self.device, self.queue.number);
        }
        let Some(mut instance) = self.begin(source.targets(number), false) else { return };
        instance.subpasses = Some((source, number));
        self.render = Some(instance);
    }

    pub(super) fn next_subpass(&mut self) {
        let Some(instance) = self.render.take() else { return };
        let subpasses = instance.subpasses.clone();
        instance.end(self.device, self.queue.number);
        if let Some((source, number)) = subpasses {
            self.begin_subpass(source, number + 1);
        }
    }

    pub(super) fn end_render_pass(&mut self) {
        if let Some(instance) = self.render.take() {
            instance.end(self.device, self.queue.number);
        }
    }

    pub(super) fn begin_rendering(&mut self, c: &BeginRendering) {
        let resumes = c.flags.contains(vk::RenderingFlags::RESUMING);
        let mut targets = TargetAttachments {
            area: area_of(&c.area),
            layers: c.layer_count,
            view_mask: c.view_mask,
            multisampled: c.multisampled,
            // Dynamic rendering has no other input attachments.
            inputs: AttachmentLoops { color: true, depth_stencil: true },
            shading_rate: c.shading_rate.clone(),
            ..Default::default()
        };
        // A colour attachment without a resolve mode uses the average, as in a render pass object.
        let implicit = |a: &RenderingAttachment, otherwise: vk::ResolveModeFlags| {
            let mode = if a.resolve_mode.is_empty() { otherwise } else { a.resolve_mode };
            let stores = a.store_op == vk::AttachmentStoreOp::STORE && !mode.is_empty();
            stores.then(|| (a.view.clone(), mode))
        };
        let target = |a: &RenderingAttachment, otherwise: vk::ResolveModeFlags| TargetAttachment {
            view: a.view.clone(),
            clear: (a.load_op == vk::AttachmentLoadOp::CLEAR && !resumes).then_some(a.clear_value),
            clear_views: !0,
            resolve: if targets.is_single(&a.view) { implicit(a, otherwise) } else { a.resolve.clone() },
            loads: a.load_op == vk::AttachmentLoadOp::LOAD && !resumes,
            implicit: None,
        };
        let color = |a: &RenderingAttachment| target(a, vk::ResolveModeFlags::AVERAGE);
        let other = |a: &RenderingAttachment| target(a, vk::ResolveModeFlags::NONE);
        let colors = c.colors.iter().map(|a| a.as_ref().map(color)).collect();
        let (depth, stencil) = (c.depth.as_ref().map(other), c.stencil.as_ref().map(other));
        (targets.colors, targets.depth, targets.stencil) = (colors, depth, stencil);
        targets.area = clip_area(targets.area, targets.all().map(|t| t.view.extent()));
        self.check_area(&c.area, targets.area);
        let rate = targets.shading_rate.as_ref();
        if !(targets.all().all(TargetAttachment::has_memory) && rate.is_none_or(|view| view.has_memory())) {
            return self.device.report_invalid_usage(IMAGE_DESTROYED);
        }
        let Some(mut instance) = self.begin(targets, resumes) else { return };
        instance.suspends = c.flags.contains(vk::RenderingFlags::SUSPENDING);
        self.render = Some(instance);
    }

    pub(super) fn set_rendering_attachment_locations(&mut self, locations: Locations) {
        match &mut self.render {
            Some(render) => render.locations = locations,
            None => self.device.report_invalid_usage("vkCmdSetRenderingAttachmentLocations outside of a render pass"),
        }
    }

    pub(super) fn end_rendering(&mut self) {
        self.end_render_pass();
    }

    /// Executes a barrier. Deferred draws are done when this returns, and fragments can read their
    /// results from attachments if they may.
    pub(super) fn barrier(&mut self) {
        self.flush();
        if let Some(render) = self.render.as_ref().filter(|render| render.reads_attachments()) {
            render.targets.resolve(self.device, |target| target.implicit.is_some());
        }
    }

    /// Executes deferred draws, which are done when this returns.
    pub(super) fn flush(&mut self) {
        if let Some(render) = &mut self.render {
            render.flush(self.device);
        }
    }
}
