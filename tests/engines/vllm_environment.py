"""The environment in which vLLM runs on a small machine without a GPU."""

from __future__ import annotations

SERVER = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
}
IN_PROCESS = {**SERVER, "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
