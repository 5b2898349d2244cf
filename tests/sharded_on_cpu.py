"""`judgekit.training.causal_run` with weights spread by FSDP over processes of a CPU.

accelerate reads its settings from the environment and shards on accelerators alone; told that it is to, it shards here.
"""

import sys

from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType

from judgekit.training.causal_run import main

_begin = AcceleratorState.__init__


def _sharded(self, *given, fsdp_plugin=None, **more):
    _begin(self, *given, fsdp_plugin=fsdp_plugin, **more)
    if fsdp_plugin is not None:
        assert fsdp_plugin.fsdp_version == 2
        self.fsdp_plugin = fsdp_plugin
        PartialState._shared_state["distributed_type"] = self.distributed_type = DistributedType.FSDP


AcceleratorState.__init__ = _sharded
if __name__ == "__main__":
    sys.exit(main())
