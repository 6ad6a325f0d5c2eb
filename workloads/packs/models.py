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
    "models.llama_wide",
    stands_for="two blocks of a decoder at the widths of a model with a billion weights, in bfloat16",
    inputs=causal_inputs,
    buckets=[{"batch": 1, "seq": 512}, {"batch": 1, "seq": 2000}, {"batch": 8, "seq": 2000}],
    requires="gpu",
    tags=("gpu", "models"),
    libraries=("transformers",),
)
def build_llama_wide(target: Target) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=2,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=32000,
        max_position_embeddings=4096,
        use_cache=False,
    )
    with torch.device(target.device):
        return LlamaForCausalLM(config).to(torch.bfloat16).eval()


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
    buckets=[{"batch": 2}, {"batch": 8}, {"batch": 5}],
    tags=("standard", "models", "dynamic"),
    libraries=("transformers",),
)
def build_vit(target: Target) -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(**SIZE, image_size=IMAGE, patch_size=8, num_labels=10)
    return ViTForImageClassification(config).to(target.device).eval()


def sequence_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    ids = tokens(bucket, target)
    return (), {"input_ids": ids, "decoder_input_ids": ids[:, : bucket["seq"] // 2]}


def sound_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (), {"input_features": torch.randn(bucket["batch"], 80, 64, device=target.device)}


@workload(
    "models.gpt2",
    stands_for="an older decoder: learned positions, a fused query-key-value product said as a convolution",
    inputs=causal_inputs,
    buckets=[{"batch": 1, "seq": 18}, {"batch": 1, "seq": 40}, {"batch": 1, "seq": 30}],
    tags=("models", "dynamic"),
    libraries=("transformers",),
)
def build_gpt2(target: Target) -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=128, n_embd=64, n_layer=2, n_head=4, use_cache=False
    )
    return GPT2LMHeadModel(config).to(target.device).eval()


@workload(
    "models.mixtral",
    stands_for="a mixture of experts: tokens sent to few of several feed-forward blocks by their data",
    inputs=causal_inputs,
    buckets=[{"batch": 1, "seq": 20}],
    tags=("models",),
    libraries=("transformers",),
)
def build_mixtral(target: Target) -> nn.Module:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        **SIZE,
        vocab_size=VOCABULARY,
        num_key_value_heads=2,
        max_position_embeddings=128,
        num_local_experts=4,
        num_experts_per_tok=2,
        use_cache=False,
    )
    return MixtralForCausalLM(config).to(target.device).eval()


@workload(
    "models.t5",
    stands_for="an encoder and a decoder with relative positions, as in translation",
    inputs=sequence_inputs,
    buckets=[{"batch": 1, "seq": 24}, {"batch": 1, "seq": 44}, {"batch": 1, "seq": 34}],
    tags=("models", "dynamic"),
    libraries=("transformers",),
)
def build_t5(target: Target) -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, use_cache=False
    )
    return T5ForConditionalGeneration(config).to(target.device).eval()


@workload(
    "models.whisper_encoder",
    stands_for="the encoder of a speech model: two convolutions over a spectrogram, then attention",
    inputs=sound_inputs,
    buckets=[{"batch": 1}, {"batch": 3}, {"batch": 5}],
    tags=("models", "dynamic"),
    libraries=("transformers",),
)
def build_whisper_encoder(target: Target) -> nn.Module:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=64,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    return WhisperModel(config).get_encoder().to(target.device).eval()
