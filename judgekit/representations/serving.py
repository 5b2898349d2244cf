"""The same hidden states where a probe is fitted and where it is used."""

from judgekit.probes.saved import Inputs
from judgekit.representations.pooling import POOLINGS, pooled_width


def inputs_of(reader, pooling, layers):
    """What a probe has to remember about the states it is fitted on.

    Parameters
    ----------
    reader : judgekit.representations.reader.StateReader
    pooling : str
        One of `judgekit.representations.pooling.POOLINGS`.
    layers : sequence of int
        Numbers of layers, ascending (not places among the layers that happened to be read).

    Returns
    -------
    judgekit.probes.saved.Inputs

    Raises
    ------
    ValueError
        If the pooling or a layer is unknown.
    """
    if pooling not in POOLINGS:
        raise ValueError(f"pooling {pooling!r} is none of {', '.join(POOLINGS)}")
    if list(layers) != sorted(set(layers) & set(range(reader.n_layers))):
        raise ValueError(f"layers {list(layers)}: ascending numbers from 0 to {reader.n_layers - 1} are needed")
    width = pooled_width(reader.encoder.width, pooling)
    return Inputs(reader.name, reader.fingerprint, pooling, tuple(layers), width, reader.limit, reader.bf16)


def states_for(probes, reader, texts):
    """Hidden states that saved probes read, from one pass over the texts for all of them.

    Parameters
    ----------
    probes : dict of str to judgekit.probes.saved.SavedProbe
        For example one per aspect.
    reader : judgekit.representations.reader.StateReader
    texts : sequence of str

    Returns
    -------
    dict of str to array, shape (n_texts, len(layers), width)
        By probe: what its ``probabilities`` takes.

    Raises
    ------
    judgekit.probes.saved.ProbeError
        If a probe was fitted on another model, or on states that were read in another way.
    """
    for probe in probes.values():
        probe.check_model(reader.fingerprint, reader.limit, reader.bf16)
    layers = sorted({layer for probe in probes.values() for layer in probe.inputs.layers})
    states = reader.read(texts, tuple(sorted({probe.inputs.pooling for probe in probes.values()})), layers)
    return {
        name: states[probe.inputs.pooling][:, [layers.index(layer) for layer in probe.inputs.layers]]
        for name, probe in probes.items()
    }
