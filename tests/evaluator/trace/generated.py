"""Generated modules in the forms that Inductor writes them, small and by hand."""

from __future__ import annotations

CPP_BODY = """
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
            auto tmp1 = static_cast<float>(0.5);
            auto tmp2 = float(tmp0 * tmp1);
            out_ptr0[static_cast<int64_t>(x0)] = tmp2;
        }
    }
}
"""

TRITON_BODY = """
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 262144},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90), 'constants': {}},
    inductor_meta={'kernel_name': 'triton_poi_fused_mul_0', 'backend_hash': 'A1B2C3', 'mutated_arg_names': []},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_mul_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 262144
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), None)
    tmp1 = 0.5
    tmp2 = tmp0 * tmp1
    tl.store(out_ptr0 + (x0), tmp2, None)
"""

HEAD = """# AOT ID: ['{aot_id}']
import torch
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels

aten = torch.ops.aten
inductor_ops = torch.ops.inductor
alloc_from_pool = torch.ops.inductor._alloc_from_pool
async_compile = AsyncCompile()
"""

CALLS = """
async_compile.wait(globals())
del async_compile

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
{body}
        return (buf1, )

runner = Runner(partitions=[])
call = runner.call

def get_args():
    from torch._dynamo.testing import rand_strided
    return [torch.ops.aten.randn.default([2])]

def benchmark_compiled_module(args, times=10, repeat=10):
    extern_kernels.bmm(args)
    return print_performance(lambda: call(list(args)))
"""


def module(definitions: str, body: str, aot_id: str = "0_inference") -> str:
    """A generated module with these definitions and these lines in its call method."""
    lines = "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
    return HEAD.format(aot_id=aot_id) + definitions + CALLS.format(body=lines)


def cpp_definition(name: str, body: str = CPP_BODY) -> str:
    return f"\n{name} = async_compile.cpp_pybinding(['const float*', 'float*'], r'''{body}''')\n"


def triton_definition(name: str, body: str = TRITON_BODY) -> str:
    return f"\n{name} = async_compile.triton('{name}', '''{body}''', device_str='cuda')\n"
