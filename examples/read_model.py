#!/usr/bin/env python3
"""Predict the rows of a CSV file with a model that "hanse model export" wrote.

    python3 read_model.py MODEL-FOLDER ROWS.csv

It needs nothing but Python's standard library, and is written to be read: the
format that it reads is described in docs/model-format.md.
"""

import csv
import json
import math
import os
import struct
import sys


def safetensors(path):
    """Read a safetensors file: its metadata, and name -> (shape, flat list of numbers)."""
    with open(path, "rb") as f:
        data = f.read()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    body, tensors = data[8 + length :], {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        begin, end = t["data_offsets"]
        letter, size = {"F64": ("d", 8), "F32": ("f", 4)}[t["dtype"]]
        numbers = struct.unpack("<%d%s" % ((end - begin) // size, letter), body[begin:end])
        tensors[name] = (t["shape"], numbers)
    return header.get("__metadata__", {}), tensors


def single(v):
    """Round to single precision, as the inputs of networks are."""
    return struct.unpack("<f", struct.pack("<f", v))[0]


class Kernels:
    """The sum over kernels of weight * theta . z(x), on random features z."""

    def __init__(self, folder, model):
        k = model["kernels"]
        _, tensors = safetensors(os.path.join(folder, k["file"]))
        self.kind, self.count, self.columns = k["features"], k["count"], model["inputs"]["count"]
        self.weights = [one.get("weight") for one in k["list"]]
        if None in self.weights:
            sys.exit("a server's model has no weights of the kernels: each client has its own")
        self.frequencies = tensors["frequencies"][1]
        self.theta = tensors["theta"][1]
        self.phases = tensors["phases"][1] if "phases" in tensors else None

    def features(self, kernel, x):
        """The features of one kernel: sines and then cosines, or cosines with phases."""
        d, width, angles = self.count, self.columns, []
        for j in range(kernel * d, (kernel + 1) * d):
            row = self.frequencies[j * width : (j + 1) * width]
            angles.append(math.fsum(f * v for f, v in zip(row, x)))
        if self.kind == "sin-cos":
            scale = 1 / math.sqrt(d)
            return [scale * math.sin(a) for a in angles] + [scale * math.cos(a) for a in angles]
        phases, scale = self.phases[kernel * d : (kernel + 1) * d], math.sqrt(2 / d)
        return [scale * math.cos(a + b) for a, b in zip(angles, phases)]

    def outputs(self, x):
        total = 0.0
        for i, weight in enumerate(self.weights):
            z = self.features(i, x)
            theta = self.theta[i * len(z) : (i + 1) * len(z)]
            total += weight * math.fsum(t * v for t, v in zip(theta, z))
        return [total]


class Network:
    """A feed-forward network. Values are channels-last: [height][width][channels], flat."""

    def __init__(self, path):
        metadata, self.tensors = safetensors(path)
        self.layers = json.loads(metadata["layers"])

    def outputs(self, x):
        shape = self.layers[0]["shape"]
        v = [single(a) for a in x]
        for layer in self.layers[1:]:
            kind = layer["type"]
            if kind == "flatten":
                shape = [len(v)]
            elif kind == "dense":
                v, shape = self.dense(layer, v)
            else:
                v, shape = self.window(layer, v, shape)
            v = activate(layer.get("activation", "linear"), v)
        return v

    def dense(self, layer, v):
        (_, units), kernel = self.tensors[layer["kernel"]]
        bias = self.tensors[layer["bias"]][1]
        out = [b + math.fsum(a * kernel[i * units + u] for i, a in enumerate(v)) for u, b in enumerate(bias)]
        return out, [units]

    def window(self, layer, v, shape):
        """A convolution, or a maximum, over windows of an image."""
        height, width, channels = shape
        kernel = None
        if layer["type"] == "conv2d":
            (kh, kw, _, units), kernel = self.tensors[layer["kernel"]]
            bias = self.tensors[layer["bias"]][1]
        else:
            (kh, kw), units = layer["size"], channels
        rows, top = places(height, kh, layer["stride"][0], layer["padding"])
        cols, left = places(width, kw, layer["stride"][1], layer["padding"])
        out = []
        for r in range(rows):
            for c in range(cols):
                inside = []  # (place in the window, place in the image)
                for a in range(kh):
                    for b in range(kw):
                        y, x = r * layer["stride"][0] + a - top, c * layer["stride"][1] + b - left
                        if 0 <= y < height and 0 <= x < width:
                            inside.append((a * kw + b, (y * width + x) * channels))
                for u in range(units):
                    if kernel is None:
                        out.append(max(v[at + u] for _, at in inside))
                        continue
                    terms = [
                        v[at + i] * kernel[(k * channels + i) * units + u] for k, at in inside for i in range(channels)
                    ]
                    out.append(bias[u] + math.fsum(terms))
        return out, [rows, cols, units]


def places(size, window, stride, padding):
    """How many windows there are along one side, and how much padding stands before the first."""
    if padding == "valid":
        return (size - window) // stride + 1, 0
    count = -(-size // stride)
    return count, max((count - 1) * stride + window - size, 0) // 2


def activate(kind, v):
    if kind == "relu":
        return [max(a, 0.0) for a in v]
    if kind == "softmax":
        top = max(v)
        e = [math.exp(a - top) for a in v]
        return [a / math.fsum(e) for a in e]
    return v


class Mixture:
    """The mean of networks' outputs, by the client's weights."""

    def __init__(self, folder, model):
        self.parts = []
        for n in model["networks"]:
            if "weight" in n:
                self.parts.append((n["weight"], Network(os.path.join(folder, n["file"]))))
        if not self.parts:
            sys.exit("a server's model has no weights of the networks: each client has its own")

    def outputs(self, x):
        total = None
        for weight, network in self.parts:
            v = [weight * a for a in network.outputs(x)]
            total = v if total is None else [a + b for a, b in zip(total, v)]
        return total


def main(folder, rows):
    with open(os.path.join(folder, "model.json")) as f:
        model = json.load(f)
    if model["format"] != "hanse-model-v1":
        sys.exit("%s is of format %s, this program reads hanse-model-v1" % (folder, model["format"]))
    predictor = (Kernels if "kernels" in model else Mixture)(folder, model)
    inputs, label = model["inputs"], model["label"]
    classes = label.get("classes", 0)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["row", "class", "probability"] if classes else ["row", "prediction"])
    with open(rows, newline="") as f:
        for number, row in enumerate(csv.DictReader(f, skipinitialspace=True), 1):
            x = [float(row[name]) / inputs["divide_by"] for name in inputs["columns"]]
            v = predictor.outputs(x)
            if classes:
                best = v.index(max(v))
                out.writerow([number, best, repr(v[best])])
            else:
                out.writerow([number, repr(label["low"] + v[0] * (label["high"] - label["low"]))])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
