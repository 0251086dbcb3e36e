"""CPU and feature names that the pinned LLVM knows: it only warns of others, or ends the process.

A test prints the lists anew and compares.
"""

from __future__ import annotations

X86_CPUS = frozenset(
    """
    alderlake amdfam10 arrowlake arrowlake-s arrowlake_s athlon athlon-4 athlon-fx athlon-mp
    athlon-tbird athlon-xp athlon64 athlon64-sse3 atom atom_sse4_2 atom_sse4_2_movbe barcelona bdver1
    bdver2 bdver3 bdver4 bonnell broadwell btver1 btver2 c3 c3-2 cannonlake cascadelake clearwaterforest
    cooperlake core-avx-i core-avx2 core2 core_2_duo_sse4_1 core_2_duo_ssse3 core_2nd_gen_avx
    core_3rd_gen_avx core_4th_gen_avx core_4th_gen_avx_tsx core_5th_gen_avx core_5th_gen_avx_tsx
    core_aes_pclmulqdq core_i7_sse4_2 corei7 corei7-avx diamondrapids emeraldrapids generic geode
    goldmont goldmont-plus goldmont_plus gracemont grandridge graniterapids graniterapids-d
    graniterapids_d haswell i386 i486 i586 i686 icelake-client icelake-server icelake_client
    icelake_server ivybridge k6 k6-2 k6-3 k8 k8-sse3 knl knm lakemont lunarlake meteorlake mic_avx512
    nehalem nocona novalake opteron opteron-sse3 pantherlake penryn pentium pentium-m pentium-mmx
    pentium2 pentium3 pentium3m pentium4 pentium4m pentium_4 pentium_4_sse3 pentium_ii pentium_iii
    pentium_iii_no_xmm_regs pentium_m pentium_mmx pentium_pro pentiumpro prescott raptorlake rocketlake
    sandybridge sapphirerapids sierraforest silvermont skx skylake skylake-avx512 skylake_avx512 slm
    tigerlake tremont westmere wildcatlake winchip-c6 winchip2 x86-64 x86-64-v2 x86-64-v3 x86-64-v4
    yonah znver1 znver2 znver3 znver4 znver5
    """.split()  # noqa: SIM905 (a list of one word a line hides the table)
)
"""What `cpu` of an x86 machine may be."""

X86_FEATURES = frozenset(
    """
    16bit-mode 32bit-mode 64bit 64bit-mode adx aes allow-light-256-bit amx-avx512 amx-bf16 amx-complex
    amx-fp16 amx-fp8 amx-int8 amx-movrs amx-tf32 amx-tile avx avx10.1 avx10.1-512 avx10.2 avx10.2-512
    avx2 avx512bf16 avx512bitalg avx512bw avx512cd avx512dq avx512f avx512fp16 avx512ifma avx512vbmi
    avx512vbmi2 avx512vl avx512vnni avx512vp2intersect avx512vpopcntdq avxifma avxneconvert avxvnni
    avxvnniint16 avxvnniint8 bmi bmi2 branch-hint branchfusion ccmp cf cldemote clflushopt clwb clzero
    cmov cmpccxadd crc32 cx16 cx8 egpr enqcmd ermsb evex512 f16c false-deps-getmant
    false-deps-lzcnt-tzcnt false-deps-mulc false-deps-mullq false-deps-perm false-deps-popcnt
    false-deps-range fast-11bytenop fast-15bytenop fast-7bytenop fast-bextr fast-dpwssd fast-gather
    fast-hops fast-imm16 fast-lzcnt fast-movbe fast-scalar-fsqrt fast-scalar-shift-masks
    fast-shld-rotate fast-variable-crosslane-shuffle fast-variable-perlane-shuffle fast-vector-fsqrt
    fast-vector-shift-masks faster-shift-than-shuffle fma fma4 fsgsbase fsrm fxsr gfni harden-sls-ijmp
    harden-sls-ret hreset idivl-to-divb idivq-to-divl inline-asm-use-gpr32 invpcid kl lea-sp lea-uses-ag
    lvi-cfi lvi-load-hardening lwp lzcnt macrofusion mmx movbe movdir64b movdiri movrs mwaitx ndd nf
    no-bypass-delay no-bypass-delay-blend no-bypass-delay-mov no-bypass-delay-shuffle nopl
    pad-short-functions pclmul pconfig pku popcnt ppx prefer-128-bit prefer-256-bit prefer-legacy-setcc
    prefer-mask-registers prefer-movmsk-over-vtest prefer-no-gather prefer-no-scatter prefetchi prfchw
    ptwrite push2pop2 raoint rdpid rdpru rdrnd rdseed retpoline retpoline-external-thunk
    retpoline-indirect-branches retpoline-indirect-calls rtm sahf sbb-dep-breaking serialize seses sgx
    sha sha512 shstk slow-3ops-lea slow-incdec slow-lea slow-pmaddwd slow-pmulld slow-pmullq slow-shld
    slow-two-mem-ops slow-unaligned-mem-16 slow-unaligned-mem-32 sm3 sm4 soft-float sse
    sse-unaligned-mem sse2 sse3 sse4.1 sse4.2 sse4a ssse3 tagged-globals tbm tsxldtrk
    tuning-fast-imm-vector-shift uintr use-glm-div-sqrt-costs use-slm-arith-costs usermsr vaes
    vpclmulqdq vzeroupper waitpkg wbnoinvd widekl x32 x87 xop xsave xsavec xsaveopt xsaves zu
    """.split()  # noqa: SIM905 (a list of one word a line hides the table)
)
"""What `features` of an x86 machine may hold."""
