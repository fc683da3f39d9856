"""Sizes of released models, as configurations of the classes here.

Sources: the papers named in the modules, and the configuration files published with the weights.
"""

from autograder.reference.models.bert import BertConfig
from autograder.reference.models.gemma2 import Gemma2Config
from autograder.reference.models.glm import ChatGLMConfig
from autograder.reference.models.gpt2 import GPTConfig
from autograder.reference.models.llama import LlamaConfig
from autograder.reference.models.t5 import T5Config

BERT_BASE = BertConfig(30522, 768, 12, 12, 3072)
BERT_LARGE = BertConfig(30522, 1024, 24, 16, 4096)

ALBERT_BASE = BertConfig(30000, 768, 12, 12, 3072)
ALBERT_XXLARGE = BertConfig(30000, 4096, 12, 64, 16384)
ALBERT_EMBEDDING = 128

GPT1 = GPTConfig(40478, 768, 12, 12, 512)
GPT2_SMALL = GPTConfig(50257, 768, 12, 12, 1024)
GPT2_MEDIUM = GPTConfig(50257, 1024, 24, 16, 1024)
GPT2_LARGE = GPTConfig(50257, 1280, 36, 20, 1024)
GPT2_XL = GPTConfig(50257, 1600, 48, 25, 1024)
GPT3_175B = GPTConfig(50257, 12288, 96, 96, 2048)

T5_SMALL = T5Config(32128, 512, 6, 8, 64, 2048)
T5_BASE = T5Config(32128, 768, 12, 12, 64, 3072)
T5_LARGE = T5Config(32128, 1024, 24, 16, 64, 4096)
T5_V11_BASE = T5Config(32128, 768, 12, 12, 64, 2048)

LLAMA_1_7B = LLAMA_2_7B = LlamaConfig(32000, 4096, 32, 32, 32, 11008)
LLAMA_2_13B = LlamaConfig(32000, 5120, 40, 40, 40, 13824)
LLAMA_2_70B = LlamaConfig(32000, 8192, 80, 64, 8, 28672)
LLAMA_3_8B = LlamaConfig(128256, 4096, 32, 32, 8, 14336, base=500000.0)
MISTRAL_7B = LlamaConfig(32000, 4096, 32, 32, 8, 14336)
MISTRAL_7B_WINDOW = 4096
MIXTRAL_8X7B = LlamaConfig(32000, 4096, 32, 32, 8, 14336, base=1e6)
QWEN2_7B = LlamaConfig(152064, 3584, 28, 28, 4, 18944, base=1e6, eps=1e-6)
QWEN3_8B = LlamaConfig(151936, 4096, 36, 32, 8, 12288, base=1e6, eps=1e-6)
QWEN3_HEAD_DIM = 128

GEMMA_2_2B = Gemma2Config(256000, 2304, 26, 8, 4, 256, 9216, 4096, query_scale=256)
OLMO_2_7B = LlamaConfig(100352, 4096, 32, 32, 32, 11008, base=500000.0, eps=1e-6)

CHATGLM2_6B = ChatGLMConfig(65024, 4096, 28, 32, 2, 13696, rotary_dim=64)
GLM_4_9B = ChatGLMConfig(151552, 4096, 40, 32, 2, 13696, rotary_dim=64)
