"""Pictures of Gaussians, by covariances and by scipy's spherical harmonics."""
import numpy as np
import scipy.special

from registry import oracle


def drawn(gaussians, bounds, rays, width, height, cutoff, threshold, most):
    """For each pixel: the Gaussians it sees, and of each alpha before and after the cut and the light that reaches it."""
    for y in range(height):
        for x in range(width):
            at = np.array([1, x + 0.5, y + 0.5])
            ray = at @ rays
            light, seen = 1.0, []
            for n, g in enumerate(gaussians):
                left, top, right, bottom = bounds[n]
                if light < threshold:
                    break
                if not (left <= at[1] <= right and top <= at[2] <= bottom):
                    continue
                along, middle = g[:9].reshape(3, 3) @ ray, g[9:12]
                nearest = middle - along * (along @ middle) / (along @ along)
                raw = g[12] * np.exp(-(nearest @ nearest) / 2)
                if raw < cutoff:
                    continue
                seen.append((n, raw, min(raw, most), light, along, nearest))
                light *= 1 - min(raw, most)
            yield y, x, at, ray, light, seen


def values_of(g):
    return np.concatenate([g[13:16], [1], g[16:17]])


@oracle('formula', 'splat_raster')
def splat_raster(c, gaussians, bounds, rays, background):
    picture = np.zeros((c.height, c.width, 5))
    for y, x, _, _, light, seen in drawn(gaussians, bounds, rays, c.width, c.height, c.cutoff, c.threshold,
                                         c.most_alpha):
        picture[y, x] = sum((t * a * values_of(gaussians[n]) for n, _, a, t, _, _ in seen), np.zeros(5))
        picture[y, x, :3] += light * background
    return picture


@oracle('formula', 'splat_raster_gradient')
def splat_raster_gradient(c, gaussians, bounds, rays, picture, dy):
    sums, ray_sums = np.zeros_like(gaussians), np.zeros((3, 3))
    height, width, _ = picture.shape
    for y, x, at, ray, _, seen in drawn(gaussians, bounds, rays, width, height, c.cutoff, c.threshold, c.most_alpha):
        d, before = dy[y, x], np.zeros(5)
        for n, raw, alpha, light, along, nearest in seen:
            before += light * alpha * values_of(gaussians[n])
            d_alpha = light * values_of(gaussians[n]) @ d - (picture[y, x] - before) @ d / (1 - alpha)
            sums[n, 13:16] += light * alpha * d[:3]
            sums[n, 16] += light * alpha * d[4]
            if raw > c.most_alpha:
                continue
            sums[n, 12] += d_alpha * raw / gaussians[n, 12]
            # The distance changes with the middle along `nearest`, with the ray against it, by how far along it is.
            d_middle = -d_alpha * raw * nearest
            how_far = along @ gaussians[n, 9:12] / (along @ along)
            d_along = -how_far * d_middle
            sums[n, 9:12] += d_middle
            sums[n, :9] += np.outer(d_along, ray).ravel()
            ray_sums += np.outer(at, d_along @ gaussians[n, :9].reshape(3, 3))
    return sums, ray_sums


@oracle('formula', 'gaussian_splat')
def gaussian_splat(c, position, log_scale, rotation, opacity, harmonics, camera, background):
    width, height = {'one colour each': (9, 7), 'degree 1': (7, 9), 'degree 2': (8, 8), 'degree 3': (8, 5),
                     'cut off within its bounds': (31, 23)}[c.row]
    cutoff, threshold = (1 / 255, 1e-4) if c.row == 'cut off within its bounds' else (0, 0)
    eye, target, up, view, near, far = camera[:3], camera[3:6], camera[6:9], camera[9], camera[10], camera[11]
    unit = lambda v: v / np.linalg.norm(v)
    ahead = unit(target - eye)
    right = unit(np.cross(ahead, up))
    above = np.cross(right, ahead)
    reach = np.tan(view / 2)
    order = np.argsort((position - eye) @ ahead, kind='stable')
    parts = []
    for n in order:
        w, x, y, z = unit(rotation[n])
        turn = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                         [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                         [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        precision = np.linalg.inv(turn @ np.diag(np.exp(2 * log_scale[n])) @ turn.T)
        direction = unit(position[n] - eye)
        polar, turned = np.arccos(direction[2]), np.arctan2(direction[1], direction[0])
        basis = []
        for degree in range(4):
            for m in range(-degree, degree + 1):
                value = scipy.special.sph_harm_y(degree, abs(m), polar, turned)
                basis.append(value.real if m == 0 else np.sqrt(2) * (value.real if m > 0 else value.imag))
        colour = np.maximum(np.array(basis[:harmonics.shape[1]]) @ harmonics[n] + 0.5, 0)
        depth = (position[n] - eye) @ ahead
        if near < depth < far:
            parts.append((position[n], precision, 1 / (1 + np.exp(-opacity[n])), colour, depth))
    picture = np.zeros((height, width, 5))
    for i in range(height):
        for j in range(width):
            ray = (ahead + right * reach * width / height * ((j + 0.5) / width * 2 - 1) -
                   above * reach * ((i + 0.5) / height * 2 - 1))
            light = 1.0
            for middle, precision, most, colour, depth in parts:
                if light < threshold:
                    break
                t = ray @ precision @ (middle - eye) / (ray @ precision @ ray)
                off = eye + t * ray - middle
                alpha = most * np.exp(-(off @ precision @ off) / 2)
                if alpha < cutoff:
                    continue
                alpha = min(alpha, 0.999)
                picture[i, j] += light * alpha * np.concatenate([colour, [1, depth]])
                light *= 1 - alpha
            picture[i, j, :3] += light * background
    return picture
