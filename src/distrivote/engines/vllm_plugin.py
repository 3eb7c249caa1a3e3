"""The former address of `engines.vllm.plugin`, which servers may be started with."""

from distrivote.engines.vllm.plugin import SelfStepConf

__all__ = ["SelfStepConf"]
