"""Unregisters shared memory, for the programs that call KServe v2 with NVIDIA's clients."""

import time

from tritonclient.utils import InferenceServerException


def unregister(client, name):
    """Unregisters a region of the system's shared memory.

    A busy tritonserver responds to a request before it releases the region. Until then it refuses to unregister the region.
    """
    late = time.monotonic() + 30
    while True:
        try:
            client.unregister_system_shared_memory(name)
            return
        except InferenceServerException as error:
            if "currently in use" not in str(error) or time.monotonic() > late:
                raise
