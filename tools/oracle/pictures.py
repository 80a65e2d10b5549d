"""Pictures: resized, sampled at places, and in regions."""
import numpy as np

from onnx_models import onnx_run, onnxruntime_run
from registry import Skip, oracle


def resized(c, x, sizes):
    axes = [axis % x.ndim for axis in c.axes] or list(range(x.ndim))
    scales = np.array(c.scales, np.float64) if sizes is None else None
    roi = np.array(c.roi, np.float64) if c.roi else None
    sizes = None if sizes is None else np.array(sizes, np.int64)
    if c.coordinates == 'tf_half_pixel_for_nn':  # gone since opset 13
        y, = onnxruntime_run('Resize', [x, np.zeros(0), scales], opset=11, mode=c.mode,
                             coordinate_transformation_mode=c.coordinates, cubic_coeff_a=c.cubic_a)
        return y
    if c.mode == 'nearest' and x.dtype == np.float64 and not np.isfinite(x).all():  # which onnx multiplies by 0
        y, = onnxruntime_run('Resize', [x, None, None, sizes], opset=19, mode=c.mode, nearest_mode=c.rounding,
                             coordinate_transformation_mode=c.coordinates)
        return y
    if x.dtype == np.bool_:
        return resized(c, x.astype(np.uint8), sizes) != 0
    scales = None if scales is None else scales.astype(np.float32)
    y, = onnx_run('Resize', [x, roi, scales, sizes], opset=19, mode=c.mode, nearest_mode=c.rounding,
                  coordinate_transformation_mode=c.coordinates, axes=axes, antialias=int(c.antialias),
                  exclude_outside=int(c.exclude_outside), cubic_coeff_a=c.cubic_a,
                  extrapolation_value=c.outside_value)
    return y


@oracle('onnx', 'resize')
def resize(c, x, sizes=None):
    if x.size == 0 or x.ndim == 0:
        raise Skip('onnx has no empty pictures')
    if c.get('exact') and c.get('mode') == 'nearest':
        raise Skip("onnx's evaluator computes coordinates in f64, not in fractions")
    wanted = c.get('sizes') if sizes is None else [int(v) for v in sizes]
    if wanted is not None and 0 in wanted:
        raise Skip('onnx has no empty pictures')
    return resized(c, x, None if c.scales else wanted)


@oracle('onnx', 'resize_gradient')
def resize_gradient(c, dy):
    """The sum over what each element of x gives, one at a time, where it gives anything."""
    count = int(np.prod(c.shape))
    if count > 130 or dy.size == 0:
        raise Skip('too many elements to try each')
    dx = np.zeros(count)
    base = resized(c, np.zeros(c.shape), None if c.scales else sizes_of(c, dy))
    for i in range(count):
        one = np.zeros(count)
        one[i] = 1
        weights = resized(c, one.reshape(c.shape), None if c.scales else sizes_of(c, dy)) - base
        dx[i] = np.sum(np.where(weights != 0, weights * dy, 0))
    return dx.reshape(c.shape)


def sizes_of(c, dy):
    return [dy.shape[axis] for axis in c.axes] if c.axes else dy.shape


@oracle('onnx', 'grid_sample')
def grid_sample(c, x, grid):
    if x.size == 0 or grid.size == 0:
        return np.zeros(x.shape[:2] + grid.shape[1:3])
    # onnx moves a place into the picture before its cubic neighbours are looked up; onnxruntime moves each of them.
    run = onnxruntime_run if (c.mode, c.padding) == ('cubic', 'border') else onnx_run
    return run('GridSample', [x, grid], opset=20, mode=c.mode, padding_mode=c.padding,
               align_corners=int(c.align_corners))


@oracle('onnxruntime', 'roi_align')
def roi_align(c, x, rois, batch_indices):
    mode = 'half_pixel' if c.half_pixel else 'output_half_pixel'
    return onnxruntime_run('RoiAlign', [x, rois, batch_indices], opset=16, mode=c.mode, output_height=c.height,
                           output_width=c.width, sampling_ratio=c.samples, spatial_scale=c.scale,
                           coordinate_transformation_mode=mode)


@oracle('formula', 'deform_conv')
def deform_conv(c, x, w, offset, bias=None, mask=None):
    moved = c.row == 'strides, dilations and pads'
    (sy, sx), (dy, dx), (top, left) = ((2, 3), (2, 1), (2, 1)) if moved else ((1, 1), (1, 1), (0, 0))
    sets = groups = 2 if moved else 1
    n, channels, height, width = x.shape
    outputs, _, rows, columns = w.shape
    y = np.zeros((n, outputs, *offset.shape[2:]))

    def read(plane, a, b):
        low = int(np.floor(a)), int(np.floor(b))
        total = 0
        for r in (low[0], low[0] + 1):
            for k in (low[1], low[1] + 1):
                if 0 <= r < height and 0 <= k < width:
                    total += plane[r, k] * (1 - abs(a - r)) * (1 - abs(b - k))
        return total

    for i, o, oy, ox in np.ndindex(y.shape):
        for j, ky, kx in np.ndindex(*w.shape[1:]):
            channel = o // (outputs // groups) * (channels // groups) + j
            tap = channel // (channels // sets) * rows * columns + ky * columns + kx
            a = oy * sy - top + ky * dy + offset[i, 2 * tap, oy, ox]
            b = ox * sx - left + kx * dx + offset[i, 2 * tap + 1, oy, ox]
            weight = w[o, j, ky, kx] * (1 if mask is None else mask[i, tap, oy, ox])
            y[i, o, oy, ox] += weight * read(x[i, channel], a, b)
    return y if bias is None else y + bias[:, None, None]
