// The closest hit of a ray by a query that confirms candidates itself.
void closest(rayQueryEXT query, vec3 origin, vec3 direction, uint flags) {
    rayQueryInitializeEXT(query, scene, flags, 0xff, origin, 0.0, direction, 100.0);
    while (rayQueryProceedEXT(query)) {
        uint primitive = uint(rayQueryGetIntersectionPrimitiveIndexEXT(query, false));
        if (rayQueryGetIntersectionTypeEXT(query, false) == gl_RayQueryCandidateIntersectionTriangleEXT) {
            if (solid(primitive, rayQueryGetIntersectionBarycentricsEXT(query, false))) {
                rayQueryConfirmIntersectionEXT(query);
            }
        } else {
            float t = ball(rayQueryGetIntersectionObjectRayOriginEXT(query, false),
                rayQueryGetIntersectionObjectRayDirectionEXT(query, false), primitive);
            bool committed = rayQueryGetIntersectionTypeEXT(query, true) != gl_RayQueryCommittedIntersectionNoneEXT;
            float nearest = committed ? rayQueryGetIntersectionTEXT(query, true) : 100.0;
            if (t >= 0.0 && t < nearest) {
                rayQueryGenerateIntersectionEXT(query, t);
            }
        }
    }
}
