"""Models from transformers, at toy size with random weights: the code is the library's, nothing is downloaded.

The library is imported where a model is built, so that these workloads can be listed without it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

VOCABULARY = 256
IMAGE = 32
# Two layers of width 64 show every kind of operator of the full model, and compile in seconds rather than minutes.
SIZE = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}


class Loss(nn.Module):
    """A model with labels, reduced to its loss: what is compiled ends in the scalar that training needs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **batch: torch.Tensor) -> torch.Tensor:
        return self.model(**batch).loss


def tokens(bucket: dict[str, Any], target: Target) -> torch.Tensor:
    return torch.randint(VOCABULARY, (bucket["batch"], bucket["seq"]), device=target.device)


def causal_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), {"input_ids": tokens(bucket, target)}


def padded_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    ids = tokens(bucket, target)
    mask = torch.ones_like(ids)
    mask[-1, bucket["seq"] // 2 :] = 0
    return (), {"input_ids": ids, "attention_mask": mask}


def labelled_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = padded_inputs(bucket, target)
    return args, {**kwargs, "labels": tokens(bucket, target)}


def image_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), {"pixel_values": torch.randn(bucket["batch"], 3, IMAGE, IMAGE, device=target.device)}


@workload(
    "models.llama",
    stands_for="a decoder-only language model reading prompts of several lengths, without a cache",
    inputs=causal_inputs,
    buckets=[{"batch": 1, "seq": 16}, {"batch": 1, "seq": 32}, {"batch": 1, "seq": 64}],
    tags=("standard", "models", "dynamic"),
    libraries=("transformers",),
)
def build_llama(target: Target) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        **SIZE, vocab_size=VOCABULARY, num_key_value_heads=2, max_position_embeddings=128, use_cache=False
    )
    return LlamaForCausalLM(config).to(target.device).eval()


@workload(
    "models.bert",
    stands_for="an encoder serving batches padded to one length",
    inputs=padded_inputs,
    buckets=[{"batch": 2, "seq": 32}],
    tags=("quickstart", "standard", "models"),
    libraries=("transformers",),
)
def build_bert(target: Target) -> nn.Module:
    from transformers import BertConfig, BertModel

    config = BertConfig(**SIZE, vocab_size=VOCABULARY, max_position_embeddings=128)
    return BertModel(config).to(target.device).eval()


@workload(
    "models.bert_training",
    stands_for="one fine-tuning step of an encoder: forward, masked-language loss and the compiled backward",
    inputs=labelled_inputs,
    buckets=[{"batch": 2, "seq": 32}],
    training=True,
    tags=("standard", "models", "training"),
    libraries=("transformers",),
)
def build_bert_training(target: Target) -> nn.Module:
    from transformers import BertConfig, BertForMaskedLM

    # Without dropout two runs from one seed agree, so that gradients can be compared.
    config = BertConfig(
        **SIZE,
        vocab_size=VOCABULARY,
        max_position_embeddings=128,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Loss(BertForMaskedLM(config)).to(target.device).train()


@workload(
    "models.vit",
    stands_for="an image classifier cut into patches: a convolution into an encoder, fixed image size",
    inputs=image_inputs,
    buckets=[{"batch": 2}, {"batch": 8}],
    tags=("standard", "models", "dynamic"),
    libraries=("transformers",),
)
def build_vit(target: Target) -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(**SIZE, image_size=IMAGE, patch_size=8, num_labels=10)
    return ViTForImageClassification(config).to(target.device).eval()
