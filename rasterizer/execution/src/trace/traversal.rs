//! Interface of the scheduler to the traversal of acceleration structures.

#![forbid(unsafe_code)]

/// Flags of a ray (`RayFlags` of SPIR-V) that the scheduler obeys.
pub mod ray_flags {
    /// The first accepted intersection ends the traversal.
    pub const TERMINATE_ON_FIRST_HIT: u32 = 0x4;
    /// No closest-hit shader runs.
    pub const SKIP_CLOSEST_HIT_SHADER: u32 = 0x8;
}

/// A ray to be traced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RayArguments {
    /// Device address of the top-level structure.
    pub structure: u64,
    /// `RayFlags`.
    pub flags: u32,
    /// Mask of instances.
    pub cull_mask: u32,
    /// Origin in the world.
    pub origin: [f32; 3],
    /// Start of the interval.
    pub t_min: f32,
    /// Direction in the world.
    pub direction: [f32; 3],
    /// End of the interval.
    pub t_max: f32,
    /// Time at which structures with motion are traced, as the instruction has it.
    pub time: f32,
}

/// Kind of an intersection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntersectionKind {
    /// A triangle.
    Triangle,
    /// A sphere.
    Sphere,
    /// A linear swept sphere.
    Lss,
    /// A box as a candidate, or the intersection that a shader has reported in it.
    Aabb,
}

/// An intersection of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intersection {
    /// Kind of the intersection.
    pub kind: IntersectionKind,
    /// Distance; that of a candidate box has no meaning.
    pub t: f32,
    /// Weights of a triangle's second and third vertex; the first one is also the position of the
    /// hit on a swept sphere, from 0 to 1.
    pub barycentrics: [f32; 2],
    /// True if the front of a triangle is hit.
    pub front_facing: bool,
    /// True if no any-hit shader decides about it.
    pub opaque: bool,
    /// Index of the instance in the top-level structure.
    pub instance: u32,
    /// Custom index of the instance.
    pub custom_index: u32,
    /// Shader binding table record offset of the instance.
    pub sbt_offset: u32,
    /// Index of the geometry.
    pub geometry: u32,
    /// Index of the primitive in its geometry.
    pub primitive: u32,
    /// Vertices of a triangle in object space, or the centres of spheres, with their radii in the
    /// third one.
    pub vertices: [[f32; 3]; 3],
}

/// An instance of a top-level structure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Instance {
    /// Custom index.
    pub custom_index: u32,
    /// Shader binding table record offset.
    pub sbt_offset: u32,
    /// Transform from object to world, by rows.
    pub object_to_world: [f32; 12],
    /// Transform from world to object, by rows.
    pub world_to_object: [f32; 12],
}

/// Decides about the candidates of rays that go on together, given their positions in the list of
/// rays that [`Tracer::proceed`] has got.
pub type Decide<'a, R> = dyn FnMut(&[u32], &mut [Option<&mut R>]) + 'a;

/// The traversal of rays.
pub trait Tracer: Sync {
    /// A top-level structure that is opened once for all rays that are traced in it.
    type Structure: Copy + Send;

    /// The state of a ray's traversal.
    type Traversal: Send;

    /// Opens the structure at a device address. Rays hit nothing in what is not a live structure.
    fn open(&self, address: u64) -> Self::Structure;

    /// Returns the state of a traversal that has ended, whose memory others take over.
    fn ended(&self) -> Self::Traversal;

    /// Begins the traversal of a ray in a structure.
    fn begin(&self, traversal: &mut Self::Traversal, structure: &Self::Structure, ray: &RayArguments);

    /// Prepares the thread for the rays of a tile. What [`Tracer::proceed`] does with them depends
    /// on the rays since then, and on nothing before.
    fn begin_tile(&self);

    /// Continues traversals up to the next candidates about which shaders decide, or to their ends.
    /// Candidates of rays that go on together may be passed to `decide`, and the rays then
    /// continue.
    fn proceed(&self, rays: &mut [Option<&mut Self::Traversal>], decide: &mut Decide<'_, Self::Traversal>);

    /// Returns the candidate; `None` when the traversal has ended.
    fn candidate(&self, traversal: &Self::Traversal) -> Option<Intersection>;

    /// Commits the candidate, which is a built-in primitive.
    fn confirm(&self, traversal: &mut Self::Traversal);

    /// Commits an intersection in the candidate's box at a distance; returns false if it lies
    /// outside of the remaining interval.
    fn generate(&self, traversal: &mut Self::Traversal, t: f32) -> bool;

    /// Ends the traversal, so that `proceed` finds no candidate from now on.
    fn terminate(&self, traversal: &mut Self::Traversal);

    /// Returns the end of the remaining interval.
    fn t_max(&self, traversal: &Self::Traversal) -> f32;

    /// Returns the closest committed intersection.
    fn committed(&self, traversal: &Self::Traversal) -> Option<Intersection>;

    /// Returns an instance of a structure at a time.
    fn instance(&self, structure: &Self::Structure, index: u32, time: f32) -> Option<Instance>;
}
