"""The former path of `engines.vllm.plugin`, which the command lines of servers may still name."""

from distrivote.engines.vllm.plugin import SelfStepConf

__all__ = ["SelfStepConf"]
